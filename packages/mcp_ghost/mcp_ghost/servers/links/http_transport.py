"""The last step before the network for requests to an MCP server, below everything that logs.

The SDK sees an address without secrets: headers, user, query and resolved variables are put in
here. What goes wrong becomes an answer in JSON-RPC, because an exception would end the SDK's tasks
in a heap.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, METHOD_NOT_FOUND, ErrorData, JSONRPCError

from mcp_ghost.config import ServerConfig
from mcp_ghost.network import (
    basic_authorization,
    content_of,
    is_loopback,
    proxy_of,
    tls_context,
    unfound,
)
from mcp_ghost.redact import Redactor
from mcp_ghost.results import parsed
from mcp_ghost.servers.oauth.network import ELSEWHERE, FAILED, IssuerPolicy, ask
from mcp_ghost.servers.protocol.events import data_of, readable_events
from mcp_ghost.servers.protocol.lenient import NOT_MADE
from mcp_ghost.servers.protocol.reading import (
    UnreadableError,
    check_values,
    error_of,
    malformed,
    mended,
    only_error,
    too_long,
)

if TYPE_CHECKING:
    from mcp_ghost.servers.oauth.sign_in import SignIn

_GOODBYE = {"timeout": httpx2.Timeout(2.0).as_dict()}
_PAUSES = (0.2, 1.0)
"""Seconds to wait before the first message is sent again to a server that is still starting."""
_NOT_THERE_YET = frozenset({502, 503, 504})
"""Of gateways; Codex tries a handshake again, too: https://github.com/openai/codex/pull/25147."""
_KEEPALIVE_SECONDS = 3.0
"""Shorter than servers keep an idle connection (usually 5 s), or a request may hit its end."""
_EXCERPT = 300
_ERROR_BYTES = 65_536
_SESSION_ID = "mcp-session-id"
_SUBSCRIPTION = "subscriptions/listen"
_READ_BY_THE_SDK = frozenset({"content-type", "location", _SESSION_ID})
_EVENTS = "text/event-stream"
MOST_IN_ONE_STREAM = 1024 * 1024
"""Bytes of a message over the older SSE transport, where the SDK has no setting."""
_PING = {"jsonrpc": "2.0", "id": "goodbye", "method": "ping"}
_RESUMES = "last-event-id"
_ENDPOINT = re.compile(rb"^event: ?endpoint\s*$", re.MULTILINE)
"""The event with which the stream of the older transport begins."""
_OF_THE_OLDER = frozenset({*range(400, 500), 501}) - {401, 403, 407, 408, 429}
"""Statuses after which the specification has clients try the older transport: 400, 404 and 405
since 2025-11-25, any 4xx before (basic/transports, Backwards Compatibility). Not so where the
client is refused; servers without POST also answer 501 (RFC 9110, 15.6.2)."""
_NOT_HANDLED = frozenset({401, 403, 405, 406, 411, 413, 414, 415, 417, 421, 426, 429, 431})
"""Statuses that refuse a request as such, before it is handled: RFC 9110, 15.5, and RFC 6585. Not
so 503, which gateways send for a connection that broke, too."""
_OF_A_SESSION = re.compile(r"session|not initiali[sz]ed|expect initiali[sz]e", re.IGNORECASE)
"""What servers say of a session that they do not know, with a status other than 404; with 401 those
of the Rust SDK, https://github.com/modelcontextprotocol/rust-sdk/issues/689."""
_SAYS_LOST = re.compile(
    r"(?:^|[:\"] ?)(?:(?:the|your|mcp) )*(?:"
    r"session(?:[ _-]?id)?\b.{0,100}\b(?:not found|expired|terminated|invalid|unknown|not exist)"
    r"|(?:unknown|invalid|expired|no valid|no active|no such)(?: or \w+)? (?:mcp[ -])?session"
    r"|(?:server|session|client) (?:is )?not (?:yet )?initiali[sz]ed)",
    re.IGNORECASE,
)
"""The same with any other status, 200 included, where words of a tool's own must not be meant:
https://github.com/punkpeye/fastmcp/issues/121, https://github.com/actionhero/keryx/issues/503,
https://github.com/MoonshotAI/kimi-code/issues/2380."""
LOST = "it no longer knows this session; perhaps it was restarted"
_CHALLENGE = "www-authenticate"
_SIGN_IN = (
    """its entry has '"auth": {"type": "oauth"}', for signing in with a browser, """
    "or 'headers' with a key."
)


