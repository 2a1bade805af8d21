"""How every program ends: exit codes, and a line in place of a traceback."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_ghost.cli.program import Errors, program
from tests.support import ROOT


def raises(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


def noted(error: Exception) -> Exception:
    error.add_note("Log: here")
    return error


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """Give back the handlers that a program installs."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyError("key"), 2, "p: error: 'key'\n"),
        (LookupError("nothing there"), 1, "p: error: nothing there\n"),
        (noted(ValueError("odd")), 1, "p: error: ValueError: odd\nLog: here\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "p: error: a.txt: No such file\n"),
        (OSError(28, "No space left"), 1, "p: error: No space left\n"),
        (ValueError("\x1b[2Jclear"), 1, "p: error: ValueError: clear\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_becomes_a_line_and_an_exit_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = Errors(wrong_use=(KeyError,), failed=(LookupError,))
    assert program("p", raises(error), lambda: errors) == code
    assert capsys.readouterr().err == said


def test_work_that_ends_by_itself_gives_the_exit_code() -> None:
    assert program("p", lambda: 0) == 0
    assert program("p", lambda: 1) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_with_the_code_that_a_shell_would_give(number: int, code: int) -> None:
    assert ended(f"import os; os.kill(os.getpid(), {int(number)})").returncode == code


def test_an_interrupt_inside_exec_gives_the_same_code(tmp_path: Path) -> None:
    """As while a module is imported that makes dataclasses; Python would end by SIGINT."""
    text = """
import sys
from mcp_ghost.cli.program import program

sys.exit(program("p", lambda: exec("raise KeyboardInterrupt")))
"""
    (tmp_path / "interrupted.py").write_text(text)
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    it = [sys.executable, "-m", "interrupted"]
    assert subprocess.run(it, cwd=tmp_path, env=paths, check=False).returncode == 130


def test_the_same_signal_again_at_once_does_not_cut_the_cleaning_up_short() -> None:
    again = f"os.kill(os.getpid(), {int(signal.SIGTERM)})"
    done = ended(
        f"import os\n    try: {again}\n    finally: {again}; sys.stderr.write('cleaned up')"
    )
    assert (done.returncode, done.stderr) == (143, "cleaned up")


def test_ctrl_c_while_python_itself_ends_changes_nothing() -> None:
    again = "lambda: os.kill(os.getpid(), signal.SIGINT)"
    done = ended(f"import atexit, os, signal; atexit.register({again}); raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, "")


def test_a_signal_that_comes_again_later_hurries_it() -> None:
    again = f"os.kill(os.getpid(), {int(signal.SIGTERM)})"
    wait = "import time; time.sleep(1.1)"
    done = ended(
        f"import os\n    try: {again}\n    finally: {wait}; {again}; sys.stderr.write('cleaned up')"
    )
    assert (done.returncode, done.stderr) == (143, "")


def test_a_closed_pipe_ends_it_without_a_word() -> None:
    done = ended("print('x' * 100_000)", stdout_closed=True)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_output_that_finds_no_room_ends_it_with_a_line() -> None:
    done = ended("sys.stdout = open('/dev/full', 'w'); print('told')")
    assert done.returncode == 1
    assert done.stderr == f"p: error: {os.strerror(errno.ENOSPC)}\n"


def ended(work: str, *, stdout_closed: bool = False) -> subprocess.CompletedProcess[str]:
    """A process in which ``program`` does ``work``."""
    code = (
        "import sys\nfrom mcp_ghost.cli.program import program\n"
        f"def work():\n    {work}\n    return 0\n"
        "sys.exit(program('p', work))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if stdout_closed:
        process.stdout.close()
        process.stdout = None
    _, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(code, process.returncode, "", errors)
