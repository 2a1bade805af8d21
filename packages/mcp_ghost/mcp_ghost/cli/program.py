"""How every program here ends: errors as lines, exit codes. Standard library only, for ``--help``.

0 done, 1 failed, 2 wrong usage or configuration, 128 + N ended by signal N: 130 by Ctrl-C, 141 when
nobody reads the output any longer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NamedTuple

DONE = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
"""By Ctrl-C."""


class Errors(NamedTuple):
    """Errors whose text says what happened and what to do; others are shown with their type."""

    wrong_use: tuple[type[Exception], ...] = ()
    """Exit code 2."""
    failed: tuple[type[Exception], ...] = ()
    """Exit code 1, as that of every error that is not named here."""


def program(name: str, work: Callable[[], int], errors: Callable[[], Errors] = Errors) -> int:
    """Run ``work`` to its end, or to an error or a signal; returns the exit code.

    Args:
        name: What the program is called in its messages.
        work: Everything after the flags; returns the exit code.
        errors: The errors that explain themselves; called for, and so imported, only when needed.
    """
    # Imported only now, so that --help and wrong flags do not wait for it.
    import logging
    import signal

    from mcp_ghost.cli import interruption
    from mcp_ghost.cli.view import Warnings

    # Keep what libraries log from coming between the lines shown.
    logging.getLogger().addHandler(logging.NullHandler())
    # Except for what nobody else tells of servers: one is being downloaded, gets no keys, hides
    # something, or has tools that cannot be used.
    told = Warnings(lambda text: complain(name, text, "warning"))
    told.addFilter(lambda _: not logging.getLogger("mcp_ghost").handlers)  # which show all
    logging.getLogger("mcp_ghost.servers").addHandler(told)
    try:
        interruption.install()
        code = work()
        print(end="", flush=True)
    except KeyboardInterrupt:
        return interruption.caught()
    except BrokenPipeError:
        _end_output()
        return 128 + signal.SIGPIPE
    except Exception as error:  # noqa: BLE001  the edge of the process: a line, no traceback
        wrong_use, failed = errors()
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, wrong_use + failed):
            message = str(error)
        elif isinstance(error, OSError) and error.strerror:
            message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        complain(name, "\n".join([message, *getattr(error, "__notes__", ())]))
        _end_output()
        return WRONG_USE if isinstance(error, wrong_use) else FAILED
    return code


def _end_output() -> None:
    """Write what is left; if that fails, keep Python from trying again on its way out."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(name: str, message: str, kind: str = "error") -> None:
    """Say on standard error what went wrong."""
    from mcp_ghost.text import plain

    if sys.stderr is not None:  # else it is closed, and would be standard output
        print(plain(f"{name}: {kind}: {message}"), file=sys.stderr)
