"""The map as the model is told it: what lies around, the ways out, and the requested route."""

from collections.abc import Iterable, Iterator
from itertools import islice

from managers.manager import Manager, Section
from managers.map.target import Target, is_nowhere
from managers.map.text import by_compass, commands, label, remarked, shortened, steps
from managers.map.ways import Way
from managers.map.world_map import WorldMap
from session.game_configuration import GameConfiguration
from session.game_state import ExitSeen, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver

_COMPACT_DIRECTIONS = 12


class MapManager(Manager):
    """Keeps the map of the world and reports on it."""

    def __init__(self, config: GameConfiguration) -> None:
        self.world = WorldMap()
        self._rooms_shown = config.map_rooms_shown
        self._target: Target | None = None

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the first room, and the ways that earlier episodes found."""
        self.world.begin(observation, carried)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        self.world.apply(record)
        self._take_target(record)

    def sections(self, state: GameState) -> Iterator[Section]:
        """The rooms around, the ways out of this room, and the requested route."""
        if state.observation is None or state.observation.room is None:
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
        if state.observation is None or state.observation.room is None:
            return
        here = state.observation.room.id
        untried = self.world.untried(here)
        if untried:
            yield f"New ways: {', '.join(list(untried)[:_COMPACT_DIRECTIONS])}."
            return
        nearest = self.world.nearest_untried(here)
        if nearest:
            yield f"Towards a new way: {', '.join(commands(nearest)[:_COMPACT_DIRECTIONS])}."

    def _take_target(self, record: TurnRecord) -> None:
        """What is unknown or out of reach is reported once, in the turn after that was found."""
        here, text = record.after.room_id, record.nav_target
        if here is None:
            self._target = None
        elif text is not None:
            named = Target(" ".join(text.split()), self.world.find_room(text))
            self._target = None if is_nowhere(text) else named.seen_from(here, self.world.routes)
        elif self._target:
            known = self._target.route is not None
            self._target = self._target.seen_from(here, self.world.routes) if known else None
        if self._target and self._target.room_id == here:
            self._target = None

    def _route(self, here: int) -> Iterable[str]:
        target = self._target
        if target is None:
            return ()
        way_back = target.room_id is None or self.world.distance(target.room_id, here) is not None
        return target.lines(way_back=way_back)

    def _ways_out(self, room_id: int) -> Iterator[str]:
        """The most useful line comes last: sections are cut from the top."""
        exits = self.world.exits(room_id)
        known = self.world.ways.of(room_id)
        untried = self.world.untried(room_id)
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
        nearest = self.world.nearest_untried(room_id)
        if nearest and nearest[-1].to is not None:
            directions = ", ".join(self.world.untried(nearest[-1].to))
            yield (
                f"Nearest ways not yet tried: {directions} from {self._name(nearest[-1].to)}, "
                f"{steps(nearest)}: {', '.join(commands(nearest))}"
            )

    def _around(self, room_id: int) -> Iterator[str]:
        """The nearest rooms, in an order that stays the same wherever the player goes."""
        nearest = set(islice(self.world.routes.nearest(room_id), self._rooms_shown))
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
        if way.to is None or not self.world.is_one_way(way):
            return False
        return self.world.distance(way.to, way.room_id) is None

    def _refused(self, ways: Iterable[Way]) -> list[str]:
        """Each answer once, with the commands that it was given to."""
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
        return [remarked(", ".join(words), remarks) for remarks, words in told.items()]

    def _name(self, room_id: int | None) -> str:
        place = self.world.place(room_id)
        return label(place.id, place.name)


def _new(way_out: ExitSeen, known: Way | None) -> str:
    return remarked(
        way_out.direction, (way_out.note, "in vain before it changed" if known else None)
    )


def _refusal(way_out: ExitSeen) -> str:
    return remarked(way_out.direction, [f'"{shortened(way_out.note)}"' if way_out.note else None])


def _hindrance(way_out: ExitSeen | None) -> str | None:
    """What the game's memory says against a way that was walked before."""
    if way_out is None or not way_out.note:
        return None
    hinders = way_out.kind == "blocked" or (way_out.kind == "door" and "(open)" not in way_out.note)
    return shortened(way_out.note) if hinders else None
