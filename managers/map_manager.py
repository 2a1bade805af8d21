"""The map: rooms by id, and the ways between them that were really walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.manager import Manager

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.game_state import Observation, Place, TurnRecord
    from session.learned import CarriedOver

DIRECTIONS = {
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "ne": "northeast",
    "nw": "northwest",
    "se": "southeast",
    "sw": "southwest",
    "u": "up",
    "d": "down",
}
_DIRECTION_NAMES = frozenset(DIRECTIONS.values()) | {"in", "out"}
_GOING = ("go ", "walk ", "run ", "head ")


class MapManager(Manager):
    """Learns from turn records; a way back is known only once it was walked."""

    def __init__(self, _config: GameConfiguration | None = None) -> None:
        self.rooms: dict[int, str] = {}
        self._ways: dict[int, dict[str, Place]] = {}
        self._blocked: dict[int, dict[str, str]] = {}

    def begin(self, observation: Observation, carried: CarriedOver | None = None) -> None:
        """Take in the first room."""
        self.rooms[observation.room.id] = observation.room.name

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        room = record.after.room
        self.rooms[room.id] = room.name
        direction = direction_of(record.command)
        if direction is None or record.died:
            return  # what moves the player against the command is no way between rooms
        if room.id != record.place.id:
            self._ways.setdefault(record.place.id, {})[direction] = room
            self._blocked.get(record.place.id, {}).pop(direction, None)
        elif direction not in self._ways.get(record.place.id, {}):
            answer = " ".join(record.response.split())
            self._blocked.setdefault(record.place.id, {})[direction] = answer[:100]

    def ways(self, room_id: int) -> dict[str, Place]:
        """Direction -> room, as walked from ``room_id``."""
        return self._ways.get(room_id, {})

    def blocked(self, room_id: int) -> dict[str, str]:
        """Direction -> the game's answer, where a try did not lead anywhere."""
        return self._blocked.get(room_id, {})


def direction_of(command: str) -> str | None:
    """The direction that ``command`` moves in, in full; None for any other command."""
    words = command.strip().lower()
    for verb in _GOING:
        words = words.removeprefix(verb).strip()
    words = DIRECTIONS.get(words, words)
    return words if words in _DIRECTION_NAMES else None
