"""An episode as its event log tells it: enough to go on where it stopped."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from session.event_log import EVENTS_FILE, EpisodeDamagedError, read_events
from session.game_configuration import ConfigurationError, EngineChoice
from session.game_state import EndReason, Observation, TurnRecord
from session.learned import CarriedOver, Reflection
from session.uids import uid_of

_Step = TypeVar("_Step", TurnRecord, Reflection)


class SavedEpisode:
    """The start and the finished turns of the episode in ``folder``."""

    def __init__(self, folder: Path) -> None:
        """Read the log.

        Raises:
            ConfigurationError: There is no such episode, or nothing to go on with.
        """
        if not (folder / EVENTS_FILE).is_file():
            raise ConfigurationError(f"There is no episode to resume in {folder}.")
        self.folder = folder
        self._start: dict[str, object] = {}
        self._snapshot = ""
        self.carried = CarriedOver()
        """What it began with of earlier episodes."""
        self.turns_played = 0
        self.gave_up: set[int] = set()
        """Turns after which it ended for want of patience: who resumes it means to go on."""
        reason: EndReason | None = None
        for event in read_events(folder):
            match event["event_type"]:
                case "episode_start":
                    self._start = event
                    self._snapshot = str(event["snapshot"])
                case "turn":
                    self.turns_played = int(str(event["turn"]))
                    self._snapshot = str(event["snapshot"])
                case "knowledge_loaded":
                    self.carried = CarriedOver.model_validate(event["carried"])
                case "episode_end":
                    reason = EndReason(str(event["reason"]))
                    if reason in {EndReason.STALLED, EndReason.LLM_UNAVAILABLE}:
                        self.gave_up.add(self.turns_played)
        if reason and reason.is_final:
            raise ConfigurationError(
                f"The game of {folder.name} is over ({reason}): start a new episode."
            )

    @property
    def began(self) -> bool:
        """Whether there is anything to go on with; a crash may have come first."""
        return bool(self._start)

    @property
    def uid(self) -> str:
        """What begins the ids of all that is learned in it."""
        return uid_of(self._start)

    @property
    def story(self) -> str:
        """What to open: the path where it was, or the name where it has gone."""
        path = str(self._start["story_path"])
        return path if Path(path).is_file() else str(self._start["story"])

    @property
    def seed(self) -> int:
        """The seed of the game's dice."""
        return int(str(self._start["seed"]))

    @property
    def engine(self) -> EngineChoice:
        """The interpreter that wrote the snapshots."""
        return "jericho" if self._start["engine"] == "jericho" else "fernz"

    @property
    def opening(self) -> str:
        """The game's first text."""
        return str(self._start["opening"])

    @property
    def first_observation(self) -> Observation:
        """The game's first facts."""
        return Observation.model_validate(self._start["observation"])

    @property
    def snapshot(self) -> bytes:
        """The engine after the last finished turn."""
        return base64.b64decode(self._snapshot)

    def steps(self) -> Iterator[TurnRecord | Reflection]:
        """The finished turns and reflections, in order."""
        for event in read_events(self.folder):
            match event["event_type"]:
                case "turn":
                    yield self._read(TurnRecord, event)
                case "reflection":
                    yield self._read(Reflection, event)

    def _read(self, kind: type[_Step], event: dict[str, object]) -> _Step:
        known = {key: event[key] for key in kind.model_fields.keys() & event.keys()}
        try:
            return kind.model_validate(known)
        except ValidationError as error:
            raise EpisodeDamagedError(
                f"Turn {event.get('turn', '?')} in {self.folder / EVENTS_FILE} cannot be "
                f"read. To go on from the turn before it, delete its line and all after it."
            ) from error
