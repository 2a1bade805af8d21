"""The ways that one episode tried, as its map has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.map_manager import MapManager
from session.learned import Passage

if TYPE_CHECKING:
    from session.game_state import Observation, Place, TurnRecord


class Passages:
    """What a map that began empty learned from an episode's records."""

    def __init__(self) -> None:
        self._map = MapManager()
        self._rooms: dict[int, Place] = {}

    def begin(self, observation: Observation) -> None:
        """Take in the first room."""
        self._rooms[observation.room.id] = observation.room
        self._map.begin(observation)

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        self._rooms |= {place.id: place for place in (record.place, record.after.room)}
        self._map.apply(record)

    def found(self) -> tuple[Passage, ...]:
        """Each way out of a room that was tried."""
        passages: list[Passage] = []
        for room in self._rooms.values():
            walked, blocked = self._map.ways(room.id), self._map.blocked(room.id)
            passages += [Passage(room=room, direction=way, to=walked[way]) for way in walked]
            passages += [Passage(room=room, direction=way, answer=blocked[way]) for way in blocked]
        return tuple(passages)
