"""The servers' side of a golden: what they listed and answered, recorded and given again."""

import asyncio
import copy
from collections.abc import Mapping
from typing import Any, Self, TypeAlias

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPError, MCPServerStartupError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import ToolCallResult, jsonable
from mcp_ghost.toolset import Call, Kind, Outcome
from mcp_ghost.toolsets.server import Leaf, Server

Recorded: TypeAlias = dict[str, dict[str, Any]]
"""By server: {"revision", "tools", "annotations", "failure", "calls", "restarts"}."""
_NAMED = (Kind.TIMEOUT, Kind.DIED)
"""The outcomes without a result that the file names; it calls all others "error"."""


class RecordingServer(Server):
    """A real server, of which ``recorded`` keeps what it does."""

    def __init__(
        self,
        recorded: Recorded,
        name: str,
        config: ServerConfig,
        **options: Any,  # noqa: ANN401  those of Server
    ) -> None:
        super().__init__(name, config, **options)
        empty: dict[str, Any] = {"revision": "", "tools": [], "annotations": {}, "failure": None}
        self._recorded = recorded.setdefault(name, {**empty, "calls": [], "restarts": []})

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        if self.failure is not None:
            self._recorded["failure"] = str(self.failure)
        return self

    def take(self, schemas: list[ToolSchema], annotations: Mapping[str, Mapping[str, Any]]) -> None:
        super().take(schemas, annotations)
        about = {"annotations": dict(annotations), "revision": self.revision}
        about |= {"instructions": self.own_instructions, "version": self.version}
        self._recorded |= {"tools": schemas, **about}

    async def call(self, call: Call) -> Outcome:
        entry: dict[str, Any] = {"tool_name": f"{self.name}.{call.name}"}
        entry["arguments"] = jsonable(call.arguments)
        outcome = await super().call(call)
        entry["error"] = outcome.result.error_message
        if outcome.kind in (Kind.OK, Kind.TOOL_ERROR):
            entry["content"] = jsonable(outcome.result.content)
            entry["is_error"] = outcome.result.is_error
        else:
            entry["raised"] = outcome.kind.value if outcome.kind in _NAMED else "error"
            entry |= {"was_sent": outcome.was_sent} if outcome.kind is Kind.DIED else {}
        self._recorded["calls"].append(entry)
        return outcome

    async def restart(self, server: str) -> None:
        try:
            await super().restart(server)
        except MCPError as error:
            self._recorded["restarts"].append(str(error))
            raise
        self._recorded["restarts"].append(None)


class RecordedServer(Leaf):
    """Starts nothing, and gives what was ``recorded``."""

    def __init__(self, recorded: Recorded, name: str, *_: object, **__: object) -> None:
        super().__init__(name)
        self._recorded = copy.deepcopy(recorded[name])

    async def __aenter__(self) -> Self:
        known = self._recorded
        self._start(known["failure"])
        if self.is_alive:
            self.take(known["tools"], known["annotations"])
            self.revision = known["revision"]
            self.own_instructions = known.get("instructions", "")
            self.version = known.get("version", "")
        return self

    async def call(self, call: Call) -> Outcome:
        """What the tool did then: with the same arguments, or else the next time it was called."""
        if gone := self.gone():
            return gone
        await asyncio.sleep(0)  # calls side by side begin in their order, as they did
        name = f"{self.name}.{call.name}"
        waiting: list[dict[str, Any]] = self._recorded["calls"]
        same_tool = [it for it in waiting if it["tool_name"] == name]
        same = [it for it in same_tool if it["arguments"] == jsonable(call.arguments)]
        entry = next(iter(same or same_tool), None)
        if entry is None:
            reason = f"The golden has no further result of '{name}'. Record it again."
            return Outcome.without_result(Kind.FAILED, reason)
        waiting.remove(entry)
        if "raised" not in entry:
            result = ToolCallResult(entry["content"], entry["is_error"], entry["error"])
            return Outcome.of(result)
        kind = Kind(entry["raised"]) if entry["raised"] in _NAMED else Kind.FAILED
        was_sent = entry.get("was_sent", kind is Kind.TIMEOUT)
        return Outcome.without_result(kind, entry["error"], was_sent=was_sent)

    async def restart(self, server: str) -> None:
        restarts: list[str | None] = self._recorded["restarts"]
        self._start(restarts.pop(0) if restarts else None)
        if self.failure is not None:
            raise self.failure

    def _start(self, failure: str | None) -> None:
        self.failure = None if failure is None else MCPServerStartupError(failure)
        self.is_alive = failure is None
