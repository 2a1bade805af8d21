from __future__ import annotations

import asyncio
import gc
import json
import ssl
import sys
import threading
from contextlib import suppress
from inspect import unwrap
from typing import TYPE_CHECKING

import httpcore2
import httpx2
import pytest

from mcp_ghost.errors import LLMConnectionError, LLMError, LLMReplyError, LLMStatusError
from mcp_ghost.network import tls_context
from mcp_ghost.providers.client import ProviderClient, get_llm_client
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, error_reply
from tests.support import FOREVER
from tests.support.conversations import USER
from tests.support.provider_clients import KEY, ask, client_of
from tests.support.wires import WIRES, llm_client, provider_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

# --- failures


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "failure",
    [
        error_reply(429, headers={"Retry-After": "0"}),
        error_reply(500),
        error_reply(503),
        error_reply(529),
        Reply(drop=True),
        Reply(b"{", headers={"Content-Length": "999"}),
        Reply(b"not JSON"),
    ],
)
def test_failures_that_pass_are_tried_again(wire: WireName, failure: Reply) -> None:
    with ModelServer([failure, "Fine."], wire=wire) as server:
        assert ask(client_of(server, wire)).content == "Fine."
    assert len(server.requests) == 2


def test_an_overload_with_status_200_is_tried_again() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    with ModelServer([Reply(overloaded), "Fine."], wire="anthropic") as server:
        assert ask(client_of(server, "anthropic")).content == "Fine."


