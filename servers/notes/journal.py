"""A file of notes, one change on each line; what was added before is never lost.

Each note has an id of its own, and a change names the id that it replaces. So two players who
note something under one title at the same time both keep theirs.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat

TYPE_CHECKING = False  # typing would double the time that this package takes to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

MOST_BYTES = 4 * 1024 * 1024
"""Of a file, before what was replaced is left out of it."""
_TEXTS = ("id", "replaces", "title", "text")


def changes(path: str) -> list[dict[str, Any]]:
    """Every change in the file ``path``, in the order made. A line that a crash cut off is none.

    Raises:
        OSError: The file is there, but cannot be read.
    """
    try:
        with open(path, "rb", opener=_regular) as file:
            return list(_parsed(file))
    except FileNotFoundError:
        return []


def notes(made: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Id -> note, of those that were not replaced or removed; the oldest first."""
    found: dict[str, dict[str, Any]] = {}
    for change in made:
        found.pop(change["replaces"], None)
        if change["text"]:
            found[change["id"]] = change
    return found


def add(path: str, change: dict[str, Any], most_notes: int) -> None:
    """Append a change; it is on the disk when this returns.

    A file of too many bytes is written anew, with the latest ``most_notes`` and nothing else.

    Raises:
        OSError: It could not be written.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120
    with _locked(path) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # cut off by a crash
                file.write(b"\n")
        file.write(_line(change))
        _to_disk(file)
        if file.tell() > MOST_BYTES:
            file.seek(0)
            replace(path, [*notes(_parsed(file)).values()][-most_notes:])


def replace(path: str, changes: Iterable[dict[str, Any]]) -> None:
    """Write the file anew: a reader finds what was there before, or everything new.

    Raises:
        OSError: It could not be written; what was there before is still there.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120
    unfinished = f"{path}.new"
    with open(unfinished, "wb", opener=_regular) as file:
        file.writelines(_line(change) for change in changes)
        _to_disk(file)
    os.replace(unfinished, path)  # noqa: PTH105


def _locked(path: str) -> BinaryIO:
    """The file, open, for us alone; not one that was written anew while we waited."""
    while True:
        file = open(path, "a+b", opener=_regular)  # noqa: SIM115 - the caller closes it
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # noqa: PTH116
                return file
        except FileNotFoundError:
            pass
        file.close()


def _regular(path: str, flags: int) -> int:
    """Open a file that others may have made: nothing that waits, and no way out of the folder."""
    file = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "not a regular file", path)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _line(change: dict[str, Any]) -> bytes:
    return json.dumps(change).encode() + b"\n"


def _parsed(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            change = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(change, dict) and all(isinstance(change.get(it), str) for it in _TEXTS):
            yield change
