"""The map as a fold over turn records: rooms by id, and the ways between them that were walked."""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice

from managers.map.ways import Way, Ways
from session.game_state import ExitSeen, Observation, Place, TurnRecord
from session.knowledge import CarriedOver, Passage
from session.perception.directions import in_order

# No story has rooms beyond five digits, and int() refuses numbers of thousands of digits.
_ID = re.compile(r"#\s*(\d{1,9})\s*$|^\s*(\d{1,9})\s*$")
_SAFE = frozenset(" -',")
_ANSWER_CHARACTERS = 60


class WorldMap:
    """Follows from what it is given, in order, alone; a way back is known once it was walked."""

    def __init__(self) -> None:
        self.rooms: dict[int, str] = {}
        """Id -> name, of every room known, those of earlier episodes first."""
        self.first_turns: dict[int, int] = {}
        """Room id -> turn of the first visit in this episode; 0 is its beginning."""
        self.ways = Ways()
        self._here: int | None = None
        self.exits: dict[int, dict[str, ExitSeen]] = {}
        """Room id -> direction -> exit, as the game last showed them, in the compass's order."""
        self._steps: dict[int, tuple[Way, ...]] = {}
        """The reliable ways out of each room, looked up once."""
        self._reached: dict[int, dict[int, tuple[int, Way | None]]] = {}

    def begin(self, observation: Observation, carried: CarriedOver | None = None) -> None:
        """Learn the first room, and the ways that earlier episodes found."""
        passages = carried.passages if carried else ()
        for passage in passages:
            for room in (passage.room, passage.to):
                if room:
                    self.rooms[room.id] = room.name
        self.ways.carry_over(passages)
        self._reached.clear()
        self._steps.clear()
        self._see(observation, 0)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        if place := record.place:
            self.rooms.setdefault(place.id, place.name)
            if self.ways.apply(record, self.exits.get(place.id, {})):
                self._reached.clear()
                self._steps.pop(place.id, None)
        self._see(record.after, record.turn)

    def is_one_way(self, way: Way) -> bool:
        """Tell whether it was walked, and no way straight back ever was."""
        if way.to is None or way.to == way.room_id:
            return False
        return not any(way.room_id in back.destinations for back in self.ways.of(way.to).values())

    def passages(self) -> tuple[Passage, ...]:
        """Return the ways that this episode tried, as they are passed on to later ones."""
        return tuple(self.ways.passages({room_id: self.place(room_id) for room_id in self.rooms}))

    def distance(self, from_id: int, to_id: int) -> int | None:
        """Count the steps from one room to another by known ways; None when there are none."""
        return self._reached_from(from_id).get(to_id, (None,))[0]

    def nearest(self, from_id: int) -> Iterator[int]:
        """Find the other rooms that can be reached, the nearest first."""
        return islice(self._reached_from(from_id), 1, None)

    def route(self, from_id: int, to_id: int) -> tuple[Way, ...] | None:
        """Find the shortest way; None when no way is known."""
        reached, route = self._reached_from(from_id), list[Way]()
        if to_id not in reached:
            return None
        while way := reached[to_id][1]:
            route.append(way)
            to_id = way.room_id
        return tuple(reversed(route))

    def find_room(self, text: str) -> tuple[Place, ...]:
        """Find the rooms meant by a name, an id (``#23`` or ``23``) or both, the nearest first."""
        number = _ID.search(text)
        room_id = int(number[1] or number[2]) if number else None
        if room_id in self.rooms:
            return (self.place(room_id),)
        wanted = _without_article(_ID.sub("", text))
        names = {known: _without_article(name) for known, name in self.rooms.items()}
        found = [known for known, name in names.items() if name == wanted]
        found = found or [known for known, name in names.items() if wanted and wanted in name]
        reached = {} if self._here is None else self._reached_from(self._here)
        found.sort(key=lambda known: reached.get(known, (len(self.rooms),))[0])
        return tuple(self.place(known) for known in found)

    def untried(self, room_id: int) -> dict[str, ExitSeen]:
        """Exits that the game's memory shows and nobody has taken, including ones opened since."""
        known, found = self.ways.of(room_id), dict[str, ExitSeen]()
        for direction, way_out in self.exits.get(room_id, {}).items():
            way = known.get(direction)
            is_new = way is None or (way.is_blocked and way.seen_as not in (None, way_out))
            if is_new and way_out.kind != "blocked":
                found[direction] = way_out
        return found

    def nearest_untried(self, room_id: int) -> tuple[Way, ...] | None:
        """Find the route to the nearest room with such an exit; None when none is known."""
        for known in self.nearest(room_id):
            if self.untried(known):
                return self.route(room_id, known)
        return None

    def mermaid(self) -> str:
        """Draw the whole map as a Mermaid flowchart, safe whatever rooms are called.

        ``<-->`` leads both ways, ``-->`` one way, ``-.->`` is not to be relied on: it is a random
        way, or carried the player once. What last led nowhere ends in a cross, at the room where it
        led before, else at the game's answer.
        """
        lines = ["flowchart LR"]
        lines += [f'  r{number}["{_text(name)} #{number}"]' for number, name in self.rooms.items()]
        ways = list(self.ways.all())
        between: dict[tuple[int, int], list[str]] = {}
        for way in ways:
            if way.is_trusted and way.to is not None:
                between.setdefault((way.room_id, way.to), []).append(_text(way.command))
        for (start, end), commands in between.items():
            back = between.get((end, start)) if start != end else None
            if back is None:
                lines.append(_arrow(start, "-->", ", ".join(commands), f"r{end}"))
            elif start < end:
                both = f"{', '.join(commands)} - {', '.join(back)}"
                lines.append(_arrow(start, "<-->", both, f"r{end}"))
        for way in ways:
            if not way.is_trusted and not way.is_blocked:
                label = _text(way.command)
                lines += [_arrow(way.room_id, "-.->", label, f"r{it}") for it in way.destinations]
        for number, way in enumerate(way for way in ways if way.is_blocked):
            said = f"{way.command} of #{way.room_id} - {way.answer}"[:_ANSWER_CHARACTERS]
            led = f'b{number}(["{_text(said)}"])' if way.to is None else f"r{way.to}"
            lines.append(_arrow(way.room_id, "--x", _text(way.command), led))
        if self._here in self.rooms:
            lines += ["  classDef here stroke-width:4px", f"  class r{self._here} here"]
        return "\n".join(lines) + "\n"

    def place(self, room_id: int | None) -> Place:
        """Return a room with its name, as far as it is known."""
        return Place(id=room_id or 0, name=self.rooms.get(room_id or 0, ""))

    def _see(self, seen: Observation, turn: int) -> None:
        self._here = seen.room_id
        if seen.room is None:
            return
        self.rooms[seen.room.id] = seen.room.name
        self.first_turns.setdefault(seen.room.id, turn)
        exits = sorted(seen.exits, key=lambda way_out: in_order(way_out.direction))
        self.exits[seen.room.id] = {way_out.direction: way_out for way_out in exits}
        self.ways.directions.update(way_out.direction for way_out in exits)

    def _reached_from(self, from_id: int) -> dict[int, tuple[int, Way | None]]:
        """Room id -> steps and the last way, for all rooms that can be reached, nearest first."""
        if from_id not in self._reached:
            found: dict[int, tuple[int, Way | None]] = {from_id: (0, None)}
            ahead = deque([from_id])
            while ahead:
                room_id = ahead.popleft()
                if room_id not in self._steps:  # of several ways to one room, the surest counts
                    ways = [way for way in self.ways.of(room_id).values() if way.is_trusted]
                    ways.sort(key=lambda way: (way.earlier, not way.moves))
                    self._steps[room_id] = tuple(ways)
                for way in self._steps[room_id]:
                    if (to := way.to) is not None and to not in found:
                        found[to] = found[room_id][0] + 1, way
                        ahead.append(to)
            self._reached[from_id] = found
        return self._reached[from_id]


def _arrow(start: int, line: str, label: str, end: str) -> str:
    return f'  r{start} {line}|"{label}"| {end}'


def _text(text: str) -> str:
    """Everything that could mean something to Mermaid or HTML as a numbered character."""
    flat = " ".join(text.split())
    return "".join(it if it.isalnum() or it in _SAFE else f"#{ord(it)};" for it in flat)


def _without_article(name: str) -> str:
    words = name.casefold().split()
    return " ".join(words[1:] if words[:1] == ["the"] else words)
