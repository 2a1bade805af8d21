"""The map as the model is told it: what lies around, the ways out, and the requested route."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from managers.manager import Manager, Section, section, shortened
from managers.map.ways import Way
from managers.map.world_map import WorldMap
from mcp_ghost.text import counted
from session.game_configuration import GameConfiguration
from session.game_state import ExitSeen, GameState, Observation, Place, TurnRecord
from session.knowledge import CarriedOver

_COMPACT_DIRECTIONS = 12
_NOWHERE = frozenset({"", "none", "null", "nowhere"})


@dataclass
class _Target:
    """What the model asked for; nothing when there is no such room on the map."""

    text: str
    rooms: tuple[Place, ...]
    """Those that are meant by the text, the nearest first; the first one is taken."""
    route: tuple[Way, ...] | None = None
    """From where the player is; None when no way is known."""


class MapManager(Manager):
    """Keeps the map of the world and reports on it."""

    def __init__(self, config: GameConfiguration) -> None:
        self.world = WorldMap()
        self._rooms_shown = config.map_rooms_shown
        self._target: _Target | None = None

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the first room, and the ways that earlier episodes found."""
        self.world.begin(observation, carried)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn.

        That a target is unknown or out of reach is reported once, in the turn after it was found.
        """
        self.world.apply(record)
        here, text, target = record.after.room_id, record.nav_target, self._target
        if here is None or (text is not None and text.strip().casefold() in _NOWHERE):
            target = None
        elif text is not None:
            target = _Target(" ".join(text.split()), self.world.find_room(text))
        elif target and target.route is None:
            target = None
        if target and target.rooms and here is not None:
            target.route = self.world.route(here, target.rooms[0].id)
        self._target = target if target and target.route != () else None  # else it is reached

    def sections(self, state: GameState) -> Iterator[Section]:
        """Yield the rooms around, the ways out of this room, and the requested route."""
        here = state.observation.room_id
        if here is None:
            return
        yield from section("Map around", self._around(here), importance=1)
        yield from section("Ways out", self._ways_out(here), importance=6)
        yield from section("Route", self._route(here), importance=6)

    def compact_lines(self, state: GameState) -> Iterator[str]:
        """Untried exits here, or the way to the nearest room that has one."""
        here = state.observation.room_id
        if here is None:
            return
        if untried := self.world.untried(here):
            yield f"New ways: {', '.join(list(untried)[:_COMPACT_DIRECTIONS])}."
        elif nearest := self.world.nearest_untried(here):
            yield f"Towards a new way: {_commands(nearest[:_COMPACT_DIRECTIONS])}."

    def _route(self, here: int) -> Iterator[str]:
        """Yield the whole route, or why there is none."""
        target = self._target
        if target is None:
            return
        if not target.rooms:
            text = shortened(target.text)
            yield f'"{text}": no such room is known. Give a name or #id of the map.'
            return
        room, *others = target.rooms
        name = self._name(room.id)
        if others:
            numbers = ", ".join(f"#{it.id}" if it.id > 0 else it.name for it in others)
            yield f"Several rooms fit that name; {name} is the nearest. Others: {numbers}."
        if not target.route:
            yield f"To {name}: no known way leads there from here."
            return
        yield f"To {name}, {counted(len(target.route), 'step')}: {_commands(target.route)}."
        if any(way.earlier for way in target.route):
            yield "Partly as in earlier episodes: a door may be shut again."
        if self.world.distance(room.id, here) is None:
            yield "No way back from there is known."

    def _ways_out(self, room_id: int) -> Iterator[str]:
        """Yield the ways out, the most useful line last."""
        exits = self.world.exits.get(room_id, {})
        known = self.world.ways.of(room_id)
        untried = self.world.untried(room_id)
        shut = [way for way in exits.values() if way.kind == "blocked"]
        in_vain = [way for way in known.values() if way.is_blocked and way.command not in untried]
        walked = [way for way in known.values() if not way.is_blocked]
        told = {
            "Blocked": [
                _remarked(way.direction, [f'"{shortened(way.note)}"' if way.note else None])
                for way in shut
                if way.direction not in known
            ],
            "Tried in vain": self._refused(in_vain),
            "Known": [self._walked(way, exits.get(way.command)) for way in walked],
            "Not yet tried": [
                _remarked(name, (way.note, "in vain before it changed" if name in known else None))
                for name, way in untried.items()
            ],
        }
        for title, texts in told.items():
            if texts:
                yield f"{title}: {'; '.join(texts)}"
        nearest = None if untried else self.world.nearest_untried(room_id)
        if nearest and nearest[-1].to is not None:
            directions = ", ".join(self.world.untried(nearest[-1].to))
            yield (
                f"Nearest ways not yet tried: {directions} from {self._name(nearest[-1].to)}, "
                f"{counted(len(nearest), 'step')}: {_commands(nearest)}"
            )

    def _around(self, room_id: int) -> Iterator[str]:
        """Yield the nearest rooms, in an order that stays the same wherever the player goes."""
        nearest = set(islice(self.world.nearest(room_id), self._rooms_shown))
        found = self.world.first_turns
        for known in sorted(nearest, key=lambda room: (found.get(room, -1), room)):
            ways = [
                f"{way.command} to {self._name(way.to)}{'?' * way.is_random}"
                for way in self.world.ways.of(known).values()
                if way.to is not None and not way.is_blocked
            ]
            untried = ", ".join(self.world.untried(known))
            told = [", ".join(ways), f"not yet tried: {untried}" * bool(untried)]
            yield f"{self._name(known)}: {'; '.join(filter(None, told)) or 'no way out is known'}"

    def _walked(self, way: Way, exit_now: ExitSeen | None) -> str:
        rooms = ", ".join(self._name(room_id) for room_id in way.destinations)
        kind, note = (exit_now.kind, exit_now.note or "") if exit_now else ("", "")
        hinders = kind == "blocked" or (kind == "door" and "(open)" not in note)
        is_final = (
            way.to is not None
            and self.world.is_one_way(way)
            and self.world.distance(way.to, way.room_id) is None
        )
        remarks = (
            f"led to different rooms: {rooms}" if way.is_random else None,
            None if way.is_random or way.is_trusted else "happened once",
            "as in earlier episodes" if way.earlier else None,
            f"now: {shortened(note)}" if hinders and note else None,
            "no known way back" if is_final else None,
        )
        end = "here again" if way.to == way.room_id else f"to {self._name(way.to)}"
        return _remarked(f"{way.command} {end}", remarks)

    def _refused(self, ways: Iterable[Way]) -> list[str]:
        """Return each answer once, with the commands that it was given to."""
        told: dict[tuple[str | None, ...], list[str]] = {}
        for way in ways:
            before = way if way.destinations else self.world.ways.earlier(way.room_id, way.command)
            led = before is not None and before.destinations
            remarks = (
                f'"{shortened(way.answer or "")}"',
                f"{way.attempts} times" if way.attempts > 1 else None,
                f"led to {self._name(before.to)} before" if before and led else None,
                "in earlier episodes" if way.earlier else None,
            )
            told.setdefault(remarks, []).append(way.command)
        return [_remarked(", ".join(words), remarks) for remarks, words in told.items()]

    def _name(self, room_id: int | None) -> str:
        """Return a room's name with its id: names are shared by rooms of mazes and woods."""
        place = self.world.place(room_id)
        return f"{place.name} #{place.id}" if place.id > 0 else place.name


def _commands(route: Iterable[Way]) -> str:
    return ", ".join(way.command for way in route)


def _remarked(text: str, remarks: Iterable[str | None]) -> str:
    """Return the text, and the remarks there are behind it in brackets."""
    told = "; ".join(remark for remark in remarks if remark)
    return f"{text} ({told})" if told else text
