"""The turns that a reflection looks back at, against which all that it says is checked."""

import re
from collections.abc import Iterable

from session.game_state import TurnRecord
from session.knowledge import Evidence

_QUOTE_CHARACTERS = 200
_WORD = re.compile(r"\w+")


class EvidenceFinder:
    """Finished turns by number, in the episode with that uid."""

    def __init__(self, episode: str, records: Iterable[TurnRecord]) -> None:
        self.episode = episode
        self.records = {record.turn: record for record in records}
        self.dropped: list[str] = []
        """What was proposed and not taken, with the reason; whoever checks adds to it."""

    def drop(self, what: str, why: str) -> None:
        """Note that something proposed is not taken."""
        self.dropped.append(f"{what}: {why}")

    def evidence(self, turn: int, quote: str = "") -> Evidence | None:
        """Return the cited turn as evidence; None when it is not among the records.

        The quote is the game's own: one that the game did not say is replaced by what it said.
        """
        record = self.records.get(turn)
        if record is None:
            return None
        said = " ".join(record.response.split())
        quoted = quote.strip().strip('"')
        words = quoted if self.was_said(turn, quoted) else said
        return Evidence(episode=self.episode, turn=turn, quote=words[:_QUOTE_CHARACTERS])

    def was_said(self, turn: int, quote: str) -> bool:
        """Tell whether the game said ``quote`` then, but for case, punctuation and line breaks.

        A single word proves nothing, unless it is all that the game said.
        """
        record = self.records.get(turn)
        if record is None:
            return False
        words, said = (_WORD.findall(it.casefold()) for it in (quote, record.response))
        if len(words) < 2:
            return bool(words) and words == said
        return f" {' '.join(words)} " in f" {' '.join(said)} "
