"""What a Python that is too old is told, whatever program it is to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

_NEED_NO_MORE = {"thoughtbox", "notes"}
"""The tool servers, which older versions can run, too."""
PACKAGES = {
    file.parent.name: file.parent.parent
    for depth in ("*", "*/*", "*/*/*")
    for file in ROOT.glob(f"{depth}/__main__.py")
    if not file.relative_to(ROOT).parts[0].startswith((".", "mutants"))
}
"""Those that ``python -m`` runs, and the folders that they are in."""
PROGRAMS = {
    "main.py": ROOT,
    "scripts/evaluate.py": ROOT,
    **{f"-m {name}": at for name, at in PACKAGES.items() if name not in _NEED_NO_MORE},
}
OLD = ["3.6", "3.7", "3.8", "3.9", "3.10"]


def interpreter(version: str) -> str | None:
    """An interpreter of ``version`` on this machine."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(pyenv[0]) if pyenv else shutil.which(f"python{version}")


def test_no_program_is_forgotten() -> None:
    assert {"viewer", "storage", "game_server", "mcp_ghost", "movie_generator"} <= PACKAGES.keys()


@pytest.mark.parametrize("version", OLD)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_python_that_is_too_old_is_told_so_before_anything_fails(
    program: str, version: str
) -> None:
    """With that interpreter where there is one, else with this one under its number."""
    python, words = interpreter(version), program.split()
    if python is None:
        old = tuple(map(int, version.split(".")))
        run = (
            "run_module(sys.argv[2], alter_sys=True" if words[0] == "-m" else "run_path(sys.argv[1]"
        )
        pretend = f"sys.version_info = {(*old, 7)}; sys.version = '{version}.7 (main)'; "
        code = f"import runpy, sys; sys.path[0] = ''; {pretend}runpy.{run}, run_name='__main__')"
        words = ["-c", code, *words]
    # -S: nothing is installed for it. -E: and nothing is said by variables.
    ended = subprocess.run(
        [python or sys.executable, "-S", "-E", *words],
        cwd=PROGRAMS[program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert f" needs Python 3.11 or newer, and this is {version}." in line
