"""What several parts need: reading a model's answers, and the address of the embedded model."""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager, closing, suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mcp_ghost.providers.schema import response_format, strict_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CLOSE_SECONDS = 5.0

EMBEDDED_HOST = "embedded.invalid"  # RFC 2606: no such host can exist
EMBEDDED_BASE_URL = f"http://{EMBEDDED_HOST}/v1"
EMBEDDED_MODEL_NAME = "smollm2-135m-instruct"


def create_json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The ``response_format`` that makes a provider answer in the form of ``model``.

    Strict as OpenAI wants it: objects are closed and all their properties required, so an
    optional value is one that may be null.

    Raises:
        ValueError: ``model`` has a field of a form that strict mode cannot express.
    """
    schema = strict_schema(model.model_json_schema(), model.__name__)
    return response_format(model.__name__, schema)


def extract_json(text: str) -> dict[str, Any] | None:
    """The JSON object in ``text``, which may have a fence or prose around it.

    Where there are several, the last one that is not empty. The time it takes grows with the length
    of ``text``, whatever is in it.
    """
    decoder = json.JSONDecoder(strict=False)  # models write line breaks into strings
    found: dict[str, Any] | None = None
    hopeless: set[int] = set()
    start = text.find("{")
    while start >= 0:
        end = _end_of_object(text, start, hopeless)
        if end is not None:
            with suppress(ValueError, RecursionError):  # a number too long, too many brackets
                found = decoder.decode(text[start:end]) or found or {}
        start = text.find("{", end or start + 1)
    return found


_SPACE = r"[ \t\n\r]*+"
_STRING = r'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_SCALAR = re.compile(rf"{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity")
_KEY = rf"{_STRING}{_SPACE}:{_SPACE}"
_FIRST = {
    "{": re.compile(rf"{_SPACE}(?:{_KEY}|(?P<end>}}))"),
    "[": re.compile(rf"{_SPACE}(?P<end>\])?"),
}
_NEXT = {
    "{": re.compile(rf"{_SPACE}(?:,{_SPACE}{_KEY}|(?P<end>}}))"),
    "[": re.compile(rf"{_SPACE}(?:,{_SPACE}|(?P<end>\]))"),
}
"""What follows a bracket or a value up to the next value, by the bracket that is open."""


def _end_of_object(text: str, start: int, hopeless: set[int]) -> int | None:
    """Where the JSON object that begins at ``start`` ends, if it does.

    If not, neither do the objects that are open where it breaks off: all of them are put into
    ``hopeless``, so that nothing is read again for each bracket around it.
    """
    unclosed: list[int] = []
    at = start
    while True:
        if text[at : at + 1] in _FIRST and at not in hopeless:
            unclosed.append(at)
            step = _FIRST[text[at]].match(text, at + 1)
        elif scalar := _SCALAR.match(text, at):
            step = _NEXT[text[unclosed[-1]]].match(text, scalar.end())
        else:
            step = None
        while step and step["end"]:
            unclosed.pop()
            if not unclosed:
                return step.end()
            step = _NEXT[text[unclosed[-1]]].match(text, step.end())
        if step is None:
            hopeless.update(unclosed)
            return None
        at = step.end()


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


class LoopThread:
    """The event loop in which ``resource`` is used, in a daemon thread that the first call starts.

    Nothing here may hold the object that owns it: then a forgotten owner stops it.
    """

    def __init__(
        self, resource: AbstractAsyncContextManager[Any], closed: Callable[[], Exception]
    ) -> None:
        """``closed`` makes the error for calls that the end cuts off, or that come after it."""
        self._resource = resource
        self._closed_error = closed
        self._closed = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="asks-models", daemon=True)

    def submit(self, call: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin ``call``, in the caller's context."""
        with self._lock:
            if self._closed:
                call.close()
                raise self._closed_error()
            if self._loop is None:
                self._loop = _DaemonLoop()
                self._thread.start()
            guarded = self._unless_closed(call)
            # One that is cancelled before it begins never comes to its call.
            weakref.finalize(guarded, call.close).atexit = False
            return asyncio.run_coroutine_threadsafe(guarded, self._loop)

    def stop(self) -> None:
        """Cut off what is under way, and accept nothing more; the thread ends soon."""
        with self._lock:
            if self._closed:
                return
            self._closed = True  # first: what is cut off looks here for the reason
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._stopped.set)

    def close(self) -> None:
        """Stop, and wait for the thread to end."""
        self.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        if self._loop is not None:
            with closing(self._loop) as loop:
                loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with self._resource:
            await self._stopped.wait()
            await asyncio.sleep(0)  # a call that has just arrived begins, to learn why it ends
            calls = asyncio.all_tasks() - {asyncio.current_task()}
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            for _ in range(3):
                await asyncio.sleep(0)  # what they closed takes a few rounds to be gone

    async def _unless_closed(self, call: Coroutine[Any, Any, _T]) -> _T:
        try:
            return await call
        except asyncio.CancelledError:
            if self._closed:
                raise self._closed_error() from None
            raise


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
