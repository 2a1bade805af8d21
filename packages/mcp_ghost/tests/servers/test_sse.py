"""Servers by URL that have the older SSE transport only."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPServerDiedError, MCPServerStartupError
from mcp_ghost.redact import Redactor
from mcp_ghost.servers.links.http_transport import HttpTransport
from mcp_ghost.servers.session import ServerSession
from tests.support import PATIENCE
from tests.support.servers import call_in, eventually
from tests.support.servers.over_http import (
    SECRET,
    Remote,
    faulty_http,
    older_http,
    remote,
    silent_log,  # noqa: F401 - a fixture for every test here
)

pytestmark = pytest.mark.mcp


def config(server: Remote, query: str = "") -> ServerConfig:
    return ServerConfig(url=f"http://127.0.0.1:{server.port}/sse{query}", type="sse")


async def test_a_session_over_sse_opens_lists_calls_and_closes() -> None:
    with remote("sse") as server:
        async with ServerSession("s", config(server, f"?k={SECRET}")) as session:
            assert session.protocol_version == "2025-11-25"
            assert "echo" in session.annotations
            assert (await session.call("echo", {"text": "hello"})).content == {"result": "hello"}
            with pytest.raises(TimeoutError, match=r"'hang' within 0\.1 s"):
                await session.call("hang", {}, timeout=0.1)
            assert (await session.call("echo", {"text": "on"})).content == {"result": "on"}
        assert not session.is_alive


def test_a_server_that_dies_in_a_call_or_between_calls_is_noticed() -> None:
    async def dying(server: Remote) -> None:
        async with ServerSession("a", config(server)) as session:
            with pytest.raises(MCPServerDiedError, match="'a' is gone: "):
                await session.call("die", {}, timeout=PATIENCE)
            with pytest.raises(MCPServerDiedError, match="'a' is gone: "):
                await session.call("echo", {"text": "x"})

    async def killed(server: Remote) -> None:
        async with ServerSession("b", config(server)) as session:
            server.process.kill()
            server.process.wait(PATIENCE)
            with pytest.raises(MCPServerDiedError, match="'b' is gone: "):
                await session.call("echo", {"text": "x"}, timeout=PATIENCE)

    async def forgotten(server: Remote) -> None:
        with older_http(405) as older:
            async with ServerSession("c", ServerConfig(url=older.url, type="sse")) as session:
                older.refuses = True
                with pytest.raises(MCPServerDiedError, match="'c' is gone: ") as death:
                    await session.call("echo", {}, timeout=PATIENCE)
                assert not death.value.was_sent

    for death in (dying, killed, forgotten):
        with remote("sse") as server:
            asyncio.run(death(server))


@pytest.mark.parametrize("status", [400, 404, 405, 406, 501, 200])
async def test_a_url_without_a_type_falls_back_to_sse_and_is_remembered(status: int) -> None:
    """As the specification has it (basic/transports, Backwards Compatibility)."""
    with older_http(status) as server:
        for _ in range(2):
            async with ServerSession("s", ServerConfig(url=server.url)) as session:
                assert (await session.call("echo", {})).content == "on"
                assert session.protocol_version == "2024-11-05"
        refused = [path for method, path in server.requests if (method, path) == ("POST", "/mcp")]
        assert 1 <= len(refused) <= 2  # server/discover and initialize, and only once
        eventually(lambda: not server.open_streams)  # it has noticed that nobody listens


@pytest.mark.parametrize(
    ("type_", "status", "said"),
    [
        (None, 401, "status 401"),
        (None, 500, "status 500"),
        ("http", 405, 'needs "type": "sse"'),
        ("sse", 405, None),
    ],
)
def test_what_is_no_sign_of_the_older_transport_is_said(
    type_: str | None, status: int, said: str | None
) -> None:
    with older_http(status) as server:
        session = ServerSession(
            "s", ServerConfig.model_validate({"url": server.url, "type": type_})
        )
        if said is None:
            asyncio.run(call_in(ServerConfig(url=server.url, type="sse"), "echo"))
        else:
            with pytest.raises(MCPServerStartupError, match=said):
                asyncio.run(session.open(5))


def test_a_url_that_is_of_neither_transport_keeps_its_first_refusal() -> None:
    with faulty_http("init status:404:no such page") as server:
        with pytest.raises(MCPServerStartupError) as failure:
            asyncio.run(ServerSession("s", ServerConfig(url=server.url)).open(5))
        assert [method for method, _, _ in server.requests] == ["POST", "POST", "GET"]
    assert "it answered with status 404: no such page" in str(failure.value)
    assert 'needs "type": "sse"' in str(failure.value)


@pytest.mark.parametrize("rounds", range(4))
async def test_what_arrives_when_receiving_is_cancelled_is_received_next(rounds: int) -> None:
    """Or a start would now and then wait in vain for the answer to its handshake."""
    config = ServerConfig(type="sse", url="http://127.0.0.1:9/sse")
    wire = HttpTransport(config.url or "", config, Redactor(), one_stream=True)
    messages: asyncio.Queue[Any] = asyncio.Queue()
    receiving = asyncio.create_task(wire.unless_it_ends(messages.get))
    await asyncio.sleep(0.01)
    messages.put_nowait("a message")
    for _ in range(rounds):
        await asyncio.sleep(0)
    receiving.cancel()
    received: list[Any] = [*await asyncio.gather(receiving, return_exceptions=True)]
    if isinstance(received[0], asyncio.CancelledError):
        async with asyncio.timeout(PATIENCE):
            received = [await wire.unless_it_ends(messages.get)]
    assert received == ["a message"]
    await wire.aclose()


def failure(address: ServerConfig, timeout: float = PATIENCE) -> list[str]:
    with pytest.raises(MCPServerStartupError) as error:
        asyncio.run(ServerSession("demo", address).open(timeout))
    assert SECRET not in str(error.value)
    return str(error.value).splitlines()


def test_an_address_that_has_no_such_stream_says_what_to_do() -> None:
    with faulty_http("") as server:  # answers GET with 405
        lines = failure(ServerConfig(url=f"{server.url}?k={SECRET}", type="sse"))
    assert "it answered with status 405" in lines[0]
    assert "an SSE endpoint (it often ends in /sse)" in lines[2]


def test_a_refused_connection_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    lines = failure(ServerConfig(url=f"http://127.0.0.1:{port}/sse", type="sse"))
    assert "no server can be reached" in lines[0]


@contextmanager
def stream(*events: str, then: str = "HTTP/1.1 202 Accepted") -> Iterator[str]:
    """A server whose stream begins with ``events`` and stays open; ``then`` answers a POST."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            for answer in (head + "".join(events), f"{then}\r\ncontent-length: 0\r\n\r\n"):
                connection, _ = listener.accept()
                held.append(connection)
                with suppress(OSError):  # of a connection that only ends the wait for one
                    connection.recv(65536)
                    connection.sendall(answer.encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/sse"
        finally:
            for _ in range(2):  # the thread must not wait at a number that another file gets
                socket.create_connection(listener.getsockname()).close()
            thread.join(PATIENCE)
            for connection in held:
                connection.close()


def test_a_stream_that_says_nothing_is_given_up() -> None:
    with stream() as url:
        lines = failure(ServerConfig(url=url, type="sse"), timeout=0.3)
    assert "it did not answer within 0.3 s" in lines[0]


def test_a_refused_message_is_told_at_once() -> None:
    with stream("event: endpoint\ndata: /messages\n\n", then="HTTP/1.1 403 Forbidden") as url:
        lines = failure(ServerConfig(url=url, type="sse"))
    assert "it answered with status 403: Forbidden" in lines[0]
