"""The files of an episode, as they travel: whole at first, then piece by piece as they grow.

Of the event log only finished lines travel, so that whatever arrived can be continued.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mcp_ghost.files import PRIVATE, open_regular, write_whole
from session.record.event_log import EVENTS_FILE


class Piece(NamedTuple):
    """What a file holds from ``offset`` on; what it held there before is gone."""

    name: str
    offset: int
    data: bytes


def packed(folder: Path) -> dict[str, bytes]:
    """Name -> content of each file of the episode."""
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in folder.iterdir() if _travels(path)}


def unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """The same files in another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_whole(folder / name, data, mode=PRIVATE)


def put(piece: Piece, folder: Path) -> None:
    """Add a piece to what is in ``folder``.

    Raises:
        ValueError: There is a gap before it, or its name is not that of a file there.
    """
    path = folder / piece.name
    if path.parent != folder or piece.name in (".", ".."):
        raise ValueError(f"{piece.name!r} is not the name of an episode's file.")
    folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b") as file:
        if file.seek(0, 2) < piece.offset:
            raise ValueError(f"{path} is missing what comes before byte {piece.offset}.")
        file.seek(piece.offset)
        file.write(piece.data)
        file.truncate()


class Growth:
    """What was added to the files of ``folder`` since the last look."""

    def __init__(self, folder: Path) -> None:
        """What is there now is known elsewhere."""
        self._folder = folder
        self._known = {path.name: _state(path) for path in folder.iterdir() if _travels(path)}

    def pieces(self) -> Iterator[Piece]:
        """The event log comes last: what it tells of is there before it."""
        if not self._folder.is_dir():  # not made yet, or cleaned away
            return
        for path in sorted(self._folder.iterdir(), key=lambda path: path.name == EVENTS_FILE):
            if _travels(path) and (piece := self._piece(path)):
                yield piece

    def _piece(self, path: Path) -> Piece | None:
        inode, size = _state(path)
        known, sent = self._known.get(path.name, (inode, 0))
        if (inode, size) == (known, sent) and path.name in self._known:
            return None
        begin = sent if inode == known and size >= sent else 0
        with os.fdopen(open_regular(path), "rb") as file:
            file.seek(begin)
            data = file.read()
        if path.name == EVENTS_FILE:
            data = data[: data.rfind(b"\n") + 1]
        self._known[path.name] = (inode, begin + len(data))
        return Piece(path.name, begin, data) if data or begin < sent else None


def _travels(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_ino, state.st_size
