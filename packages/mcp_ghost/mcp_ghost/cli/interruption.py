"""Every way of asking the program to stop works like Ctrl-C, which releases what was opened."""

import os
import signal
import time
from types import FrameType

_ONE_REQUEST = 1.0
"""Seconds in which signals are one request: a whole group gets one, and ``uv run`` repeats it."""


def leave_at_once() -> None:
    """Let Ctrl-C end the program without a traceback while it is imported and reads its flags."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


class Interruption:
    """Knows which signal ended the process; 128 + its number is the exit code, as in a shell."""

    def __init__(self) -> None:
        self._number: int = signal.SIGINT
        self._asked = -_ONE_REQUEST

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM, 129 for a closed terminal, 141 for a closed pipe."""
        return 128 + self._number

    def caught(self) -> int:
        """The exit code, once the interrupt was caught and everything is released.

        Ctrl-C pressed once more could then stop nothing but Python's own end, and would change
        the exit code.

        Python remembers one that came inside ``exec()``, as within a dataclass being made, until
        the next ``exec()``, and a program started with ``-m`` would end by SIGINT at its very end.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        exec("")  # noqa: S102  which forgets it
        return self.exit_code

    def install(self) -> None:
        """Listen to SIGTERM, and to SIGHUP unless nohup has switched it off."""
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._interrupt)

    def output_closed(self) -> None:
        """Stop the program, from any thread: nobody reads its output any longer."""
        import threading  # which --help need not wait for

        self._number = signal.SIGPIPE
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, signal.SIGTERM)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._asked < _ONE_REQUEST:
            return
        self._asked = time.monotonic()
        if self._number == signal.SIGINT:
            self._number = number
        as_ctrl_c = signal.getsignal(signal.SIGINT)  # asyncio's own while a loop runs
        if not callable(as_ctrl_c):
            raise KeyboardInterrupt
        as_ctrl_c(signal.SIGINT, frame)


interruption = Interruption()
"""That of this process: a signal is nobody's in particular."""
