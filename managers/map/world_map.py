"""The map as a fold over turn records: rooms by id, and the ways between them that were walked."""

from managers.map.drawing import mermaid
from managers.map.routes import Routes
from managers.map.target import matching
from managers.map.text import by_compass
from managers.map.ways import Way, Ways
from session.game_state import ExitSeen, Observation, Place, TurnRecord
from session.knowledge import CarriedOver, Passage


class WorldMap:
    """Follows from what it is given, in order, alone; a way back is known once it was walked."""

    def __init__(self) -> None:
        self.rooms: dict[int, str] = {}
        """Id -> name, of every room known, those of earlier episodes first."""
        self.first_turns: dict[int, int] = {}
        """Room id -> turn of the first visit in this episode; 0 is its beginning."""
        self.ways = Ways()
        self.routes = Routes(self.ways)
        self._here: int | None = None
        self._exits: dict[int, dict[str, ExitSeen]] = {}

    def begin(self, observation: Observation, carried: CarriedOver | None = None) -> None:
        """Learn the first room, and the ways that earlier episodes found."""
        passages = carried.passages if carried else ()
        for passage in passages:
            for room in (passage.room, passage.to):
                if room:
                    self.rooms[room.id] = room.name
        self.ways.carry_over(passages)
        self.routes.reset()
        self._see(observation, 0)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        if place := record.place:
            self.rooms.setdefault(place.id, place.name)
            if self.ways.apply(record, self.exits(place.id)):
                self.routes.refresh(place.id)
        self._see(record.after, record.turn)

    def exits(self, room_id: int) -> dict[str, ExitSeen]:
        """Direction -> exit, as the game's memory last showed them."""
        return self._exits.get(room_id, {})

    def is_one_way(self, way: Way) -> bool:
        """Whether it was walked, and no way straight back ever was."""
        if way.to is None or way.to == way.room_id:
            return False
        return not any(way.room_id in back.destinations for back in self.ways.of(way.to).values())

    def passages(self) -> tuple[Passage, ...]:
        """The ways that this episode tried, as they are passed on to later ones."""
        return tuple(self.ways.passages({room_id: self.place(room_id) for room_id in self.rooms}))

    def distance(self, from_id: int, to_id: int) -> int | None:
        """Steps from one room to another by known ways; None when there are none."""
        if from_id == to_id:
            return 0
        return self.routes.distances(from_id).get(to_id)

    def find_room(self, text: str) -> tuple[Place, ...]:
        """The known rooms meant by a name, an id (``#23`` or ``23``) or both, the nearest first."""
        found = matching(text, self.rooms)
        reached = self.routes.distances(self._here) if found and self._here is not None else {}
        found.sort(key=lambda known: reached.get(known, len(self.rooms)))
        return tuple(self.place(known) for known in found)

    def untried(self, room_id: int) -> dict[str, ExitSeen]:
        """Exits that the game's memory shows and nobody has taken, including ones opened since."""
        known = self.ways.of(room_id)
        return {
            way_out.direction: way_out
            for way_out in by_compass(self.exits(room_id).values())
            if way_out.kind != "blocked" and _is_new(way_out, known.get(way_out.direction))
        }

    def nearest_untried(self, room_id: int) -> tuple[Way, ...] | None:
        """The route to the nearest room with such an exit; None when no way is known to any."""
        for known in self.routes.nearest(room_id):
            if self.untried(known):
                return self.routes.route(room_id, known)
        return None

    def mermaid(self) -> str:
        """The whole map as a Mermaid flowchart."""
        return mermaid(self.rooms, self.ways.all(), self._here)

    def place(self, room_id: int | None) -> Place:
        """A room with its name, as far as it is known."""
        return Place(id=room_id or 0, name=self.rooms.get(room_id or 0, ""))

    def _see(self, seen: Observation, turn: int) -> None:
        self._here = seen.room_id
        if seen.room is None:
            return
        self.rooms[seen.room.id] = seen.room.name
        self.first_turns.setdefault(seen.room.id, turn)
        self._exits[seen.room.id] = {way_out.direction: way_out for way_out in seen.exits}
        self.ways.see(seen.exits)


def _is_new(way_out: ExitSeen, known: Way | None) -> bool:
    if known is None:
        return True
    return known.is_blocked and known.seen_as is not None and known.seen_as != way_out
