"""Summaries of episodes on disk, so that a start reads only the logs that are new or changed.

They save time and nothing else: a file that is damaged, was written by other code or cannot be
written is as good as none.
"""

import hashlib
import json
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evaluation.achievements.achievement import shipped
from mcp_ghost.files import PRIVATE, read_regular, write_whole
from mcp_ghost.results import JSONObject
from session.version import code_digest
from viewer.turns import encoded

SUMMARIES_FILE = ".summaries.json"
_SUMMARIZING = (
    "session",
    "viewer",
    "evaluation.achievements",
    "mcp_ghost.messages",
    "mcp_ghost.text",
)
"""The sources that decide what a summary says."""


class Remembered(NamedTuple):
    """What an episode's log came to when it was read."""

    state: tuple[int, ...]
    """The log's (device, inode, size, time): a copied folder is read anew."""
    summary: JSONObject


class Summaries:
    """The summaries of one work folder, by the episode's folder below it."""

    def __init__(self, workdir: Path) -> None:
        self._file = workdir / SUMMARIES_FILE

    @cached_property
    def known(self) -> dict[str, Remembered]:
        """What was kept; read from the disk once."""
        with suppress(OSError, ValueError):
            head, _, body = read_regular(self._file, follow=False).partition(b"\n")
            kept = json.loads(body) if head == _head(body) else {}
            return {it: Remembered(tuple(state), row) for it, (state, row) in kept.items()}
        return {}

    def keep(self, known: dict[str, Remembered]) -> None:
        """Put these in the place of all others, unless nothing has changed."""
        if known == self.known:
            return
        self.known = known
        with suppress(OSError):  # a folder of somebody else, a full disk: read again next time
            body = encoded(known)
            write_whole(self._file, _head(body) + b"\n" + body, mode=PRIVATE)


def _head(body: bytes) -> bytes:
    """Return the first line: which code wrote ``body``, and that it is whole."""
    achievements = b"".join(path.read_bytes() for path in shipped().values())
    digests = (hashlib.sha256(it).hexdigest() for it in (achievements, body))
    return " ".join((code_digest(_SUMMARIZING), *digests)).encode()
