"""Starting an episode's process, which then waits for its orders."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeAlias

ROOT = Path(__file__).parents[2]


class Child(Protocol):
    """What of ``subprocess.Popen`` is used of an episode's process."""

    pid: int

    @property
    def stdin(self) -> IO[bytes] | None: ...  # noqa: D102
    @property
    def returncode(self) -> int | None: ...  # noqa: D102
    def poll(self) -> int | None: ...  # noqa: D102
    def wait(self, timeout: float | None = None) -> int: ...  # noqa: D102


class Started(NamedTuple):
    """A process that waits for its orders."""

    child: Child
    line: int
    """The descriptor of the line to whoever started it, as the process counts."""


Start: TypeAlias = Callable[[IO[bytes], socket.socket, list[int], str | None], Started]
"""Where it says what went wrong, its line, what it inherits, its folder -> the process."""


def environment() -> dict[str, str]:
    """Ours, in which the program is found."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def leave_environment() -> None:
    """Take back what ``environment`` added: a guest's modules must not be ours of the same name."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if paths[0] == str(ROOT):
        os.environ["PYTHONPATH"] = os.pathsep.join(paths[1:])
        if not paths[1:]:
            del os.environ["PYTHONPATH"]


def start(errors: IO[bytes], line: socket.socket, inherited: list[int], cwd: str | None) -> Started:
    """A process of its own from its first instruction on."""
    child = subprocess.Popen(
        # -P: a file in the working directory must not replace a module.
        [sys.executable, "-P", "-m", "evaluation.episode"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        cwd=cwd,
        env=environment(),
        pass_fds=[line.fileno(), *inherited],
        start_new_session=True,  # Ctrl-C is for this program, which then stops them all
    )
    return Started(child, line.fileno())
