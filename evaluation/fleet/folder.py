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
    """Make a new folder for us alone."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with ExitStack() as stack:
        while True:
            own = Path(tempfile.mkdtemp(prefix=prefix))
            # Until it is locked, another one that sweeps may take it for left.
            with suppress(FileNotFoundError, BlockingIOError):
                stack.enter_context(_locked(own))
                if own.is_dir():
                    break
        stack.callback(shutil.rmtree, own, ignore_errors=True)
        yield own


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
