"""Ctrl-C while a program is still being imported."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support import PATIENCE
from tests.test_python_version import PACKAGES, PROGRAMS


@pytest.mark.parametrize("program", [*PROGRAMS, "-m notes", "-m thoughtbox"])
def test_it_ends_without_a_traceback(program: str) -> None:
    name = program.removeprefix("-m ")
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", *program.split()],
        cwd=PROGRAMS.get(program) or PACKAGES[name],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr
            while not (line := process.stderr.readline()).endswith((" argparse\n", " json\n")):
                assert line, "it ended by itself"
            process.send_signal(signal.SIGINT)
            errors = process.stderr.read()
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
    assert "Traceback" not in errors
