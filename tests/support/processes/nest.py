"""Has imported what programs need, and forks them: FD MODULE..., the requests come over FD.

Most of what a Python program costs is importing; a test that starts a hundred pays for it once.
What is forked is the caller's child, not ours, with the arguments, the folder, the environment and
the files that it asks for; from there on it is a program like any other, down to its exit.

The fork server of `multiprocessing` cannot do that: what it forks is its own child, for which no
`Popen` can wait, with the server's standard files, and as a function, without a `__main__` and
arguments of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import platform
import runpy
import signal
import socket
import sys
import threading
import types
from pathlib import Path
from typing import Any

_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of the system call; ``os.fork`` knows no flags."""


def main(file: int, modules: list[str]) -> None:
    """Serve until the other end is closed; returns in a child only, as the program."""
    for module in modules:
        importlib.import_module(module)
    threads = len([*Path("/proc/self/task").iterdir()])
    assert threads == 1, f"{threads - 1} threads would be missing in what is forked"
    gc.freeze()
    with socket.socket(fileno=file) as requests:
        while True:
            said, files, *_ = socket.recv_fds(requests, 1 << 20, 8)
            if not said:
                os._exit(0)
            if (child := _sibling()) == 0:
                break
            requests.sendall(str(child).encode())
            for each in files:
                os.close(each)
    _become(json.loads(said), files)


def _sibling() -> int:
    """As ``os.fork``, but the child is our parent's."""
    libc, python = ctypes.PyDLL(None), ctypes.pythonapi
    python.PyOS_BeforeFork()
    child: int = libc.syscall(
        _CLONE[platform.machine()], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0
    )
    (python.PyOS_AfterFork_Parent if child else python.PyOS_AfterFork_Child)()
    return child


def _become(request: dict[str, Any], files: list[int]) -> None:
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, 1 << 9) for file in files]
    os.closerange(3, 1 << 9)
    for number, file in zip([0, 1, 2, *request["pass_fds"]], high, strict=True):
        os.dup2(file, number)
    os.closerange(1 << 9, 1 << 10)
    if request["session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.stdin = io.TextIOWrapper(open(0, "rb"), "utf-8")  # noqa: SIM115
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = open(number, "wb")  # noqa: PTH123, SIM115  until the end of the program
        text = io.TextIOWrapper(raw, "utf-8", line_buffering=number == 2 or raw.isatty())
        setattr(sys, name, text)
    extra = os.environ.get("PYTHONPATH", "")
    sys.path[:1] = extra.split(os.pathsep) if extra else []
    code = 0
    try:
        _run(request["args"])
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        code = end.code or 0
    # End as Python would, but without tearing down the inherited modules, which takes 0.1 s.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # let Python report the failed flush
    os._exit(code & 0xFF)


def _run(arguments: list[str]) -> None:
    if arguments[0] == "-P":
        arguments = arguments[1:]
    else:
        sys.path.insert(0, "")
    how, *rest = arguments
    if how == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif how == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), module.__dict__)  # noqa: S102  as python -c
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(how).parent)
        runpy.run_path(how, run_name="__main__")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
