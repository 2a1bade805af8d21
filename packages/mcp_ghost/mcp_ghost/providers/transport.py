"""HTTP to a model server: bounded, with errors in our terms and one TLS context for the process.

A :class:`Transport` sends one request and returns the JSON object of the answer; trying again is
the business of :class:`RetryPolicy`. No key appears in any message that this module makes.
"""

import asyncio
import json
import math
import random
import re
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, datetime
from email.utils import parsedate_to_datetime, parsedate_tz
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic_core import PydanticSerializationError, to_json

from mcp_ghost import network
from mcp_ghost.errors import (
    LLMConnectionError,
    LLMError,
    LLMMalformedCallError,
    LLMReplyError,
    LLMStatusError,
    LLMUnreachableError,
)
from mcp_ghost.providers import common
from mcp_ghost.providers.refusal import is_out_of_credit, is_too_long
from mcp_ghost.providers.streaming import Assembler, EventReader, OnDelta, objects_in
from mcp_ghost.redact import redact
from mcp_ghost.text import address

E = TypeVar("E", bound=LLMError)

MOST_REPLY_BYTES = 8 * 2**20
"""Of one reply, as it arrives and unpacked; the longest that models write have a tenth of it."""
CONNECT_SECONDS = 10.0
_TRANSIENT = frozenset({408, 409, 425, 429})
# llama.cpp answers with status 500, too, where it cannot make a grammar of a tool's schema.
_OF_SCHEMAS = re.compile(r"schema conversion failed|parse (?:grammar|tools)", re.IGNORECASE)
# OpenAI and Groq: "Please try again in 1m26.4s", "in 20ms"; Gemini: "Please retry in 36.6s".
_AGAIN = re.compile(r"(?:try again|retry) in (?:(\d{1,4})m(?!s))?(\d{1,6}(?:\.\d+)?)(m?s)\b")
_EXCERPT = 600
_MOST_DOUBLINGS = 32
_BLANK = b" \t\r\n\xef\xbb\xbf"
_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[:dier]")
"""How events begin: with a comment, or a field called data, event, id or retry."""
_LINGERING_SECONDS = 0.5
"""For a server to end its answer after the mark of the end; some hold the connection instead."""
_url = lru_cache(httpx2.URL)
_HEADERS = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip",
    "Content-Type": "application/json",
    "User-Agent": "mcp_ghost",
}
_ADVICE = {
    300: "Correct the base URL.",
    400: "The request does not suit this server or model.",
    401: "Check the key in {key}.",
    402: "The account has no credit or quota left.",
    403: "Check the permissions of the key in {key}.",
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
        if not network.is_web_address(self.base_url):
            raise LLMError(
                f"'{self.redact(self.base_url)}' is not a usable base URL; "
                "one looks like http://127.0.0.1:8080/v1."
            )
        # httpx2 would quote the whole header in its own error.
        if self.api_key and not re.fullmatch(r"[!-~]+", self.api_key):
            raise LLMError(
                f"The API key in {self.key_variable} contains a space, a line break, or another "
                "character that no key has."
            )

    @property
    def where(self) -> str:
        """The address without user, password or query."""
        return address(self.base_url)

    @property
    def is_loopback(self) -> bool:
        """Whether the server runs on this machine."""
        return network.is_loopback(self.base_url)

    def redact(self, text: str) -> str:
        """``text`` without this endpoint's key or anything that looks like one."""
        return redact(text, [self.api_key] if self.api_key else [])

    def explained(self, error: E, model: object = "") -> E:
        """``error`` in the server's words, without keys, and with what to do about a status."""
        said = str(error)
        words = self.redact(said)
        if isinstance(error, LLMStatusError):
            default = "The server has a problem; try again later."
            is_unpaid = error.status == 429 and is_out_of_credit(said, error.named)
            kind = 402 if is_unpaid else error.status
            advice = _ADVICE.get(kind) or _ADVICE.get(kind // 100 * 100, default)
            if kind in (401, 403) and not self.api_key:
                advice = "No key was sent: set {key}."
            advice = advice.format(key=self.key_variable, model=model)
            error.said = words[:_EXCERPT].strip().rstrip(".") or "no reason given"
            words = f"{self.where} answered with status {error.status}: {error.said}. {advice}"
        error.args = (words,)
        return error


class Transport:
    """The pooled connections to one endpoint, for one event loop; :meth:`aclose` ends them.

    Speaks to httpx2's transport itself: redirects and cookies have no place here, and a whole
    client takes a noticeable part of an instant model's answer.
    """

    def __init__(
        self, endpoint: Endpoint, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._endpoint = endpoint
        self._http = transport or network_transport(endpoint)
        self._authorization = network.basic_authorization(endpoint.base_url)
        others = dict.fromkeys(("read", "write", "pool"))  # bounded by the time of the whole answer
        self._timeouts = {**others, "connect": min(CONNECT_SECONDS, endpoint.timeout)}

    async def post(
        self,
        wire: common.WireRequest,
        *,
        model: object,
        assembler: Assembler | None,
        on_delta: OnDelta | None,
    ) -> dict[str, Any]:
        """Send ``wire`` once and return the JSON object of the answer.

        ``assembler`` makes it of an answer that arrives in pieces, of which ``on_delta`` is told.
        Cancelling cuts the connection. ``model`` is for messages.

        Raises:
            LLMConnectionError: no complete answer in time, whatever arrived.
            LLMStatusError: an HTTP status that is not a success.
            LLMReplyError: a success without a JSON object, or more than MOST_REPLY_BYTES.
            LLMError: the request cannot be sent at all.
        """
        endpoint, content = self._endpoint, b""
        try:
            request = httpx2.Request(
                "POST",
                _url(joined_url(endpoint.base_url, wire.path)),
                content=encode_json(wire.payload),
                headers={**_HEADERS, **wire.headers, **self._authorization},
                extensions={"timeout": self._timeouts},
            )
            async with (
                asyncio.timeout(endpoint.timeout),
                aclosing(await self._http.handle_async_request(request)) as response,
            ):
                chunks = unpacked(response, endpoint)
                if assembler is not None and on_delta is not None and response.is_success:
                    start = await self._assembled(chunks, assembler, on_delta)
                    if start is None:
                        return assembler.body()
                    content = start
                content += b"".join([chunk async for chunk in chunks])
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise connection_error(error, endpoint) from error
        return self._read(response, content, model, assembler)

    async def _assembled(
        self, chunks: AsyncIterator[bytes], assembler: Assembler, on_delta: OnDelta
    ) -> bytes | None:
        """Have a stream of events assembled; anything else, whatever its type, is returned."""
        reader, start = EventReader(), b""

        async def take(chunk: bytes, *, is_last: bool = False) -> None:
            for piece in reader.feed(chunk, is_last=is_last):
                for delta in assembler.add(piece):
                    await on_delta(delta)

        try:
            async with asyncio.timeout(None) as patience:
                async for chunk in chunks:
                    if not _EVENTS.match(start):
                        start += chunk
                        if start.strip(_BLANK) and not _EVENTS.match(start):
                            return start
                    await take(chunk)
                    if reader.is_done:  # read out, the connection can be used again
                        now = asyncio.get_running_loop().time()
                        patience.reschedule(now + _LINGERING_SECONDS)
        except TimeoutError:
            if not reader.is_done:
                raise
        await take(b"", is_last=True)
        if not (assembler.is_complete or reader.is_done):
            raise LLMReplyError(
                f"The stream of {self._endpoint.where} ended before the answer did."
            )
        return None

    def _read(
        self, response: httpx2.Response, content: bytes, model: object, assembler: Assembler | None
    ) -> dict[str, Any]:
        """The JSON object of a complete answer; ``response`` gives status and headers.

        Some servers send pieces where none were asked for, which ``assembler`` puts together.
        """
        found = objects_in(content)
        body = found[0] if found else None
        if not response.is_success:
            said = common.error_text(body)
            if not said and response.has_redirect_location:
                # Following it could carry the key to another host.
                said = f"moved to {response.headers['location']}"
            said = said or content.decode("utf-8", errors="replace")
            delay, named = _asked_delay(response.headers, body, said), common.error_names(body)
            refused = LLMStatusError(said, response.status_code, delay, named=named)
            raise self._endpoint.explained(common.malformed_call(body, said) or refused, model)
        if body is None:
            raise LLMReplyError(
                f"{self._endpoint.where} answered with something that is not a JSON object. "
                "Is the base URL that of the API (it often ends in /v1)?"
            )
        is_whole = len(found) == 1 and content.lstrip(_BLANK).startswith(b"{")
        if is_whole or assembler is None:
            return body
        for piece in found:
            [*assembler.add(piece)]  # what it says has no listener
        return assembler.body()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def joined_url(base_url: str, path: str) -> str:
    """The address of ``path`` below ``base_url``, whose query, such as Azure's version, is kept."""
    base, _, query = base_url.partition("?")
    if not query:
        return base_url + path
    return f"{base.rstrip('/')}{path}{'&' if '?' in path else '?'}{query}"


def network_transport(endpoint: Endpoint) -> httpx2.AsyncBaseTransport:
    """The way to ``endpoint``: through the proxy of the environment, if there is one for it."""
    try:
        verify = network.tls_context() if urlsplit(endpoint.base_url).scheme == "https" else False
        proxy = network.proxy_of(endpoint.base_url)
    except OSError as error:
        raise LLMError(str(error)) from error
    return httpx2.AsyncHTTPTransport(verify=verify, proxy=proxy)


def encode_json(payload: Mapping[str, Any]) -> bytes:
    """``payload`` as UTF-8, paths and dates as text; lone surrogates become "?"."""
    with suppress(PydanticSerializationError):
        return to_json(payload)  # three times as fast, which counts in long conversations
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", errors="replace")


def connection_error(exc: Exception, endpoint: Endpoint) -> LLMError:
    """Our error for an exception of httpx2, or for an answer that takes too long."""
    where, detail = endpoint.where, endpoint.redact(str(exc) or type(exc).__name__)
    if isinstance(exc, (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)):
        return LLMError(f"The request to {where} cannot be sent: {detail}")
    if isinstance(exc, httpx2.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in detail:
        return LLMError(f"The certificate of {where} cannot be trusted: {detail}")
    if missing := network.unfound(exc, endpoint.base_url):
        return LLMUnreachableError(f"No server can be reached at {where}: {missing}.")
    if isinstance(exc, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return LLMUnreachableError(
            f"No server can be reached at {where} ({detail}). Is it running? Is the base URL right?"
        )
    if isinstance(exc, (httpx2.TimeoutException, TimeoutError)):
        return LLMConnectionError(
            f"{where} gave no complete answer within {endpoint.timeout:g} s. "
            "A slow model needs a higher timeout."
        )
    return LLMConnectionError(f"The connection to {where} broke during the answer: {detail}")


async def unpacked(response: httpx2.Response, endpoint: Endpoint) -> AsyncIterator[bytes]:
    """The body, unpacked and piece by piece.

    Raises:
        LLMReplyError: It is longer than MOST_REPLY_BYTES, or packed in a way we did not ask for.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip"}:  # one inside another would multiply
        raise LLMReplyError(
            f"{endpoint.where} sent a reply encoded as '{encoding[:40]}', which was not requested."
        )
    is_packed = encoding == "gzip" and not response.is_stream_consumed
    gzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    arrived = size = 0
    async for piece in response.aiter_raw() if is_packed else response.aiter_bytes():
        arrived += len(piece)
        if is_packed:
            try:
                piece = gzip.decompress(piece, MOST_REPLY_BYTES + 1 - size)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
        size += len(piece)
        if max(arrived, size) > MOST_REPLY_BYTES:
            raise LLMReplyError(
                f"{endpoint.where} sent a reply of more than {MOST_REPLY_BYTES // 2**20} MiB."
            )
        yield piece


def _asked_delay(headers: Mapping[str, str], body: object, said: str) -> float | None:
    """Seconds to wait as the server asked: in a header, in details as Google does, or in words."""
    asked = retry_after(headers)
    for detail in common.dicts_in(common.at(body, "error", "details")) if asked is None else ():
        if match := re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay"))):
            return float(match[1])
    if asked is None and (words := _AGAIN.search(said)):
        return int(words[1] or 0) * 60 + float(words[2]) / (1000 if words[3] == "ms" else 1)
    return asked


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from a number or date (RFC 9110, 10.2.3); infinite after the year 9999.

    OpenAI and Azure give milliseconds beside it, as ``openai._base_client`` reads them.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) / unit
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        parts = parsedate_tz(value)
        return math.inf if parts and parts[0] > MAXYEAR else None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def is_transient(exc: BaseException | None) -> bool:
    """Whether the same request may well succeed later."""
    if isinstance(exc, LLMStatusError):
        if is_too_long(exc):
            return False
        if exc.status in _TRANSIENT:
            return not is_out_of_credit(exc.said, exc.named)
        return exc.status >= 500 and exc.status != 501 and not _OF_SCHEMAS.search(exc.said)
    return isinstance(exc, LLMConnectionError)


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently one request is tried."""

    max_attempts: int = 5
    initial_delay: float = 1.0
    max_delay: float = 60.0
    waits_for_first_answer: bool = True
    """Whether to try again at an address that has never answered, and may well be wrong."""

    def delay(self, failures: Sequence[LLMError]) -> float | None:
        """Seconds until the next try; None when the latest of ``failures`` is to be the last."""
        latest, number = failures[-1], len(failures)
        # A passing fault is worth every attempt, a useless answer one more. A model that wrote a
        # call wrongly has to be told instead.
        is_worth_it = is_transient(latest)
        if isinstance(latest, LLMReplyError):
            useless = sum(isinstance(failure, LLMReplyError) for failure in failures)
            is_worth_it = useless == 1 and not isinstance(latest, LLMMalformedCallError)
        if number >= self.max_attempts or not is_worth_it:
            return None
        asked = latest.retry_after if isinstance(latest, LLMStatusError) else None
        if asked is None:  # exponential, with jitter
            patience = 2.0 ** min(number - 1, _MOST_DOUBLINGS) + random.random()  # noqa: S311  no secret
            asked = self.initial_delay * patience
        return min(asked, self.max_delay)
