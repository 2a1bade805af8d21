"""An episode as its event log has it: enough to continue where it stopped."""

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_ghost.text import one_line
from session.game_configuration import ConfigurationError, EngineChoice, EngineName
from session.game_state import TurnRecord
from session.record.event_log import EVENTS_FILE, NOT_BEGUN, EpisodeDamagedError, damaged, read
from session.record.fold import EpisodeFold
from session.record.schema import Entry, EpisodeStart, Step

FORMER_ENGINE: Final = "fernz"
_SHOWN: Final = 200
"""Characters of a path."""


def read_in_order(folder: Path) -> Iterator[Entry]:
    """Yield what ``read`` gives, as long as it follows the lines before, which an edit may break.

    Raises:
        EpisodeDamagedError: It cannot, or a line cannot be read.
    """
    began, turns = False, 0
    for number, entry in enumerate(read(folder), 1):
        event = entry.event
        if isinstance(event, EpisodeStart):
            if began or not event.story:
                raise damaged(folder, number, "not a valid start of an episode")
            began = True
        elif isinstance(event, TurnRecord):
            turns += 1
            if not began:
                raise damaged(folder, number, NOT_BEGUN)
            if event.turn != turns:
                raise damaged(folder, number, f"turn {turns} is missing")
        yield entry


class SavedEpisode:
    """The start and the finished turns of the episode in ``folder``."""

    def __init__(self, folder: Path) -> None:
        """Read the log.

        Raises:
            ConfigurationError: There is no such episode, or nothing to continue.
            EpisodeDamagedError: The log cannot be read.
        """
        if not (folder / EVENTS_FILE).is_file():
            raise ConfigurationError(f"There is no episode to resume in {folder}.")
        self.folder = folder
        self.fold = EpisodeFold()
        self._snapshot_line = 0
        for number, entry in enumerate(read_in_order(folder), 1):
            self.fold.take(entry)
            if isinstance(entry.event, EpisodeStart | TurnRecord):
                self._snapshot_line = number
        if self.fold.start and self.fold.start.engine == FORMER_ENGINE:
            raise ConfigurationError(
                f"{folder.name} was played by {FORMER_ENGINE}, an engine that this version no "
                "longer has: it can be read and replayed, but not continued."
            )
        end = self.fold.end
        if end and end.reason.is_final:
            raise ConfigurationError(
                f"The game of {folder.name} is over ({end.reason}): start a new episode."
            )

    def damaged_snapshot(self, why: str) -> EpisodeDamagedError:
        """Return the error for a snapshot from which the game cannot go on."""
        return damaged(self.folder, self._snapshot_line, why)

    @property
    def start(self) -> EpisodeStart:
        """How it began, unless a crash came first: then there is nothing to continue."""
        if self.fold.start is None:
            raise ValueError("The episode has not begun.")
        return self.fold.start

    @property
    def engine(self) -> EngineChoice | EngineName:
        """The interpreter that wrote the snapshots."""
        engines: tuple[EngineName, ...] = ("bocfel", "glulxe", "jericho")
        return next((it for it in engines if it == self.start.engine), "auto")

    @property
    def snapshot(self) -> bytes:
        """The engine after the last finished turn.

        Raises:
            EpisodeDamagedError: It is not base64.
        """
        try:
            return base64.b64decode(self.fold.snapshot, validate=True)
        except ValueError as error:
            raise self.damaged_snapshot("its snapshot is not base64") from error

    def steps(self) -> Iterator[Step]:
        """Yield the finished turns, those that failed, the reflections and the hints, in order."""
        for entry in read(self.folder):
            if isinstance(entry.event, Step):
                yield entry.event


def story_of(start: EpisodeStart, at_hand: str) -> str:
    """Return what to open: the path where it was, else where it is ``at_hand``, else its name.

    Raises:
        ConfigurationError: It is in neither place, and its name is only that of its file; or it is
            an environment whose module would be imported, and nobody but the log names it.
    """
    for named in {start.story, start.story_path} - {at_hand}:
        if re.match("gym:.*:", named, re.DOTALL):
            raise ConfigurationError(
                f"The log of this episode names {one_line(named, _SHOWN)}, whose module would be "
                "imported. If you trust it, set ZORKGPT_STORY to the same."
            )
    for path in (start.story_path, at_hand):
        with suppress(OSError):  # a log that somebody edited may name anything
            if Path(path).is_file():
                return path
    given = Path(str(start.settings.get("story") or "")).name
    is_file = start.story not in {"zork1", start.story_path}  # an environment's name is its place
    if is_file and given and given == Path(start.story_path).name:
        raise ConfigurationError(
            f"The story of this episode is no longer at {one_line(start.story_path, _SHOWN)}: "
            "put it there again, or name its file in ZORKGPT_STORY."
        )
    return start.story
