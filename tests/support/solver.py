"""Says whether a variant of the bundled story can be won, from the compiled story alone.

Rooms, ways, doors, and where each thing is are read from the memory of the running story; nothing
is taken from the layout that it was made from. What is known beforehand is what the puzzles are.
Nothing that can be done spoils anything, so it is enough to do whatever comes to be possible, the
nearest first.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from game_interface.engines.glk_engine import GlkEngine
from game_interface.machine.exits import Exit, ExitReader
from scripts.story.make_variant import UnwinnableError
from stories.memory import MachineMemory, StoryImage
from stories.profile import Profile

WON = "won"
_SECONDS = 30.0
_WORN = "boots worn"
_LIT = "lantern lit"
_TAKEN = (
    "storm lantern", "chamois leather", "kipper", "crank handle", "recipe card", "lead boots",
    "wind bag", "glass jar", "watering can", "brass key", "pearly shell",
)  # fmt: skip
_DARK = ("cellar", "snow store", "whispering grotto")
_NEEDED_FOR_TAKING = {
    "brass key": frozenset({"gull fed"}),
    "pearly shell": frozenset({_LIT, f"not {_WORN}"}),
}


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done once, in one room."""

    command: str
    room: int
    needs: frozenset[str]
    gives: str


@dataclass(frozen=True, slots=True)
class _Position:
    """Where the player is, and whether in boots: all that changes to and fro."""

    room: int
    worn: bool


