"""What a person decided, and what became of the latest reply's calls: none is executed twice."""

import asyncio
import hashlib
import hmac
import json
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Self, TypeAlias

from mcp_ghost.files import PRIVATE, data_folder, read_regular, write_whole
from mcp_ghost.media import media_in
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.protocol.elicitation import LaterError
from mcp_ghost.toolset import Allowed, Call, Kind

Approve: TypeAlias = Callable[
    [str, dict[str, Any], dict[str, Any]], Awaitable[bool | str | Allowed]
]
"""("server.tool", arguments, what the tool says of itself) -> whether to make the call; a text is
the reason why not"""
ApproveWhen: TypeAlias = Literal["destructive", "always"] | Sequence[str]
"""Before calls that may destroy something, before all, or before those that patterns name."""


class PausedError(Exception):
    """Raised within a run that waits for a person; the ``Questions`` know for what."""


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

    def decide(self, shown: Mapping[str, Any], said: bool | str) -> None:
        """Keep what somebody said to an entry of ``pending``: yes, no, or why not."""
        about = (shown["id"], shown["tool_name"], shown["arguments"], said)
        self.decisions[shown["id"]] = {"said": said, "seal": seal(*about)}

    def decision(self, call: Call) -> bool | str | None:
        """What somebody said to exactly this call."""
        kept = self.decisions.get(call.id)
        if not isinstance(kept, dict):
            return None
        about = (call.id, call.name, self.clean(call.arguments), kept["said"])
        said: bool | str | None = kept["said"] if fits(kept.get("seal"), *about) else None
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


class Questions:
    """An ``elicit`` that knows some answers; at any other question, it drops the calls under way.

    A server does not say which call its question is for: those that run on it at the time are
    dropped, and made again once the answer is known. Tools that may write never run side by side
    on one server.
    """

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        """Known ones: {"server", "message", "schema", "answer", "seal"}."""
        self.pending: list[dict[str, Any]] = []
        """What has no answer: {"id", "kind", "server", "message", "schema"}, or calls."""
        self.under_way: defaultdict[str, set[asyncio.Task[Any]]] = defaultdict(set)
        """By server."""
        self.dropped: set[asyncio.Task[Any]] = set()

    def begin(self, answers: list[dict[str, Any]]) -> None:
        """A run begins, with what is known."""
        self.answers, self.pending = answers, []

    def answer(self, entry: Mapping[str, Any], answer: Mapping[str, Any] | None) -> None:
        """Keep what somebody said to an entry of ``pending``."""
        asked = {key: entry[key] for key in ("server", "message", "schema")}
        said = None if answer is None else dict(answer)
        self.answers.append({**asked, "answer": said, "seal": seal(asked, said)})

    async def elicit(
        self, server: str, message: str, schema: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The answer, if it is known; else drop the calls under way there, and raise LaterError."""
        asked = {"server": server, "message": message, "schema": schema}
        for known in self.answers:
            answer: dict[str, Any] | None = known["answer"]
            if fits(known.get("seal"), asked, answer):
                return answer
        number = f"question_{len(self.pending) + 1}"
        self.pending.append({"id": number, "kind": "question", **asked})
        dropped = [*self.under_way[server]]
        self.dropped |= {*dropped}
        for task in dropped:
            task.cancel()
        if dropped:
            await asyncio.wait(dropped)  # the server hears of that before it hears that we cancel
        raise LaterError


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
