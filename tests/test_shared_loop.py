"""The shared event loop: calls from it and from elsewhere, interruptions, the end of its thread."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import signal
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import pytest

import shared_loop
from shared_loop import LoopShare, in_shared_loop, run_in_daemon_thread
from tests.support import FOREVER, PATIENCE

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


@pytest.fixture(autouse=True)
def nobody_else_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that another test has forgotten may still be in the loop of this process."""
    monkeypatch.setattr(shared_loop._LoopThread, "_now", None)


def share() -> LoopShare:
    return LoopShare(nullcontext(), lambda: ValueError("closed here"))


async def where() -> threading.Thread:
    return threading.current_thread()


def test_what_is_shared_runs_in_one_thread_whoever_calls() -> None:
    first, second = share(), share()

    async def turn() -> set[threading.Thread]:
        return {await where(), await first.run(where()), await second.run(where())}

    found = asyncio.run(in_shared_loop(turn())) | {
        first.wait(where()),
        asyncio.run(second.run(where())),
    }
    first.close()
    assert len(found | {second.wait(where())}) == 1
    second.close()
    (thread,) = found
    assert not thread.is_alive()
    assert asyncio.run(in_shared_loop(where())) is not thread


def test_a_call_runs_in_the_context_of_whoever_calls() -> None:
    async def look() -> str:
        return VARIABLE.get()

    async def turn() -> str:
        VARIABLE.set("turn")
        return await ours.run(look())

    def program() -> str:
        VARIABLE.set("program")
        return ours.wait(look())

    ours = share()
    assert asyncio.run(in_shared_loop(turn())) == "turn"
    assert contextvars.copy_context().run(program) == "program"
    assert asyncio.run(ours.run(look())) == "unset"
    ours.close()


def test_the_end_of_one_share_cuts_off_its_calls_and_leaves_its_resource_and_no_other() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def resource() -> AsyncIterator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    async def within() -> None:
        await ours.run(asyncio.sleep(FOREVER))

    async def turn() -> str:
        asyncio.get_running_loop().call_later(0.01, threading.Thread(target=ours.close).start)
        with pytest.raises(ValueError, match="closed here"):
            await ours.run(within())
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        return await other.run(asyncio.sleep(0, "still there"))

    ours, other = LoopShare(resource(), lambda: ValueError("closed here")), share()
    assert ours.wait(asyncio.sleep(0, "ok")) == "ok"
    assert asyncio.run(in_shared_loop(turn())) == "still there"
    ours.close()
    assert seen == ["entered", "left"]
    with pytest.raises(ValueError, match="closed here"):
        ours.wait(asyncio.sleep(0))
    other.close()


@pytest.mark.parametrize("closes_first", [True, False])
def test_a_turn_that_is_cancelled_while_a_share_ends_stays_cancelled(closes_first: bool) -> None:
    async def turn() -> str:
        asking = asyncio.create_task(ours.run(asyncio.sleep(FOREVER)))
        await asyncio.sleep(0.01)
        if closes_first:
            ours.stop()
            await asyncio.sleep(0)
        asking.cancel()
        ours.stop()
        await asyncio.wait([asking])
        return "cancelled" if asking.cancelled() else str(asking.exception())

    ours = share()
    ours.wait(asyncio.sleep(0))
    assert asyncio.run(in_shared_loop(turn())) == "cancelled"
    ours.close()


@pytest.mark.parametrize("rounds", range(6))
def test_calls_begin_in_the_order_in_which_they_are_made(rounds: int) -> None:
    """Also those that come while the resource is being entered."""
    seen: list[str] = []

    async def see(name: str) -> None:
        seen.append(name)

    async def turn() -> None:
        first = asyncio.create_task(ours.run(see("first")))
        await asyncio.sleep(0)
        for _ in range(rounds):
            await asyncio.sleep(0)
        await ours.run(see("second"))
        await first

    ours = share()
    asyncio.run(in_shared_loop(turn()))
    ours.close()
    assert seen == ["first", "second"]


def test_what_is_told_is_done_at_once_from_the_shared_loop_and_nowhere_without_it() -> None:
    seen: list[str] = []

    async def turn() -> None:
        ours.tell(partial(seen.append, "within"))
        seen.append("after")

    ours = share()
    ours.tell(partial(seen.append, "nothing was called"))
    ours.wait(asyncio.sleep(0))
    asyncio.run(in_shared_loop(turn()))
    assert seen == ["within", "after"]
    ours.tell(partial(seen.append, "from outside"))
    ours.wait(asyncio.sleep(0))
    assert seen[2:] == ["from outside"]
    ours.close()
    ours.tell(partial(seen.append, "closed"))
    assert len(seen) == 3


