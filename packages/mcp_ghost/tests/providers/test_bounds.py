"""What a model's server sends outruns neither its time nor its memory, and no budget."""

from __future__ import annotations

import gzip
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_client import LLMClient
from mcp_ghost.errors import LLMConnectionError, LLMReplyError
from mcp_ghost.messages import Usage
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.common import MOST_DOLLARS, MOST_TOKENS
from mcp_ghost.providers.openai import split_thinking
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.transport import MOST_REPLY_BYTES, RetryPolicy, retry_after
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply
from mcp_ghost.testing.wires import WireName
from session.game_configuration import GameConfiguration
from tests.support import PATIENCE
from tests.support import clients as game
from tests.support import provider_clients as engine
from tests.support.wires import WIRES
from tests.support.work import growth

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GZIP = b"Content-Encoding: gzip\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NAMED_GZIP = b"\x1f\x8b\x08\x08" + bytes(6)  # and then its name, to a zero byte
ONCE = RetryPolicy(max_attempts=1)


def chunks(parts: Iterator[bytes]) -> Iterator[bytes]:
    return (b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def bomb() -> bytes:
    """32 MiB of spaces, packed."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b" " * 2**20) for _ in range(2**5)) + packer.flush()


TRICKLED: dict[str, Callable[[], Iterator[bytes]]] = {
    "headers": lambda: (b"HTTP/1.1 200 OK\r\n" if not i else b"X-%d: y\r\n" % i for i in count()),
    "one header": lambda: (HEAD + b"X: " if not i else b"y" for i in count()),
    "provisional answers": lambda: repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a header of gzip": lambda: (
        HEAD + GZIP + b"\r\n" + NAMED_GZIP if not i else b"n" for i in count()
    ),
    "a body": lambda: (HEAD + b"\r\n{" if not i else b" " for i in count()),
    "nothing at all": lambda: repeat(b""),
}
FLOODS: dict[str, Callable[[], Iterator[bytes]]] = {
    "provisional answers": lambda: repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000),
}
ENDLESS: dict[str, Callable[[], Iterator[bytes]]] = {
    "a body": lambda: (HEAD + b"\r\n" if not i else b" " * 2**16 for i in count()),
    "chunks": lambda: (
        HEAD + CHUNKED + b"\r\n" if not i else b"10000\r\n%s\r\n" % (b" " * 2**16) for i in count()
    ),
    "a header of gzip": lambda: (
        HEAD + GZIP + b"\r\n" + NAMED_GZIP if not i else b"n" * 2**16 for i in count()
    ),
    "what follows a gzip": lambda: (
        HEAD + GZIP + b"\r\n" + gzip.compress(b"{}") if not i else b"n" * 2**16 for i in count()
    ),
    "a gzip that becomes large": lambda: iter([HEAD + GZIP + b"\r\n" + bomb()]),
    "an error": lambda: (b"HTTP/1.1 500 No\r\n\r\n" if not i else b" " * 2**16 for i in count()),
}


@contextmanager
def sending(parts: Callable[[], Iterator[bytes]], pause: float = 0) -> Iterator[str]:
    """The address of a server that answers every request so, until nobody listens."""
    done = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            for part in parts():
                try:
                    connection.sendall(part)
                except OSError:
                    return
                if done.wait(pause):
                    return

    def serve() -> None:
        while not done.is_set():
            connection, _ = listener.accept()
            connection.settimeout(PATIENCE)
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            done.set()
            socket.create_connection(("127.0.0.1", port)).close()  # it may be waiting for one
            thread.join(PATIENCE)
    assert not thread.is_alive()


def ask_engine(url: str, seconds: float) -> None:
    client = ProviderClient(get_provider("openai"), None, "m", url, timeout=seconds, retry=ONCE)
    engine.ask(client)


def ask_game(url: str, seconds: float) -> None:
    config = GameConfiguration(client_timeout_seconds=seconds, retry_max_attempts=1)
    client = LLMClient(config=config, base_url=url)
    try:
        game.ask(client)
    finally:
        client.close()


ASK = pytest.mark.parametrize("ask", [ask_engine, ask_game])


@ASK
@pytest.mark.parametrize(
    ("parts", "pause"),
    [*((it, 0.02) for it in TRICKLED.values()), *((it, 0.0) for it in FLOODS.values())],
    ids=[*TRICKLED, *FLOODS],
)
def test_the_deadline_ends_a_request_whatever_trickles_or_floods_in(
    ask: Callable[[str, float], None], parts: Callable[[], Iterator[bytes]], pause: float
) -> None:
    with (
        sending(parts, pause=pause) as url,
        pytest.raises(LLMConnectionError, match=r"no complete answer within 0\.3 s"),
    ):
        ask(url, 0.3)


@ASK
@pytest.mark.parametrize("parts", ENDLESS.values(), ids=ENDLESS)
def test_a_reply_without_end_is_given_up_at_its_bound(
    ask: Callable[[str, float], None], parts: Callable[[], Iterator[bytes]]
) -> None:
    tracemalloc.start()
    try:
        with sending(parts) as url, pytest.raises(LLMReplyError, match="more than 8 MiB"):
            ask(url, PATIENCE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * MOST_REPLY_BYTES


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "x" * 5000])
def test_a_reply_packed_as_nobody_asked_for_is_refused(encoding: str) -> None:
    headers = {"Content-Encoding": encoding}
    packed = Reply(gzip.compress(gzip.compress(b"{}")), headers=headers)
    with ModelServer([packed] * 2) as server, pytest.raises(LLMReplyError, match="encoded as"):
        game.ask(game.client_of(server))


def test_a_long_reply_is_read_packed_or_not() -> None:
    text = "word " * (MOST_REPLY_BYTES // 10)
    with ModelServer([content_reply(text)]) as server:
        assert game.ask(game.client_of(server)) == text


@pytest.mark.parametrize(
    "value",
    [
        "Fri, 31 Dec 99999 23:59:59 GMT",
        "Fri, 31 Dec 100000000000000000000 23:59:59 GMT",
        "9" * 400,
    ],
)
def test_a_wait_beyond_all_calendars_is_the_longest_wait(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    failure = error_reply(503, headers={"Retry-After": value})
    with ModelServer([failure, "ok"]) as server:
        assert game.ask(game.client_of(server, retry_max_delay=0.25)) == "ok"
    (retry,) = [it for it in caplog.records if it.__dict__.get("event_type") == "llm_retry"]
    assert retry.__dict__["delay_seconds"] == 0.25


DATES = st.from_regex(
    r"(Mon, )?[0-9]{1,25}[ -](Jan|Feb|Dec|X)[ -][0-9]{1,25} [0-9:]{1,12} (GMT|[-+][0-9]{1,9})?",
    fullmatch=True,
)


@pytest.mark.fuzz
@given(value=st.text() | DATES)
def test_whatever_wait_a_server_asks_for_is_a_time_or_none(value: str) -> None:
    seconds = retry_after({"retry-after": value})
    assert seconds is None or seconds >= 0


USAGES = {
    "responses": lambda number: {"input_tokens": number, "output_tokens": 5},
    "openai": lambda number: {"prompt_tokens": number, "completion_tokens": 5},
    "anthropic": lambda number: {"input_tokens": number, "output_tokens": 5},
    "gemini": lambda number: {"promptTokenCount": number, "candidatesTokenCount": 5},
}
NUMBERS = {
    "negative": (-5, 0),
    "huge": (10**300, MOST_TOKENS),
    "infinite": (float("inf"), MOST_TOKENS),
    "not a number": (float("nan"), 0),
    "a fraction": (7.5, 7),
    "a text": ("12", 0),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("reported", "counted"), NUMBERS.values(), ids=NUMBERS)
def test_a_usage_that_cannot_be_true_is_corrected_and_said_once(
    wire: WireName, reported: object, counted: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Verbatim(ModelServer):
        def answer(self, body: object, headers: dict[str, str]) -> Reply:
            usage = {"gemini": "usageMetadata"}.get(wire, "usage")
            body = super().answer(body, headers).body
            assert isinstance(body, dict)
            return Reply({**body, usage: USAGES[wire](reported)})

    with Verbatim(["One.", "Two."], wire=wire) as server:
        client = engine.client_of(server, wire)
        spent = [engine.ask(client).spent for _ in range(2)]
    assert spent == [Usage(calls=1, prompt_tokens=counted, completion_tokens=5)] * 2
    (warning,) = [it for it in caplog.records if it.__dict__["event_type"] == "llm_usage_doubted"]
    assert set(USAGES[wire](0)) - {
        "completion_tokens",
        "output_tokens",
        "candidatesTokenCount",
    } == {warning.__dict__["fields"]}


@pytest.mark.parametrize(
    ("reported", "counted"),
    [(-1.0, 0.0), (1e300, MOST_DOLLARS), (10**400, MOST_DOLLARS), (float("nan"), 0.0)],
)
def test_a_cost_that_cannot_be_true_is_corrected_and_said(
    reported: float, counted: float, caplog: pytest.LogCaptureFixture
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "cost": reported}
    with ModelServer([content_reply("Fine.", usage=usage)]) as server:
        assert engine.ask(engine.client_of(server)).spent.cost == counted
    assert [it.__dict__["fields"] for it in caplog.records] == ["cost"]


def test_an_ordinary_usage_is_not_doubted(caplog: pytest.LogCaptureFixture) -> None:
    usage = {
        "prompt_tokens": 3.0,
        "completion_tokens": 2,
        "total_time": 0.25,
        "cost": 0.125,
        "prompt_tokens_details": {"cached_tokens": None, "audio_tokens": 0},
        "cost_details": {"upstream_inference_cost": -1},
    }
    with ModelServer([content_reply("Fine.", usage=usage)]) as server:
        spent = engine.ask(engine.client_of(server)).spent
    assert (spent.prompt_tokens, spent.cost) == (3, 0.125)
    assert not caplog.records


def test_thinking_that_never_ends_is_read_once() -> None:
    assert growth(lambda size: split_thinking("x" + "<think>" * size), 2_000) < 9
    assert growth(lambda size: split_thinking("<|channel|>" + "x" * size), 2_000) < 9
