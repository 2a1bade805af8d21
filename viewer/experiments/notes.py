"""What people write about an episode and its turns, in a file beside the log and never in it."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mcp_ghost.files import open_regular, write_whole
from mcp_ghost.results import JSONObject, jsonable
from mcp_ghost.text import counted, harmless

NOTES_FILE = "annotations.json"
FORMER_NOTES_FILE = "notes.json"
"""Its name in older episodes, too like that of the player's own notes."""
MOST_NOTE_CHARACTERS = 4000
MOST_TAGS = 20
MOST_TAG_CHARACTERS = 40
MOST_NAME_CHARACTERS = 80
MOST_BYTES = 4 * 1024 * 1024


class NotesError(ValueError):
    """Raised when notes cannot be written or read; the message says why."""


class Note(BaseModel):
    """A text and some tags."""

    model_config = ConfigDict(extra="forbid")

    note: str = ""
    tags: list[str] = []


class _Written(Note):
    """All that is in the file."""

    name: str = ""
    """What the list calls the episode, instead of the name of its folder."""
    turns: dict[int, Note] = Field(default_factory=dict)


class Notes:
    """The notes in an episode's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state: tuple[int, ...] | None = None
        self._known = _Written()

    @property
    def _file(self) -> Path:
        """Where they are, or will be."""
        present, former = self._folder / NOTES_FILE, self._folder / FORMER_NOTES_FILE
        return former if former.exists() and not present.exists() else present

    def state(self) -> tuple[int, ...]:
        """Return a value that changes whenever the notes do."""
        try:
            stat = self._file.stat()
        except OSError:
            return ()
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def json(self) -> JSONObject:
        """Return note and tags of the episode and its turns; none where they cannot be read."""
        return self._read().model_dump(mode="json")

    def row(self) -> JSONObject:
        """Return what a row of the index says of them."""
        notes = self._read()
        tags = {tag for turn in notes.turns.values() for tag in turn.tags}
        return {
            "name": notes.name,
            "note": notes.note,
            "tags": notes.tags,
            "turn_tags": sorted(tags),
            "noted_turns": len(notes.turns),
        }

    def write(
        self, turn: int | None, note: str, tags: Sequence[str], name: str | None = None
    ) -> JSONObject:
        """Replace what is said of a turn, or of the whole episode; an empty note is removed.

        The episode keeps its name unless there is a new one; an empty one takes it away.

        Raises:
            NotesError: It is too long, or the file is damaged.
            OSError: It cannot be written; what was there before is still there.
        """
        wanted = (tag for it in tags if (tag := " ".join(harmless(it).split())))
        written = Note(note=harmless(note).strip(), tags=list(dict.fromkeys(wanted)))
        if len(written.note) > MOST_NOTE_CHARACTERS:
            raise NotesError(f"A note has at most {MOST_NOTE_CHARACTERS:,} characters.")
        if len(written.tags) > MOST_TAGS:
            raise NotesError(f"There are at most {counted(MOST_TAGS, 'tag')}.")
        for tag in written.tags:
            if len(tag) > MOST_TAG_CHARACTERS or set(tag) & set(',"'):
                raise NotesError(
                    f"A tag has at most {MOST_TAG_CHARACTERS} characters, and neither comma nor "
                    f"quotation mark: {tag[:MOST_TAG_CHARACTERS]}"
                )
        file = self._folder / NOTES_FILE
        with _alone(self._folder):
            source = self._file
            notes = _read(source)
            if name is not None:
                notes.name = " ".join(harmless(name).split())[:MOST_NAME_CHARACTERS]
            if turn is None:
                notes.note, notes.tags = written.note, written.tags
            elif written.note or written.tags:
                notes.turns[turn] = written
            else:
                notes.turns.pop(turn, None)
            notes.turns = dict(sorted(notes.turns.items()))
            text = notes.model_dump_json(indent=1, exclude_defaults=True) + "\n"
            if len(text.encode()) > MOST_BYTES:
                raise NotesError(f"{file} would grow beyond {MOST_BYTES:,} bytes.")
            write_whole(file, text)
            if source != file:
                source.unlink(missing_ok=True)
        return notes.model_dump(mode="json")

    def _read(self) -> _Written:
        state = self.state()
        if state != self._state:
            try:
                self._known = _read(self._file)
            except (NotesError, OSError):
                self._known = _Written()  # to write will tell
            self._state = state
        return self._known


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the notes against other processes and threads."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)  # and with it the lock


def _read(file: Path) -> _Written:
    try:
        with os.fdopen(open_regular(file), "rb") as reading:
            text = reading.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return _Written()
    if len(text) > MOST_BYTES:
        raise NotesError(f"{file} has more than {MOST_BYTES:,} bytes: move it away.")
    try:
        return _Written.model_validate(jsonable(json.loads(text)))
    except (ValueError, RecursionError) as error:
        raise NotesError(
            f"{file} cannot be read as notes: repair it, or move it away. Nothing was written."
        ) from error
