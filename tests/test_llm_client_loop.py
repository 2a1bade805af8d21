"""The client and event loops: its own, an episode's, somebody else's, and every way to end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from llm_client import LLMClient
from mcp_ghost.errors import LLMError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply
from session.game_configuration import GameConfiguration
from session.loop import EpisodeLoop
from tests.support import FOREVER, PATIENCE, ROOT
from tests.support.clients import MESSAGES, ask, client_of
from tests.support.servers import eventually

if TYPE_CHECKING:
    from mcp_ghost.providers.exchange import Exchange


class Late:
    """Answers so late that nobody waits for it; ``asked`` says that a request has come."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, _request: ModelRequest) -> Reply:
        self.asked.set()
        return content_reply("late").after(FOREVER)


class Counting(ModelServer):
    """Counts its connections: it has a thread for each."""

    def __init__(self) -> None:
        super().__init__(lambda _: "ok")
        self.connections: set[int] = set()

    def answer(self, body: object, headers: dict[str, str]) -> Reply:
        self.connections.add(threading.get_ident())
        return super().answer(body, headers)


async def twice(client: LLMClient) -> list[str | None]:
    return [(await client.acomplete(model="m", messages=MESSAGES)).content for _ in range(2)]


def test_in_another_event_loop_it_asks_as_well_and_keeps_what_it_has_in_its_own() -> None:
    with Counting() as server:
        client = client_of(server)
        assert [ask(client), ask(client)] == ["ok", "ok"]
        assert len(server.connections) == 1
        assert asyncio.run(twice(client)) == asyncio.run(twice(client)) == ["ok", "ok"]
        server.connections.clear()
        assert [ask(client), *client.loop.run(twice(client))] == ["ok", "ok", "ok"]
        assert len(server.connections) == 1
        client.close()


def test_clients_of_an_episode_keep_their_connections_until_its_loop_is_closed() -> None:
    with Counting() as server:
        loop, config = EpisodeLoop(), GameConfiguration(client_base_url=server.base_url)
        first, second = (LLMClient(config, loop=loop) for _ in range(2))
        assert [ask(it) for it in (first, second, first, second)] == ["ok"] * 4
        assert len(server.connections) == 2
        first.close()
        with pytest.raises(LLMError, match="was closed here"):
            ask(first)
        assert ask(second) == "ok"
        loop.close()
        with pytest.raises(LLMError, match="was closed here"):
            ask(second)


async def test_the_synchronous_call_in_an_event_loop_names_the_other() -> None:
    with ModelServer(["ok"]) as server:
        client = client_of(server)
        with pytest.raises(RuntimeError, match=r"await client\.acomplete\(\.\.\.\)"):
            ask(client)
        assert (await client.acomplete(model="m", messages=MESSAGES)).content == "ok"
        client.close()


def test_a_second_thread_is_told_to_have_a_client_of_its_own() -> None:
    late = Late()

    def ask_too(client: LLMClient) -> None:
        late.asked.wait(PATIENCE)
        with pytest.raises(RuntimeError, match="each thread a client of its own"):
            ask(client)
        client.close()

    with ModelServer(late) as server:
        client = client_of(server)
        thread = threading.Thread(target=ask_too, args=(client,))
        thread.start()
        with pytest.raises(LLMError, match="was closed here"):
            ask(client)
        thread.join(PATIENCE)


def test_closing_ends_the_call_under_way_and_later_ones_are_refused() -> None:
    late = Late()

    def close_in_time(client: LLMClient) -> None:
        late.asked.wait(PATIENCE)
        client.close()

    with ModelServer(late) as server:
        client = client_of(server)
        thread = threading.Thread(target=close_in_time, args=(client,))
        thread.start()
        for _ in (1, 2):
            with pytest.raises(LLMError, match="was closed here"):
                ask(client)
        thread.join(PATIENCE)
        client.close()  # a second time does no harm


async def test_cancelling_a_call_ends_its_request() -> None:
    late, ended = Late(), threading.Event()
    told: list[Exchange] = []

    def tell(exchange: Exchange) -> None:
        told.append(exchange)
        ended.set()

    with ModelServer(late) as server:
        client = LLMClient(GameConfiguration(client_base_url=server.base_url), on_exchange=tell)
        call = asyncio.create_task(client.acomplete(model="m", messages=MESSAGES))
        await asyncio.to_thread(late.asked.wait, PATIENCE)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert ended.wait(PATIENCE)
        client.close()
    assert [exchange.error for exchange in told] == ["CancelledError"]


@pytest.mark.parametrize("within_a_loop", [True, False])
def test_a_forgotten_client_ends_its_connections_and_its_loop(within_a_loop: bool) -> None:
    async def forget(clients: list[LLMClient]) -> None:
        clients.clear()
        gc.collect()

    with ModelServer(["ok"]) as server:
        before = threading.active_count()
        clients = [client_of(server)]
        loop = clients[0].loop
        ask(clients[0])
        if within_a_loop:
            asyncio.run(forget(clients))
        else:
            clients.clear()
            gc.collect()
        assert loop.is_closed
        assert eventually(lambda: threading.active_count() == before)  # the server's thread, too


def test_a_name_that_is_looked_up_for_ever_holds_up_neither_the_call_nor_the_end() -> None:
    code = """
import socket, sys, time
socket.getaddrinfo = lambda *_, **__: time.sleep(float(sys.argv[1]))
from llm_client import LLMClient
from mcp_ghost.errors import LLMError
from session.game_configuration import GameConfiguration
config = GameConfiguration(client_timeout_seconds=0.2, retry_max_attempts=1)
try:
    client = LLMClient(config, base_url="http://models.example/v1")
    client.chat_completions_create("m", [{"role": "user", "content": "?"}])
except LLMError as error:
    print(error)
"""
    command = [sys.executable, "-c", code, str(FOREVER)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert "http://models.example/v1" in run.stdout
    assert run.returncode == 0, run.stderr
