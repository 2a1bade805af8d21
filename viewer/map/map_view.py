"""The map as the page draws it: what is known of the world, with turns, positions and the path."""

from managers.map.world_map import WorldMap
from mcp_ghost.results import JSONObject
from session.game_state import Observation, TurnRecord
from session.knowledge import CarriedOver
from session.perception.directions import direction_of
from viewer.map.sheets import Sheets


class MapView(WorldMap):
    """Folds what was carried over and turn records."""

    def __init__(self) -> None:
        super().__init__()
        self.path: list[tuple[int, int | None]] = []
        """(turn, room) wherever the room changed; None where it is not known."""
        self.version = 0
        """Counts what may have changed the drawing."""
        self._sheets = Sheets()
        self._moves: set[tuple[int | None, str, int | None]] = set()
        self._exits: dict[tuple[int, str], tuple[int, str]] = {}
        """(room, direction) -> the turn after which the way was first seen, and of which kind."""
        self._things: dict[int, list[tuple[int, list[str]]]] = {}
        """What was seen in each room, with the turn, wherever it changed."""
        self._drawn: tuple[int, JSONObject] | None = None

    def begin(self, observation: Observation, carried: CarriedOver | None = None) -> None:
        """Add the first room and what earlier episodes walked."""
        super().begin(observation, carried)
        self.path = [(0, observation.room_id)]
        self.version += 1

    def apply(self, record: TurnRecord) -> None:
        """Add a finished turn."""
        super().apply(record)
        here = record.after.room_id
        move = record.place_id, record.command, here
        moved = here != record.place_id or direction_of(record.command) is not None
        if moved and move not in self._moves:
            self._moves.add(move)
            self.version += 1
        if not self.path or self.path[-1][1] != here:
            self.path.append((record.turn, here))

    def _see(self, seen: Observation, turn: int) -> None:
        super()._see(seen, turn)
        here = seen.room_id
        if here is None:
            return
        for exit_ in seen.exits:
            if exit_.kind != "blocked" and (here, exit_.direction) not in self._exits:
                self._exits[here, exit_.direction] = turn, exit_.kind
                self.version += 1
        things = [str(it) for it in seen.visible]
        known = self._things.setdefault(here, [])
        if things != (known[-1][1] if known else []):
            known.append((turn, things))

    def json(self) -> JSONObject:
        """Return rooms with positions, passages, blocked ways, exits and things that were seen."""
        if self._drawn is None or self._drawn[0] != self.version:
            self._drawn = self.version, self._draw()
        things = {str(room): list(seen) for room, seen in self._things.items() if seen}
        return {**self._drawn[1], "things": things}

    def _draw(self) -> JSONObject:
        names, turns, ways = self.rooms, self.first_turns, list(self.ways.all())
        # What this episode did not see comes first: it was known when it began.
        found = sorted(names, key=lambda room: turns.get(room, -1))
        return {
            "rooms": [
                {
                    "id": room,
                    "name": names[room],
                    "first_turn": turns.get(room, 0),
                    "visited": room in turns,
                    **placed._asdict(),
                }
                for room, placed in self._sheets.draw(found, ways).items()
            ],
            "passages": [
                {
                    "from": way.room_id,
                    "direction": way.command,
                    "to": to,
                    "first_turn": way.first_turn,
                    "one_way": self.is_one_way(way),
                    "random": way.is_random,
                }
                for way in ways
                for to in way.destinations
            ],
            "blocked": [
                {"room": it.room_id, "direction": it.command, "answer": it.answer, "turn": it.turn}
                for it in ways
                if it.is_blocked
            ],
            "exits": [
                {"room": room, "direction": direction, "first_turn": turn, "kind": kind}
                for (room, direction), (turn, kind) in self._exits.items()
            ],
        }
