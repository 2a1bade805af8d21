"""What a server of ours puts up with, tried over real connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from session import listener
from session.listener import MOST_CONNECTIONS, small_server
from tests.support import PATIENCE
from tests.support.servers import eventually

ASKS = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
        ASKS + b"GET / HTTP/1.1\r\nHost: ",
    ],
)
_LONG = "x" * 50_000_000


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await request.body()
    text = _LONG if request.url.path == "/long" else "Here I am."
    await PlainTextResponse(text)(scope, receive, send)


@pytest.fixture
def server() -> uvicorn.Server:
    return uvicorn.Server(small_server(app, lifespan="off", timeout_keep_alive=PATIENCE))


@pytest.fixture
def place(server: uvicorn.Server) -> Iterator[tuple[str, int]]:
    """Where the app is served."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()


def connected(place: tuple[str, int]) -> socket.socket:
    return socket.create_connection(place, PATIENCE)


def answers(connection: socket.socket) -> bool:
    """Whether the answer to what was asked comes, whole."""
    said = b""
    while not said.endswith(b"Here I am."):
        part = connection.recv(65536)
        if not part:
            return False
        said += part
    return True


def test_no_part_of_an_answer_waits_for_the_client_to_confirm_another(
    server: uvicorn.Server, place: tuple[str, int]
) -> None:
    with connected(place) as client:
        client.sendall(ASKS)
        assert answers(client)
        (connection,) = server.server_state.connections
        ours = connection.transport.get_extra_info("socket")
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def is_closed(connection: socket.socket) -> bool:
    """Whether nothing more comes; what came before is passed over."""
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@SLOW
def test_who_does_not_send_a_whole_request_in_time_is_closed(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(listener, "REQUEST_SECONDS", 0.2)
    with connected(place) as connection:
        connection.sendall(begun)
        assert is_closed(connection)


def test_who_does_not_read_an_answer_in_time_is_closed(
    server: uvicorn.Server, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "READ_SECONDS", 0.2)
    with connected(place) as connection:
        connection.sendall(ASKS.replace(b"/", b"/long", 1))
        assert eventually(lambda: server.server_state.total_requests == 1)
        assert eventually(lambda: not server.server_state.connections)
        assert is_closed(connection)


def test_a_connection_too_many_closes_the_one_that_was_idle_longest(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "REQUEST_SECONDS", PATIENCE)
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(place)) for _ in range(MOST_CONNECTIONS - 1)]
        asking = stack.enter_context(connected(place))
        for _ in range(3):
            asking.sendall(ASKS)
            assert answers(asking)
        extra = [stack.enter_context(connected(place)) for _ in range(20)]
        assert all(is_closed(connection) for connection in idle[:20])
        for connection in (*idle[20:], asking, *extra):
            connection.sendall(ASKS)
            assert answers(connection)


def test_when_all_are_busy_the_new_one_is_closed(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "REQUEST_SECONDS", PATIENCE)
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 3)
    half = (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    )
    with ExitStack() as stack:
        busy = [stack.enter_context(connected(place)) for _ in range(3)]
        for connection in busy:
            connection.sendall(half)
            assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        assert is_closed(stack.enter_context(connected(place)))
        for connection in busy:
            connection.sendall(b"123456789")
            assert answers(connection)
