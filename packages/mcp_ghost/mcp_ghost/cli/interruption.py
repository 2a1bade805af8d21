"""Every way of asking the program to stop works like Ctrl-C, which releases what was opened.

Signals are a process's own, and so is all that is known of them here.
"""

import os
import signal
import time
from types import FrameType

_ONE_REQUEST = 1.0
"""Seconds in which signals are one request: a whole group gets one, and ``uv run`` repeats it."""
_asked: dict[int, float] = {}
"""The signals that asked this process to stop, the first one first, and when each did last."""


def leave_at_once() -> None:
    """Let Ctrl-C end the program without a traceback while it is imported and reads its flags."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


def exit_code() -> int:
    """128 + the number of the signal that ended this process, as a shell gives it."""
    return 128 + next(iter(_asked), signal.SIGINT)


def caught() -> int:
    """The exit code, once the interrupt was caught and everything is released.

    Ctrl-C pressed once more could then stop nothing but Python's own end, and would change the
    exit code.

    Python remembers one that came inside ``exec()``, as within a dataclass being made, until the
    next ``exec()``, and a program started with ``-m`` would end by SIGINT at its very end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")  # noqa: S102  which forgets it
    return exit_code()


def install() -> None:
    """Listen to SIGTERM, and to SIGHUP unless nohup has switched it off."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def output_closed() -> None:
    """Stop the program, from any thread: nobody reads its output any longer."""
    import threading  # which --help need not wait for

    _asked.setdefault(signal.SIGPIPE, -_ONE_REQUEST)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if time.monotonic() - max(_asked.values(), default=-_ONE_REQUEST) < _ONE_REQUEST:
        return
    _asked[number] = time.monotonic()
    as_ctrl_c = signal.getsignal(signal.SIGINT)  # asyncio's own while a loop runs
    if not callable(as_ctrl_c):
        raise KeyboardInterrupt
    as_ctrl_c(signal.SIGINT, frame)
