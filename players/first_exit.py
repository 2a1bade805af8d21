"""The player `first-exit`: takes every way out that it has not tried, the nearest first."""

import re
from collections.abc import Iterator

from game_interface import Facts
from players.player import Player
from session.game_state import Decision, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver
from session.perception.directions import DIRECTIONS

_DIRECTIONS = (*DIRECTIONS.values(), "in", "out")
_NOTHING_LEFT = ("look", "wait")


class FirstExitPlayer(Player):
    """Knows of a room which directions its text named, and what came of those that it tried.

    It takes things, doors and people for scenery. That it tells rooms apart by their numbers in the
    game's memory is more than a reader could.
    """

    def __init__(self) -> None:
        self._here: int | None = None
        self._led: dict[int | None, dict[str, int | None]] = {}
        """Room -> direction -> the room where it led; the same one where it led nowhere."""
        self._named: dict[int | None, set[str]] = {}
        """Room -> directions that the game's words named there."""

    def begin(self, opening: str, observation: Observation, carried: CarriedOver) -> None:
        """Read what is said of the first room."""
        self._arrive(observation, opening)

    def take_in(self, record: TurnRecord) -> None:
        """Note where the latest command led, and read what is said there."""
        if not (record.died or record.ended):
            ways = self._led.setdefault(record.place_id, {})
            ways[record.command] = record.after.room_id
        self._arrive(record.after, record.response)

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Take an untried way from here, or the first step to one; any key, if one is awaited."""
        if facts.waits_for == "key":
            return Decision("space", "", proposed="space")
        command = next(self._untried(self._here), "") or self._step_to_an_untried_way()
        command = command or _NOTHING_LEFT[state.turn_count % len(_NOTHING_LEFT)]
        return Decision(command, "", proposed=command)

    def _arrive(self, now: Observation, text: str) -> None:
        self._here = now.room_id
        words = set(re.findall("[a-z]+", text.lower()))
        self._named.setdefault(self._here, set()).update(words.intersection(_DIRECTIONS))

    def _untried(self, room: int | None) -> Iterator[str]:
        """Directions; those that were named come first."""
        left = [way for way in _DIRECTIONS if way not in self._led.get(room, ())]
        yield from sorted(left, key=lambda way: way not in self._named.get(room, ()))

    def _step_to_an_untried_way(self) -> str:
        """Return the direction of the nearest room that has one; empty where none is left."""
        first = {self._here: ""}
        rooms = [self._here]
        for room in rooms:  # which grow meanwhile
            for direction, beyond in self._led.get(room, {}).items():
                if beyond not in first:
                    first[beyond] = first[room] or direction
                    if any(self._untried(beyond)):
                        return first[beyond]
                    rooms.append(beyond)
        return ""
