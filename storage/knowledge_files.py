"""The Markdown of each story, below ``knowledge`` in the working directory."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from session.learned import Edits
from storage.carrying import latest_memories
from storage.edits import Document, edits_of, read_document, read_edits
from storage.errors import StorageError
from storage.markdown import rendered

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from storage.store import Store

FOLDER: Final = "knowledge"


class KnowledgeFiles:
    """Written from what is stored; what people changed is read back."""

    def __init__(self, config: GameConfiguration, store: Store) -> None:
        self.folder = Path(config.workdir) / FOLDER
        self._secrets = config.secrets
        self._store = store

    def path(self, story: str, story_sha256: str) -> Path:
        """The file of a story; another one of the same name has a longer name.

        Raises:
            StorageError: What is there cannot be read.
        """
        name = re.sub(r"[^\w.-]+", "-", story).strip(".-")[:100] or "story"
        path = self.folder / f"{name}.md"
        if self._document(path).story in {None, story_sha256}:
            return path
        return self.folder / f"{name}-{story_sha256[:8]}.md"

    def read_edits(self, story: str, story_sha256: str) -> Edits:
        """What people changed since the file was written, as far as it is not stored yet.

        Raises:
            StorageError: The file or the database cannot be read.
        """
        path = self.path(story, story_sha256)
        with _translated(path):
            return read_edits(path, self._store.claims(story_sha256), self._secrets)

    def write(self, story: str, story_sha256: str) -> bool:
        """Write the file anew; False when it was left alone, as it holds edits nobody read yet.

        Raises:
            StorageError: The database cannot be read or the file cannot be written.
        """
        path = self.path(story, story_sha256)
        with _translated(path):
            before = _bytes(path)
            document = read_document(path, self._secrets)
            claims = self._store.claims(story_sha256)
            if edits_of(document, claims) != Edits():
                return False
            memories = latest_memories(self._store.memories(story_sha256, lasting=True))
            if before or claims or memories:
                text = rendered(story, story_sha256, claims, memories, document.notes)
                return _replace(path, before, text.encode())
        return True

    def odd_lines(self, story: str, story_sha256: str) -> list[int]:
        """Numbers of the lines that could not be understood, and will be kept among the notes."""
        return self._document(self.path(story, story_sha256)).odd

    def _document(self, path: Path) -> Document:
        with _translated(path):
            return read_document(path, self._secrets)


def _replace(path: Path, before: bytes, after: bytes) -> bool:
    """All at once, so that nobody ever reads half a file; not when it was changed meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
        Path(name).chmod(0o644)
        if _bytes(path) != before:
            Path(name).unlink()
            return False
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return True


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{path} is left alone: it is no UTF-8 text. Save it as such."
        ) from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read or written: {error.strerror}.") from error
