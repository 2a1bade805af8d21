"""The Markdown of each story, below ``knowledge`` in the working directory."""

import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_ghost.files import write_whole
from session.game_configuration import GameConfiguration
from session.knowledge import Edits
from session.record.event_log import EpisodeLockedError, EpisodeNotKeptError, EventLog
from session.record.schema import KnowledgeLoaded, new_uid, write
from storage.episode_knowledge import EpisodeKnowledge, read_imports
from storage.errors import StorageError
from storage.files.edits import Document, edits_of, file_bytes, read_document
from storage.files.markdown import EDITOR, rendered
from storage.selection import latest_memories
from storage.store import Store

FOLDER = "knowledge"


class KnowledgeFiles:
    """The Markdown files: written from the database, and read back for people's changes."""

    def __init__(self, config: GameConfiguration, store: Store) -> None:
        self.folder = Path(config.workdir) / FOLDER
        self._secrets = config.secrets
        self._store = store

    def path(self, story: str, story_sha256: str) -> Path:
        """Return the file of a story; another one of the same name has a longer name.

        Raises:
            StorageError: What is there cannot be read.
        """
        name = re.sub(r"[^\w.-]+", "-", story).strip(".-")[:100] or "story"
        path = self.folder / f"{name}.md"
        if self._document(path).story in {None, story_sha256}:
            return path
        return self.folder / f"{name}-{story_sha256[:8]}.md"

    def read_edits(self, story: str, story_sha256: str) -> Edits:
        """Return what people changed since the file was written, as far as it is not stored yet.

        Raises:
            StorageError: The file or the database cannot be read.
        """
        document = self._document(self.path(story, story_sha256))
        return edits_of(document, self._store.claims(story_sha256))

    def write(self, story: str, story_sha256: str) -> bool:
        """Rewrite the file; False when it was left alone because it holds edits not yet read.

        Raises:
            StorageError: The database cannot be read or the file cannot be written.
        """
        path = self.path(story, story_sha256)
        with _translated(path):
            before = file_bytes(path)
            document = read_document(path, self._secrets)
            claims = self._store.claims(story_sha256)
            if edits_of(document, claims) != Edits():
                return False
            memories = latest_memories(self._store.memories(story_sha256))
            if before or claims or memories:
                text = rendered(story, story_sha256, claims, memories, document.notes)
                # Not when it was changed meanwhile.
                return write_whole(path, text, only_if=lambda: file_bytes(path) == before)
        return True

    def odd_lines(self, story: str, story_sha256: str) -> list[int]:
        """List the numbers of lines that cannot be understood, which are kept among the notes."""
        return self._document(self.path(story, story_sha256)).odd

    def _document(self, path: Path) -> Document:
        with _translated(path):
            return read_document(path, self._secrets)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be read or written: {error.strerror}.") from error


def log_import(
    folder: Path, edits: Edits, story: str, story_sha256: str, secrets: tuple[str, ...] = ()
) -> EpisodeKnowledge:
    """Write ``edits`` to their own log in ``folder``, where a rebuild finds them again.

    Returns the account of them, as the log has it.

    Raises:
        StorageError: It cannot be written.
    """
    uid = new_uid()
    logger = logging.Logger("zorkgpt.knowledge", logging.DEBUG)
    named = {"uid": uid, "story": story, "story_sha256": story_sha256, "model": EDITOR}
    read = KnowledgeLoaded(episode_id=f"import-{uid}", **named, edits=edits)
    try:
        with closing(EventLog(folder, secrets)) as log:
            logger.addHandler(log)
            write(logger, f"Edits of {story} are read", read)
    except EpisodeLockedError as error:
        raise StorageError(f"Another import is running in {folder}: try again.") from error
    except EpisodeNotKeptError as error:
        raise StorageError(str(error)) from error
    except OSError as error:
        raise StorageError(f"Cannot write {error.filename}: {error.strerror}.") from error
    return next(it for it in read_imports(folder) if it.episode.uid == uid)