def test_a_resource_that_cannot_be_entered_keeps_no_call_waiting() -> None:
    @asynccontextmanager
    async def resource() -> AsyncIterator[None]:
        raise OSError("no such certificates")
        yield

    ours = LoopShare(resource(), lambda: ValueError("closed here"))
    assert [ours.wait(asyncio.sleep(0.01, "ok")) for _ in range(2)] == ["ok", "ok"]
    ours.close()


def test_the_loop_refuses_to_wait_for_itself() -> None:
    ours = share()

    async def turn() -> None:
        with pytest.raises(RuntimeError, match="cannot wait for itself"):
            ours.wait(asyncio.sleep(0))

    asyncio.run(in_shared_loop(turn()))
    ours.close()


def test_an_interrupted_turn_is_cancelled_and_waited_for() -> None:
    seen: list[str] = []

    async def turn() -> None:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(FOREVER)
        finally:
            await asyncio.sleep(0.05)
            seen.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(in_shared_loop(turn()))
    assert seen == ["cleaned up"]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_would_end_the_loop_of_all_parts_ends_the_turn_alone(
    error: type[BaseException],
) -> None:
    ours = share()

    async def turn() -> None:
        await run_in_daemon_thread(leave)

    def leave() -> None:
        raise error("enough")

    ours.wait(asyncio.sleep(0))
    with pytest.raises(error, match="enough"):
        asyncio.run(in_shared_loop(turn()))
    with pytest.raises(Exception, match=f"{error.__name__}: enough"):
        ours.wait(turn())
    assert ours.wait(asyncio.sleep(0, "still there")) == "still there"
    ours.close()


def test_an_error_of_a_turn_is_raised_where_it_is_waited_for() -> None:
    async def turn() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        asyncio.run(in_shared_loop(turn()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    ours = share()
    ours.wait(asyncio.sleep(0))
    child = os.fork()
    if not child:
        try:
            os._exit(asyncio.run(in_shared_loop(asyncio.sleep(0, 7))))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    ours.close()


def test_a_daemon_thread_hands_back_results_errors_and_context() -> None:
    def work(number: int, *, fail: bool = False) -> tuple[int, str, bool]:
        if fail:
            raise KeyError("no")
        return number, VARIABLE.get(), threading.current_thread().daemon

    async def use() -> None:
        VARIABLE.set("set")
        assert await run_in_daemon_thread(work, 7) == (7, "set", True)
        with pytest.raises(KeyError, match="no"):
            await run_in_daemon_thread(work, 7, fail=True)

    asyncio.run(use())


def test_a_cancelled_wait_does_not_wait_for_the_thread() -> None:
    release, finished = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(PATIENCE)
        finished.set()

    async def use() -> None:
        waiting = asyncio.create_task(run_in_daemon_thread(work))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(use())  # would hang here with asyncio.to_thread
    assert not finished.is_set()
    release.set()
    assert finished.wait(PATIENCE)


def test_a_call_that_is_cancelled_before_it_begins_is_closed() -> None:
    entered, go_on = threading.Event(), threading.Event()

    async def keep_the_loop_busy() -> None:
        entered.set()
        go_on.wait(PATIENCE)

    ours = share()
    ours.submit(keep_the_loop_busy())
    assert entered.wait(PATIENCE)
    call = asyncio.sleep(FOREVER)
    assert ours.submit(call).cancel()
    go_on.set()
    ours.close()
    assert inspect.getcoroutinestate(call) == inspect.CORO_CLOSED


def test_a_call_that_is_cut_off_before_stop_returns_learns_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = share()
    call = ours.submit(asyncio.sleep(FOREVER))

    tell = asyncio.SelectorEventLoop.call_soon_threadsafe

    def tell_and_look_on(*arguments: Any) -> asyncio.Handle:  # noqa: ANN401
        handle = tell(*arguments)
        with suppress(CancelledError):
            call.exception(PATIENCE)
        return handle

    monkeypatch.setattr(asyncio.SelectorEventLoop, "call_soon_threadsafe", tell_and_look_on)
    ours.stop()
    with pytest.raises(ValueError, match="closed here"):
        call.result(PATIENCE)
    ours.close()
