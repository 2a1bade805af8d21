"""Where the workers of a fleet ask and deliver, and where the driver fetches what came in.

A worker that was taken for lost may still be there: only the latest try at an episode counts.
"""

from typing import NamedTuple

from evaluation.fleet.limits import Limits
from evaluation.fleet.parcel import Piece


class News(NamedTuple):
    """What the driver has not seen yet."""

    pieces: list[tuple[str, Piece]]
    """Each with the episode that it belongs to."""
    used_up: bool
    """Whether nothing more may be spent."""


class Desk:
    """The only place where the limits of a fleet are counted; Ray keeps it as an actor."""

    def __init__(self, limits: tuple[int | None, float | None, float]) -> None:
        """``limits``: requests a minute, dollars, and the dollars that are spent already."""
        rate, dollars, spent = limits
        self._limits = Limits(rate, dollars, spent=spent)
        self._tries: dict[str, int] = {}
        self._stopped: set[str] = set()
        self._pieces: list[tuple[str, Piece]] = []

    def expect(self, episode: str, number: int) -> None:
        """From now on only try ``number`` at the episode counts."""
        self._tries[episode] = number
        self._stopped.discard(episode)

    def stop(self, episode: str) -> None:
        """It is to end; what it still has to tell, such as what it spent, is taken in."""
        self._stopped.add(episode)

    def wanted(self, episode: str, number: int) -> bool:
        """Whether this try is to go on."""
        return self._tries.get(episode) == number and episode not in self._stopped

    def deliver(self, episode: str, number: int, pieces: list[Piece]) -> bool:
        """Take in what was added to the episode's files; False if the try no longer counts."""
        if self._tries.get(episode) != number:
            return False
        self._pieces += ((episode, piece) for piece in pieces)
        return True

    def ask(self) -> float | None:
        """As ``Limits`` answers."""
        return self._limits.ask()

    def again(self) -> float | None:
        """As ``Limits`` answers."""
        return self._limits.again()

    def spend(self, dollars: float) -> float:
        """Count what was paid."""
        self._limits.spend(dollars)
        return 0.0

    def news(self) -> News:
        """What came in since the last time."""
        pieces, self._pieces = self._pieces, []
        return News(pieces, self._limits.used_up)
