"""Ends a program whose Python is too old; imported before all else, and readable by Python 3.6."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        f"error: ZorkGPT needs Python 3.11 or newer, and this is {sys.version.split()[0]}. "
        "Put `uv run` before the command: uv finds or fetches one."
    )
