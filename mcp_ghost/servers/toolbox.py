"""Several servers as one set of tools, named "server.tool"; each call goes to its server.

Calls run side by side, also on one server; whoever wants an order waits for the answers.
"""

from __future__ import annotations

import asyncio
import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mcp_ghost.config.secrets import redactor_of
from mcp_ghost.errors import MCPError, MCPServerDiedError, MCPToolCallError
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult
from mcp_ghost.servers.session import (
    DEFAULT_CALL_TIMEOUT,
    DEFAULT_STARTUP_TIMEOUT,
    OnProgress,
    ServerSession,
)
from mcp_ghost.servers.tools import prefixed

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.messages import ToolSchema
    from mcp_ghost.redact import Redactor
    from mcp_ghost.servers.oauth.browser import Authorize
    from mcp_ghost.servers.protocol.elicitation import Elicit

_NAMED_AT_MOST = 50
"""Tools that an error lists."""


class Route(NamedTuple):
    """Where a tool is: its server, and the name that it has there."""

    server: str
    tool: str


class Toolbox:
    """The tools of ``servers``, disabled ones left out; an async context manager.

    ``allow`` and ``deny`` are names or shell patterns ("files.*", "*.delete_*", "delete_*"),
    compared with "server.tool" and with the tool's own name; ``deny`` wins.
    """

    def __init__(
        self,
        servers: Mapping[str, ServerConfig],
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        call_timeout: float = DEFAULT_CALL_TIMEOUT,
        startup_timeout: float = DEFAULT_STARTUP_TIMEOUT,
        result_limit: int = DEFAULT_LIMIT,
        elicit: Elicit | None = None,
        authorize: Authorize | None = None,
        on_progress: OnProgress | None = None,
        progress_extends_timeout: bool = False,
        redactor: Redactor | None = None,
    ) -> None:
        """``on_progress`` is told of tools as "server.tool"."""
        self.failures: dict[str, MCPError] = {}
        """The servers that could not be started, or not again, with the reason."""
        self._servers = {name: config for name, config in servers.items() if not config.disabled}
        self._allow = _patterns(allow)
        self._deny = _patterns(deny)
        self._call_timeout = call_timeout
        self._startup_timeout = startup_timeout
        self._result_limit = result_limit
        self._elicit = elicit
        self._authorize = authorize
        self._on_progress = on_progress
        self._progress_extends_timeout = progress_extends_timeout
        self._redactor = redactor or redactor_of(self._servers)
        self._sessions: dict[str, ServerSession] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._listed: dict[str, list[ToolSchema]] = {}
        """What each server listed last, under its own names."""
        self._annotations: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        """What its tools said of themselves then."""
        self._tools: dict[str, tuple[Route, ToolSchema]] = {}
        """Every tool that was listed, forbidden ones too."""
        self._allowed: dict[str, Route] = {}
        self._is_open = False

    async def __aenter__(self) -> Self:
        """Open all servers in parallel; what fails is in ``failures``."""
        if self._sessions or self._is_open:
            raise MCPError("This toolbox was opened before: make a new one.")
        self._is_open = True
        try:
            async with asyncio.TaskGroup() as group:
                for server in self._servers:
                    group.create_task(self._try_to_open(server))
        except BaseException:  # cancelled, too: no server is left
            await self.close()
            raise
        self._index()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all sessions in parallel; never raises, may be repeated."""
        self._is_open = False
        closing = [asyncio.create_task(session.close()) for session in self._sessions.values()]
        if closing:
            await asyncio.wait(closing)  # goes on in the background when we are cancelled

    @property
    def connected(self) -> tuple[str, ...]:
        """The servers that can be called now."""
        sessions = self._sessions
        return tuple(name for name in self._servers if name in sessions and sessions[name].is_alive)

    @property
    def revisions(self) -> dict[str, str]:
        """The revision of the protocol that each of ``connected`` speaks."""
        return {name: self._sessions[name].protocol_version for name in self.connected}

    @property
    def schemas(self) -> list[ToolSchema]:
        """The tools that may be called, in the order of the servers and of their lists.

        A server that died keeps its tools until a restart of it has failed.
        """
        return [self._tools[name][1] for name in self.routes]

    @property
    def routes(self) -> dict[str, Route]:
        """Where each tool of ``schemas`` is."""
        return {
            name: route
            for name, route in self._allowed.items()
            if route.server not in self.failures
        }

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The patterns of ``allow`` and ``deny`` that fit no tool of the servers; perhaps typos."""
        return tuple(
            pattern
            for pattern in dict.fromkeys((*(self._allow or ()), *(self._deny or ())))
            if not any(_fits(pattern, name, route) for name, (route, _) in self._tools.items())
        )

    def server_of(self, name: str) -> str | None:
        """The server of the tool ``name`` ("server.tool"); None when there is no such tool."""
        return self._tools[name][0].server if name in self._tools else None

    def annotations_of(self, name: str) -> Mapping[str, Any]:
        """What the tool ``name`` ("server.tool") says of itself: ``readOnlyHint`` and its like."""
        if name not in self._tools:
            return {}
        server, tool = self._tools[name][0]
        return self._annotations.get(server, {}).get(tool, {})

    def fits(self, patterns: Iterable[str], name: str) -> bool:
        """Whether one of ``patterns``, which are those of ``allow``, fits the tool ``name``."""
        return name in self._tools and any(_fits(it, name, self._tools[name][0]) for it in patterns)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        timeout: float | None = None,  # noqa: ASYNC109 - part of the interface
    ) -> ToolCallResult:
        """Call ``name`` ("server.tool"); what the server reports as an error is a result too.

        ``timeout`` is seconds, by default ``call_timeout``.

        Raises:
            TimeoutError: No answer in time; the server stays usable.
            MCPServerDiedError: The server is gone; ``restart`` may help.
            MCPToolCallError: There is no such tool, or it is not allowed.
        """
        route = self._route(name)
        async with self._locks[route.server]:  # a restart ends first
            session = self._session(route.server)
        was_alive = session.is_alive
        try:
            seconds = self._call_timeout if timeout is None else timeout
            return await session.call(route.tool, arguments, seconds)
        except MCPServerDiedError as error:
            error.was_sent = was_alive
            raise

    async def restart(self, server: str) -> None:
        """Restart a server that is gone, or that never came up, and list its tools again.

        Without effect on one that lives: of several callers who saw it die, the first restarts it.

        Raises:
            MCPServerStartupError: It did not work within ``startup_timeout``.
            MCPError: The server is not configured, or this toolbox is not open.
        """
        if server not in self._servers:
            raise MCPError(f"No MCP server '{server}' here. Servers: {_listing(self._servers)}")
        async with self._locks[server]:
            old = self._sessions.get(server)
            if old is not None and old.is_alive:
                return
            if old is not None:
                await old.close()  # what it left running goes first
            self._check_open()
            try:
                await self._open(server)
            except MCPError as error:
                self.failures[server] = error
                raise
            self.failures.pop(server, None)
            self._index()

    async def refresh(self) -> list[str]:
        """List the tools of servers anew where they changed; returns the names of these servers."""
        sessions = {name: self._sessions[name] for name in self.connected}
        if not self._is_open or not sessions:
            return []
        outcomes = await asyncio.gather(*(session.refresh() for session in sessions.values()))
        changed = [
            name for name, has_changed in zip(sessions, outcomes, strict=True) if has_changed
        ]
        for name in changed:
            self._note(name)
        if changed:
            self._index()
        return changed

    async def _progressed(
        self, server: str, tool: str, progress: float, total: float | None, message: str | None
    ) -> None:
        routes = {route: name for name, (route, _) in self._tools.items()}
        name = routes.get(Route(server, tool))
        if self._on_progress is not None and name is not None:
            await self._on_progress(name, progress, total, message)

    async def _try_to_open(self, server: str) -> None:
        try:
            await self._open(server)
        except MCPError as error:
            self.failures[server] = error

    async def _open(self, server: str) -> None:
        session = ServerSession(
            server,
            self._servers[server],
            result_limit=self._result_limit,
            elicit=self._elicit,
            authorize=self._authorize,
            on_progress=partial(self._progressed, server),
            progress_extends_timeout=self._progress_extends_timeout,
            redactor=self._redactor,
        )
        self._sessions[server] = session
        await session.open(self._startup_timeout)
        self._note(server)

    def _note(self, server: str) -> None:
        """Keep what a server lists, also while another session with it is not ready yet."""
        session = self._sessions[server]
        self._listed[server], self._annotations[server] = session.tools, session.annotations

    def _index(self) -> None:
        """Rename the tools of all servers."""
        tools: dict[str, tuple[Route, ToolSchema]] = {}
        for server in self._servers:
            for schema in self._listed.get(server, []):
                route = Route(server, schema["function"]["name"])
                named = prefixed(schema, f"{server}.")
                # "a.b" of server "x" and "b" of server "x.a" would meet.
                name = unused(named["function"]["name"], tools)
                named["function"]["name"] = name
                tools[name] = (route, named)
        self._tools = tools
        self._allowed = {
            name: route for name, (route, _) in tools.items() if self._is_allowed(name, route)
        }

    def _is_allowed(self, name: str, route: Route) -> bool:
        allowed = self._allow is None or any(_fits(p, name, route) for p in self._allow)
        return allowed and not any(_fits(p, name, route) for p in self._deny or ())

    def _route(self, name: str) -> Route:
        self._check_open()
        if name in self._allowed:
            return self._allowed[name]
        known = [*self.routes]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        problem = f"'{name}' is not allowed." if name in self._tools else f"Unknown tool '{name}'."
        raise MCPToolCallError(f"{problem}{hint} Available tools: {_listing(known)}")

    def _session(self, server: str) -> ServerSession:
        """The session to call right now: much may have happened while a call waited."""
        self._check_open()
        if server in self.failures:
            raise MCPServerDiedError(
                f"MCP server '{server}' is gone and could not be started again. "
                f"{self.failures[server]}"
            )
        return self._sessions[server]

    def _check_open(self) -> None:
        if not self._is_open:
            raise MCPToolCallError("This toolbox is not open.")


make_toolbox: ContextVar[Callable[..., Toolbox]] = ContextVar("make_toolbox", default=Toolbox)
"""What a run makes its toolbox with; recordings put something else in its place."""


def bare_names(routes: Mapping[str, Route]) -> dict[str, str]:
    """The tools' own names, each with its "server.tool"; the second of a name is "server_tool"."""
    names: dict[str, str] = {}
    for name, (server, tool) in routes.items():
        names[unused(f"{server}_{tool}", names) if tool in names else tool] = name
    return names


def unused(name: str, taken: Mapping[str, object]) -> str:
    """``name``, with underscores added until it is not in ``taken``."""
    while name in taken:
        name += "_"
    return name


def _patterns(patterns: Iterable[str] | None) -> tuple[str, ...] | None:
    if patterns is None:
        return None
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _fits(pattern: str, name: str, route: Route) -> bool:
    return any(pattern == text or fnmatchcase(text, pattern) for text in (name, route.tool))


def _listing(names: Iterable[str]) -> str:
    listed = [*names]
    more = len(listed) - _NAMED_AT_MOST
    rest = f" and {more} more" if more > 0 else ""
    return (", ".join(listed[:_NAMED_AT_MOST]) or "none") + rest