class HttpTransport(httpx2.AsyncBaseTransport):
    """Adds what is secret, turns faults into answers, and knows how the connection is."""

    def __init__(
        self, written: str, config: ServerConfig, redactor: Redactor, *, one_stream: bool
    ) -> None:
        """Take ``written`` for show, the URL of ``config`` before its variables were resolved.

        ``one_stream``: as in the older SSE transport, all answers come in the stream of one GET.
        """
        url = config.url or ""
        # Variables in the path may hold secrets, so it is as written.
        shown, real = urlsplit(written), urlsplit(url)
        path = shown.path if shown.scheme else ""
        self.address = f"{real.scheme}://{real.netloc.rpartition('@')[2]}{path}"
        self.is_open = True
        self.fault: str | None = None
        """What ended the connection."""
        self._receiving = anyio.CancelScope()
        """In which a message of the only stream is waited for."""
        self._unmade: list[SessionMessage] = []
        """What else its reader is told, of requests that were not made."""
        self.one_stream = one_stream
        self._endpoint: httpx2.URL | None = None
        """Where messages go beside the only stream."""
        self.sign_in: SignIn | None = None
        """What signs in, where the entry says so."""
        self.issuers = IssuerPolicy(url, config.auth.issuer if config.auth else None)
        """Where signing in may lead."""
        self._advice = ""
        self.status = 0
        """That of the latest answer to a message."""
        self._was_taken = False
        """Whether any message was."""
        self._pauses = [*_PAUSES]
        """Those that are left."""
        self._url = httpx2.URL(url).copy_with(userinfo=b"", fragment=None)
        self._headers = {**basic_authorization(url), **(config.headers or {})}
        most = config.max_message_bytes
        self.most_bytes = min(most, MOST_IN_ONE_STREAM) if one_stream else most
        self._redactor = redactor
        # Reading the certificates takes tens of milliseconds, which plain HTTP on this machine can
        # save; elsewhere, a server may redirect to its own HTTPS.
        is_plain = is_loopback(url) and self._url.scheme == "http"
        self._network = httpx2.AsyncHTTPTransport(
            verify=False if is_plain else tls_context(),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=_KEEPALIVE_SECONDS),
            proxy=proxy_of(url),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request`` to the real address."""
        if ELSEWHERE in request.extensions:
            return await ask(request, self.issuers)
        if failure := request.extensions.get(FAILED):
            if "authorization" not in request.headers:  # else the token is good for other requests
                self.end(failure.words)
                self._advice = failure.advice
            return _error_response(401, INTERNAL_ERROR, self.redact(failure.words))
        if self.fault is not None and request.method == "DELETE":
            return httpx2.Response(204)  # the session ended already
        if self.fault is not None and request.method == "POST":
            return _not_made(503, self.fault)  # the SDK would try again
        # The first is sent again where a gateway says that the server is not there yet.
        is_first = request.method == "GET" if self.one_stream else not self._was_taken
        try:
            response = await self._network.handle_async_request(self._real(request))
            while is_first and self._pauses and response.status_code in _NOT_THERE_YET:
                await response.aclose()
                await asyncio.sleep(self._pauses.pop(0))
                response = await self._network.handle_async_request(self._real(request))
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            # No connection came about: https://www.python-httpx.org/exceptions/
            why = unfound(error, str(request.url)) or str(error) or type(error).__name__
            fault = f"no server can be reached at {self.address} ({why})"
            self._end_unmade(request, fault)
            return _not_made(503, self.fault or "")
        except httpx2.TransportError as error:
            if request.method == "POST":
                self.broke(error)
            return _error_response(503, INTERNAL_ERROR, self.fault or "")
        self.issuers.note_peer(response)
        if request.method == "GET" and response.is_success and _RESUMES in request.headers:
            self.fault = None  # the answer that was cut off goes on
        is_aside = self.one_stream and request.method == "POST"
        if is_aside:
            self._endpoint = request.url
        if self.one_stream or request.method == "POST":
            self.status = response.status_code
            if response.status_code >= 400:
                return await self._refused(request, response)
            self._was_taken |= response.status_code == HTTPStatus.OK
        if not response.is_success or request.method == "DELETE" or is_aside:
            # The SDK would read the body to its end and throw it away.
            await response.aclose()
            return httpx2.Response(response.status_code, headers=_kept(response))
        is_stream = response.headers.get("content-type", "").lower().startswith(_EVENTS)
        if not (self.one_stream or is_stream):
            return await self._whole(request, response)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()  # it was not asked for, and would have to be bounded too
            return _error_response(502, INTERNAL_ERROR, malformed(""))
        response.headers["content-type"] = _EVENTS  # in UTF-8, whatever it says
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - from the network
        response.stream = _Events(response.stream, self, request)
        return response

    async def unless_it_ends(
        self, receive: Callable[[], Awaitable[SessionMessage | Exception]]
    ) -> SessionMessage | Exception:
        """What ``receive`` brings; EndOfStream when the only stream has ended instead."""
        if not (self.one_stream and self.fault):
            with anyio.CancelScope() as self._receiving:
                return await receive()
        if self._unmade:
            return self._unmade.pop(0)
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Close all connections.

        The older transport has no goodbye: a server that waits for something to say learns that its
        stream was closed only when it writes, and then for the second time. So it is asked twice
        for an answer that nobody reads.
        """
        for url in [] if self._endpoint is None or self.fault else [self._endpoint] * 2:
            ping = httpx2.Request("POST", url, json=_PING, extensions=_GOODBYE)
            with suppress(httpx2.HTTPError):
                await (await self._network.handle_async_request(self._real(ping))).aclose()
        await self._network.aclose()
        self.is_open = False

    def redact(self, text: str) -> str:
        """``text`` without anything of the configuration that may be secret."""
        tokens = self.sign_in.secrets if self.sign_in else ()
        return Redactor(tokens)(self._redactor.words(text))

    def hint(self, cause: BaseException) -> str:
        """What to check after a failed start."""
        if self._advice:
            return self._advice
        if "CERTIFICATE_VERIFY_FAILED" in (self.fault or ""):
            return "its certificate is valid for this host and comes from a trusted authority."
        if self.one_stream and self.status >= 400:
            return (
                "the URL is that of an SSE endpoint (it often ends in /sse); one of streamable "
                'HTTP needs "type": "http".'
            )
        if self.fault is not None:
            return "the server is running and the URL is right."
        if isinstance(cause, TimeoutError):
            return "the server is healthy and the URL is right; a slow one needs a longer timeout."
        if self.status in (401, 403):
            return "'headers' holds the credentials that the server wants."
        if self.status >= 500:
            return "the server is healthy; its own log may say more."
        return (
            "the URL is that of a streamable HTTP endpoint (it often ends in /mcp); one of the "
            'older SSE transport (it often ends in /sse) needs "type": "sse".'
        )

    @property
    def may_be_older(self) -> bool:
        """Whether the URL took no message, in a way in which the older transport would not."""
        return not self._was_taken and self.status in _OF_THE_OLDER

    def is_older(self) -> None:
        """Note that the answer to a message is the stream with which the older transport begins."""
        self._was_taken, self.status = False, HTTPStatus.METHOD_NOT_ALLOWED
        self.end("it speaks the older SSE transport")

    def _end_unmade(self, request: httpx2.Request, fault: str) -> None:
        """Note what ended the connection, for whoever waits for the answer to ``request``, too."""
        if request.method == "POST" and (id_ := json.loads(request.content).get("id")) is not None:
            error = ErrorData(code=INTERNAL_ERROR, message=fault, data={NOT_MADE: True})
            self._unmade.append(SessionMessage(JSONRPCError(jsonrpc="2.0", id=id_, error=error)))
        self.end(fault)

    def end(self, fault: str) -> None:
        """Note what ended the connection, unless something did before."""
        self.fault = self.fault or self.redact(fault)
        if self.one_stream:
            self._receiving.cancel()

    def loses(self, request: httpx2.Request, said: str) -> bool:
        """Whether what a server ``said`` to a request in a session ends that, which is noted."""
        is_lost = _SESSION_ID in request.headers and _SAYS_LOST.search(said) is not None
        if is_lost:
            self.end(f"{LOST} ({said[:_EXCERPT].rstrip('. ')})")  # should a tool mean its own
        return is_lost

    def broke(self, exc: Exception) -> None:
        """Note that the connection broke during an answer."""
        self.end(f"the connection to {self.address} broke: {str(exc) or type(exc).__name__}")

    def _real(self, request: httpx2.Request) -> httpx2.Request:
        """A copy of ``request`` for the network; the SDK's own is logged."""
        shown = request.url == httpx2.URL(self.address)  # else a redirect to the same host
        bounds = _GOODBYE if request.method == "DELETE" else {}
        headers = httpx2.Headers(request.headers)
        headers.update({"Accept-Encoding": "identity", **self._headers})  # bounds are for real
        return httpx2.Request(
            request.method,
            self._url if shown else request.url,
            headers=headers,
            stream=request.stream,
            extensions={**request.extensions, **bounds},
        )

    async def _whole(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """``response`` with its body, if that arrives and can be read."""
        try:
            content = await content_of(response, self.most_bytes)
            if len(content) > self.most_bytes:
                return _error_response(502, INTERNAL_ERROR, too_long(self.most_bytes))
            check_values(content)
        except httpx2.DecodingError:
            return _error_response(502, INTERNAL_ERROR, malformed(""))
        except UnreadableError as error:
            return _error_response(502, INTERNAL_ERROR, str(error))
        except httpx2.TransportError as error:
            self.broke(error)
            return _error_response(503, INTERNAL_ERROR, self.fault or "")
        content = mended(content)
        if request.method == "POST" and (body := only_error(content)):
            if self.loses(request, body["error"]["message"]):
                return _not_made(404, self.fault or "")
            if body.get("id") is None:  # for a request that was not read well enough: this one
                return _error_response(502, **body["error"])
        kept = _kept(response)
        if content.lstrip()[:1] in (b"{", b"["):  # whatever the server calls it
            kept["content-type"] = "application/json"
        return httpx2.Response(response.status_code, headers=kept, content=content)

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """An HTTP status as an error in JSON-RPC, with the server's words where it has any."""
        status, said = response.status_code, b""
        with suppress(httpx2.HTTPError):
            said = await content_of(response, _ERROR_BYTES)
        text = said.decode(errors="replace")
        code, message, data = None, text, None
        if (body := parsed(text)) is None:
            message = " ".join(re.sub(r"<[^>]*>", " ", text).split())
        error = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict) and {"code", "message"} & {*error}:
            known = error_of(error)
            code, message, data = known["code"], known["message"], known.get("data")
        challenge = response.headers.get(_CHALLENGE, "")
        if status == 401 and challenge.lower().startswith("bearer") and self.sign_in is None:
            self._advice = _SIGN_IN
        # 404 by the specification; widely copied example servers answer 400.
        says_lost = _OF_A_SESSION if status in (400, 401, 409, 422) else _SAYS_LOST
        lost = status in (404, 410) or says_lost.search(message) is not None
        if lost and _SESSION_ID in request.headers and code != METHOD_NOT_FOUND:
            self.end(LOST)
            status = 404  # nobody has to sign in
        if lost or status in _NOT_HANDLED:
            data = data or {NOT_MADE: True}
        words = self.redact(message)[:_EXCERPT].rstrip(". ") or HTTPStatus(status).phrase
        if code is None:
            words = f"it answered with status {status}: {words}"
        refusal = _error_response(status, INTERNAL_ERROR if code is None else code, words, data)
        refusal.headers[_CHALLENGE] = challenge
        if not self.one_stream or (self.sign_in and response.status_code in (401, 403)):
            return refusal
        self._end_unmade(request, words)  # with the only stream, the connection ends
        # The SDK would report the failure of a message to nobody who waits for its answer.
        return refusal if request.method == "GET" else httpx2.Response(202)


