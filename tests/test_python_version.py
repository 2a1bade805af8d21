"""What a Python that is too old is told."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_a_python_that_is_too_old_is_told_so_before_any_import_fails(version: str) -> None:
    """With that interpreter where there is one, else with this one under its number."""
    source = (ROOT / "main.py").read_text()
    major, minor = map(int, version.split("."))
    ast.parse(source, feature_version=(major, minor))
    python = _python(version)
    # -S and -I: whatever else main.py imports is not to be found.
    pretend = "" if python else f"sys.version_info = ({major}, {minor}, 7); "
    run = f"import runpy, sys; {pretend}runpy.run_path('main.py', run_name='__main__')"
    played = subprocess.run(
        [python or sys.executable, "-S", "-I", "-c", run],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert played.returncode == 1
    needs = rf"main\.py: error: ZorkGPT needs Python 3\.11 or newer, and this is {version}\.\d+\. "
    assert re.match(needs, played.stderr)
    assert "Traceback" not in played.stderr


def _python(version: str) -> str | None:
    """An interpreter of ``version`` on this machine."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(pyenv[0]) if pyenv else shutil.which(f"python{version}")