@pytest.mark.parametrize("wire", WIRES)
def test_the_variable_that_holds_a_wrong_key_is_named(
    wire: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = provider_of(wire).key_variables[-1]
    monkeypatch.setenv(variable, KEY)
    with (
        ModelServer([error_reply(401)], wire=wire) as server,
        pytest.raises(LLMStatusError, match=f"Check the key in {variable}"),
    ):
        ask(llm_client(wire, base_url=server.base_url))


def test_the_wait_that_google_asks_for_in_the_body_is_kept() -> None:
    details = [{"@type": "QuotaFailure"}, {"@type": "RetryInfo", "retryDelay": "0.25s"}]
    said = {"error": {"code": 429, "message": "quota", "details": details}}
    failure = Reply(json.dumps(said).encode(), 429)
    with (
        ModelServer([failure] * 3, wire="gemini") as server,
        pytest.raises(LLMStatusError, match="quota") as caught,
    ):
        ask(client_of(server, "gemini"))
    assert caught.value.retry_after == 0.25


@pytest.mark.parametrize("wire", WIRES)
def test_failures_that_stay_are_told_at_once_and_without_the_key(wire: WireName) -> None:
    with (
        ModelServer([error_reply(401, f"bad key {KEY}")], wire=wire) as server,
        pytest.raises(LLMStatusError, match="Check the key in api_key") as caught,
    ):
        ask(client_of(server, wire))
    assert caught.value.status == 401
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


def test_attempts_end_and_are_logged_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    with ModelServer([error_reply(500, f"broken {KEY}")] * 3) as server:
        client = client_of(server)
        with pytest.raises(LLMStatusError, match="try again later"):
            ask(client)
    assert len(server.requests) == 3
    assert len(caplog.records) == 2
    assert KEY not in caplog.text + repr(client)


def test_a_reply_that_cannot_be_used_is_told_without_the_key() -> None:
    blocked = Reply({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": KEY}})
    with (
        ModelServer([blocked, blocked], wire="gemini") as server,
        pytest.raises(LLMReplyError, match="blocked the prompt") as caught,
    ):
        ask(client_of(server, "gemini"))
    assert KEY not in str(caught.value)


def test_a_server_that_is_not_there_is_told() -> None:
    with ModelServer() as server:
        client = client_of(server)
    with pytest.raises(LLMConnectionError, match="No server can be reached"):
        ask(client)


def test_a_host_that_there_is_not_is_named() -> None:
    client = get_llm_client(
        "openai",
        KEY,
        base_url="http://unknown.invalid/v1",
        retry=RetryPolicy(max_attempts=1),
    )
    with pytest.raises(LLMConnectionError, match=r"cannot find the host unknown\.invalid: check"):
        ask(client)


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    with ModelServer([content_reply("late").after(FOREVER)]) as server:
        client = client_of(server, timeout=0.1, retry=RetryPolicy(max_attempts=1))
        with pytest.raises(LLMConnectionError, match=r"within 0\.1 s"):
            ask(client)


_STATUS = b"HTTP/1.1 200 OK\r\n"
_GZIP_WITH_A_NAME = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03"


@pytest.mark.parametrize(
    ("begin", "on_and_on"),
    [
        (b"", b""),
        (_STATUS, b"X-One: more\r\n"),
        (_STATUS + b"X-Long: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 200),
        (_STATUS + b"Content-Length: 99999\r\n\r\n", b" "),
        (_STATUS + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (
            _STATUS
            + b"Content-Encoding: gzip\r\nContent-Length: 999999999\r\n\r\n"
            + _GZIP_WITH_A_NAME,
            b"name" * 100,
        ),
    ],
    ids=["nothing", "headers", "a header", "100", "103", "a body", "chunks", "gzip's header"],
)
async def test_whatever_trickles_in_the_deadline_ends_it(begin: bytes, on_and_on: bytes) -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rest = asyncio.create_task(reader.read())  # of what the client sends until it cuts
        writer.write(begin)
        with suppress(ConnectionError):
            while not rest.done():
                writer.write(on_and_on)
                await writer.drain()
                await asyncio.sleep(0.02)  # the server's pace, well within the time for one read
            await rest
        cut.set()
        writer.close()

    cut = asyncio.Event()
    async with await asyncio.start_server(trickle, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        once = RetryPolicy(max_attempts=1)
        async with get_llm_client("gemini", KEY, base_url=url, timeout=0.3, retry=once) as client:
            with pytest.raises(LLMConnectionError):  # too many header bytes end it sooner
                await asyncio.wait_for(client.complete([USER]), 30)
        await asyncio.wait_for(cut.wait(), 30)


# --- connections


def pool_of(client: ProviderClient) -> httpcore2.AsyncConnectionPool:
    (kept,) = client._kept.values()
    transport = kept._http
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    return transport._pool


async def test_cancelling_cuts_the_request_and_leaves_the_client_usable() -> None:
    arrived = threading.Event()

    def script(request: ModelRequest) -> Reply | str:
        if len(server.requests) > 1:
            return "Fine."
        arrived.set()
        return content_reply("late").after(FOREVER)

    with ModelServer(script) as server:
        async with client_of(server) as client:
            task = asyncio.create_task(client.complete([USER]))
            assert await asyncio.to_thread(arrived.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(asyncio.all_tasks()) == 1
            assert pool_of(client).connections == []
            assert (await client.complete([USER])).content == "Fine."


class Counting(ModelServer):
    """Knows its connections by their threads."""

    def __init__(self, script: list[str]) -> None:
        super().__init__(script)
        self.connections: list[int] = []

    def answer(self, body: object, headers: dict[str, str]) -> Reply:
        self.connections.append(threading.get_ident())
        return super().answer(body, headers)


async def test_one_connection_serves_the_calls_inside_async_with() -> None:
    with Counting(["1", "2", "3"]) as server:
        client = client_of(server)
        async with client:
            for _ in range(3):
                await client.complete([USER])
    assert len(set(server.connections)) == 1


def test_outside_async_with_nothing_is_left_open_between_event_loops() -> None:
    with Counting(["1", "2", "3", "4"]) as server:
        client = client_of(server)
        assert [ask(client).content for _ in range(3)] == ["1", "2", "3"]
        asyncio.run(client.close())
        assert ask(client).content == "4"
    del client
    gc.collect()  # what was left open would warn here, and warnings are errors


async def test_five_calls_at_once_do_not_mix() -> None:
    def echo(request: ModelRequest) -> Reply:
        return content_reply(request.last["content"])

    with ModelServer(echo) as server:
        async with client_of(server) as client:
            messages = [[{"role": "user", "content": str(n)}] for n in range(5)]
            replies = await asyncio.gather(*(client.complete(each) for each in messages))
            assert [reply.content for reply in replies] == ["0", "1", "2", "3", "4"]


async def test_all_clients_share_one_tls_context() -> None:
    found = set()
    for wire in WIRES:
        async with llm_client(wire, KEY) as client:
            found.add(id(pool_of(client)._ssl_context))
    assert found == {id(tls_context())}


@pytest.mark.parametrize("named", [None, "SSL_CERT_DIR", "SSL_CERT_FILE"])
def test_a_system_without_certificates_gets_those_of_certifi_unless_it_names_others(
    monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    for variable in ("SSL_CERT_DIR", "SSL_CERT_FILE"):
        monkeypatch.setenv(variable, "/etc/ssl/certs" if variable == named else "")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(
        httpx2, "create_ssl_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    context = tls_context.__wrapped__()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert bool(context.get_ca_certs()) == (named is None)


class ReadingAlong(httpx2.AsyncBaseTransport):
    """Reads each answer before it hands it on."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        await response.aread()
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def test_a_transport_may_have_read_the_answer() -> None:
    with ModelServer(["Fine."]) as server:
        client = get_llm_client("openai", transport=ReadingAlong(server.async_transport()))
        assert asyncio.run(client.complete([USER])).content == "Fine."


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such.pem")
    monkeypatch.setattr(httpcore2, "default_ssl_context", unwrap(httpcore2.default_ssl_context))
    tls_context.cache_clear()
    client = get_llm_client("openai", KEY)
    with pytest.raises(
        LLMError, match=r"in SSL_CERT_FILE \(/no/such\.pem\) cannot be read: No such"
    ):
        asyncio.run(client.complete([USER]))


def test_a_transport_takes_the_place_of_the_network_and_needs_no_key() -> None:
    for wire in WIRES:
        with ModelServer(["Fine."], wire=wire) as server:
            client = llm_client(wire, transport=server.async_transport())
            assert ask(client).content == "Fine."
        host = httpx2.URL(provider_of(wire).base_url).host
        assert host in repr(client)
