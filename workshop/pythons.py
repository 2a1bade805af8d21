"""Runs the unit tests on every other Python from 3.12 to 3.14 that is at hand.

    uv run poe pythons

It looks on PATH and among pyenv's versions, and downloads none. The exit code is that of the first
run that failed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from mcp_ghost.cli.arguments import Parser

ROOT = Path(__file__).parents[1]
MINORS = (12, 13, 14)
_UNIT = (
    *("pytest", "--unit", "-m", "not slow and not mcp", "--dist", "worksteal", "-q"),
    *("--hypothesis-profile", "glance"),  # the oldest Python tries the properties in earnest
)


def candidates(minor: int) -> Iterator[str]:
    """The programs that may be Python 3.``minor``; a shim of pyenv's need not be one that runs."""
    if found := shutil.which(f"python3.{minor}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    yield from map(str, sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python")))


def interpreters() -> Iterator[tuple[int, str]]:
    """The minor version and the path of each other Python that runs."""
    for minor in MINORS:
        check = f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
        for python in candidates(minor):
            ran = subprocess.run([python, "-c", check], capture_output=True, check=False)
            if ran.returncode == 0 and sys.version_info[1] != minor:
                yield minor, python
                break


def main() -> int:
    """Run them one after the other; returns the exit code."""
    Parser(prog="workshop/pythons.py", description=(__doc__ or "").splitlines()[0]).parse_args()
    code = 0
    workers = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "auto")
    for minor, python in interpreters():
        print(f"Python 3.{minor}: {python}", flush=True)
        environment = ROOT / ".venv" / "others" / f"3.{minor}"
        env = {**os.environ, "UV_PYTHON": python, "UV_PROJECT_ENVIRONMENT": str(environment)}
        command = ["uv", "run", "--quiet", "--locked", "--group", "check", *_UNIT, "-n", workers]
        code = code or subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
