"""The map: rooms by id, and the ways between them that were really walked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from managers.manager import Manager, Section
from managers.map_drawing import mermaid
from managers.map_routes import Routes
from managers.map_target import Target, is_nowhere, matching
from managers.map_text import by_compass, commands, label, remarked, shortened, steps
from managers.map_ways import Way, Ways, direction_of
from session.game_state import Place

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.game_state import ExitSeen, GameState, Observation, TurnRecord
    from session.learned import CarriedOver, Passage

__all__ = ["MapManager", "Way", "direction_of"]

_ROOMS_SHOWN = 12
_COMPACT_DIRECTIONS = 12


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
        self._target: Target | None = None

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
        self._take_target(record)

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
        found = matching(text, self.rooms)
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
            ("Route", self._route(here), 6),
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
            yield f"Towards a new way: {', '.join(commands(nearest)[:_COMPACT_DIRECTIONS])}."

    def _see(self, seen: Observation, turn: int) -> None:
        self._here = seen.room.id
        self.rooms[seen.room.id] = seen.room.name
        self.first_turns.setdefault(seen.room.id, turn)
        self._exits[seen.room.id] = {way_out.direction: way_out for way_out in seen.exits}
        self._ways.see(seen.exits)

    def _take_target(self, record: TurnRecord) -> None:
        """What is unknown or out of reach is told once, in the turn after it was found so."""
        here, text = record.after.room.id, record.nav_target
        if text is not None:
            named = Target(" ".join(text.split()), self.find_room(text))
            self._target = None if is_nowhere(text) else named.seen_from(here, self._routes)
        elif self._target:
            known = self._target.route is not None
            self._target = self._target.seen_from(here, self._routes) if known else None
        if self._target and self._target.room_id == here:
            self._target = None

    def _route(self, here: int) -> Iterable[str]:
        target = self._target
        if target is None:
            return ()
        way_back = target.room_id is None or self.distance(target.room_id, here) is not None
        return target.lines(way_back=way_back)

    def _ways_out(self, room_id: int) -> Iterator[str]:
        """The most useful line comes last: sections are cut from the top."""
        exits = self._exits.get(room_id, {})
        known = self._ways.of(room_id)
        untried = self._untried(room_id)
        shut = [way for way in by_compass(exits.values()) if way.kind == "blocked"]
        in_vain = [way for way in known.values() if way.is_blocked and way.command not in untried]
        walked = [way for way in known.values() if not way.is_blocked]
        told = {
            "Blocked": [_refusal(way_out) for way_out in shut if way_out.direction not in known],
            "Tried in vain": self._refused(in_vain),
            "Known": [self._walked(way, exits.get(way.command)) for way in walked],
            "Not yet tried": [_new(way, known.get(way.direction)) for way in untried.values()],
        }
        for title, texts in told.items():
            if texts:
                yield f"{title}: {'; '.join(texts)}"
        if not untried:
            yield from self._elsewhere(room_id)

    def _elsewhere(self, room_id: int) -> Iterator[str]:
        nearest = self._nearest_untried(room_id)
        if nearest and nearest[-1].to is not None:
            directions = ", ".join(self._untried(nearest[-1].to))
            yield (
                f"Nearest ways not yet tried: {directions} from {self._name(nearest[-1].to)}, "
                f"{steps(nearest)}: {', '.join(commands(nearest))}"
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
            told = [", ".join(ways), f"not yet tried: {untried}" * bool(untried)]
            yield f"{self._name(known)}: {'; '.join(filter(None, told)) or 'no way out is known'}"

    def _found(self, room_id: int) -> tuple[int, int]:
        return self.first_turns.get(room_id, -1), room_id

    def _untried(self, room_id: int) -> dict[str, ExitSeen]:
        """Exits that the game's memory shows and nobody took, also such as opened since."""
        known = self._ways.of(room_id)
        exits = self._exits.get(room_id, {})
        return {
            way_out.direction: way_out
            for way_out in by_compass(exits.values())
            if way_out.kind != "blocked" and _is_new(way_out, known.get(way_out.direction))
        }

    def _nearest_untried(self, room_id: int) -> tuple[Way, ...] | None:
        for known in self._routes.nearest(room_id):
            if self._untried(known):
                return self._routes.route(room_id, known)
        return None

    def _walked(self, way: Way, exit_now: ExitSeen | None) -> str:
        rooms = ", ".join(self._name(room_id) for room_id in way.destinations)
        hindrance = _hindrance(exit_now)
        remarks = (
            f"led to different rooms: {rooms}" if way.is_random else None,
            None if way.is_random or way.is_trusted else "happened once",
            "as in earlier episodes" if way.earlier else None,
            f"now: {hindrance}" if hindrance else None,
            "no known way back" if self._is_final(way) else None,
        )
        end = "here again" if way.to == way.room_id else f"to {self._name(way.to)}"
        return remarked(f"{way.command} {end}", remarks)

    def _is_final(self, way: Way) -> bool:
        """Whether no way back is known, not even a long one."""
        if way.to is None or not self.is_one_way(way):
            return False
        return self.distance(way.to, way.room_id) is None

    def _refused(self, ways: Iterable[Way]) -> list[str]:
        """Each answer once, with the commands that it was given to."""
        told: dict[tuple[str | None, ...], list[str]] = {}
        for way in ways:
            before = way if way.destinations else self._ways.earlier(way.room_id, way.command)
            led = before is not None and before.destinations
            remarks = (
                f'"{shortened(way.answer or "")}"',
                f"{way.attempts} times" if way.attempts > 1 else None,
                f"led to {self._name(before.to)} before" if before and led else None,
                "in earlier episodes" if way.earlier else None,
            )
            told.setdefault(remarks, []).append(way.command)
        return [remarked(", ".join(words), remarks) for remarks, words in told.items()]

    def _place(self, room_id: int | None) -> Place:
        return Place(id=room_id or 0, name=self.rooms.get(room_id or 0, ""))

    def _name(self, room_id: int | None) -> str:
        return label(room_id or 0, self.rooms.get(room_id or 0, ""))


def _is_new(way_out: ExitSeen, known: Way | None) -> bool:
    if known is None:
        return True
    return known.is_blocked and known.seen_as is not None and known.seen_as != way_out


def _new(way_out: ExitSeen, known: Way | None) -> str:
    return remarked(
        way_out.direction, (way_out.note, "in vain before it changed" if known else None)
    )


def _refusal(way_out: ExitSeen) -> str:
    return remarked(way_out.direction, [f'"{shortened(way_out.note)}"' if way_out.note else None])


def _hindrance(way_out: ExitSeen | None) -> str | None:
    """What the game's memory has to say against a way that was walked before."""
    if way_out is None or not way_out.note:
        return None
    hinders = way_out.kind == "blocked" or (way_out.kind == "door" and "(open)" not in way_out.note)
    return shortened(way_out.note) if hinders else None
