"""The processes that run the tests, on tests that fail in every way."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support import ROOT, warm

ASTRAY = """
import os, time, pytest

def test_before(tmp_path): (tmp_path / "file").touch()
def test_wrong(): print("what it said"); assert 1 == 2
def test_gone(): os._exit(0)
def test_after(): pass
"""
TORN = """
import pytest

@pytest.fixture(scope="session")
def lasting():
    yield
    raise RuntimeError("broken at the end")

def test_using_it(lasting): pass
"""


def run(folder: Path, *options: str) -> tuple[int, str]:
    (folder / "test_astray.py").write_text(ASTRAY)
    (folder / "test_torn.py").write_text(TORN)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function")
    ran = warm.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.forks", *options],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert not ran.stderr
    return ran.returncode, ran.stdout


def test_whatever_a_test_does_to_its_process_all_tests_run_and_each_failure_is_told(
    tmp_path: Path,
) -> None:
    code, said = run(tmp_path, "--forks", "2")
    assert code == 1
    assert re.search("^2 failed, 3 passed", said, re.MULTILINE)
    assert said.count("what it said") == 2  # the line of the test, and what it printed
    assert "FAILED test_astray.py::test_gone - The worker ended in the middle of the test" in said
    assert "RuntimeError: broken at the end" in said


def test_the_first_failure_ends_all_where_it_is_to(tmp_path: Path) -> None:
    code, said = run(tmp_path, "--forks", "1", "-x")
    assert code == 1
    assert re.search("^1 failed, 1 passed", said, re.MULTILINE)