class Solver:
    """A story as its memory shows it at the beginning."""

    def __init__(self, story: bytes, profile: Profile, word: Callable[[str], str]) -> None:
        """Read the story; `word` gives its name for what the original calls so."""
        image = StoryImage(story)
        start = GlkEngine(image, story, _SECONDS).start(seed=1)
        self._memory = MachineMemory(image, start.memory or b"")
        self._profile = profile
        self._word = word
        self._exits = ExitReader(image, profile)
        self._numbers = {image.name(n).lower(): n for n in range(1, image.object_count + 1)}
        self._start = self._room(self._numbers["(self object)"])
        self._dark = {self._number(room) for room in _DARK}
        self._wind = next(
            found[1]
            for name in self._numbers
            if (found := re.fullmatch(r".* of (north|east|south|west) wind", name))
        )

    def solve(self) -> list[str]:
        """Commands that win.

        Raises: UnwinnableError when there are none.
        """
        steps = [*self._takings(), *self._openings(), *self._puzzles()]
        known: frozenset[str] = frozenset()
        place = _Position(self._start, worn=False)
        commands: list[str] = []
        while WON not in known:
            done = self._next(place, known, steps)
            if done is None:
                raise UnwinnableError(f"what can be reached is: {', '.join(sorted(known))}")
            way, place, step = done
            commands += [*way, step.command]
            known |= {step.gives}
        return commands

    def _next(
        self, place: _Position, known: frozenset[str], steps: list[Action]
    ) -> tuple[list[str], _Position, Action] | None:
        """The nearest step that can be done, and the way to it."""
        queue = deque([(place, list[str]())])
        seen = {place}
        while queue:
            here, way = queue.popleft()
            worn = _WORN if here.worn else f"not {_WORN}"
            for step in steps:
                ready = step.room == here.room and step.needs <= known | {worn}
                if ready and step.gives not in known:
                    return way, here, step
            for command, there in self._moves(here, known):
                if there not in seen:
                    seen.add(there)
                    queue.append((there, [*way, command]))
        return None

    def _moves(self, here: _Position, known: frozenset[str]) -> Iterator[tuple[str, _Position]]:
        outside = self._number("wind walk")
        for way in self._exits.read(self._memory, here.room):
            if way.room_id is None or not self._is_open(way, known):
                continue
            if way.room_id in self._dark and _LIT not in known:
                continue
            if way.room_id == outside and not here.worn:
                continue
            yield way.direction, _Position(way.room_id, here.worn)
        if "has lead boots" in known and here.room != outside:
            command = "take off" if here.worn else "wear"
            yield self._say(f"{command} {{lead boots}}"), _Position(here.room, not here.worn)

    def _is_open(self, way: Exit, known: frozenset[str]) -> bool:
        if way.kind != "door":
            return way.kind == "open"
        name = (way.note or "").partition(" (")[0]
        door = self._numbers[name.lower()]
        by_itself = (self._number("iron door"),)
        is_open = self._memory.has(door, self._profile.attributes.open) or door in by_itself
        return is_open or f"{name.lower()} open" in known

    def _takings(self) -> Iterator[Action]:
        for thing in _TAKEN:
            holder = self._memory.parent(self._number(thing))
            needs = {f"{name} open" for name in self._shut_around(thing)}
            needs |= _NEEDED_FOR_TAKING.get(thing, frozenset())
            room = self._room_of(thing)
            if room in self._dark:
                needs.add(_LIT)
            if holder:
                yield self._step(f"take {{{thing}}}", room, needs, f"has {thing}")

    def _openings(self) -> Iterator[Action]:
        """Doors and whatever a thing to take is shut up in."""
        for name in sorted({each for thing in _TAKEN for each in self._shut_around(thing)}):
            room = self._room(self._numbers[name])
            yield self._step(f"open {name}", room, set(), f"{name} open")
        hatch = self._word("trapdoor").lower()
        for room in self._rooms_with_door(hatch):
            yield self._step(f"open {hatch}", room, set(), f"{hatch} open")
        door = self._word("narrow door").lower()
        kettle_room = self._number("kettle room")
        unlock = "unlock {narrow door} with {brass key}"
        yield self._step(unlock, kettle_room, {"has brass key"}, "unlocked")
        yield self._step(f"open {door}", kettle_room, {"unlocked"}, f"{door} open")

    def _puzzles(self) -> Iterator[Action]:
        room = self._room_of
        yield self._step("give {kipper} to {gull}", room("commodore"), {"has kipper"}, "gull fed")
        lantern = room("storm lantern")
        yield self._step("turn on {storm lantern}", lantern, {"has storm lantern"}, _LIT)
        yield from self._sunbeam(room("winch"))
        yield from self._wind_and_dew()
        kettle = room("great kettle")
        wanted = ("{jar} of {sunbeam}", f"{{bag}} of {self._wind} wind", "{cupped leaf}")
        for thing in (*wanted, "{pearly shell}"):
            has = f"has {thing.replace('{', '').replace('}', '')}"
            yield self._step(f"put {thing} in {{kettle}}", kettle, {has}, f"in kettle: {thing}")
        yield self._step("put {recipe card} in {slot}", kettle, {"has recipe card"}, "card in")
        everything = {f"in kettle: {thing}" for thing in (*wanted, "{pearly shell}")} | {"card in"}
        yield self._step("pull {lever}", kettle, everything | {"cove seen"}, WON)
        yield self._step("look", self._number("shingle cove"), set(), "cove seen")

    def _sunbeam(self, dome: int) -> Iterator[Action]:
        yield self._step("put {crank handle} in {winch}", dome, {"has crank handle"}, "crank in")
        yield self._step("turn {winch}", dome, {"crank in"}, "shutter drawn")
        clean = "clean {great lens} with {chamois leather}"
        yield self._step(clean, dome, {"has chamois leather"}, "lens clean")
        yield self._step("open {glass jar}", dome, {"has glass jar"}, "jar open")
        put = "put {glass jar} on {pedestal}"
        yield self._step(put, dome, {"jar open", "shutter drawn", "lens clean"}, "jar in beam")
        yield self._step("close {glass jar}", dome, {"jar in beam"}, "sunbeam caught")
        yield self._step("take {jar} of {sunbeam}", dome, {"sunbeam caught"}, "has jar of sunbeam")

    def _wind_and_dew(self) -> Iterator[Action]:
        outside = self._room_of("wind rose")
        has_wind = f"has bag of {self._wind} wind"
        yield self._step(f"turn {{wind rose}} to {self._wind}", outside, set(), "dial set")
        yield self._step("open {wind bag}", outside, {"dial set", "has wind bag"}, has_wind)
        fill, barrel = "fill {watering can}", self._room_of("rain barrel")
        yield self._step(fill, barrel, {"has watering can"}, "can full")
        cage = self._room_of("birdcage")
        yield self._step("pour water on cloud", cage, {"can full", _LIT}, "cloud plump")
        yield self._step("open {birdcage}", cage, {"cloud plump"}, "cloud free")
        garden = self._room_of("bean")
        yield self._step("take {cupped leaf}", garden, {"cloud free"}, "has cupped leaf")

    def _step(self, command: str, room: int, needs: set[str], gives: str) -> Action:
        return Action(self._say(command), room, frozenset(needs), gives)

    def _say(self, command: str) -> str:
        parts = command.replace("}", "{").split("{")
        return "".join(self._word(part) if i % 2 else part for i, part in enumerate(parts))

    def _number(self, original: str) -> int:
        for name in (original, f"{original}s"):
            try:
                return self._numbers[self._word(name).lower()]
            except (KeyError, LookupError):
                continue
        raise UnwinnableError(f"the story has no {self._word(original)!r}")

    def _room_of(self, thing: str) -> int:
        return self._room(self._number(thing))

    def _room(self, number: int) -> int:
        while parent := self._memory.parent(number):
            number = parent
        return number

    def _shut_around(self, thing: str) -> Iterator[str]:
        """The names of the closed things that this is in."""
        known = self._profile.attributes
        number = self._memory.parent(self._number(thing))
        while number and self._memory.parent(number):
            openable = any(self._memory.has(number, each) for each in known.openable)
            if openable and not self._memory.has(number, known.open):
                yield next(name for name, n in self._numbers.items() if n == number)
            number = self._memory.parent(number)

    def _rooms_with_door(self, name: str) -> Iterator[int]:
        for room in self._numbers.values():
            if self._memory.parent(room):
                continue
            for way in self._exits.read(self._memory, room):
                if way.kind == "door" and (way.note or "").lower().startswith(f"{name} ("):
                    yield room
