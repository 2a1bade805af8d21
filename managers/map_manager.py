"""The map: rooms by id, and the ways between them that were really walked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from managers.manager import Manager, Section
from managers.map_drawing import mermaid
from managers.map_routes import Routes
from managers.map_ways import Way, Ways, direction_of, in_order
from session.game_state import ExitSeen, Place

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState, Observation, TurnRecord
    from session.learned import CarriedOver, Passage

__all__ = ["MapManager", "Way", "direction_of"]

_ROOMS_SHOWN = 12
_QUOTE_CHARACTERS = 70
_COMPACT_DIRECTIONS = 12
_NOWHERE = frozenset({"", "none", "null", "nowhere"})
_ID = re.compile(r"#\s*(\d+)\s*$|^\s*(\d+)\s*$")


@dataclass(frozen=True)
class _Aim:
    """The room that the model wants to be told the way to."""

    text: str
    room: Place | None
    """None when there is no such room on the map."""
    others: tuple[Place, ...] = ()
    """Rooms of the same name, farther away."""
    route: tuple[Way, ...] | None = None
    """From where the player is; None when no way is known."""


class MapManager(Manager):
    """Learns from turn records; a way back is known only once it was walked."""

    def __init__(self, config: GameConfiguration | None = None) -> None:
        self._rooms_shown = config.map_rooms_shown if config else _ROOMS_SHOWN
        self.rooms: dict[int, str] = {}
        """Id -> name, of every room known, those of earlier episodes first."""
        self.first_turns: dict[int, int] = {}
        """Room id -> turn of the first visit in this episode; 0 is its beginning."""
        self._here: int | None = None
        self._exits: dict[int, dict[str, ExitSeen]] = {}
        self._ways = Ways()
        self._routes = Routes(self._ways)
        self._aim: _Aim | None = None

    def begin(self, observation: Observation, carried: CarriedOver | None = None) -> None:
        """Take in the first room, and the ways that earlier episodes found."""
        passages = carried.passages if carried else ()
        for passage in passages:
            for room in (passage.room, passage.to):
                if room:
                    self.rooms[room.id] = room.name
        self._ways.carry_over(passages)
        self._routes.reset()
        self._see(observation, 0)

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        self.rooms.setdefault(record.place.id, record.place.name)
        if self._ways.apply(record, self._exits.get(record.place.id, {})):
            self._routes.refresh(record.place.id)
        self._see(record.after, record.turn)
        self._take_aim(record)

    def ways(self, room_id: int) -> dict[str, Place]:
        """Command -> room to which it led last, walked in this episode or earlier ones."""
        known = self._ways.of(room_id).values()
        return {
            way.command: self._place(way.to)
            for way in known
            if way.to is not None and not way.is_blocked
        }

    def blocked(self, room_id: int) -> dict[str, str]:
        """Direction -> the game's answer, where the latest try did not lead anywhere."""
        known = self._ways.of(room_id).values()
        return {way.command: way.answer or "" for way in known if way.is_blocked}

    def all_ways(self) -> Iterator[Way]:
        """Everything known of ways, those of earlier episodes too."""
        return self._ways.all()

    def is_one_way(self, way: Way) -> bool:
        """Whether it was walked, and no way straight back ever was."""
        if way.to is None or way.to == way.room_id:
            return False
        return not any(way.room_id in back.destinations for back in self._ways.of(way.to).values())

    def passages(self) -> tuple[Passage, ...]:
        """The ways that this episode tried, as they are handed on to later ones."""
        return tuple(self._ways.passages({room_id: self._place(room_id) for room_id in self.rooms}))

    def distance(self, from_id: int, to_id: int) -> int | None:
        """Steps from one room to another by known ways; None when there are none."""
        if from_id == to_id:
            return 0
        return self._routes.distances(from_id).get(to_id)

    def route(self, from_id: int, to_id: int) -> tuple[tuple[str, Place], ...] | None:
        """Each step's command and the room that it leads to; None when no way is known."""
        ways = self._routes.route(from_id, to_id)
        if ways is None:
            return None
        return tuple((way.command, self._place(way.to)) for way in ways)

    def find_room(self, text: str) -> tuple[Place, ...]:
        """The known rooms meant by a name, an id (``#23`` or ``23``) or both, the nearest first."""
        number = _ID.search(text)
        room_id = int(number[1] or number[2]) if number else None
        if room_id in self.rooms:
            return (self._place(room_id),)
        wanted = _bare(_ID.sub("", text))
        names = {known: _bare(name) for known, name in self.rooms.items()}
        found = [known for known, name in names.items() if name == wanted]
        found = found or [known for known, name in names.items() if wanted and wanted in name]
        reached = self._routes.distances(self._here) if found and self._here is not None else {}
        found.sort(key=lambda known: reached.get(known, len(self.rooms)))
        return tuple(self._place(known) for known in found)

    def mermaid(self) -> str:
        """The whole map as a Mermaid flowchart."""
        return mermaid(self.rooms, self._ways.all(), self._here)

    def sections(self, state: GameState) -> Iterator[Section]:
        """The rooms around, the ways out of this room, and the route that was asked for."""
        if state.observation is None:
            return
        here = state.observation.room.id
        for title, lines, importance in (
            ("Map around", self._around(here), 1),
            ("Ways out", self._ways_out(here), 6),
            ("Route", self._route_lines(), 6),
        ):
            told = tuple(lines)
            if told:
                yield Section(title, told, importance)

    def compact_lines(self, state: GameState) -> Iterator[str]:
        """What was not tried here, or else where to find such a way."""
        if state.observation is None:
            return
        here = state.observation.room.id
        untried = self._untried(here)
        if untried:
            yield f"New ways: {', '.join(list(untried)[:_COMPACT_DIRECTIONS])}."
            return
        nearest = self._nearest_untried(here)
        if nearest:
            yield f"Towards a new way: {', '.join(_commands(nearest)[:_COMPACT_DIRECTIONS])}."

    def _see(self, seen: Observation, turn: int) -> None:
        self._here = seen.room.id
        self.rooms[seen.room.id] = seen.room.name
        self.first_turns.setdefault(seen.room.id, turn)
        self._exits[seen.room.id] = {way_out.direction: way_out for way_out in seen.exits}
        self._ways.see(seen.exits)

    def _take_aim(self, record: TurnRecord) -> None:
        """What is unknown or out of reach is told once, in the turn after it was found so."""
        if record.nav_target is not None:
            self._aim = self._aim_at(record.nav_target)
        elif self._aim:
            self._aim = self._aim_from_here(self._aim) if self._aim.route else None
        if self._aim and self._aim.room and self._aim.room.id == record.after.room.id:
            self._aim = None

    def _aim_at(self, text: str) -> _Aim | None:
        if text.strip().casefold() in _NOWHERE:
            return None
        room, *others = self.find_room(text) or (None,)
        named_alike = tuple(other for other in others if room and other)
        return self._aim_from_here(_Aim(" ".join(text.split()), room, named_alike))

    def _aim_from_here(self, aim: _Aim) -> _Aim:
        if aim.room is None or self._here is None:
            return aim
        route = self._routes.route(self._here, aim.room.id)
        return _Aim(aim.text, aim.room, aim.others, route)

    def _route_lines(self) -> Iterator[str]:
        aim = self._aim
        if aim is None:
            return
        if aim.room is None:
            yield f'"{_short(aim.text)}": no such room is known. Give a name or #id from the map.'
            return
        name = _label(aim.room)
        if aim.others:
            others = ", ".join(f"#{room.id}" for room in aim.others)
            yield f"Several rooms are named like that; {name} is the nearest. Others: {others}."
        if not aim.route:
            yield f"To {name}: no known way leads there from here."
            return
        yield f"To {name}, {_steps(aim.route)}: {', '.join(_commands(aim.route))}."
        if any(way.earlier for way in aim.route):
            yield "Partly as in earlier episodes: a door may be shut again."
        if self._here is not None and self.distance(aim.room.id, self._here) is None:
            yield "No way back from there is known."

    def _ways_out(self, room_id: int) -> Iterator[str]:
        """The most useful line comes last: sections are cut from the top."""
        exits = self._exits.get(room_id, {})
        known = self._ways.of(room_id)
        untried = self._untried(room_id)
        shut = [way for way in exits.values() if way.kind == "blocked"]
        told = [_exit(way) for way in _sorted(shut) if way.direction not in known]
        tried = [
            self._refused(way)
            for way in known.values()
            if way.is_blocked and way.command not in untried
        ]
        walked = [
            self._walked(way, exits.get(way.command))
            for way in known.values()
            if not way.is_blocked
        ]
        for title, texts in (("Blocked", told), ("Tried in vain", tried), ("Known", walked)):
            if texts:
                yield f"{title}: {'; '.join(texts)}"
        if untried:
            yield f"Not yet tried: {'; '.join(map(self._new, _sorted(untried.values())))}"
        else:
            yield from self._elsewhere(room_id)

    def _elsewhere(self, room_id: int) -> Iterator[str]:
        nearest = self._nearest_untried(room_id)
        if nearest and nearest[-1].to is not None:
            directions = ", ".join(self._untried(nearest[-1].to))
            yield (
                f"Nearest ways not yet tried: {directions} from {self._name(nearest[-1].to)}, "
                f"{_steps(nearest)}: {', '.join(_commands(nearest))}"
            )

    def _around(self, room_id: int) -> Iterator[str]:
        """The nearest rooms, in an order that stays the same wherever the player goes."""
        nearest = set(islice(self._routes.nearest(room_id), self._rooms_shown))
        for known in sorted(nearest, key=self._found):
            ways = [
                f"{way.command} to {self._name(way.to)}{'?' * way.is_random}"
                for way in self._ways.of(known).values()
                if way.to is not None and not way.is_blocked
            ]
            untried = ", ".join(self._untried(known))
            line = f"{self._name(known)}: {', '.join(ways)}"
            yield line + f"; not yet tried: {untried}" * bool(untried)

    def _found(self, room_id: int) -> tuple[int, int]:
        return self.first_turns.get(room_id, -1), room_id

    def _untried(self, room_id: int) -> dict[str, ExitSeen]:
        """Exits that the game's memory shows and nobody took, also such as opened since."""
        known = self._ways.of(room_id)
        exits = self._exits.get(room_id, {})
        return {
            way_out.direction: way_out
            for way_out in _sorted(exits.values())
            if way_out.kind != "blocked" and _is_new(way_out, known.get(way_out.direction))
        }

    def _nearest_untried(self, room_id: int) -> tuple[Way, ...] | None:
        for known in self._routes.nearest(room_id):
            if self._untried(known):
                return self._routes.route(room_id, known)
        return None

    def _walked(self, way: Way, exit_now: ExitSeen | None) -> str:
        remarks = []
        if way.is_random:
            rooms = ", ".join(self._name(room_id) for room_id in way.destinations)
            remarks.append(f"led to different rooms: {rooms}")
        elif not way.is_trusted:
            remarks.append("happened once")
        if way.earlier:
            remarks.append("as in earlier episodes")
        if exit_now and exit_now.note and exit_now.kind in {"blocked", "door"}:
            remarks.append(f"now: {_short(exit_now.note)}")
        if way.to is not None and self.distance(way.to, way.room_id) is None:
            remarks.append("no known way back")
        end = "here again" if way.to == way.room_id else f"to {self._name(way.to)}"
        return f"{way.command} {end}" + f" ({'; '.join(remarks)})" * bool(remarks)

    def _refused(self, way: Way) -> str:
        remarks = [f'"{_short(way.answer or "")}"'] + [f"{way.attempts} times"] * (way.attempts > 1)
        before = way if way.destinations else self._ways.earlier(way.room_id, way.command)
        if before and before.to is not None:
            remarks.append(f"led to {self._name(before.to)} before")
        if way.earlier:
            remarks.append("in earlier episodes")
        return f"{way.command} ({'; '.join(remarks)})"

    def _new(self, way_out: ExitSeen) -> str:
        way = self._ways.of(self._here or 0).get(way_out.direction)
        changed = "in vain before it changed" if way else ""
        note = "; ".join(filter(None, (way_out.note, changed)))
        return way_out.direction + f" ({note})" * bool(note)

    def _place(self, room_id: int | None) -> Place:
        return Place(id=room_id or 0, name=self.rooms.get(room_id or 0, ""))

    def _name(self, room_id: int | None) -> str:
        return _label(self._place(room_id))


def _is_new(way_out: ExitSeen, known: Way | None) -> bool:
    if known is None:
        return True
    return known.is_blocked and known.seen_as is not None and known.seen_as != way_out


def _sorted(exits: Iterable[ExitSeen]) -> list[ExitSeen]:
    return sorted(exits, key=lambda way_out: in_order(way_out.direction))


def _exit(way_out: ExitSeen) -> str:
    return way_out.direction + (f' ("{_short(way_out.note)}")' if way_out.note else "")


def _commands(route: Iterable[Way]) -> list[str]:
    return [way.command for way in route]


def _steps(route: tuple[Way, ...]) -> str:
    return "1 step" if len(route) == 1 else f"{len(route)} steps"


def _label(room: Place) -> str:
    return f"{room.name} #{room.id}"


def _bare(name: str) -> str:
    words = name.casefold().split()
    return " ".join(words[1:] if words[:1] == ["the"] else words)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTE_CHARACTERS else flat[: _QUOTE_CHARACTERS - 1] + "…"
