"""The runner of the fuzz suites: for as long as it is told to, and to the end of a failure."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT

SUITES = """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.fuzz
@settings(max_examples=3)
@given(st.integers(), st.integers())
def test_holds(one, other):
    assert one + other == other + one

@pytest.mark.fuzz
@given(st.integers())
def test_breaks(number):
    assert number < 1000

@given(st.integers())
def test_is_no_suite(number):
    raise ValueError
"""


def fuzz(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    fuzz\nasyncio_default_fixture_loop_scope = function\n",
        encoding="utf-8",
    )
    suites = folder / "test_suites.py"
    suites.write_text(SUITES, encoding="utf-8")
    command = [
        sys.executable,
        str(ROOT / "workshop/fuzz.py"),
        "--workers",
        "0",
        *flags,
        str(suites),
    ]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def tried(outcome: subprocess.CompletedProcess[str]) -> dict[str, tuple[int, str]]:
    found = re.findall(r"^ *([\d,]+)  (passed|failed)  .*::(\w+)$", outcome.stdout, re.MULTILINE)
    return {name: (int(count.replace(",", "")), how) for count, how, name in found}


@pytest.mark.soak
@pytest.mark.slow
def test_suites_run_for_their_time_and_a_failure_is_made_small(tmp_path: Path) -> None:
    outcome = fuzz(tmp_path, "--minutes", "0.1")
    figures = tried(outcome)
    assert set(figures) == {"test_holds", "test_breaks"}, outcome.stdout
    assert figures["test_holds"][0] > 3
    assert figures["test_holds"][1] == "passed"
    assert figures["test_breaks"][1] == "failed"
    assert "number=1000," in outcome.stdout
    assert outcome.returncode == 1


@pytest.mark.soak
def test_without_a_failure_the_outcome_is_0(tmp_path: Path) -> None:
    outcome = fuzz(tmp_path, "--minutes", "0.001", "--only", "holds")
    assert outcome.returncode == 0, outcome.stdout
    assert set(tried(outcome)) == {"test_holds"}


@pytest.mark.parametrize("minutes", ["0", "-1", "inf", "ten"])
def test_a_time_without_end_is_refused(tmp_path: Path, minutes: str) -> None:
    outcome = fuzz(tmp_path, "--minutes", minutes)
    assert outcome.returncode == 2
    assert f"'{minutes}' is not a number of minutes above 0" in outcome.stderr
