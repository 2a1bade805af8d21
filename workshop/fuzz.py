"""Run the fuzz suites for as long as you say: the Hypothesis tests with the marker ``fuzz``.

    uv run poe fuzz                               # a minute
    uv run poe fuzz --minutes 10
    uv run poe fuzz --minutes 10 --only decoder   # of these names

Each suite gets an equal share of the time, and tries random examples until it is over; the end
says how many. What fails is shown as small as Hypothesis can make it, and kept in ``.hypothesis/``,
where the next run begins. A single example that takes 20 seconds fails, too. ``poe check`` runs
the same tests with a fixed number of examples.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ghost.cli.arguments import Parser  # noqa: E402

_AT_LEAST = 300.0
"""Seconds that a suite has beyond its share, to make a failure small."""


def main() -> int:
    """Run the suites; 0 if nothing was found."""
    parser = Parser(prog="fuzz.py", description="Run the fuzz suites for a time.", epilog=__doc__)
    parser.add_argument("--minutes", type=_minutes, default=1.0, metavar="N", help="default: 1")
    parser.add_argument("--only", metavar="TEXT", help="suites with TEXT in the name")
    parser.add_argument("--workers", metavar="N", default="auto", help="default: one for each core")
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        default=[ROOT / "tests", *ROOT.glob("packages/*/tests")],
        help="of tests",
    )
    flags = parser.parse_args()
    patience = f"--timeout={flags.minutes * 60 + _AT_LEAST}"
    only = ["-k", flags.only] if flags.only else []
    workers = ["--numprocesses", flags.workers, "--dist", "worksteal"]
    minutes = f"--fuzz-minutes={flags.minutes}"
    options = ["-p", "workshop.fuzzing", "-m", "fuzz", patience, minutes, *only, *workers]
    paths = [str(path.resolve()) for path in flags.paths]
    # In a process of its own: pytest rewrites the assertions of plug-ins before they are imported.
    return subprocess.call([sys.executable, "-m", "pytest", *options, *paths], cwd=ROOT)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes above 0")
    return minutes


if __name__ == "__main__":
    sys.exit(main())
