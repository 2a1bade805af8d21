"""The link to a server that is reached by URL, over streamable HTTP or the older SSE.

Imports the SDK.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, JSONRPCError, jsonrpc_message_adapter

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.network import basic_authorization, is_web_address
from mcp_ghost.redact import MASK, Redactor
from mcp_ghost.servers.links.http_transport import LOST, HttpTransport
from mcp_ghost.servers.oauth.browser import Send
from mcp_ghost.servers.protocol.reading import malformed
from mcp_ghost.servers.protocol.revision import HANDSHAKE, OLDER, Revision
from mcp_ghost.servers.protocol.wire import Streams
from mcp_ghost.servers.sdk import import_with_sdk

_CONNECT_SECONDS = 5.0

for _name in ("mcp.client.streamable_http", "mcp.client.sse", "mcp.client.auth"):
    if (_sdk_logger := logging.getLogger(_name)).level == logging.NOTSET:
        # Faults reach callers as errors; the SDK's tracebacks of them would only alarm, and may
        # quote what servers answered.
        _sdk_logger.setLevel(logging.CRITICAL)


@dataclass
class HttpLink:
    """Connects to the URL of the server ``name``."""

    name: str
    config: ServerConfig
    redactor: Redactor
    authorize: Send
    """Sends the user to the page of a sign-in."""
    is_older: bool
    """Whether it speaks SSE."""
    _wire: HttpTransport | None = None

    @property
    def is_connected(self) -> bool:
        """Whether more answers can come, as far as is known: HTTP tells only who asks."""
        return self._wire is not None and self._wire.is_open and self._wire.fault is None

    @property
    def fallback(self) -> Revision | None:
        """The older transport, where the entry names none and the URL is none of the newer one.

        Or once more the handshake, whose session another instance of the server did not know.
        """
        if self._wire is not None and (self._wire.fault or "").startswith(LOST):
            return HANDSHAKE
        may_be = self.config.type is None and self._wire is not None and self._wire.may_be_older
        return OLDER if may_be else None

    @property
    def wants_credentials(self) -> bool:
        """Whether it refused somebody whom it does not know."""
        return self._wire is not None and self._wire.status in (401, 403)

    @asynccontextmanager
    async def connect(self, ready: asyncio.Future[None]) -> AsyncIterator[Streams]:
        """Streams for as long as the context; the session on the server is ended with it."""
        config = self.config.resolved(server=self.name)
        _check(self.name, config)
        is_older = self.is_older
        wire = HttpTransport(self.config.url or "", config, self.redactor, one_stream=is_older)
        self._wire = wire
        if config.auth is not None:
            await import_with_sdk("mcp_ghost.servers.oauth.sign_in")  # which few need
            from mcp_ghost.servers.oauth.sign_in import SignIn

            bare = httpx2.URL(config.url or "").copy_with(userinfo=b"", query=None, fragment=None)
            wire.sign_in = SignIn(
                str(bare), wire.address, config.auth, self.authorize, wire.issuers
            )
        client = httpx2.AsyncClient(
            transport=wire,
            auth=wire.sign_in,
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
        )
        sdk = (
            sse_client(wire.address, httpx_client_factory=lambda *_, **__: client)
            if is_older
            else streamable_http_client(
                wire.address,
                http_client=client,
                max_sse_event_size=None,  # the wire bounds them
            )
        )
        async with nullcontext() if is_older else client, sdk as (incoming, outgoing):

            async def receive() -> SessionMessage | Exception:
                item = await wire.unless_it_ends(incoming.receive)
                return _shown(item, wire.sign_in.secrets if wire.sign_in else set())

            # What is sent goes out at once, unless somebody has to sign in first.
            yield receive, outgoing.send, lambda: wire.sign_in is None or wire.sign_in.is_done

    async def startup_message(self, seconds: float, cause: BaseException) -> str:
        """What to say of ``cause``, which ended a start within ``seconds`` of trying."""
        wire = self._wire
        details = (wire and wire.fault) or str(cause) or type(cause).__name__
        if isinstance(cause, TimeoutError):
            details = f"it did not answer within {seconds:g} s"
        said = f"Failed to connect to MCP server '{self.name}': {details}"
        if wire is None:
            return self.redactor.words(said)
        return f"{wire.redact(said)}\nURL: {wire.address}\nCheck that {wire.hint(cause)}"

    async def death_message(self) -> str:
        """What to tell callers once the server is gone."""
        fault = self._wire.fault if self._wire is not None else None
        return f"MCP server '{self.name}' is gone: {fault or 'the connection was closed'}."


def _shown(item: SessionMessage | Exception, secrets: set[str]) -> SessionMessage | Exception:
    """``item`` without ``secrets``, and without the SDK's long account of an unreadable reply."""
    if not isinstance(item, SessionMessage):
        return item
    said = clean = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    for secret in secrets:
        clean = clean.replace(json.dumps(secret)[1:-1], MASK)
    if clean != said:
        message = jsonrpc_message_adapter.validate_json(clean, by_name=False)
        item = SessionMessage(message, item.metadata)
    if isinstance(item.message, JSONRPCError):
        error = item.message.error
        if error.code == PARSE_ERROR and error.message.startswith("Failed to parse "):
            error.message = malformed(error.message)
    return item


def _check(name: str, config: ServerConfig) -> None:
    """Refuse settings from which no request can be made, without quoting them."""
    if not is_web_address(config.url or ""):
        raise MCPConfigError(
            f"The 'url' of MCP server '{name}' is not a web address; "
            "one looks like https://example.com/mcp."
        )
    sent = {**basic_authorization(config.url or ""), **(config.headers or {})}
    if config.auth and "authorization" in {*map(str.lower, sent)}:
        raise MCPConfigError(
            f"MCP server '{name}' has both 'auth' and an Authorization header or a user in its "
            "'url': remove one of them."
        )
    for header, value in (config.headers or {}).items():
        if not re.fullmatch(r"[!#-'*+.^-z|~\w-]+", header, re.ASCII):
            raise MCPConfigError(f"MCP server '{name}': '{header}' is not a valid header name.")
        if not re.fullmatch(r"[ -~]*", value):
            raise MCPConfigError(
                f"MCP server '{name}': the header '{header}' contains a line break "
                "or a character that is not ASCII."
            )
