"""The SDK's client for one connection, and the streams between it and a link; imports the SDK.

Answers pass through ``lenient``. And a server that leaves ``server/discover`` unanswered, as some
older ones do, is not waited for as long as the SDK would (ten seconds): the SDK is told that there
is no such method, so that it goes on with ``initialize``. Should the answer come after all, the
SDK is told to ask again, as if the server had refused the handshake.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, TypeAlias

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import Client, MCPError
from mcp.client.session import ElicitationFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.message import SessionMessage
from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    Implementation,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp.types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from mcp_ghost.servers.protocol.lenient import readable
from mcp_ghost.servers.protocol.revision import Revision
from mcp_ghost.version import __version__

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a subscription that was lost is asked for again."""
_logger = logging.getLogger(__name__)

_ANSWER_SECONDS = 1.0
"""For an answer to ``server/discover``, once the server has read it."""
_LOOK_SECONDS = 0.02
"""Between two looks at whether it has."""
_DISCOVER, _INITIALIZE = "server/discover", "initialize"
_TOOLS_CHANGED = "notifications/tools/list_changed"


Receive: TypeAlias = Callable[[], Awaitable[SessionMessage | Exception]]
"""The next message from a server; EndOfStream after the last."""
Send: TypeAlias = Callable[[SessionMessage], Awaitable[None]]
Streams: TypeAlias = tuple[Receive, Send, Callable[[], bool]]
"""Messages from a server and to it, and whether it took all of these, or a wrapper did; who made
them closes them."""


