"""An episode printed for reading, from its log."""

import shlex
from pathlib import Path

from mcp_ghost.cli.screen import Screen
from session.record.display import EpisodeDisplay
from session.record.event_log import EVENTS_FILE
from session.record.index import LogIndex
from session.record.schema import Entry, EpisodeEnd, EpisodeStart
from session.record.summary import StorySoFar, show_header


def show_episode(screen: Screen, folder: Path, first: int = 0, last: int | None = None) -> None:
    """Print the turns from ``first`` to ``last``, after the episode's header.

    Raises:
        OSError: The log cannot be read.
    """
    to_resume = shlex.join(["uv", "run", "python", "main.py", "--resume", folder.name])
    so_far = StorySoFar(folder, to_resume, live=False)
    display = EpisodeDisplay(screen, so_far)
    end: Entry | None = None
    for line in LogIndex(folder / EVENTS_FILE).read_new():
        if line.entry is None:
            display.notice({"message": f"Line {line.number} of the log is damaged."})
            continue
        so_far.take(line.entry)
        if isinstance(line.entry.event, EpisodeEnd):
            end = line.entry
        elif isinstance(line.entry.event, EpisodeStart) and first > 1:
            show_header(screen, so_far)  # the opening text belongs to the first turn
            screen.text("")
        elif line.entry.turn is None or (
            first <= line.entry.turn <= (line.entry.turn if last is None else last)
        ):
            try:
                display.show(line.entry)
            except (ValueError, KeyError, TypeError, AttributeError):
                kind = getattr(line.entry.event, "event_type", "event")
                screen.text(f"A {kind} in the log cannot be shown.", "yellow", mark="!")
    if end is not None and so_far.end is not None and last is None:
        display.show(end)