def _not_made(status: int, message: str) -> httpx2.Response:
    return _error_response(status, INTERNAL_ERROR, message, {NOT_MADE: True})


@dataclass
class _Events(httpx2.AsyncByteStream):
    """A stream of events that ends quietly where it breaks; the fault is noted."""

    stream: httpx2.AsyncByteStream
    wire: HttpTransport
    request: httpx2.Request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        wire, is_answer = self.wire, self.request.method == "POST"
        is_subscription = self.request.headers.get("mcp-method") == _SUBSCRIPTION
        try:
            async for event in readable_events(self.stream, wire.most_bytes, is_answer=is_answer):
                if is_answer and _ENDPOINT.search(event):
                    wire.is_older()
                    return
                body = only_error(data_of(event)) if is_answer else None
                if body and wire.loses(self.request, body["error"]["message"]):
                    event = b"data: %b\n\n" % _not_made(404, wire.fault or "").content
                yield event
            if wire.one_stream:
                wire.end("it closed the connection")
        except UnreadableError:
            if wire.one_stream:
                wire.end("it sent a message that is too long")
        except httpx2.TransportError as error:
            if not wire.one_stream and (is_subscription or not is_answer):
                raise  # the connection goes on without it
            wire.broke(error)

    async def aclose(self) -> None:
        await self.stream.aclose()


def _kept(response: httpx2.Response) -> dict[str, str]:
    return {name: it for name, it in response.headers.items() if name in _READ_BY_THE_SDK}


def _error_response(status: int, code: int, message: str, data: object = None) -> httpx2.Response:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})
