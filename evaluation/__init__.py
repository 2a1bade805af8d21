"""Many episodes played, measured and compared."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
