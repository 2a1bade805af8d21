"""The event loop of an episode: models are asked and tools called in it, and nothing runs between.

Connections and sessions belong to an event loop and outlive a turn, so one loop serves the whole
episode, and stands still between two calls of :meth:`EpisodeLoop.run`.
"""

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

_T = TypeVar("_T")
_GLANCE_SECONDS: Final = 0.25
"""A signal that comes just before the loop falls asleep wakes it only then."""
_CATCH_UP_SECONDS: Final = 0.005
"""For what arrived while the loop stood still; it is in the system's buffers already."""
_CLOSE_SECONDS: Final = 5.0
_of_parents: list[object] = []
"""Loops of the process that this one was forked from: closing one would reach into it."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that this thread runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class EpisodeLoop:
    """One event loop for many runs; it is made with the first and serves one thread at a time."""

    def __init__(self) -> None:
        self.is_closed = False
        self._pid = os.getpid()
        self._busy = threading.Lock()
        self._is_running = False
        self._runner: asyncio.Runner | None = None
        self._kept = AsyncExitStack()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in it."""
        return self._runner is not None and self._runner.get_loop() is running_loop()

    def run(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Run ``call`` to its end, in the caller's context.

        Raises:
            RuntimeError: This thread already runs an event loop, another thread runs this one, or
                it was closed, perhaps while ``call`` was running.
        """
        self._forget_parent()
        try:
            if running_loop() is not None:
                raise RuntimeError(
                    "This thread is already running an event loop: ask the model with "
                    "`await client.acomplete(...)`."
                )
            if not self._busy.acquire(blocking=False):
                raise RuntimeError(
                    "Another thread is using this client: give each thread a client of its own."
                )
            try:
                self._is_running = True
                return self._run(call)
            finally:
                self._is_running = False
                self._busy.release()
                if self.is_closed:
                    self._end()
        finally:
            if inspect.getcoroutinestate(call) == inspect.CORO_CREATED:
                call.close()

    async def keep(self, context: AbstractAsyncContextManager[_T]) -> _T:
        """Enter ``context``, until the loop is closed."""
        return await self._kept.enter_async_context(context)

    def close(self) -> None:
        """Cut off what runs, end what is kept, last in first out, and accept nothing more."""
        self._forget_parent()
        self.is_closed = True
        runner = self._runner
        if not self._end() and runner is not None:
            with suppress(RuntimeError):  # it has just ended
                runner.get_loop().call_soon_threadsafe(self._cut_off)
            if not self.is_current:
                self._end(_CLOSE_SECONDS)

    def _run(self, call: Coroutine[Any, Any, _T]) -> _T:
        if self.is_closed:
            raise RuntimeError("The event loop of this episode is closed.")
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=_new_loop)
        loop = self._runner.get_loop()
        if asyncio.all_tasks(loop):  # of sessions that last for the episode
            self._runner.run(asyncio.sleep(_CATCH_UP_SECONDS), context=copy_context())
        self._glance(loop)
        try:
            return self._runner.run(call, context=copy_context())
        except asyncio.CancelledError:
            if self.is_closed:
                raise RuntimeError("The event loop of this episode was closed.") from None
            raise
        finally:
            self._next_glance.cancel()

    def _glance(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next_glance = loop.call_later(_GLANCE_SECONDS, self._glance, loop)

    def _cut_off(self) -> None:
        if self._is_running:
            for task in asyncio.all_tasks():
                task.cancel()

    def _end(self, patience: float = 0.0) -> bool:
        """End it; returns False where somebody runs it, who then ends it."""
        if not self._busy.acquire(timeout=patience):
            return False
        try:
            runner, self._runner = self._runner, None
            if runner is not None and running_loop() is None:
                self._end_runner(runner)
            elif runner is not None:  # a forgotten client's, collected while another loop runs
                thread = threading.Thread(target=self._end_runner, args=(runner,))
                thread.start()
                thread.join()
        finally:
            self._busy.release()
        return True

    def _end_runner(self, runner: asyncio.Runner) -> None:
        with runner:
            runner.run(self._kept.aclose(), context=copy_context())

    def _forget_parent(self) -> None:
        """Begin anew in a process that was forked meanwhile."""
        if self._pid != os.getpid():
            _of_parents.append((self._runner, self._kept))
            self._pid, self._busy = os.getpid(), threading.Lock()
            self._runner, self._kept = None, AsyncExitStack()


def in_daemon_thread(function: Callable[[], _T]) -> Future[_T]:
    """Call ``function`` in a thread that does not delay the end of the program."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  handed on to whoever waits
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


class _Loop(asyncio.SelectorEventLoop):
    """Waits in daemon threads: a host's name may be looked up for ever."""

    def run_in_executor(  # type: ignore[override]
        self,
        executor: Executor | None,
        func: Callable[..., _T],
        *args: Any,  # noqa: ANN401
    ) -> asyncio.Future[_T]:
        return asyncio.wrap_future(in_daemon_thread(partial(func, *args)), loop=self)


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        if type(asyncio.get_child_watcher()) is asyncio.ThreadedChildWatcher:
            asyncio.set_child_watcher(_ChildWatcher())
    return _Loop()


if sys.version_info < (3, 12):

    class _ChildWatcher(asyncio.ThreadedChildWatcher):
        """Learns of a child's end without a thread, in the loop that started it, as 3.12's does."""

        def add_child_handler(  # type: ignore[override]
            self,
            pid: int,
            callback: Callable[..., object],
            *args: Any,  # noqa: ANN401
        ) -> None:
            loop, descriptor = asyncio.get_running_loop(), os.pidfd_open(pid)

            def ended() -> None:
                loop.remove_reader(descriptor)
                os.close(descriptor)
                code = 255  # somebody else has taken it
                with suppress(ChildProcessError):
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                callback(pid, code, *args)

            loop.add_reader(descriptor, ended)