class Wire(ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]):
    """What passes between the SDK and a server; of an object of this program, nothing does."""

    def __init__(self, streams: Streams | None = None) -> None:
        if streams is not None:
            self._receive, self._send, self._has_read = streams
        self.tools_changed = False
        """Whether the server said so, or meets calls with another list in mind."""
        self.has_ended = False
        """Whether the SDK's reader has, for whatever reason, so that no answer can come."""
        self._asked: dict[str, str] = {}
        """The methods of the requests without an answer, by id."""
        self._is_negotiating = True
        """Whether the server may still leave ``server/discover`` unanswered."""
        self._discover: JSONRPCRequest | None = None
        self._given_up_at = math.inf
        """When it has done so for long enough."""
        self._handshake: JSONRPCRequest | None = None

    async def receive(self) -> SessionMessage | Exception:
        """The next message from the server, once it takes the version of a handshake."""
        item = await self._next()
        while again := self._older_handshake(item):
            await self.send(again)
            item = await self._next()
        return item

    async def _next(self) -> SessionMessage | Exception:
        """The next message as the SDK should see it, or an answer in place of one that is late."""
        while self._is_negotiating:
            with anyio.move_on_after(_LOOK_SECONDS):
                return self.received(await self._receive())
            if self._discover is not None and self._has_read():
                self._given_up_at = min(self._given_up_at, time.monotonic() + _ANSWER_SECONDS)
                if time.monotonic() >= self._given_up_at:
                    self._is_negotiating = False
                    return _error(self._discover.id, METHOD_NOT_FOUND, "The server does not answer")
        return self.received(await self._receive())

    async def send(self, item: SessionMessage) -> None:
        """Send ``item`` to the server."""
        self.sent(item.message)
        await self._send(item)

    async def aclose(self) -> None:
        """Note that the SDK has stopped reading."""
        self.has_ended = True

    def sent(self, message: object) -> None:
        """Remember what was asked."""
        if isinstance(message, JSONRPCNotification) and message.method.endswith("/cancelled"):
            self._asked.pop(str((message.params or {}).get("requestId")), None)
        if not isinstance(message, JSONRPCRequest):
            return
        params = message.params or {}
        # The SDK announces that it opens pages, too, and has no switch for it.
        meta = params.get("_meta") or {}
        for able in (params.get("capabilities"), meta.get(CLIENT_CAPABILITIES_META_KEY)):
            if able and able.get("elicitation"):
                able["elicitation"].pop("url", None)
        self._asked[str(message.id)] = message.method
        if message.method == _DISCOVER:
            self._discover = message
        else:
            self._is_negotiating = False
        if message.method == _INITIALIZE:
            self._handshake = message

    def received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """``item`` as the SDK should see it."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCNotification):
            self.tools_changed |= message.method == _TOOLS_CHANGED
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return item
        if isinstance(message, JSONRPCError) and message.id is None and len(self._asked) == 1:
            ((only, asked_for),) = self._asked.items()  # which the server could not read
            if message.error.code == METHOD_NOT_FOUND and asked_for != _DISCOVER:
                return item  # about a notification, to which servers should say nothing
            message = message.model_copy(update={"id": int(only) if only.isdecimal() else only})
            item = SessionMessage(message)
        method = self._asked.pop(str(message.id), None)
        if method == _DISCOVER:
            self._is_negotiating = False
        if isinstance(message, JSONRPCError):
            self.tools_changed |= message.error.code == HEADER_MISMATCH
        if not isinstance(message, JSONRPCResponse) or method is None:
            return item
        if method == _DISCOVER:
            shake, supported = self._handshake, message.result.get("supportedVersions")
            known = supported if isinstance(supported, list) else []
            is_modern = any(version in known for version in MODERN_PROTOCOL_VERSIONS)
            if is_modern and shake is not None and str(shake.id) in self._asked:
                # The handshake is under way: refused, the SDK asks again.
                del self._asked[str(shake.id)]
                data = {"supported": supported, "requested": LATEST_HANDSHAKE_VERSION}
                return _error(shake.id, UNSUPPORTED_PROTOCOL_VERSION, "Ask again", data)
        read = readable(method, message.result)
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=message.id, result=read))

    def _older_handshake(self, item: SessionMessage | Exception) -> SessionMessage | None:
        """The handshake in an older version, where ``item`` refuses that in which it was asked for.

        By the specification a server answers with its own version; some refuse instead, such as
        https://github.com/xpzouying/xiaohongshu-mcp/issues/697.
        """
        refused = item.message if isinstance(item, SessionMessage) else None
        shake = self._handshake
        if not isinstance(refused, JSONRPCError) or shake is None or refused.id != shake.id:
            return None
        error, params = refused.error, shake.params or {}
        said = f"{error.message} {error.data}"
        older = [it for it in HANDSHAKE_PROTOCOL_VERSIONS if it < str(params["protocolVersion"])]
        named = [it for it in older if it in said]
        is_modern = error.code == UNSUPPORTED_PROTOCOL_VERSION
        tried = named or ([] if is_modern or "protocol version" not in said.lower() else older)
        if not tried:
            return None
        params = {**params, "protocolVersion": tried[-1]}
        self._handshake = shake.model_copy(update={"params": params})
        return SessionMessage(self._handshake)


def _error(
    id_: str | int, code: int, message: str, data: dict[str, Any] | None = None
) -> SessionMessage:
    error = ErrorData(code=code, message=message, data=data)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id_, error=error))


def speaking(
    target: object,
    streams: Streams | None,
    spoken: Revision,
    on_request: ElicitationFnT | None,
) -> tuple[Client, Wire]:
    """A client over ``streams``, or of ``target``, an object of this program, without any."""
    wire = Wire(streams)
    client = Client(
        target if streams is None else nullcontext((wire, wire)),  # type: ignore[arg-type]  # of the two kinds that it takes
        mode=spoken.mode,
        prior_discover=spoken.prior_discover,
        client_info=Implementation(name="mcp_ghost", version=__version__),
        cache=None,  # ``refresh`` knows when a list is stale
        elicitation_callback=on_request,
    )
    return client, wire


async def closed_or_listening(client: Client, closing: asyncio.Event, wire: Wire) -> None:
    """Listen to changes, where that has to be asked for, until ``closing``."""
    listening = asyncio.create_task(_listen(client, wire))
    try:
        await closing.wait()
    finally:
        listening.cancel()
        await asyncio.wait([listening])


async def _listen(client: Client, wire: Wire) -> None:
    """Keep a subscription open; before 2026-07-28, changes are told to everybody."""
    tools = client.server_capabilities.tools
    if client.session.discover_result is None or tools is None or not tools.list_changed:
        return
    pause = _FIRST_PAUSE
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                pause = _FIRST_PAUSE
                async for _ in subscription:
                    wire.tools_changed = True
        except SubscriptionLost as error:
            _logger.debug("Lost the subscription to changes: %s", error)
        except MCPError as error:
            _logger.debug("No subscription to changes: %s", error)
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
