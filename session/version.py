"""The installed version of the project."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version


def version() -> str:
    """Such as ``0.1.0``; ``unknown`` where the project is not installed."""
    try:
        return _version("zorkgpt")
    except PackageNotFoundError:
        return "unknown"
