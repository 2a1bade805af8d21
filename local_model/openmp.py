"""Where the OpenMP runtime is, which the engine needs and small systems do not have."""

import ctypes
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

RUNTIME = "libgomp.so.1"
_PACKAGE = "cmeel-libomp"


def missing_runtime() -> str | None:
    """The folder to look for the runtime in, if the system has none."""
    if sys.platform != "linux" or is_installed(RUNTIME):  # elsewhere the engine brings its own
        return None
    try:
        found = files(_PACKAGE) or []
    except PackageNotFoundError:  # installed without it: the engine says what it misses
        return None
    return next((str(Path(it.locate()).parent) for it in found if it.name == RUNTIME), None)


def is_installed(library: str) -> bool:
    """Whether the system finds the shared ``library``."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
