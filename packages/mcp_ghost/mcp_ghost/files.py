"""Files written whole: a reader finds what was there before, or everything new.

What a program that was killed left unfinished, the next one that writes the file removes.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from mcp_ghost.errors import POSIX_ONLY

if sys.platform == "win32":
    raise ImportError(POSIX_ONLY)

import fcntl


def write_whole(
    path: Path,
    content: str | bytes,
    *,
    only_if: Callable[[], bool] = lambda: True,
    mode: int = 0o644,
) -> bool:
    """Replace ``path``, creating its folder; False if ``only_if`` said no at the last moment.

    Raises:
        OSError: It could not be written, and names ``path``; what was there before is still there.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        return _replace(path, data, only_if, mode)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not the unfinished file
        raise


def _replace(path: Path, data: bytes, only_if: Callable[[], bool], mode: int) -> bool:
    with suppress(FileExistsError):  # of a file there, the next line says better what it is
        path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path)
    file = _new_beside(path)
    unfinished = Path(file.name)
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(mode)  # temporary files are for their owner only
            if wanted := only_if():
                unfinished.replace(path)
            return wanted
    finally:
        unfinished.unlink(missing_ok=True)


def _new_beside(path: Path) -> IO[bytes]:
    """An unfinished file for ``path``, locked as long as it is open."""
    prefix, suffix = _affixes(path)
    while True:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  the caller closes it
            dir=path.parent, prefix=prefix, suffix=suffix, delete=False
        )
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for abandoned just before
            return file
        file.close()


def _remove_abandoned(path: Path) -> None:
    """Remove the unfinished files of programs that were killed: they hold no lock any more."""
    prefix, suffix = _affixes(path)
    for name in path.parent.glob(f"{glob.escape(prefix)}*{suffix}"):
        with suppress(OSError), name.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            name.unlink()


def _affixes(path: Path) -> tuple[str, str]:
    return f".{path.name[:40]}.", ".tmp"
