"""The client's connections in the shared event loop: calls from anywhere, every way to end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import shared_loop
from llm_client import LLMClient
from mcp_ghost.errors import LLMError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply
from session.game_configuration import GameConfiguration
from tests.support import FOREVER, PATIENCE, ROOT
from tests.support.clients import MESSAGES, ask, client_of

if TYPE_CHECKING:
    from mcp_ghost.providers.exchange import Exchange


class Late:
    """Answers so late that nobody waits for it; ``asked`` says that a request has come."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, _request: ModelRequest) -> Reply:
        self.asked.set()
        return content_reply("late").after(FOREVER)


def test_threads_and_event_loops_share_its_connections() -> None:
    async def twice(client: LLMClient) -> list[str | None]:
        both = (client.acomplete(model="m", messages=MESSAGES) for _ in range(2))
        return [reply.content for reply in await asyncio.gather(*both)]

    with ModelServer(lambda _: "ok") as server:
        client = client_of(server)
        assert asyncio.run(twice(client)) == asyncio.run(twice(client)) == ["ok", "ok"]
        assert ask(client) == "ok"
        client.close()


def test_closing_ends_calls_that_are_awaited_and_later_ones_are_refused() -> None:
    late = Late()

    def close_in_time(client: LLMClient) -> None:
        late.asked.wait(PATIENCE)
        client.close()

    async def wait(client: LLMClient) -> None:
        threading.Thread(target=close_in_time, args=(client,)).start()
        with pytest.raises(LLMError, match="was closed here"):
            await client.acomplete(model="m", messages=MESSAGES)

    with ModelServer(late) as server:
        client = client_of(server)
        asyncio.run(wait(client))
        with pytest.raises(LLMError, match="was closed here"):
            ask(client)
        client.close()  # a second time does no harm


def test_cancelling_a_call_ends_its_request() -> None:
    late, ended = Late(), threading.Event()
    told: list[Exchange] = []

    def tell(exchange: Exchange) -> None:
        told.append(exchange)
        ended.set()

    async def give_up(client: LLMClient) -> None:
        call = asyncio.create_task(client.acomplete(model="m", messages=MESSAGES))
        await asyncio.to_thread(late.asked.wait, PATIENCE)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with ModelServer(late) as server:
        client = LLMClient(GameConfiguration(client_base_url=server.base_url), on_exchange=tell)
        asyncio.run(give_up(client))
        assert ended.wait(PATIENCE)
        client.close()
    assert [exchange.error for exchange in told] == ["CancelledError"]


def test_a_forgotten_client_takes_its_thread_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_loop._LoopThread, "_now", None)  # no other part is in it
    before = set(threading.enumerate())
    with ModelServer(["ok"]) as server:
        ours = set(threading.enumerate())
        client = client_of(server)
        ask(client)
        threads = [it for it in set(threading.enumerate()) - ours if it.name == "shared-loop"]
        assert len(threads) == 1
        del client
        gc.collect()
        threads[0].join(PATIENCE)
        assert not threads[0].is_alive()
    assert not {it for it in set(threading.enumerate()) - before if it.name == "shared-loop"}


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
