"""One MCP server: open, list its tools, call them, close; every wait is bounded.

One task owns the link and the SDK's session from start to end, because the SDK's contexts must
be exited by the task that entered them. ``open``, ``call`` and ``close`` may come from any task of
the same event loop, and a forgotten ``close`` happens when the loop ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from mcp_ghost.config import ServerConfig
from mcp_ghost.config.secrets import redactor_of
from mcp_ghost.errors import MCPError, MCPServerDiedError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.redact import Redactor
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult, cap, failure, jsonable
from mcp_ghost.servers.installers import INSTALL_TIMEOUT, first_start
from mcp_ghost.servers.links.link import Link, make_link
from mcp_ghost.servers.links.stdio import StdioLink
from mcp_ghost.servers.oauth.browser import Authorize, in_browser
from mcp_ghost.servers.protocol import revision
from mcp_ghost.servers.protocol.elicitation import Elicit, asking, refusal
from mcp_ghost.servers.protocol.lenient import NOT_MADE, as_sent, read_result
from mcp_ghost.servers.protocol.patience import Patience
from mcp_ghost.servers.protocol.revision import Revision
from mcp_ghost.servers.tools import list_tools
from mcp_ghost.text import harmless, seen

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import RequestParamsMeta

    from mcp_ghost.servers.protocol.wire import Wire

OnProgress: TypeAlias = Callable[[str, float, float | None, str | None], Awaitable[None]]
"""(tool, progress, total, message), as far as the server says"""

DEFAULT_STARTUP_TIMEOUT = 10.0
DEFAULT_CALL_TIMEOUT = 30.0
_METHOD_NOT_FOUND = -32601
_FALLBACK_SECONDS = 5.0
"""For a start over the older transport where the newer one failed."""
_logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class ServerSession:
    """A connection to the server ``name``; also an async context manager."""

    name: str
    config: ServerConfig
    _: KW_ONLY
    result_limit: int = DEFAULT_LIMIT
    elicit: Elicit | None = None
    """Asks the user what the server wants to know; without it, it may not ask."""
    authorize: Authorize | None = None
    """Sends the user to the page of a sign-in; without it, the browser opens."""
    on_progress: OnProgress | None = None
    progress_extends_timeout: bool = False
    """Whether each report of progress gives a call its whole time again."""
    redactor: InitVar[Redactor | None] = None
    """Cleans all that the server says; by default one that knows only this server."""

    def __post_init__(self, redactor: Redactor | None) -> None:
        """Nothing is started yet."""
        self.tools: list[ToolSchema] = []
        """In OpenAI's format, under the server's own names."""
        self.annotations: dict[str, dict[str, Any]] = {}
        """What each tool says of itself (``readOnlyHint`` and its like), by the same names."""
        self.protocol_version = ""
        """The revision of the protocol that is spoken."""
        self.server_info: dict[str, Any] = {}
        """What the server says about itself: name, version, perhaps title."""
        self.instructions = ""
        """What the server says about its use."""
        self._redactor = redactor or redactor_of({self.name: self.config})
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._link: Link | None = None
        self._client: Client | None = None
        self._wire: Wire | None = None
        self._waits: set[Patience] = set()
        """Of the start, and of the calls under way."""
        self._fresh_until = math.inf
        """When the list of tools has to be asked for again, in ``time.monotonic()``."""
        self._until = math.inf
        """When a start has taken too long, in ``time.monotonic()``."""
        self._death_message: str | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(
        self,
        timeout: float = DEFAULT_STARTUP_TIMEOUT,  # noqa: ASYNC109 - part of the interface
        *,
        install_timeout: float = INSTALL_TIMEOUT,
        settings: tuple[str, str] = ("startup_timeout", "startup_timeout"),
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Connect to the server, initialise, and list its tools; once per object.

        Args:
            timeout: Seconds that it may take.
            install_timeout: The same where the server may have to be downloaded first.
            settings: What the user calls these two.
            say: Told what is waited for when it takes long; by default that is logged.

        Raises:
            MCPServerStartupError: It did not work in time; nothing is left.
            MCPConfigError: A variable of the configuration is not defined.
        """
        if self._owner is not None or self._closing.is_set():
            raise MCPError(f"This session with '{self.name}' was opened before: make a new one.")
        with first_start(self.name, self.config, timeout, install_timeout, say) as seconds:
            setting = settings[seconds > timeout]
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            owning = self._own(ready, seconds, setting)
            self._owner = owner = asyncio.create_task(owning, name=f"mcp-{self.name}")
            try:
                await asyncio.wait([ready, owner], return_when=asyncio.FIRST_COMPLETED)
                if not ready.done():
                    await owner
            except BaseException as error:  # cancelled, too: no server is left
                owner.cancel()
                await self.close()
                if isinstance(error, MCPError) or not isinstance(error, Exception):
                    raise
                # A fault of ours, too, costs this server only.
                words = self._redactor.words(f"{type(error).__name__}: {error}")
                raise MCPServerStartupError(
                    f"Failed to start MCP server '{self.name}': {words}"
                ) from error

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        timeout: float = DEFAULT_CALL_TIMEOUT,  # noqa: ASYNC109 - part of the interface
        meta: RequestParamsMeta | None = None,
    ) -> ToolCallResult:
        """Call ``tool``; what the server reports as an error is a result too.

        ``meta`` is what else the server is told, in the request's ``_meta``.

        Raises:
            TimeoutError: No answer within ``timeout`` seconds; where progress extends it, neither
                answer nor progress, or no answer within twenty times of it. The server was told
                that nobody is waiting; the session stays usable.
            MCPServerDiedError: The server is gone; ``was_sent`` says whether it may have acted.
        """
        from mcp import InputRequiredRoundsExceededError
        from mcp import MCPError as ProtocolError
        from pydantic import ValidationError

        client, link = self._client, self._link
        if client is None or link is None or self._closing.is_set():
            raise self._not_open()
        if not self.is_alive:
            raise await self._died(link, was_sent=False)
        if not self.config.offers(tool):
            return failure(f"The configuration of '{self.name}' does not offer its tool '{tool}'.")
        plain = {str(name): jsonable(value) for name, value in arguments.items()}
        patience = Patience(timeout, self._waits)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            if self.progress_extends_timeout:
                patience.begin_anew()
            if self.on_progress is not None:
                words = message and self._redactor.words(message)
                await self.on_progress(tool, progress, total, words)

        try:
            async with patience:
                result = await client.call_tool(
                    tool, plain, progress_callback=progressed, meta=meta
                )
        except TimeoutError:
            raise TimeoutError(f"MCP server '{self.name}' {patience.complaint(tool)}") from None
        except ProtocolError as error:
            if self._closing.is_set() and self._death_message is None:
                raise self._not_open() from error
            data = error.error.data
            was_made = not (isinstance(data, dict) and data.get(NOT_MADE))
            if not self.is_alive:
                raise await self._died(link, was_sent=was_made) from error
            said = self._redactor.words(refusal(error))
            return failure(said if was_made else f"{said}. The call was not made")
        except ValidationError:  # of what the server asks for instead of giving a result
            return failure("The server answered with a malformed result.")
        except InputRequiredRoundsExceededError:
            return failure("The server keeps asking for more input.")
        return await read_result(as_sent(result), self._redactor, self.result_limit)

    @property
    def is_stale(self) -> bool:
        """Whether the server has said that its tools changed, or hold no longer than this."""
        if self._wire is None or not self.is_alive:
            return False
        return self._wire.tools_changed or time.monotonic() >= self._fresh_until

    async def refresh(self) -> bool:
        """List the tools again where they are stale.

        Returns whether it did. What goes wrong leaves the tools as they were.
        """
        if self._client is None or self._wire is None or not self.is_stale:
            return False
        self._wire.tools_changed = False
        try:
            async with asyncio.timeout(DEFAULT_CALL_TIMEOUT):
                await self._list_tools(self._client)
        except Exception as error:  # noqa: BLE001 - the next call will meet it, and can tell
            self._fresh_until = math.inf  # nobody waits for it a second time
            is_late = isinstance(error, TimeoutError)
            late = f"no answer within {DEFAULT_CALL_TIMEOUT:g} s"
            words = late if is_late else self._redactor.words(str(error))
            _logger.warning("MCP server '%s' did not list its tools again: %s", self.name, words)
            return False
        return True

    async def close(self) -> None:
        """End the session and a server of ours, with all of its processes; never raises."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])
            if not self._owner.cancelled():
                self._owner.exception()  # else asyncio reports what open() no longer waited for

    def kill(self) -> None:
        """Kill a server of ours with all of its processes, for a ``close`` that waits for none."""
        if isinstance(self._link, StdioLink) and self._link.process is not None:
            self._link.process.kill()

    @property
    def is_alive(self) -> bool:
        """Whether calls can still be answered."""
        if self._client is None or self._link is None or self._wire is None:
            return False
        return self._link.is_connected and not self._wire.has_ended

    async def _own(self, ready: asyncio.Future[None], seconds: float, setting: str) -> None:
        """The owner task: everything from the first step to the server to the last.

        ``setting`` is what the user sets for a start that takes longer than ``seconds``.
        """
        spoken = revision.spoken_by(self.config)
        cause, link = await self._live(spoken, ready, seconds), self._link
        other = link.fallback if link is not None and spoken == revision.UNKNOWN else None
        if cause is not None and other is not None:
            if other.is_older:
                self._bound(_FALLBACK_SECONDS)
            again = await self._live(other, ready, seconds)
            if again is None or not other.is_older or (self._link and self._link.wants_credentials):
                cause = again
            else:
                self._link = link  # whose failure says more
        elif cause is not None:
            revision.forget(self.config)
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, MCPError):
            raise cause  # a configuration error says it all
        if cause is not None and self._link is not None:
            message = await self._link.startup_message(seconds, cause)
            if isinstance(cause, TimeoutError):
                message += f"\nIf it only needs more time, raise {setting}."
            raise MCPServerStartupError(message) from cause

    async def _live(
        self, spoken: Revision, ready: asyncio.Future[None], seconds: float
    ) -> BaseException | None:
        """One connection from its start to its end; returns what kept it from getting ready."""
        self._link = link = await make_link(
            self.name, self.config, self._redactor, self._sign_in, is_older=spoken.is_older
        )
        if self.config.url is not None:
            self._bound(seconds)  # a process has its time from when the SDK is there
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with self._starting():
                    streams = await stack.enter_async_context(link.connect(ready))
                self._bound(seconds)
                # The link has imported the SDK by now.
                from mcp_ghost.servers.protocol.wire import closed_or_listening, speaking

                on_request = self.elicit and asking(self.name, self.elicit, self._paused)
                client, self._wire = speaking(self.config.in_process, streams, spoken, on_request)
                async with self._starting():
                    await stack.enter_async_context(client)
                    await self._list_tools(client)
                self._note(client, spoken)
                ready.set_result(None)
                await closed_or_listening(client, self._closing, self._wire)
        except Exception as error:  # noqa: BLE001 - explained to whoever waits for the start
            if not ready.done():
                return error
        return None

    def _bound(self, seconds: float) -> None:
        """Give a start ``seconds`` from now on, unless it has fewer left."""
        self._until = min(self._until, time.monotonic() + seconds)

    def _starting(self) -> Patience:
        """A step of the start, in the time that is left for it."""
        return Patience(self._until - time.monotonic(), self._waits)

    async def _list_tools(self, client: Client) -> None:
        from mcp import MCPError as ProtocolError

        try:
            listed = await list_tools(client, self.name, self.config.offers)
            self.tools, self.annotations = self._redactor.each(listed.tools), listed.annotations
            self._fresh_until = time.monotonic() + listed.seconds
        except ProtocolError as error:
            if error.code != _METHOD_NOT_FOUND:  # else a server of prompts or resources only
                raise

    def _note(self, client: Client, spoken: Revision) -> None:
        """What is known of the server once it is ready."""
        if found := client.session.discover_result:
            spoken = Revision(client.protocol_version, found)
        elif not spoken.is_older:
            spoken = revision.HANDSHAKE
        revision.remember(self.config, spoken)
        self.protocol_version = client.protocol_version
        if client.server_info is not None:
            self.server_info = client.server_info.model_dump(exclude_none=True, by_alias=True)
        said = harmless(seen(client.instructions or "")).strip()
        self.instructions = cap(self._redactor(said), self.result_limit)
        self._client = client

    async def _sign_in(self, url: str, parties: str) -> str:
        since = time.monotonic()
        try:
            with self._paused():
                return await (self.authorize(url) if self.authorize else in_browser(url, parties))
        finally:
            self._until += time.monotonic() - since

    @contextlib.contextmanager
    def _paused(self) -> Iterator[None]:
        """No time runs out: the server does not say which call its question is for."""
        with contextlib.ExitStack() as stack:
            for patience in self._waits:
                stack.enter_context(patience.paused())
            yield

    def _not_open(self) -> MCPToolCallError:
        return MCPToolCallError(f"The session with MCP server '{self.name}' is not open.")

    async def _died(self, link: Link, *, was_sent: bool) -> MCPServerDiedError:
        if self._death_message is None:
            self._death_message = await link.death_message()
        return MCPServerDiedError(self._death_message, was_sent=was_sent)
