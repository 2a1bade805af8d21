"""Files written whole: a reader finds what was there before, or everything new.

What a program that was killed left unfinished, the next one that writes the file removes.
"""

import errno
import glob
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from mcp_ghost.errors import POSIX_ONLY

if sys.platform == "win32":
    raise ImportError(POSIX_ONLY)

import fcntl

PRIVATE = 0o600
"""The mode of files that hold prompts, results, tokens, or else what only its owner may read."""

MOST_BYTES = 256 * 1024 * 1024
"""Of a file that is read as a whole."""


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Open a file that others may have made; a link is opened only if ``follow``.

    Raises:
        OSError: It is no regular file; nobody waits for the other end of a pipe.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, PRIVATE)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path, *, follow: bool = True) -> bytes:
    """Return what is in a file that others may have made, and that fits into memory.

    Raises:
        OSError: It cannot be read, is no regular file, or is too long.
    """
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def data_folder() -> Path:
    """The user's folder for what this program keeps from run to run."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "mcp_ghost"


def write_whole(
    path: Path,
    content: str | bytes,
    *,
    only_if: Callable[[], bool] = lambda: True,
    mode: int | None = None,
) -> bool:
    """Replace ``path``, creating its folder; False if ``only_if`` said no at the last moment.

    Without ``mode``, a new file has the one that the umask leaves, and an old one keeps its own.

    Raises:
        OSError: It could not be written, and names ``path``; what was there before is still there.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        return _replace(path, data, only_if, mode)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not the unfinished file
        raise


def _replace(path: Path, data: bytes, only_if: Callable[[], bool], mode: int | None) -> bool:
    with suppress(FileExistsError):  # of a file there, the next line says better what it is
        path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name[:40]}."
    for name in path.parent.glob(f"{glob.escape(prefix)}*.tmp"):
        with suppress(OSError), os.fdopen(open_regular(name), "rb") as abandoned:
            fcntl.flock(abandoned, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
            name.unlink()
    file, unfinished = _new_beside(path, prefix, 0o666 if mode is None else mode)
    try:
        with file:
            if mode is None and path.is_file():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if wanted := only_if():
                unfinished.replace(path)
            return wanted
    finally:
        unfinished.unlink(missing_ok=True)


def _new_beside(path: Path, prefix: str, mode: int) -> tuple[IO[bytes], Path]:
    """An unfinished file for ``path``, locked as long as it is open."""
    while True:
        name = path.with_name(f"{prefix}{token_hex(8)}.tmp")
        only_ours = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.fdopen(os.open(name, only_ours, mode), "wb")
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for abandoned just before
            return file, name
        file.close()
