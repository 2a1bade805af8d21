"""The episode's event loop: what it runs, keeps and cuts off, and who may use it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from contextvars import ContextVar

import pytest

from session.loop import EpisodeLoop, running_loop
from tests.support import FOREVER, PATIENCE, ROOT

STAGE = ContextVar("STAGE", default="unset")


@pytest.fixture
def loop() -> Iterator[EpisodeLoop]:
    with closing(EpisodeLoop()) as loop:
        yield loop


async def stage() -> tuple[str, asyncio.AbstractEventLoop | None]:
    return STAGE.get(), running_loop()


def test_every_run_has_its_callers_context_in_one_event_loop(loop: EpisodeLoop) -> None:
    first, here = loop.run(stage())
    token = STAGE.set("second")
    assert loop.run(stage()) == ("second", here)
    STAGE.reset(token)
    assert (first, loop.run(stage())) == ("unset", ("unset", here))
    assert not loop.is_current


async def test_within_an_event_loop_it_says_what_to_await(loop: EpisodeLoop) -> None:
    with pytest.raises(RuntimeError, match=r"`await client\.acomplete\(\.\.\.\)`"):
        loop.run(stage())


def test_a_second_thread_is_refused_while_the_first_one_runs_it(loop: EpisodeLoop) -> None:
    refused: list[str] = []

    def second() -> None:
        with pytest.raises(RuntimeError, match="Another thread") as caught:
            loop.run(stage())
        refused.append(str(caught.value))

    async def first() -> None:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(PATIENCE)

    loop.run(first())
    assert len(refused) == 1
    third = threading.Thread(target=lambda: loop.run(stage()))  # one after the other is fine
    third.start()
    third.join(PATIENCE)


def kept_in(loop: EpisodeLoop, *names: str) -> list[str]:
    """What ended of the contexts that are kept, in order."""
    ended: list[str] = []

    @asynccontextmanager
    async def context(name: str) -> AsyncIterator[str]:
        yield name
        await asyncio.sleep(0)
        ended.append(name)

    for name in names:
        assert loop.run(loop.keep(context(name))) == name
    return ended


def test_what_is_kept_outlasts_runs_and_ends_last_in_first_out(loop: EpisodeLoop) -> None:
    ended = kept_in(loop, "connection", "server")
    loop.run(asyncio.sleep(0))
    assert ended == []
    loop.close()
    loop.close()
    assert ended == ["server", "connection"]
    with pytest.raises(RuntimeError, match="is closed"):
        loop.run(stage())


@pytest.mark.parametrize("from_within", [True, False])
def test_closing_it_in_the_middle_cuts_off_what_runs(loop: EpisodeLoop, from_within: bool) -> None:
    ended = kept_in(loop, "connection")
    threads: list[threading.Thread] = []

    async def wait() -> None:
        if from_within:
            loop.close()
        else:
            threads.append(threading.Thread(target=loop.close))
            threads[0].start()
        await asyncio.sleep(FOREVER)

    with pytest.raises(RuntimeError, match="was closed"):
        loop.run(wait())
    for thread in threads:
        thread.join(PATIENCE)
    assert ended == ["connection"]


def test_what_arrives_while_it_stands_still_is_taken_in_before_the_next_run(
    loop: EpisodeLoop,
) -> None:
    ours, theirs = socket.socketpair()
    arrived: list[bytes] = []
    reading: list[asyncio.Task[None]] = []

    async def read() -> None:
        stream, writer = await asyncio.open_connection(sock=theirs)
        arrived.extend([line async for line in stream])
        arrived.append(b"end")
        writer.close()

    async def begin() -> None:
        reading.append(asyncio.create_task(read()))

    async def look() -> list[bytes]:
        return [*arrived]

    loop.run(begin())
    loop.run(asyncio.sleep(0))
    ours.sendall(b"news\n")
    ours.close()
    assert loop.run(look()) == [b"news\n", b"end"]


def test_its_children_end_without_a_thread_that_waits_for_them(loop: EpisodeLoop) -> None:
    async def end_of_child() -> tuple[int, list[threading.Thread]]:
        child = await asyncio.create_subprocess_exec("sh", "-c", "exit 7")
        return await child.wait(), [it for it in threading.enumerate() if "waitpid" in it.name]

    assert loop.run(end_of_child()) == (7, [])
    assert asyncio.run(end_of_child())[0] == 7  # nor is another event loop disturbed


def test_a_forked_process_begins_anew_and_leaves_its_parents_loop_alone() -> None:
    code = """
import asyncio, os
from session.loop import EpisodeLoop, running_loop
async def here(): return running_loop()
loop = EpisodeLoop()
ours = loop.run(here())
child = os.fork()
if child == 0:
    theirs = loop.run(here())
    loop.close()
    os._exit(theirs is ours)
print(os.waitpid(child, 0)[1], loop.run(here()) is ours)
loop.close()
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (run.stdout, run.stderr) == ("0 True\n", "")


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_interrupts_it_and_it_can_be_closed(loop: EpisodeLoop, times: int) -> None:
    ended = kept_in(loop, "connection")

    async def stubborn() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(FOREVER)
        finally:
            if times == 2:
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(FOREVER)

    with pytest.raises(KeyboardInterrupt):
        loop.run(stubborn())
    loop.close()
    assert ended == ["connection"]
