"""What the events of an episode add up to, as far as its header and summary tell."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TypeAlias

from session.event_log import read_events

Event: TypeAlias = dict[str, Any]


class StorySoFar:
    """The episode in ``folder``, earlier runs of it included."""

    def __init__(self, folder: Path, to_resume: str = "") -> None:
        """``to_resume`` is the command that goes on with the episode."""
        self.folder = folder
        self.to_resume = to_resume
        self.start: Event = {}
        """What the episode was begun with; empty until it has begun."""
        self.end: Event = {}
        self.turn = 0
        """The turn under way, or the last one."""
        self.place = ""
        self.score = 0
        self.max_score: int | None = None
        self.rooms: set[int] = set()
        self.last_failure = ""
        """Why the model gave no usable answer, when it last did not."""
        self.seconds = 0.0
        """How long this run of the program has been at it."""
        self._began = time.monotonic()

    @property
    def score_line(self) -> str:
        """Such as ``10/350``."""
        return f"{self.score}/{self.max_score}" if self.max_score else str(self.score)

    def take(self, event: Event) -> None:
        """Take in one event."""
        self.turn = event.get("turn") or self.turn
        self.seconds = time.monotonic() - self._began
        match event.get("event_type"):
            case "episode_start":
                self.start = event
                self._observe(event["observation"])
            case "episode_resumed":
                self._take_earlier_runs()
                self.start = {**self.start, **event}
            case "turn":
                self._observe(event["after"])
                self.last_failure = event["failure"] or self.last_failure
            case "episode_end":
                self.end = event

    def _take_earlier_runs(self) -> None:
        for event in read_events(self.folder):
            if event["event_type"] in ("episode_start", "turn"):
                self.take(event)

    def _observe(self, observation: dict[str, Any]) -> None:
        self.place = observation["room"]["name"]
        self.rooms.add(observation["room"]["id"])
        self.score = observation["score"]
        self.max_score = observation["max_score"]
