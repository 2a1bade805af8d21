"""The event loop that the parts of a program share, in a thread of its own.

Models are asked there and tools called, because connections belong to an event loop and outlive a
turn. A turn's conversation runs there, too: waking another thread for each request and each call
would take as long as answering them.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, wait
from contextlib import AbstractAsyncContextManager, AsyncExitStack, closing, suppress
from typing import Any, ClassVar, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CLOSE_SECONDS = 5.0
_GLANCE_SECONDS = 0.25


async def run_in_daemon_thread(
    function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> _T:
    """``asyncio.to_thread`` for a call that must not delay the end of the program.

    Cancelled, it lets the thread finish on its own and forgets the result.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not future.done():
            set_outcome(outcome)

    def work() -> None:
        set_outcome: Callable[[Any], None] = future.set_result
        outcome: object
        try:
            outcome = context.run(function, *args, **kwargs)
        except BaseException as error:  # noqa: BLE001  handed on to whoever awaits
            set_outcome, outcome = future.set_exception, error
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(settle, set_outcome, outcome)

    threading.Thread(target=work, name="waits", daemon=True).start()
    return await future


class LoopShare:
    """One part's share of the event loop in which all parts of this program ask and call.

    The first call enters ``resource``, and ending the share exits it. Nothing here may hold the
    object that owns it: then a forgotten owner ends its share. The last share to end takes the
    thread with it.
    """

    def __init__(
        self, resource: AbstractAsyncContextManager[Any], closed: Callable[[], Exception]
    ) -> None:
        """``closed`` makes the error for calls that the end cuts off, or that come after it."""
        self._resource = resource
        self._closed_error = closed
        self._closed = False
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None
        self._entry = asyncio.Lock()
        self._ready = asyncio.Event()
        self._stopped = asyncio.Event()
        self._served: Future[None] | None = None
        self._calls: dict[Coroutine[Any, Any, Any], asyncio.Task[Any]] = {}
        """Those under way, and the task in which each is awaited."""
        self._cut_off: set[asyncio.Task[Any]] = set()
        """Tasks that the end has cancelled and that have not noticed yet."""
        self._none_left = asyncio.Event()

    async def run(self, call: Coroutine[Any, Any, _T]) -> _T:
        """``call`` from any event loop; within the shared one, in the caller's own task."""
        with self._lock:
            is_here = self._joined(call).is_current
        if is_here:
            return await self._unless_closed(call)
        return await asyncio.wrap_future(self.submit(call))

    def wait(self, call: Coroutine[Any, Any, _T]) -> _T:
        """``call`` from a thread that waits for it, which the shared loop must not do."""
        if isinstance(threading.current_thread(), _LoopThread):
            call.close()
            raise RuntimeError("The shared event loop cannot wait for itself: await the call.")  # noqa: TRY004
        future = self.submit(call)
        try:
            while not future.done():  # in pieces: a signal just before a wait does not end it
                wait([future], _GLANCE_SECONDS)
            return future.result()
        except BaseException:  # interrupted: nobody is waiting for it
            future.cancel()
            raise

    def submit(self, call: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin ``call``, in the caller's context."""
        with self._lock:
            thread = self._joined(call)
            begun = self._begun(call)
            # One that is cancelled before it begins never comes to its call.
            weakref.finalize(begun, call.close).atexit = False
            return thread.submit(begun)

    def tell(self, action: Callable[[], None]) -> None:
        """Do ``action`` in the shared loop, where something is called: from there, at once."""
        with self._lock:
            thread = None if self._closed else self._thread
            if thread is not None and not thread.is_current:
                thread.loop.call_soon_threadsafe(action)
        if thread is not None and thread.is_current:
            action()

    def stop(self) -> None:
        """Cut off what is under way, and accept nothing more; the resource is left soon."""
        with self._lock:
            if self._closed:
                return
            self._closed = True  # first: what is cut off looks here for the reason
            if self._thread is not None:
                self._thread.loop.call_soon_threadsafe(self._stopped.set)

    def close(self) -> None:
        """Stop, and wait for the end."""
        self.stop()
        thread = self._thread
        if thread is not None and self._served is not None and not thread.is_current:
            wait([self._served], _CLOSE_SECONDS)
            thread.wait_for_end()

    def _joined(self, call: Coroutine[Any, Any, Any]) -> _LoopThread:
        """The thread that is to run ``call``, started if need be; the caller holds the lock."""
        self._check(call)
        if self._thread is None:
            self._thread = _LoopThread.entered()
            self._served = self._thread.submit(self._serve(self._thread))
        return self._thread

    def _check(self, call: Coroutine[Any, Any, Any]) -> None:
        if self._closed:
            call.close()
            raise self._closed_error()

    async def _begun(self, call: Coroutine[Any, Any, _T]) -> _T:
        _current_task().add_done_callback(retrieve)
        return await self._unless_closed(call)

    async def _unless_closed(self, call: Coroutine[Any, Any, _T]) -> _T:
        task = _current_task()
        self._check(call)
        self._calls[call] = task
        before = task.cancelling()
        try:
            async with self._entry:  # in the order of their arrival
                await self._ready.wait()
            return await _harmless(call)
        except asyncio.CancelledError:
            # Nobody else has cancelled the task since.
            if self._closed and task.cancelling() - (task in self._cut_off) <= before:
                raise self._closed_error() from None
            raise
        finally:
            if task in self._cut_off:
                self._cut_off.remove(task)
                task.uncancel()
            call.close()
            del self._calls[call]
            if not self._calls:
                self._none_left.set()

    async def _serve(self, thread: _LoopThread) -> None:
        try:
            async with AsyncExitStack() as stack:
                try:
                    with suppress(Exception):  # the calls, which have to do without it, say why
                        await stack.enter_async_context(self._resource)
                finally:
                    self._ready.set()
                await self._stopped.wait()
                await asyncio.sleep(0)  # a call that has just arrived begins, to learn why it ends
                self._cut_off = {*self._calls.values()}
                for task in self._cut_off:
                    task.cancel()
                while self._calls:
                    self._none_left.clear()
                    await self._none_left.wait()
            for _ in range(3):
                await asyncio.sleep(0)  # what they closed takes a few rounds to be gone
        finally:
            thread.leave()


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in one
    return task


def retrieve(task: asyncio.Task[Any]) -> None:
    """For a task that nobody may wait for any longer: asyncio need not say so."""
    if not task.cancelled():
        task.exception()


class _LoopEndingError(Exception):
    """Stands for SystemExit or KeyboardInterrupt, which would end the loop of all parts."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(f"{type(reason).__name__}: {reason}")
        self.reason = reason


async def _harmless(call: Coroutine[Any, Any, _T]) -> _T:
    try:
        return await call
    except (SystemExit, KeyboardInterrupt) as error:
        raise _LoopEndingError(error) from error


async def in_shared_loop(call: Coroutine[Any, Any, _T]) -> _T:
    """``call`` in the shared loop, for a caller with a loop of its own.

    If cancelled, it cancels ``call`` and waits for it to end.
    """
    ended: Future[asyncio.Task[_T]] = Future()
    tasks: list[asyncio.Task[_T]] = []

    def begin() -> None:
        tasks.append(asyncio.create_task(_harmless(call)))
        tasks[0].add_done_callback(retrieve)
        tasks[0].add_done_callback(ended.set_result)

    thread = _LoopThread.entered()
    try:
        thread.loop.call_soon_threadsafe(begin)
        waiting = asyncio.wrap_future(ended)
        try:
            while not waiting.done():  # in pieces: a signal just before a wait does not end it
                await asyncio.wait([waiting], timeout=_GLANCE_SECONDS)
        except asyncio.CancelledError:
            thread.loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait([waiting])
            raise
        try:
            return waiting.result().result()
        except _LoopEndingError as error:
            raise error.reason from None
    finally:
        thread.leave()
        thread.wait_for_end()


class _DaemonLoop(asyncio.SelectorEventLoop):
    """Waits in daemon threads: looking up a host's name must not delay the program's end."""

    def run_in_executor(  # type: ignore[override]  # a Task is a Future, too
        self,
        executor: Executor | None,
        func: Callable[..., Any],
        *args: Any,  # noqa: ANN401
    ) -> asyncio.Task[Any]:
        """``func`` in its own thread."""
        return self.create_task(run_in_daemon_thread(func, *args))


class _LoopThread(threading.Thread):
    """The event loop of the program's parts, in a daemon thread, while any of them is there."""

    _now: ClassVar[_LoopThread | None] = None
    _entering = threading.Lock()

    def __init__(self) -> None:
        super().__init__(name="shared-loop", daemon=True)
        self.loop = _DaemonLoop()
        self._entered = 0

    @classmethod
    def entered(cls) -> _LoopThread:
        """This process's thread, for one more part, which has to ``leave`` it."""
        with cls._entering:
            if cls._now is None or not cls._now.is_alive():
                cls._now = cls()
                cls._now.start()
            thread = cls._now
            thread._entered += 1  # noqa: SLF001 - its own
            return thread

    @classmethod
    def forget(cls) -> None:
        """Start afresh: a forked process has none of its parent's threads."""
        cls._now, cls._entering = None, threading.Lock()

    @property
    def is_current(self) -> bool:
        """Whether the caller is in this thread."""
        return threading.current_thread() is self

    def submit(self, call: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin ``call``, in the caller's context."""
        return asyncio.run_coroutine_threadsafe(call, self.loop)

    def leave(self) -> None:
        """One part fewer; the last one ends the thread."""
        with self._entering:
            self._entered -= 1
            if self._entered == 0:
                if _LoopThread._now is self:
                    _LoopThread._now = None
                self.loop.call_soon_threadsafe(self.loop.stop)

    def wait_for_end(self) -> None:
        """Wait for the thread to end, if no part is left."""
        if _LoopThread._now is not self and not self.is_current:
            self.join(_CLOSE_SECONDS)

    def run(self) -> None:
        """Run until the last part has left."""
        with closing(self.loop) as loop:
            loop.run_forever()
            loop.run_until_complete(_end_of_tasks())


async def _end_of_tasks() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LoopThread.forget)
