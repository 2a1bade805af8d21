"""What became of the calls of the latest reply, so that none of them is executed twice."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self, TypeAlias

from mcp_ghost.files import PRIVATE, data_folder, read_regular, write_whole
from mcp_ghost.media import media_in
from mcp_ghost.results import ToolCallResult
from mcp_ghost.toolset import Call, Kind

Decision: TypeAlias = bool | str
"""What a person says to a call: yes, no, or why not."""


class PausedError(Exception):
    """Raised within a run that waits for a person; ``pending`` says for what."""

    def __init__(self, pending: list[dict[str, Any]]) -> None:
        super().__init__("waits for a decision")
        self.pending = pending


@dataclass(frozen=True)
class Told:
    """What the model is told of a call, and why the calls after it are not executed."""

    kind: Kind
    result: ToolCallResult
    stopped: str | None = None
    is_end: bool = False
    """Whether it ends the loop."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        media = self.result.content if media_in(self.result.content) else None
        about = {"kind": str(self.kind), "stopped": self.stopped, "is_end": self.is_end}
        return {"text": self.result.text, "is_error": self.result.is_error, "media": media, **about}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """What ``to_dict`` gave; older versions kept no kind."""
        kind = Kind(kept.get("kind") or (Kind.FAILED if kept["is_error"] else Kind.OK))
        result = ToolCallResult(kept["text"] if kept["media"] is None else kept["media"])
        if kept["is_error"]:
            result = ToolCallResult(kept["media"], is_error=True, error_message=kept["text"])
        return cls(kind, result, kept["stopped"], kept["is_end"])


async def _nowhere() -> None:
    """Keeps nothing."""


@dataclass
class Ledger:
    """By the ids of the calls; ``keep`` writes it down, with the whole run, after each change."""

    keep: Callable[[], Awaitable[None]] = _nowhere
    clean: Callable[[Any], Any] = lambda value: value
    """Takes keys out of what a person is shown."""
    outcomes: dict[str, Told] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    """Calls that went out."""
    decisions: dict[str, Any] = field(default_factory=dict)
    """What somebody said, each sealed with the call that was shown."""
    in_doubt: frozenset[str] = frozenset()
    """Calls that went out in a process that ended before it knew what came of them."""

    def decide(self, shown: Mapping[str, Any], said: Decision) -> None:
        """Keep what somebody said to an entry of ``pending``."""
        about = (shown["id"], shown["tool_name"], shown["arguments"], said)
        self.decisions[shown["id"]] = {"said": said, "seal": seal(*about)}

    def decision(self, call: Call) -> Decision | None:
        """What somebody said to exactly this call."""
        kept = self.decisions.get(call.id)
        if not isinstance(kept, dict):
            return None
        about = (call.id, call.name, self.clean(call.arguments), kept["said"])
        said: Decision | None = kept["said"] if fits(kept.get("seal"), *about) else None
        return said

    def end(self) -> None:
        """All calls of the reply are answered."""
        self.outcomes, self.started, self.decisions = {}, set(), {}
        self.in_doubt = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "outcomes": {key: told.to_dict() for key, told in self.outcomes.items()},
            "started": sorted(self.started),
            "decisions": dict(self.decisions),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        self.outcomes = {key: Told.of(it) for key, it in kept["outcomes"].items()}
        self.started = set(kept["started"])
        self.decisions = dict(kept["decisions"])
        self.in_doubt = frozenset(self.started - self.outcomes.keys())


def seal(*decided: object) -> str:
    """The seal of this user on ``decided``, which is plain JSON: nobody else can make it."""
    text = json.dumps(decided, sort_keys=True)
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


def fits(given: object, *decided: object) -> bool:
    """Whether ``given`` is the seal on ``decided``."""
    return isinstance(given, str) and hmac.compare_digest(given.encode(), seal(*decided).encode())


@cache
def _key() -> bytes:
    """The key of this user; where none can be kept, of this process: others then ask again."""
    path = data_folder() / "seal"
    try:
        if not path.exists():
            write_whole(path, os.urandom(32), mode=PRIVATE)
        return read_regular(path)
    except OSError:
        return os.urandom(32)
