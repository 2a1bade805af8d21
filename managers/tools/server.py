"""One tool server as the game uses it: connected, tried again, started again, given up."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.redact import Redactor
from mcp_ghost.servers.installers import installer_of
from mcp_ghost.servers.oauth.browser import on_terminal
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.toolset import Call, Kind, Outcome, outcome_of
from mcp_ghost.toolsets.server import Leaf
from session.events import current_turn, log_event, log_progress
from session.game_configuration import GameConfiguration

if TYPE_CHECKING:
    from mcp.types import RequestParamsMeta


TURN: Final = "zorkgpt/turn"
"""In the ``_meta`` of each call: the turn in which it is made."""
FIRST_SECONDS: Final = 0.5
"""In which a server that is not needed may still show that it cannot start."""
SLOW_START: Final = 2.0
"""Seconds; a start that takes longer is said once."""
_SLOW = (
    "MCP server '{name}' took {seconds:.1f} s to start, as it may in every turn. It starts only "
    'once with session = "episode" in [tool.zorkgpt.mcp].'
)
_SETTINGS = (
    "server_startup_timeout_seconds in [tool.zorkgpt.mcp]",
    "server_install_timeout_seconds in [tool.zorkgpt.mcp]",
)


class GameServer(Leaf):
    """The server ``name``; one object serves one episode.

    The first connection fails at once. Later ones, also to a server that died, are tried a second
    time, and when that fails too, ``failure`` is set and the server is off until the episode ends.
    """

    def __init__(
        self,
        name: str,
        server: ServerConfig,
        config: GameConfiguration,
        logger: logging.Logger,
        redactor: Redactor,
        is_only: bool,
        environment: Mapping[str, str],
    ) -> None:
        """``redactor`` cleans what it says; ``is_only``: there is no other server to go on with.

        ``environment`` is added when it is started, under what its entry says.
        """
        super().__init__(name)
        self.was_listed = False
        """Whether its tools are known, be it from an earlier connection."""
        self._server = server
        self._config = config
        self._logger = logger
        self._redactor = redactor
        self._is_only = is_only
        self._environment = environment
        self._connection: asyncio.Task[ServerSession] | None = None
        """The way to an open session, and then the session."""
        self._opened: ServerSession | None = None
        """The session, from when it is being opened."""
        self._began = 0.0
        """When the connection began, by the loop's clock."""
        self._has_failed = False
        """Whether the connection is in its second try."""
        self._is_needed = False
        """Whether a call waits for the connection, or has."""
        self._news = ""
        """What the model has to be told of a server that was started again."""
        self._is_slow = False
        """Whether it was said that it starts slowly."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop of the session, unless that has ended, and the session with it."""
        loop = self._connection.get_loop() if self._connection else None
        return None if loop is None or loop.is_closed() else loop

    def begin(self) -> None:
        """Begin to connect, unless that is done; a server that died meanwhile is started again."""
        if self.loop is not asyncio.get_running_loop():
            self._connect_in_background(self._connect())
        elif (session := self.current) and not session.is_alive:
            self._begin_again(f"MCP server '{self.name}' is gone.")

    async def session(self) -> ServerSession:
        """The open session, once there is one.

        Raises:
            MCPServerStartupError: The connection failed.
            MCPToolCallError: There is none.
        """
        if self.loop is None:
            await asyncio.sleep(0)  # lets a connect_session() that was just scheduled begin
        connection = self._connection
        if connection is None or self.loop is not asyncio.get_running_loop():
            raise MCPToolCallError(
                f"There is no connection to MCP server '{self.name}': "
                "await connect_session() first."
            )
        try:
            return await asyncio.shield(connection)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if connection.cancelled() and not (task and task.cancelling()):
                raise MCPServerStartupError(
                    f"The connection to MCP server '{self.name}' was closed "
                    "while it was being opened."
                ) from None
            raise
        except MCPError:
            if self._connection is connection:
                self._connection = None
            raise

    async def ready(self) -> None:
        """Wait until calls can be made, or it is known that they cannot."""
        self._is_needed = True
        with suppress(MCPError):
            await self.session()

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`.

        Where sessions last for the episode, a server that dies is started again, and the result
        says so.
        """
        try:
            session = await self.session()
        except MCPError as error:
            return Outcome.of_error(error)
        connection = self._connection
        if news := self._news:
            self._news = ""
            return refusal(f"{news} This call was not made: repeat it where it still makes sense.")
        limit = self._config.mcp_tool_call_timeout_seconds
        seconds = limit if call.timeout is None else call.timeout
        turn = current_turn()
        meta = None if turn is None else cast("RequestParamsMeta", {TURN: turn})
        made = await outcome_of(session.call(call.name, call.arguments, seconds, meta))
        # A server by URL that no longer knows the session is met as a new one, also for a turn.
        is_new = self._server.url is not None and not made.was_sent
        if made.kind is not Kind.DIED or (self._config.mcp_session == "turn" and not is_new):
            return made
        if self._connection is connection:  # of several calls, the first to see it die
            self._begin_again(made.reason)
        try:
            session = await self.session()
        except MCPError as failure:
            reason = f"{made.reason}\nIt was not started again: {failure}"
            return Outcome.without_result(Kind.DIED, reason, was_sent=made.was_sent)
        if not made.was_sent:
            self._news = ""
            return await outcome_of(session.call(call.name, call.arguments, seconds, meta))
        news, self._news = self._news or f"{made.reason}\nIt was started again.", ""
        return refusal(f"{news} This call was not repeated: it may have had its effect.")

    async def let_go(self) -> None:
        """End a session that no call needed, without grace: it has nothing to finish.

        A server that dies at once counts as one that failed: a connection has half a second, and
        after a failure the time of its second try.
        """
        connection = self._connection
        if connection is None or self._is_needed:
            return
        left = self._began + FIRST_SECONDS - asyncio.get_running_loop().time()
        await asyncio.wait([connection], timeout=max(left, 0))
        if self._has_failed:
            await asyncio.wait([connection])
        self.kill()
        await self.end()

    def kill(self) -> None:
        """Kill the processes of a session that is not ended."""
        if self._opened is not None and self._connection is not None:
            self._opened.kill()

    async def end(self) -> None:
        """End the session, also while it is being opened; nothing of it is left."""
        connection, self._connection = self._connection, None
        if connection is None or connection.get_loop() is not asyncio.get_running_loop():
            return
        started = time.perf_counter()
        if not connection.done():
            connection.cancel()
            await asyncio.wait([connection])
        if not connection.cancelled() and connection.exception() is None:
            await connection.result().close()
            self._log_duration("stopped", started)

    @property
    def current(self) -> ServerSession | None:  # type: ignore[override]  # it comes and goes
        connection = self._connection
        if connection is None or not connection.done() or connection.cancelled():
            return None
        return None if connection.exception() else connection.result()

    def _connect_in_background(self, connecting: Coroutine[Any, Any, ServerSession]) -> None:
        self._began = asyncio.get_running_loop().time()
        self._has_failed = self._is_needed = False
        self._connection = asyncio.create_task(connecting)

    async def _connect(self) -> ServerSession:
        started = time.perf_counter()
        is_first = not self.was_listed
        if is_first:  # a turn waits for it; later ones open while the model thinks
            installer = installer_of(self._server)
            label = f"Starting MCP server '{self.name}'" + (f" by {installer}" if installer else "")
            log_progress(self._logger, label)
            try:
                session = await self._open()  # once: the configuration must be wrong if it fails
            finally:
                log_progress(self._logger, label, 1.0)
        else:
            try:
                session = await self._open()
            except MCPError as error:
                session = await self._retry(error)
        self.was_listed = True
        self.take(session.tools, session.annotations)
        self.own_instructions = session.instructions
        self._log_duration("started", started)
        if not self.tools:
            self.failure = MCPError(f"MCP server '{self.name}' has no tools.")
            self._warn(f"{self.failure} It is left out.", "mcp_no_tools")
        seconds = time.perf_counter() - started
        if not is_first and self._config.mcp_session == "turn" and not self._is_slow:
            self._is_slow = seconds > SLOW_START
            if self._is_slow:
                self._notice(_SLOW.format(name=self.name, seconds=seconds))
        return session

    async def _retry(self, first: MCPError) -> ServerSession:
        self._has_failed = True
        self._warn(f"MCP session connect failed, retrying: {first}", "mcp_connect_retry", first)
        try:
            session = await self._open()
        except MCPError as error:
            message = f"MCP retry failed, disabling MCP for episode: {error}"
            self._warn(message, "mcp_disabled", error)
            self.failure = error
            without = "MCP tools" if self._is_only else f"the tools of MCP server '{self.name}'"
            reason = str(error).partition("\n")[0]
            self._warn(f"Continuing without {without}: {reason}", "mcp_disabled_fallback", error)
            raise
        message, event = "MCP session retry successful", "mcp_connect_retry_successful"
        log_event(self._logger, logging.INFO, message, event, server_name=self.name)
        return session

    def _begin_again(self, death: str) -> None:
        if (dead := self.current) is not None:
            self._connect_in_background(self._connect_again(dead, death))

    async def _connect_again(self, dead: ServerSession, death: str) -> ServerSession:
        await dead.close()  # two at once may not get along
        session = await self._connect()
        self._news = f"{death}\nIt was started again, and remembers nothing."
        self._warn(f"{death} It was started again.", "mcp_server_restarted")
        return session

    async def _open(self) -> ServerSession:
        server = self._server
        if server.command:
            environment = {**self._environment, **(server.env or {})}
            server = server.model_copy(update={"env": environment})
        session = ServerSession(
            self.name,
            server,
            authorize=on_terminal(),
            progress_extends_timeout=self._config.mcp_progress_extends_timeout,
            redactor=self._redactor,
        )
        self._opened = session
        await session.open(
            self._config.mcp_server_startup_timeout_seconds,
            install_timeout=self._config.mcp_server_install_timeout_seconds,
            settings=_SETTINGS,
            say=self._notice,
        )
        return session

    def _notice(self, message: str) -> None:
        log_event(self._logger, logging.INFO, message, "notice", server_name=self.name)

    def _warn(self, message: str, event_type: str, error: MCPError | None = None) -> None:
        fields = {"server_name": self.name} | ({"error": str(error)} if error else {})
        log_event(self._logger, logging.WARNING, message, event_type, **fields)

    def _log_duration(self, what: str, since: float) -> None:
        seconds = time.perf_counter() - since
        message, event = f"MCP server {self.name} {what} ({seconds:.2f}s)", f"mcp_server_{what}"
        fields = {"server_name": self.name, "duration_ms": round(seconds * 1000, 3)}
        log_event(self._logger, logging.DEBUG, message, event, **fields)


def refusal(reason: str) -> Outcome:
    """The outcome of a call whose result tells the model why there is none."""
    return Outcome.without_result(Kind.TOOL_ERROR, reason)
