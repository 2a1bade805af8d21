"""What tests share."""

import socket
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"

TEST_FOLDERS = (ROOT / "tests", *sorted(ROOT.glob("packages/*/tests")))

PATIENCE = 100
"""Seconds that a test waits for what must come, on however busy a machine."""
FOREVER = 1000
"""Seconds after which what hangs would go on: whoever waits for it has lost its patience."""


def files_of_tests(pattern: str = "test_*.py") -> list[Path]:
    """The files of all tests, those of the packages too."""
    return [path for folder in TEST_FOLDERS for path in sorted(folder.rglob(pattern))]


def free_port() -> int:
    """A port that no other test looks for; those right after a default port are tried by many."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
