"""Routes between rooms, over ways that were walked and should lead there again."""

from collections import deque
from collections.abc import Iterator

from managers.map.ways import Way, Ways


class Routes:
    """The shortest routes, found breadth first over steps that are looked up once for each room."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._steps: dict[int, tuple[Way, ...]] = {}
        self._distances: dict[int, dict[int, int]] = {}

    def refresh(self, room_id: int) -> None:
        """Note that the ways out of a room have changed."""
        self._distances.clear()
        self._steps.pop(room_id, None)

    def reset(self) -> None:
        """Note that any way may have changed."""
        self._distances.clear()
        self._steps.clear()

    def distances(self, from_id: int) -> dict[int, int]:
        """Room id -> steps, for all rooms that can be reached, the nearest first."""
        if from_id not in self._distances:
            found = {from_id: 0}
            for room_id, way in self._last_steps(from_id):
                found[room_id] = found[way.room_id] + 1
            self._distances[from_id] = found
        return self._distances[from_id]

    def nearest(self, from_id: int) -> Iterator[int]:
        """The other rooms that can be reached, the nearest first, found as they are asked for."""
        return (room_id for room_id, _ in self._last_steps(from_id))

    def route(self, from_id: int, to_id: int) -> tuple[Way, ...] | None:
        """The shortest way there; None when no way is known."""
        if from_id == to_id:
            return ()
        led: dict[int, Way] = {}
        for room_id, way in self._last_steps(from_id):
            led[room_id] = way
            if room_id == to_id:
                return tuple(_traced(led, from_id, to_id))[::-1]
        return None

    def _last_steps(self, from_id: int) -> Iterator[tuple[int, Way]]:
        """Each other room that can be reached, the nearest first, and the last way to it."""
        seen, ahead = {from_id}, deque([from_id])
        while ahead:
            for way in self._out_of(ahead.popleft()):
                if way.to is not None and way.to not in seen:
                    seen.add(way.to)
                    ahead.append(way.to)
                    yield way.to, way

    def _out_of(self, room_id: int) -> tuple[Way, ...]:
        """The reliable ways, the surest first: of several to one room, that one counts."""
        if room_id not in self._steps:
            ways = [way for way in self._ways.of(room_id).values() if way.is_trusted]
            ways.sort(key=lambda way: (way.earlier, not way.moves))
            self._steps[room_id] = tuple(ways)
        return self._steps[room_id]


def _traced(led: dict[int, Way], from_id: int, to_id: int) -> Iterator[Way]:
    """The ways to a room, the last one first."""
    while to_id != from_id:
        yield led[to_id]
        to_id = led[to_id].room_id
