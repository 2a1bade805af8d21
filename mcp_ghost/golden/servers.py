"""The servers' side of a golden: what they listed and answered, recorded and given again."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import GoldenError, MCPError, MCPServerDiedError, MCPServerStartupError
from mcp_ghost.results import ToolCallResult, jsonable
from mcp_ghost.servers.toolbox import Toolbox

Recorded: TypeAlias = dict[str, dict[str, Any]]
"""By server: {"revision", "tools", "annotations", "failure", "calls", "restarts"}."""


class RecordingToolbox(Toolbox):
    """Writes down in ``recorded`` what the real servers do."""

    def __init__(
        self,
        recorded: Recorded,
        servers: Mapping[str, ServerConfig],
        **options: Any,  # noqa: ANN401  those of Toolbox
    ) -> None:
        super().__init__(servers, **options)
        self._recorded = recorded
        for name in self._servers:
            empty: dict[str, Any] = {
                "revision": "",
                "tools": [],
                "annotations": {},
                "failure": None,
            }
            recorded.setdefault(name, {**empty, "calls": [], "restarts": []})

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        timeout: float | None = None,  # noqa: ASYNC109 - part of the interface
    ) -> ToolCallResult:
        """See :class:`Toolbox`."""
        server = self.server_of(name)
        if server is None:
            return await super().call(name, arguments, timeout)
        entry = {"tool_name": name, "arguments": jsonable(copy.deepcopy(arguments))}
        try:
            result = await super().call(name, arguments, timeout)
        except (MCPError, TimeoutError) as error:
            raised = _kind(error)
            sent = {"was_sent": error.was_sent} if isinstance(error, MCPServerDiedError) else {}
            self._recorded[server]["calls"].append(
                {**entry, "raised": raised, "error": str(error), **sent}
            )
            raise
        said = {"content": jsonable(result.content), "is_error": result.is_error}
        self._recorded[server]["calls"].append({**entry, **said, "error": result.error_message})
        return result

    async def restart(self, server: str) -> None:
        """See :class:`Toolbox`."""
        try:
            await super().restart(server)
        except MCPError as error:
            self._recorded[server]["restarts"].append(str(error))
            raise
        self._recorded[server]["restarts"].append(None)

    async def _try_to_open(self, server: str) -> None:
        await super()._try_to_open(server)
        if server in self.failures:
            self._recorded[server]["failure"] = str(self.failures[server])

    def _note(self, server: str) -> None:
        super()._note(server)
        known = self._recorded[server]
        known["tools"] = self._listed[server]
        known["annotations"] = dict(self._annotations[server])
        known["revision"] = self._sessions[server].protocol_version


class RecordedToolbox(Toolbox):
    """Starts nothing, and gives what was ``recorded``."""

    def __init__(
        self,
        recorded: Recorded,
        servers: Mapping[str, ServerConfig],
        **options: Any,  # noqa: ANN401  those of Toolbox
    ) -> None:
        super().__init__(servers, **options)
        self._recorded = copy.deepcopy(recorded)

    @property
    def connected(self) -> tuple[str, ...]:
        """The servers that came up when it was recorded."""
        return tuple(name for name in self._listed if name not in self.failures)

    @property
    def revisions(self) -> dict[str, str]:
        """See :class:`Toolbox`."""
        return {name: self._recorded[name]["revision"] for name in self.connected}

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        timeout: float | None = None,  # noqa: ASYNC109 - part of the interface
    ) -> ToolCallResult:
        """What the tool did then: with the same arguments, or else the next time it was called."""
        server, _ = self._route(name)
        self._session_is_there(server)
        await asyncio.sleep(0)  # calls side by side begin in their order, as they did
        waiting: list[dict[str, Any]] = self._recorded[server]["calls"]
        same_tool = [it for it in waiting if it["tool_name"] == name]
        same = [it for it in same_tool if it["arguments"] == jsonable(arguments)]
        entry = next(iter(same or same_tool), None)
        if entry is None:
            raise MCPError(f"The golden has no further result of '{name}'. Record it again.")
        waiting.remove(entry)
        if "raised" in entry:
            raise _error(entry)
        return ToolCallResult(entry["content"], entry["is_error"], entry["error"])

    async def restart(self, server: str) -> None:
        """See :class:`Toolbox`."""
        restarts: list[str | None] = self._recorded[server]["restarts"]
        failure = restarts.pop(0) if restarts else None
        if failure is not None:
            self.failures[server] = MCPServerStartupError(failure)
            raise self.failures[server]

    async def refresh(self) -> list[str]:
        """Nothing changes."""
        return []

    async def _open(self, server: str) -> None:
        known = self._recorded.get(server)
        if known is None:
            raise MCPServerStartupError(f"The golden has nothing from MCP server '{server}'.")
        if known["failure"] is not None:
            raise MCPServerStartupError(known["failure"])
        self._listed[server], self._annotations[server] = known["tools"], known["annotations"]

    def _session_is_there(self, server: str) -> None:
        if server in self.failures:
            raise MCPServerDiedError(
                f"MCP server '{server}' is gone and could not be started again. "
                f"{self.failures[server]}"
            )


def recorded_servers(golden: Mapping[str, Any]) -> Recorded:
    """What ``golden`` holds of its servers.

    Raises:
        GoldenError: Nothing.
    """
    recorded = golden.get("servers")
    if not isinstance(recorded, dict):
        raise GoldenError(
            "The golden has no results of its servers; those of earlier versions have none. "
            'Record it again, or replay it with servers="live".'
        )
    return recorded


def _kind(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return "died" if isinstance(error, MCPServerDiedError) else "error"


def _error(entry: Mapping[str, Any]) -> Exception:
    if entry["raised"] == "timeout":
        return TimeoutError(entry["error"])
    if entry["raised"] == "error":
        return MCPError(entry["error"])
    died = MCPServerDiedError(entry["error"])
    died.was_sent = entry["was_sent"]
    return died
