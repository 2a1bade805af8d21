"""The map as it was walked, with the turn in which each part of it was first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.map_manager import direction_of

if TYPE_CHECKING:
    from session.game_state import Place, TurnRecord
    from session.learned import Passage
    from viewer.turns import JSONObject

_STEPS = {
    "north": (0, -1),
    "south": (0, 1),
    "east": (1, 0),
    "west": (-1, 0),
    "northeast": (1, -1),
    "northwest": (-1, -1),
    "southeast": (1, 1),
    "southwest": (-1, 1),
}


class MapView:
    """Folds passages that were carried over and turn records."""

    def __init__(self) -> None:
        self.path: list[tuple[int, int]] = []
        """(turn, room) wherever the room changed."""
        self.version = 0
        """Counts the changes of what is drawn."""
        self._rooms: dict[int, JSONObject] = {}
        self._passages: dict[tuple[int, str], JSONObject] = {}
        self._blocked: dict[tuple[int, str], JSONObject] = {}
        self._drawn: tuple[int, JSONObject] | None = None

    def begin(self, room: Place) -> None:
        """Take in the first room."""
        self._enter(room, 0)

    def carry_over(self, passages: tuple[Passage, ...]) -> None:
        """Take in what earlier episodes walked."""
        for passage in passages:
            self._know(passage.room, 0)
            if passage.to is not None:
                self._know(passage.to, 0)
                self._lead(passage.room, passage.direction, passage.to, 0)
            elif passage.answer is not None:
                self._block(passage.room.id, passage.direction, passage.answer, 0)

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        room, direction = record.after.room, direction_of(record.command)
        self._enter(room, record.turn)
        if direction is None or record.died:
            return
        if room.id != record.place.id:
            self._know(record.place, record.turn)
            self._lead(record.place, direction, room, record.turn)
        elif (record.place.id, direction) not in self._passages:
            answer = " ".join(record.response.split())[:200]
            self._block(room.id, direction, answer, record.turn)

    def json(self) -> JSONObject:
        """Rooms with positions, passages and blocked ways."""
        if self._drawn is None or self._drawn[0] != self.version:
            self._drawn = self.version, self._draw()
        return self._drawn[1]

    def _enter(self, room: Place, turn: int) -> None:
        self._know(room, turn)
        if not self.path or self.path[-1][1] != room.id:
            self.path.append((turn, room.id))

    def _know(self, room: Place, turn: int) -> None:
        if room.id not in self._rooms:
            self._rooms[room.id] = {"id": room.id, "name": room.name, "first_turn": turn}
            self.version += 1

    def _lead(self, room: Place, direction: str, to: Place, turn: int) -> None:
        key = room.id, direction
        known = self._passages.get(key)
        if known is None:
            fields = {"from": room.id, "direction": direction, "to": to.id}
            self._passages[key] = {**fields, "first_turn": turn, "random": False}
        elif known["to"] != to.id:
            self._passages[key] = {**known, "to": to.id, "random": True}
        else:
            return
        self._blocked.pop(key, None)
        self.version += 1

    def _block(self, room: int, direction: str, answer: str, turn: int) -> None:
        if (room, direction) not in self._blocked:
            fields = {"room": room, "direction": direction, "answer": answer, "turn": turn}
            self._blocked[room, direction] = fields
            self.version += 1

    def _draw(self) -> JSONObject:
        places = _positions(self._rooms, self._passages)
        ways = {(it["from"], it["to"]) for it in self._passages.values()}
        return {
            "rooms": [
                {**room, "x": places[number][0], "y": places[number][1]}
                for number, room in self._rooms.items()
            ],
            "passages": [
                {**way, "one_way": (way["to"], way["from"]) not in ways}
                for way in self._passages.values()
            ],
            "blocked": list(self._blocked.values()),
        }


def _positions(
    rooms: dict[int, JSONObject], passages: dict[tuple[int, str], JSONObject]
) -> dict[int, tuple[int, int]]:
    """A place on a grid for each room, in the direction in which it was entered."""
    places: dict[int, tuple[int, int]] = {}
    taken: set[tuple[int, int]] = set()
    for room in rooms:
        lead = next(
            (it for it in passages.values() if it["to"] == room and it["from"] in places), None
        )
        x, y = places[lead["from"]] if lead else (0, 0)
        dx, dy = _STEPS.get(lead["direction"], (1, 1)) if lead else (1, 0)
        while (x, y) in taken:
            x, y = x + dx, y + dy
        places[room] = x, y
        taken.add((x, y))
    return places
