"""Finds changes to the loop, its calls, names and the log that no test notices, by mutmut.

    uv run poe mutate
    uv run poe mutate "mcp_ghost.run.calls.*"   # one module

mutmut names a module after its path, so it works on a copy in build/mutate in which the packages
lie at the root. Then, in that folder, `mutmut results` lists what survived.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mcp_ghost.cli.arguments import Parser

ROOT = Path(__file__).parents[1]
COPY = ROOT / "build" / "mutate"


def copy() -> None:
    """Write the files that git knows to ``COPY``, each package at the root."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    shutil.rmtree(COPY, ignore_errors=True)
    for name in listed.stdout.splitlines():
        target = COPY / flat(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    settings = COPY / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(flat(text), encoding="utf-8")


def flat(text: str) -> str:
    """Put paths below a package's module at the root; its tests stay where they are."""
    for package in sorted(ROOT.glob("packages/*")):
        text = text.replace(f"packages/{package.name}/{package.name}", package.name)
    return text


def main() -> int:
    """Copy, mutate and run the tests; returns mutmut's exit code."""
    parser = Parser(prog="workshop/mutate.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try (default: all)")
    flags = parser.parse_args()
    copy()
    paths = os.pathsep.join([".", "servers"])
    command = [sys.executable, "-m", "mutmut", "run", *flags.names]
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, cwd=COPY, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
