"""HTTP to a model server: bounded, with errors in our terms and one TLS context for the process.

A :class:`Transport` sends one request and returns the JSON object of the answer; trying again is
the business of :class:`RetryPolicy`. No key appears in any message that this module makes.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import json
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import tenacity

from mcp_ghost.errors import LLMConnectionError, LLMError, LLMReplyError, LLMStatusError
from mcp_ghost.providers.common import error_text
from mcp_ghost.redact import redact

_CONNECT_SECONDS = 10.0
_TRANSIENT = frozenset({408, 409, 425, 429})
_EXCERPT = 600
_ADVICE = {
    300: "Correct the base URL.",
    400: "The request does not suit this server or model.",
    401: "Check the key in {key}.",
    402: "The account has no credit left.",
    403: "Check what the key in {key} may do.",
    404: "Check the model name '{model}' and the base URL.",
    413: "The request is too long for this server.",
    429: "Wait, or raise the limits of the account.",
}


@dataclass(frozen=True)
class Endpoint:
    """One model server: where it is, who asks, how long an answer may take."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    key_variable: str = "the configuration"
    """Where a user sets the key; named in messages."""
    timeout: float = 120.0
    """Seconds for a whole answer."""

    def __post_init__(self) -> None:
        if not is_web_address(self.base_url):
            raise LLMError(
                f"'{self.redact(self.base_url)}' is no usable base URL; "
                "one looks like http://127.0.0.1:8080/v1."
            )
        # httpx would quote the whole header in its own error.
        if self.api_key and not re.fullmatch(r"[!-~]+", self.api_key):
            raise LLMError(f"The API key in {self.key_variable} holds a space or a line break.")

    @property
    def where(self) -> str:
        """The address without user, password or query."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith((".localhost", ".invalid"))

    def redact(self, text: str) -> str:
        """``text`` without this endpoint's key or anything that looks like one."""
        return redact(text, [self.api_key] if self.api_key else [])

    def quote(self, text: str) -> str:
        """As much of the server's words as a message can take, redacted."""
        return self.redact(text)[:_EXCERPT]

    def status_error(
        self, status: int, said: str, *, model: object = "", retry_after: float | None = None
    ) -> LLMStatusError:
        """The error for an HTTP status, with the server's words and what to do about it."""
        default = "The server has a problem; try again later."
        advice = _ADVICE.get(status) or _ADVICE.get(status // 100 * 100, default)
        if status in (401, 403) and not self.api_key:
            advice = "No key was sent: set {key}."
        advice = advice.format(key=self.key_variable, model=model)
        said = self.quote(said).strip().rstrip(".") or "no reason given"
        return LLMStatusError(
            f"{self.where} answered with status {status}: {said}. {advice}", status, retry_after
        )


class Transport:
    """The pooled connections to one endpoint; safe to use from several threads."""

    def __init__(self, endpoint: Endpoint, transport: httpx.BaseTransport | None = None) -> None:
        self._endpoint = endpoint
        self._http = httpx.Client(transport=transport, **client_options(endpoint))
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        weakref.finalize(self, self._http.close)

    def post(
        self, path: str, payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> dict[str, Any]:
        """Send ``payload`` once and return the JSON object of the answer.

        Raises:
            LLMConnectionError: no complete answer in time.
            LLMStatusError: an HTTP status that is not a success.
            LLMReplyError: a success without a JSON object.
            LLMError: the request cannot be sent at all.
        """
        endpoint = self._endpoint
        if self._closed:
            raise self._closed_here()
        try:
            with self._http.stream(
                "POST",
                endpoint.base_url.rstrip("/") + path,
                content=encode_json(payload),
                headers={"Content-Type": "application/json", **headers},
                extensions={"trace": self._note_socket},
            ) as response:
                content = b"".join(_in_time(response.iter_bytes(), endpoint.timeout))
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError) as exc:
            if self._closed:
                raise self._closed_here() from exc
            if isinstance(exc, RuntimeError):
                raise
            raise connection_error(exc, endpoint) from exc
        return read_body(response, content, endpoint, model=payload.get("model"))

    def close(self) -> None:
        """Close all connections; a call that waits in another thread fails at once."""
        with self._lock:
            self._closed = True
            for sock in self._sockets:
                _shut(sock)
        self._http.close()

    def _closed_here(self) -> LLMError:
        return LLMError(f"The connection to {self._endpoint.where} was closed here.")

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        sock = info["return_value"].get_extra_info("socket")
        if sock is not None:
            with self._lock:
                self._sockets.add(sock)
                if self._closed:
                    _shut(sock)


class AsyncTransport:
    """The pooled connections to one endpoint, for one event loop; :meth:`aclose` ends them."""

    def __init__(
        self, endpoint: Endpoint, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._endpoint = endpoint
        self._http = httpx.AsyncClient(transport=transport, **client_options(endpoint))

    async def post(
        self, path: str, payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> dict[str, Any]:
        """Send ``payload`` once, like :meth:`Transport.post`; cancelling cuts the connection."""
        endpoint = self._endpoint
        try:
            async with asyncio.timeout(endpoint.timeout):
                response = await self._http.post(
                    endpoint.base_url.rstrip("/") + path,
                    content=encode_json(payload),
                    headers={"Content-Type": "application/json", **headers},
                )
        except TimeoutError as exc:
            raise connection_error(httpx.ReadTimeout("the answer trickles"), endpoint) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise connection_error(exc, endpoint) from exc
        return read_body(response, response.content, endpoint, model=payload.get("model"))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _shut(sock: socket.socket) -> None:
    """End reads that wait in other threads, which closing alone does not."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """The TLS context of the process: reading the certificates takes tens of milliseconds."""
    return httpx.create_ssl_context()


def is_web_address(url: str) -> bool:
    """Whether ``url`` is http:// or https:// with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def client_options(endpoint: Endpoint) -> dict[str, Any]:
    """Options of the httpx client for ``endpoint``, sync or async."""
    secure = urlsplit(endpoint.base_url).scheme == "https"
    return {
        "verify": tls_context() if secure else False,
        # Proxies from the environment are for the world outside, not for this machine.
        "trust_env": not endpoint.is_loopback,
        "timeout": httpx.Timeout(endpoint.timeout, connect=min(_CONNECT_SECONDS, endpoint.timeout)),
    }


def encode_json(payload: Mapping[str, Any]) -> bytes:
    """``payload`` as UTF-8; half a surrogate pair, which tools do return, becomes "?"."""
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", errors="replace")


def connection_error(exc: Exception, endpoint: Endpoint) -> LLMError:
    """Our error for an exception of httpx."""
    where, detail = endpoint.where, endpoint.redact(str(exc) or type(exc).__name__)
    if isinstance(exc, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return LLMError(f"The request to {where} cannot be sent: {detail}")
    if isinstance(exc, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in detail:
        return LLMError(f"The certificate of {where} cannot be trusted: {detail}")
    if isinstance(exc, (httpx.ConnectError, httpx.ConnectTimeout)):
        return LLMConnectionError(
            f"No server can be reached at {where} ({detail}). Is it running? Is the base URL right?"
        )
    if isinstance(exc, httpx.TimeoutException):
        return LLMConnectionError(
            f"{where} gave no complete answer within {endpoint.timeout:g} s. "
            "A slow model needs a higher timeout."
        )
    return LLMConnectionError(f"The connection to {where} broke during the answer: {detail}")


def read_body(
    response: httpx.Response, content: bytes, endpoint: Endpoint, *, model: object = ""
) -> dict[str, Any]:
    """The JSON object of a complete answer; ``response`` gives status and headers."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not response.is_success:
        raise endpoint.status_error(
            response.status_code,
            error_text(body) or _moved(response) or content.decode("utf-8", errors="replace"),
            model=model,
            retry_after=_asked_delay(response.headers, body),
        )
    if not isinstance(body, dict):
        raise LLMReplyError(
            f"{endpoint.where} answered with something that is no JSON object. "
            "Is the base URL that of the API (it often ends in /v1)?"
        )
    return body


def _moved(response: httpx.Response) -> str:
    """Where a redirect leads; following it could carry the key to another host."""
    return f"moved to {response.headers['location']}" if response.has_redirect_location else ""


def _asked_delay(headers: Mapping[str, str], body: object) -> float | None:
    """Seconds to wait as the server asked: in a header, or as Google does in the body."""
    asked = retry_after(headers)
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if asked is None and isinstance(details, list) else ():
        delay = str(detail.get("retryDelay")) if isinstance(detail, dict) else ""
        if match := re.fullmatch(r"(\d+(?:\.\d+)?)s", delay):
            return float(match[1])
    return asked


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asked: a number or a date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def is_transient(exc: BaseException | None) -> bool:
    """Whether the same request may well succeed later."""
    if isinstance(exc, LLMStatusError):
        return exc.status in _TRANSIENT or exc.status >= 500
    return isinstance(exc, LLMConnectionError)


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently one request is tried."""

    max_attempts: int = 5
    initial_delay: float = 1.0
    max_delay: float = 60.0

    def options(self) -> dict[str, Any]:
        """Options for ``tenacity.Retrying`` or ``tenacity.AsyncRetrying``, good for one call."""
        return {
            "stop": tenacity.stop_after_attempt(self.max_attempts),
            "wait": self._wait,
            "retry": _RetryWorthwhile(),
            "reraise": True,
        }

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """What the server asked for, else exponential with jitter; never above the limit."""
        exc = state.outcome.exception() if state.outcome else None
        asked = exc.retry_after if isinstance(exc, LLMStatusError) else None
        backoff = tenacity.wait_exponential(self.initial_delay, self.max_delay)
        jitter = tenacity.wait_random(0, self.initial_delay)
        seconds = backoff(state) + jitter(state) if asked is None else asked
        return min(seconds, self.max_delay)


class _RetryWorthwhile(tenacity.retry_base):
    """A passing fault is worth every attempt, a useless answer one more."""

    def __init__(self) -> None:
        self._useless = 0

    def __call__(self, state: tenacity.RetryCallState) -> bool:
        exc = state.outcome.exception() if state.outcome else None
        if isinstance(exc, LLMReplyError):
            self._useless += 1
            return self._useless == 1
        return is_transient(exc)


def _in_time(chunks: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    """``chunks``, as long as they end in time: httpx itself only limits each single read."""
    deadline = time.monotonic() + seconds
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer trickles")
        yield chunk
