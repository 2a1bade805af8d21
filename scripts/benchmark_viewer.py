"""Figures of the viewer: how soon an episode is seen, how soon a turn, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path

from session.event_log import EVENTS_FILE

_TURNS = ("first_turn", "last_turn")


def write_long_log(source: Path, folder: Path, turns: int, padding: int = 0) -> Path:
    """An episode of ``turns`` turns made of those of another, over and over; its folder.

    Args:
        source: The folder of an episode that was played.
        folder: Where to write it.
        turns: How many.
        padding: Characters by which each snapshot grows, as those of larger games are.
    """
    events = [json.loads(line) for line in (source / EVENTS_FILE).read_bytes().splitlines()]
    kinds = [event["event_type"] for event in events]
    first, last = kinds.index("turn_start"), len(kinds) - kinds[::-1].index("turn")
    played = kinds.count("turn")
    folder.mkdir(parents=True)
    with (folder / EVENTS_FILE).open("w", encoding="utf-8") as file:
        file.writelines(_line(event) for event in events[:first])
        for before in range(0, turns, played):
            for event in events[first:last]:
                turn = before + event["turn"]
                if turn <= turns:
                    file.write(_line(_moved(event, turn, padding)))
    return folder


def _moved(event: dict[str, object], turn: int, padding: int) -> dict[str, object]:
    if event["event_type"] == "reflection":
        ahead = turn - int(str(event["turn"]))
        event = {**event, **{name: int(str(event[name])) + ahead for name in _TURNS}}
    if event["event_type"] == "turn":
        event = {**event, "snapshot": str(event["snapshot"]) + "A" * padding}
    return {**event, "turn": turn}


def _line(event: dict[str, object]) -> str:
    return json.dumps(event, ensure_ascii=False) + "\n"
