"""What tests share."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"

PATIENCE = 100
"""Seconds that a test waits for what must come, on however busy a machine."""
FOREVER = 1000
"""Seconds after which what hangs would go on: whoever waits for it has lost its patience."""
