"""An episode printed for reading: the terminal's live view, fed from the log."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from session.event_log import EVENTS_FILE
from session.game_state import Observation
from terminal.story_so_far import StorySoFar
from terminal.view import EpisodeView
from viewer.episode_view import EpisodeView as EpisodeFold
from viewer.log_index import LogIndex
from viewer.turns import read_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_ghost.screen import Screen
    from viewer.log_index import Event

_RECORD = frozenset(logging.makeLogRecord({}).__dict__) | {"message"}


class _Recorded(StorySoFar):
    """The story so far of an episode that was played at another time."""

    def take(self, event: Event) -> None:
        """Take in one event; its turn took what it says."""
        played = self.seconds + (event["seconds"] if event["event_type"] == "turn" else 0)
        super().take(event)
        self.seconds = played

    def _take_earlier_runs(self) -> None:
        """They were all taken in."""


class _Reader(EpisodeView):
    """The live view, but for what it says of an event that it cannot show."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Say so, and go on."""
        kind = getattr(record, "event_type", "event")
        self._screen.text(f"A {kind} in the log cannot be shown.", "yellow", mark="!")


def show_episode(screen: Screen, folder: Path, first: int = 0, last: int | None = None) -> None:
    """Print the turns from ``first`` to ``last``, after the episode's header.

    Raises:
        OSError: The log cannot be read.
    """
    to_resume = shlex.join(["uv", "run", "python", "main.py", "--resume", folder.name])
    so_far = _Recorded(folder, to_resume)
    view = _Reader(screen, so_far)
    screen.busy = _ignore  # type: ignore[assignment,method-assign]  # nothing is waited for here
    end: Event | None = None
    for event in _events(folder):
        if event["event_type"] == "episode_end":
            end = event
            continue
        if event["event_type"] == "episode_resumed":
            end = None
        if _is_wanted(event, first, last):
            view.handle(_record(event))
        else:
            so_far.take(event)
    if end is not None and last is None:
        view.handle(_record(end))


def _events(folder: Path) -> Iterator[Event]:
    """The events; a notice in place of each that cannot be read."""
    check = EpisodeFold()
    for line in LogIndex(folder / EVENTS_FILE).read_new():
        try:
            if line.event is not None:
                check.take(line.event)
                yield _complete(line.event)
                continue
        except (ValueError, KeyError):
            pass  # as what cannot even be parsed
        text = f"Line {line.number} of the log is damaged."
        yield {"event_type": "notice", "message": text, "turn": check.turns}


def _complete(event: Event) -> Event:
    """The event with fields that came into use after it was written."""
    if event["event_type"] == "turn":
        return {**event, **read_turn(event).model_dump(mode="json")}
    if event["event_type"] == "episode_start":
        observation = Observation.model_validate(event["observation"])
        return {**event, "observation": observation.model_dump(mode="json")}
    return event


def _is_wanted(event: Event, first: int, last: int | None) -> bool:
    turn = event.get("turn")
    if event["event_type"] == "episode_start" or not isinstance(turn, int):
        return True
    return first <= turn <= (turn if last is None else last)


def _record(event: Event) -> logging.LogRecord:
    """The log record that the event was."""
    record = logging.makeLogRecord({"msg": str(event.get("message", ""))})
    record.__dict__.update({key: it for key, it in event.items() if key not in _RECORD})
    return record


def _ignore(_label: str) -> None:
    """Show nothing."""
