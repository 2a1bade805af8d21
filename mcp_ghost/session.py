"""One MCP server: open, initialise, list its tools, call them, close; every wait is bounded.

One task owns the process and the SDK's session from start to end, because the SDK's contexts must
be left by the task that entered them. ``open``, ``call`` and ``close`` may come from any task of
the same event loop, and a forgotten ``close`` is made up for when the loop ends.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import TYPE_CHECKING, Any, Final, Self

from mcp_ghost.diagnosis import obituary, startup_error
from mcp_ghost.errors import MCPConfigError, MCPError, MCPServerDiedError, MCPToolCallError
from mcp_ghost.process import POLITE_GRACE, ServerProcess, child_environment
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult, jsonable, result_from_mcp
from mcp_ghost.tools import list_tools

if TYPE_CHECKING:
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    from mcp_ghost.config import ServerConfig
    from mcp_ghost.messages import ToolSchema

DEFAULT_STARTUP_TIMEOUT: Final = 10.0
DEFAULT_CALL_TIMEOUT: Final = 30.0
_UNREADY_GRACE: Final = 0.2
"""Seconds for the exit of a server that never answered; it has nothing to finish."""
_CLIENT_INFO: Final = {"name": "mcp_ghost", "version": "0.1.0"}
_METHOD_NOT_FOUND: Final = -32601


class ServerSession:
    """A connection to the server ``name``; also an async context manager."""

    def __init__(
        self, name: str, config: ServerConfig, *, result_limit: int = DEFAULT_LIMIT
    ) -> None:
        self.name = name
        self.tools: list[ToolSchema] = []
        """In OpenAI's format, under the server's own names."""
        self.server_info: dict[str, Any] = {}
        """What the server says about itself: name, version, perhaps title."""
        self._config = config
        self._result_limit = result_limit
        self._environment: dict[str, str] = {}
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._process: ServerProcess | None = None
        self._dispatcher: JSONRPCDispatcher | None = None
        self._obituary: str | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self, timeout: float = DEFAULT_STARTUP_TIMEOUT) -> None:  # noqa: ASYNC109 - part of the interface
        """Start the server, initialise, and list its tools; once for each object.

        Raises:
            MCPServerStartupError: It did not work within ``timeout`` seconds; nothing is left.
            MCPConfigError: A variable of the configuration is not defined.
        """
        if self._owner is not None or self._closing.is_set():
            raise MCPError(f"This session with MCP server '{self.name}' was used before.")
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        owner = asyncio.create_task(self._own(ready, timeout), name=f"mcp-{self.name}")
        self._owner = owner
        try:
            await asyncio.wait([ready, owner], return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                await owner  # raises what went wrong
        except BaseException:
            owner.cancel()
            await self.close()
            raise

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        timeout: float = DEFAULT_CALL_TIMEOUT,  # noqa: ASYNC109 - part of the interface
    ) -> ToolCallResult:
        """Call ``tool``; what the server reports as an error is a result too.

        Raises:
            TimeoutError: No answer within ``timeout`` seconds. The server was told that nobody
                waits any more; the session stays usable.
            MCPServerDiedError: The server is gone.
        """
        from mcp import MCPError as ProtocolError

        process = await self._connected()
        try:
            async with asyncio.timeout(timeout):
                raw = await self._request(
                    "tools/call", {"name": tool, "arguments": jsonable(arguments)}
                )
        except TimeoutError:
            raise TimeoutError(
                f"MCP server '{self.name}' did not answer '{tool}' within {timeout:g} s"
            ) from None
        except ProtocolError as exc:
            if self._closing.is_set():
                raise self._not_open() from exc
            if not process.is_connected:
                raise await self._died(process) from exc
            return ToolCallResult(None, is_error=True, error_message=str(exc))
        return result_from_mcp(raw, self._result_limit)

    async def close(self) -> None:
        """End the session and the server's process group; never raises, may be repeated."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])
            if not self._owner.cancelled():
                self._owner.exception()  # else asyncio reports what open() no longer waited for

    @property
    def is_alive(self) -> bool:
        """Whether calls can still be answered."""
        return self._dispatcher is not None and bool(self._process and self._process.is_connected)

    async def _own(self, ready: asyncio.Future[None], seconds: float) -> None:
        """The owner task: everything from the start of the process to its end."""
        failure: Exception | None = None
        try:
            self._process = await self._start()
            await self._serve(self._process, ready, seconds)
        except Exception as exc:  # noqa: BLE001 - explained below, once stderr is complete
            failure = exc
        finally:
            if self._process is not None:
                await self._process.stop(POLITE_GRACE if ready.done() else _UNREADY_GRACE)
        if failure is not None and not ready.done():
            raise await startup_error(
                self.name, self._config, self._environment, self._process, seconds, failure
            )

    async def _start(self) -> ServerProcess:
        config = self._config.resolved(server=self.name)
        if config.command is None:
            raise MCPConfigError(
                f"MCP server '{self.name}' has a 'url'; only servers with a 'command' work so far."
            )
        command = [config.command, *config.args]
        self._environment = child_environment(config.env)
        return await ServerProcess.start(command, self._environment, config.cwd)

    async def _serve(
        self, process: ServerProcess, ready: asyncio.Future[None], seconds: float
    ) -> None:
        if "mcp_ghost.wire" not in sys.modules:
            # The SDK takes half a second to import: only once a server is really wanted, while
            # that server is starting, and without holding up the event loop.
            await asyncio.to_thread(importlib.import_module, "mcp_ghost.wire")
        from mcp import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp.types import Implementation

        from mcp_ghost.wire import Incoming, Outgoing

        self._dispatcher = JSONRPCDispatcher(Incoming(process), Outgoing(process))
        async with ClientSession(
            dispatcher=self._dispatcher, client_info=Implementation(**_CLIENT_INFO)
        ) as session:
            async with asyncio.timeout(seconds):
                hello = await session.initialize()
                self.server_info = hello.server_info.model_dump(exclude_none=True, by_alias=True)
                self.tools = await self._list_tools()
            ready.set_result(None)
            await self._closing.wait()

    async def _list_tools(self) -> list[ToolSchema]:
        from mcp import MCPError as ProtocolError

        try:
            return await list_tools(self._request)
        except ProtocolError as exc:
            if exc.code == _METHOD_NOT_FOUND:  # a server of prompts or resources only
                return []
            raise

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        # Below the SDK's typed methods: those refuse a whole page of tools for one bad entry.
        if self._dispatcher is None:
            raise self._not_open()
        return await self._dispatcher.send_raw_request(method, params)

    async def _connected(self) -> ServerProcess:
        """The process, when calls can be answered."""
        if self._process is None or self._closing.is_set():
            raise self._not_open()
        if not self._process.is_connected:
            raise await self._died(self._process)
        return self._process

    def _not_open(self) -> MCPToolCallError:
        return MCPToolCallError(f"The session with MCP server '{self.name}' is not open.")

    async def _died(self, process: ServerProcess) -> MCPServerDiedError:
        if self._obituary is None:
            self._obituary = await obituary(self.name, self._environment, process)
        return MCPServerDiedError(self._obituary)
