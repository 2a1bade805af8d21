"""One MCP server as a toolset, started again where it is gone."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPError, MCPToolCallError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.servers.session import (
    DEFAULT_CALL_TIMEOUT,
    DEFAULT_STARTUP_TIMEOUT,
    ServerSession,
)
from mcp_ghost.toolset import Call, Kind, Outcome, Tool, Toolset, outcome_of


class Leaf(Toolset):
    """The tools of one server under its own names; each of ``Union``'s parts is one."""

    tools: Mapping[str, Tool] = MappingProxyType({})
    """All that it listed last."""
    failure: MCPError | None = None
    """Why it could not be started, or not again."""
    current: ServerSession | None = None
    """The open session, of a server that has them."""
    revision = ""
    """The revision of the protocol that it speaks."""
    own_instructions = ""
    """What it says about its use."""
    version = ""
    """Its own."""
    is_alive = False
    """Whether it can be called now."""
    is_trusted = True
    """Whether what its tools say of their effects is believed: the user's own code is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def take(self, schemas: list[ToolSchema], annotations: Mapping[str, Mapping[str, Any]]) -> None:
        """Have the tools that are listed."""
        names = [schema["function"]["name"] for schema in schemas]
        self.tools = {
            name: Tool(name, schema, annotations.get(name, {}), self.name, name, self.is_trusted)
            for name, schema in zip(names, schemas, strict=True)
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave nothing open."""

    async def refresh(self) -> list[str]:
        """List its tools again where they changed; returns its name if they did."""
        session = self.current
        if session is None or not await session.refresh():
            return []
        self.take(session.tools, session.annotations)
        return [self.name]

    def gone(self) -> Outcome | None:
        """The outcome of every call, where the server could not be started again."""
        if self.failure is None:
            return None
        reason = f"MCP server '{self.name}' is gone and could not be started again. {self.failure}"
        return Outcome.without_result(Kind.DIED, reason)


class Server(Leaf):
    """The server ``name``. A start that fails is in ``failure``, and nothing is raised."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        *,
        call_timeout: float = DEFAULT_CALL_TIMEOUT,
        startup_timeout: float = DEFAULT_STARTUP_TIMEOUT,
        **options: Any,  # noqa: ANN401  those of ServerSession
    ) -> None:
        super().__init__(name)
        self.is_trusted = config.trust or config.in_process is not None
        self._call_timeout = call_timeout
        self._startup_timeout = startup_timeout
        self._new_session = partial(ServerSession, name, config, **options)
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        with suppress(MCPError):
            await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.current is not None:
            await self.current.close()

    @property
    def is_alive(self) -> bool:  # type: ignore[override]  # of a leaf, it may change
        """Whether it can be called now."""
        return self.current is not None and self.current.is_alive

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`; ``call.timeout`` goes before ``call_timeout``."""
        async with self._lock:  # a restart ends first
            session = self.current
        if (gone := self.gone()) or session is None:
            return gone or Outcome.of_error(MCPToolCallError(f"'{self.name}' was not started."))
        seconds = self._call_timeout if call.timeout is None else call.timeout
        return await outcome_of(session.call(call.name, call.arguments, seconds))

    async def restart(self, server: str) -> None:
        """Start it again and list its tools, unless it lives.

        Of several callers who saw it die, the first restarts it.

        Raises:
            MCPServerStartupError: It did not work within ``startup_timeout``.
        """
        async with self._lock:
            if self.is_alive:
                return
            if self.current is not None:
                await self.current.close()  # what it left running goes first
            await self._open()

    async def _open(self) -> None:
        self.current = session = self._new_session()
        try:
            await session.open(self._startup_timeout)
        except MCPError as error:
            self.failure = error
            raise
        self.failure = None
        self.revision, self.own_instructions = session.protocol_version, session.instructions
        self.version = str(session.server_info.get("version", ""))
        self.take(session.tools, session.annotations)
