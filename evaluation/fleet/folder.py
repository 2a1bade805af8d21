"""A temporary folder that is gone with its user; what killed ones left, the next one removes."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """A new folder for us alone."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with ExitStack() as stack:
        own = _new_folder(prefix, stack)
        stack.callback(shutil.rmtree, own, ignore_errors=True)
        yield own


def _new_folder(prefix: str, stack: ExitStack) -> Path:
    """A new folder and its lock; until it is locked, whoever sweeps may take it for left."""
    while True:
        own = Path(tempfile.mkdtemp(prefix=prefix))
        with suppress(FileNotFoundError, BlockingIOError):
            stack.enter_context(_locked(own))
            if own.is_dir():
                return own


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
