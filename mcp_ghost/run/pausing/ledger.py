"""What became of the calls of the latest reply, so that none of them is executed twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_ghost.results import JSON
    from mcp_ghost.run.pausing.approval import Decision


class PausedError(Exception):
    """Raised within a run that waits for a person; ``pending`` says for what."""

    def __init__(self, pending: list[dict[str, Any]]) -> None:
        super().__init__("waits for a decision")
        self.pending = pending


@dataclass(frozen=True)
class Outcome:
    """What the model is told of a call, and why the calls after it are not executed."""

    text: str
    is_error: bool = True
    media: JSON = None
    """What the tool returned, where images or sounds are in it."""
    stopped: str | None = None
    is_end: bool = False
    """Whether it ends the run."""


async def _nowhere() -> None:
    """Keeps nothing."""


@dataclass
class Ledger:
    """By the ids of the calls; ``keep`` writes it down, with the whole run, after each change."""

    keep: Callable[[], Awaitable[None]] = _nowhere
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    """Calls that went out."""
    decisions: dict[str, Decision] = field(default_factory=dict)
    in_doubt: frozenset[str] = frozenset()
    """Calls that went out in a process that ended before it knew what came of them."""

    async def begin(self) -> None:
        """A reply with calls is there."""
        await self.keep()

    async def going_out(self, call_id: str) -> None:
        """A call is about to be made."""
        self.started.add(call_id)
        await self.keep()

    async def came_back(self, call_id: str, outcome: Outcome) -> Outcome:
        """It is known what became of a call."""
        self.outcomes[call_id] = outcome
        await self.keep()
        return outcome

    def dropped(self, call_id: str) -> None:
        """A call was given up, to be made again later."""
        self.started.discard(call_id)

    def end(self) -> None:
        """All calls of the reply are answered."""
        self.outcomes, self.started, self.decisions = {}, set(), {}
        self.in_doubt = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "outcomes": {key: asdict(outcome) for key, outcome in self.outcomes.items()},
            "started": sorted(self.started),
            "decisions": dict(self.decisions),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        self.outcomes = {key: Outcome(**it) for key, it in kept["outcomes"].items()}
        self.started = set(kept["started"])
        self.decisions = dict(kept["decisions"])
        self.in_doubt = frozenset(self.started - self.outcomes.keys())
