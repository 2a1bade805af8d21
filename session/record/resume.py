"""An episode as its event log has it: enough to continue where it stopped."""

import base64
from collections.abc import Iterator
from pathlib import Path

from session.game_configuration import ConfigurationError, EngineChoice
from session.game_state import FailedTurn, TurnRecord
from session.knowledge import Reflection
from session.record.event_log import EVENTS_FILE, read
from session.record.fold import EpisodeFold
from session.record.schema import EpisodeStart


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
        for entry in read(folder):
            self.fold.take(entry)
        end = self.fold.end
        if end and end.reason.is_final:
            raise ConfigurationError(
                f"The game of {folder.name} is over ({end.reason}): start a new episode."
            )

    @property
    def began(self) -> bool:
        """Whether there is anything to continue; a crash may have come first."""
        return self.fold.start is not None

    @property
    def start(self) -> EpisodeStart:
        """How it began."""
        if self.fold.start is None:
            raise ValueError("The episode has not begun: ask began first.")
        return self.fold.start

    @property
    def story(self) -> str:
        """What to open: the path where it was, or the name where it has gone."""
        path = self.start.story_path
        return path if Path(path).is_file() else self.start.story

    @property
    def engine(self) -> EngineChoice:
        """The interpreter that wrote the snapshots."""
        return "jericho" if self.start.engine == "jericho" else "fernz"

    @property
    def snapshot(self) -> bytes:
        """The engine after the last finished turn."""
        return base64.b64decode(self.fold.snapshot)

    def steps(self) -> Iterator[TurnRecord | FailedTurn | Reflection]:
        """The finished turns, those that failed, and the reflections, in order."""
        for entry in read(self.folder):
            if isinstance(entry.event, TurnRecord | FailedTurn | Reflection):
                yield entry.event
