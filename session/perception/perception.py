"""What the player may know: a fold over the machine's truth, which gives less than it is given."""

import re
import zlib
from dataclasses import dataclass, field

from session.game_state import NAMELESS, ExitSeen, Observation, Place, ThingSeen, TurnRecord
from session.levels import ObservationLevel
from session.perception.directions import direction_of, directions_in, in_order
from session.perception.printed import as_printed, is_named, phrases, said_here, says, stems

_DEATH = re.compile(r"\b(?:die|died|dead|death|killed)\b", re.IGNORECASE)
_MENTIONED = "mentioned"
"""The kind of a way of which no more is known than that the game has named it."""


@dataclass
class RoomSeen:
    """What the game has said of a room while the player was there, and what was tried there."""

    directions: set[str] = field(default_factory=set)
    things: set[str] = field(default_factory=set)
    """Names of things that it has mentioned while they were in view, or that were left there."""
    tried: dict[str, Place | None] = field(default_factory=dict)
    """Direction -> where it led last; None where it led nowhere."""


@dataclass
class Perception:
    """Follows only from what it is given, in order; what it gives holds nothing else."""

    level: ObservationLevel
    names: set[str] = field(default_factory=set)
    """Words in the names of the things that were ever told."""
    printed: set[str] = field(default_factory=set)
    """Words of the game so far, and which two stood side by side."""
    rooms: dict[int, RoomSeen] = field(default_factory=dict)
    carried: set[str] = field(default_factory=set)
    room_names: set[str] = field(default_factory=set)
    """Those that the game has printed where the player was there."""

    def begin(self, opening: str, seen: Observation) -> Observation:
        """Return what may be told of the game's beginning."""
        self._read(opening, "", seen)
        return self._told(seen)

    def apply(self, record: TurnRecord) -> TurnRecord:
        """Return what may be told of a finished turn."""
        direction = direction_of(record.command)
        if record.place and direction and not (record.died or record.over or record.ended):
            end = record.after.room
            moved = end and end.id != record.place.id
            self._room(record.place.id).tried[direction] = end if moved else None
        if record.ended:
            self.carried.clear()  # the game begins anew
        self._read(record.response, record.command, record.after)
        died = record.died
        if not self.level.tells_facts:
            died = died and bool(_DEATH.search(record.response))
        return record.model_copy(
            update={
                "place": self._place(record.place),
                "after": self._told(record.after),
                "ended": record.ended and self._told(record.ended),
                "scored": record.scored if self.level.tells_status else None,
                "died": died,
            }
        )

    def ways(self, room_id: int | None) -> tuple[ExitSeen, ...]:
        """Return the directions that the game has named in a room, or that were tried there.

        Of a way that was tried it is told what came of that; of others, that they are named.
        """
        room = self.rooms.get(room_id or 0, RoomSeen())
        found = []
        for direction in sorted(room.directions.union(room.tried), key=in_order):
            end = self._place(room.tried.get(direction))
            kind = ("open" if end else "blocked") if direction in room.tried else _MENTIONED
            found.append(ExitSeen(direction=direction, kind=kind, room=end))
        return tuple(found)

    def _read(self, text: str, command: str, seen: Observation) -> None:
        """Learn what the game has said, and of which of the things that are in view."""
        echo = stems(command)
        printed = phrases(text, echo)
        self.printed |= printed
        if seen.room:
            if seen.room_shown or says(text, seen.room.name):
                self.room_names.add(seen.room.name)
            here, said = self._room(seen.room.id), said_here(text, seen.room.name)
            here.directions |= directions_in(said)
            words = printed if said == text else phrases(said, echo)
            names = {thing.name for thing in seen.visible}
            here.things |= names & self.carried  # what was just put down
            here.things |= {name for name in names if is_named(name, names, words)}
        self.carried = {thing.name for thing in seen.inventory or ()}

    def _told(self, seen: Observation) -> Observation:
        if not self.level.tells_facts:
            shown = self.level.tells_status
            return Observation(
                room=self._place(seen.room),
                score=seen.score if shown else None,
                moves=seen.moves if shown else None,
                inventory=None,
                world_hash="",
                waits_for=seen.waits_for,
                status_line=seen.status_line if shown else "",
            )
        known = self._room(seen.room.id).things if seen.room else set()
        in_view = (
            self._thing(name, holder if holder in known else None)
            for name, holder in seen.visible
            if name in known
        )
        visible = tuple(thing for thing in in_view if thing.name)
        carried = tuple(self._thing(*thing) for thing in seen.inventory or ())
        is_known = seen.inventory is not None and all(thing.name for thing in carried)
        for thing in (*visible, *carried):
            self.names.update(thing.name.lower().split())
        return seen.model_copy(
            update={
                "room": self._place(seen.room),
                "max_score": seen.max_score if str(seen.max_score) in self.printed else None,
                "inventory": carried if is_known else None,
                "visible": visible,
                "exits": self._exits(seen),
            }
        )

    def _thing(self, name: str, holder: str | None) -> ThingSeen:
        """Return a thing with as much of its names as was printed; the rest is the author's own."""
        return ThingSeen(
            as_printed(name, self.printed), as_printed(holder or "", self.printed) or None
        )

    def _place(self, room: Place | None) -> Place | None:
        """Return a room with its name only once that was printed: some names are the author's own.

        Where rooms are not told apart, those of one name are one, with no number to show.
        """
        if room is None or not self.level.tells_status:
            return None
        if room.name not in self.room_names:
            room = Place(id=room.id, name=NAMELESS)
        if self.level.tells_facts:
            return room
        return Place(id=-1 - zlib.crc32(room.name.encode()), name=room.name)

    def _exits(self, seen: Observation) -> tuple[ExitSeen, ...]:
        """Return those ways that are exits; in darkness none.

        A routine may be anything, even death: it is not an exit until it has been tried.
        """
        if seen.dark or not seen.room or not self.level.tells_exits:
            return ()
        exits = {way.direction for way in seen.exits}
        routines = {way.direction for way in seen.exits if way.kind == "conditional"}
        return tuple(
            way
            for way in self.ways(seen.room.id)
            if way.direction in exits and not (way.kind == _MENTIONED and way.direction in routines)
        )

    def _room(self, room_id: int) -> RoomSeen:
        return self.rooms.setdefault(room_id, RoomSeen())
