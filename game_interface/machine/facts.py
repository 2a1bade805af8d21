"""Facts about the game, read from its memory and never from its words.

A profile says where they are. Without one, a story of version 1 to 3 still tells room, score and
moves (the standard fixes their globals), and where one object is certainly the player, its
surroundings are known too. What is not known is None, which is not the same as 0 or nothing: so a
list with a thing whose name cannot be read is unknown, for many stories make up names as they go.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import takewhile
from typing import Literal, TypeAlias

from game_interface.machine.exits import Exit, ExitReader
from stories.memory import MachineMemory, StoryImage
from stories.profile import NO_PROFILE, Globals, Profile, ScoreForm
from stories.vocabulary import AbsentWords

Ending = Literal["death", "victory", "other"]
Waits: TypeAlias = Literal["line", "key"]
"""What a story waits for: a line of text, or a single key."""
_LIBRARY_OBJECTS = 24
_GLOBALS = 240
_DEEPEST_SHOWN = 8
_PLAYER_NAMES = ("(self object)", "yourself", "cretin", "you", "self", "me")


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that is carried or in view."""

    id: int
    name: str
    holder: str | None = None
    """The name of the container or surface it is in; None: carried, or directly here."""
    portable: bool | None = None
    """Whether it can be carried; None: not known."""
    shut: bool = False
    """Whether it is something to open that is not open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The state of the game after a step; what is not given is not known."""

    room_id: int | None = None
    room_name: str = ""
    """Empty where it has none, or where the room is not known."""
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None
    """The game's own counter; Zork I's starts again at 0 after 999."""
    inventory: tuple[Thing, ...] | None = None
    visible: tuple[Thing, ...] = ()
    """What is known to be in view."""
    exits: tuple[Exit, ...] = ()
    """Those that are known."""
    dark: bool = False
    """Whether it is known to be dark."""
    deaths: int | None = None
    """Deaths so far, a final one included."""
    dead: bool
    """The game is over by a death."""
    won: bool
    world_hash: str
    """Repeats when nothing but time has passed."""
    absent_words: frozenset[str] = field(default=frozenset(), repr=False)
    """Words for nothing but things that can be carried and are certainly not here."""
    waits_for: Waits | None = "line"
    """Whether the game waits for a command or for a key; None where the engine cannot tell."""
    status_line: str = ""
    """What the game shows above its text, on one line; empty where that is not known."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of those facts about the game that are not known."""
        names = ("room_id", "score", "moves", "inventory", "deaths")
        return tuple(it.removesuffix("_id") for it in names if getattr(self, it) is None)


class FactsReader:
    """Reads facts out of the memory of one story."""

    def __init__(self, image: StoryImage, profile: Profile) -> None:
        """Prepare what does not change while the story is played."""
        self._image = image
        self._profile = profile
        self._globals = _globals(image, profile.globals)
        self._is_guess = profile is NO_PROFILE
        self._player = _guess_player(image) if self._is_guess else profile.player
        self._absent = AbsentWords(image, profile)
        self._exits = ExitReader(image, profile)

    def holders_of_player(self, at_start: MachineMemory) -> tuple[int, ...]:
        """Return where the player is guessed: the globals that hold it when the game has begun.

        A story in which somebody else can be played changes one of them then.
        """
        if not self._is_guess or not self._player:
            return ()
        return tuple(it for it in range(_GLOBALS) if at_start.global_value(it) == self._player)

    def read(
        self, memory: MachineMemory, known: Facts, player_globals: tuple[int, ...] = ()
    ) -> Facts:
        """Return the facts of this moment, of which some are `known` from the engine."""
        player = self._player
        if self._is_guess and player:
            held = [memory.global_value(it) == player for it in player_globals]
            player = player if held and all(held) else None
        room = _value(memory, self._globals.room)
        if room is None and player:
            outside = self._profile.rooms or 0
            inside = [*takewhile(lambda it: it != outside, memory.holders(player))]
            room = inside[-1] if inside else None
        room = room if memory.exists(room or 0) else None
        test = self._profile.dark_when
        dark = test is not None and memory.global_value(test.index) == test.value
        index, deaths = self._globals.score, _value(memory, self._globals.deaths)
        score = None if index is None else score_in(memory, index, self._globals.score_form)
        if self._profile.score_is_victory:
            score = int(known.won)
        if deaths is None and self._profile.ending and self._profile.deaths_are_final:
            deaths = 0
        inventory = None  # of a player that was guessed unknown, unless it is in the room
        is_certain = not self._is_guess or (player and room in memory.holders(player))
        if player and is_certain and not self._profile.lists_more:
            things = tuple(self._contents(memory, player))
            inventory = things if all(thing.name for thing in things) else None
        return replace(
            known,
            room_id=room,
            room_name=self._name(memory, room) if room else "",
            score=score,
            max_score=self._profile.max_score,
            moves=_value(memory, self._globals.moves),
            inventory=inventory,
            visible=self._visible(memory, room) if room and not dark else (),
            exits=self._exits.read(memory, room) if room else (),
            dark=dark,
            deaths=None if deaths is None else deaths + known.dead,
            world_hash=_world_hash(memory, self._profile, room or 0, score or 0),
            absent_words=self._absent.read(memory, room or 0),
            status_line=known.status_line or self._status_line(memory, room),
        )

    def _status_line(self, memory: MachineMemory, room: int | None) -> str:
        """Compose what interpreters show themselves up to version 3 (8.2.3); later, stories do."""
        if not room or self._image.version > 3:
            return ""
        one, other = memory.signed_global(1), memory.global_value(2)
        figures = f"Score: {one} Moves: {other}"
        if self._image.shows_time:
            figures = f"Time: {one}:{other:02}"
        return f"{self._name(memory, room)} {figures}"

    def _name(self, memory: MachineMemory, number: int) -> str:
        """Read an object's name; Inform may keep a better one in a property, or a routine for it.

        What a routine says is not known.
        """
        inform = self._profile.inform
        if inform and inform.short_name is not None:
            packed = int.from_bytes(memory.property_data(number, inform.short_name)[:2], "big")
            if packed:
                return self._image.packed_text(packed) if packed >= inform.strings_start else ""
        return self._image.name(number)

    def _visible(self, memory: MachineMemory, room: int) -> tuple[Thing, ...]:
        prop = self._profile.scenery_property
        scenery = memory.property_data(room, prop) if prop is not None else b""
        shared = (self._thing(memory, it) for it in scenery if self._shown(memory, it))
        return tuple(it for it in (*self._contents(memory, room), *shared) if it.name)

    def _contents(
        self, memory: MachineMemory, owner: int, holder: str | None = None, depth: int = 0
    ) -> Iterator[Thing]:
        for number in memory.children(owner):
            if not self._shown(memory, number):
                continue
            thing = self._thing(memory, number, holder)
            yield thing
            known = self._profile.attributes
            showing = (known.open, known.transparent, known.surface)
            if depth < _DEEPEST_SHOWN and any(memory.has(number, it) for it in showing):
                yield from self._contents(memory, number, thing.name, depth + 1)

    def _thing(self, memory: MachineMemory, number: int, holder: str | None = None) -> Thing:
        known = self._profile.attributes
        portable = known.allow_carrying(memory, number)
        shut = any(memory.has(number, attribute) for attribute in known.openable)
        shut = shut and not memory.has(number, known.open)
        return Thing(number, self._name(memory, number), holder, portable=portable, shut=shut)

    def _shown(self, memory: MachineMemory, number: int) -> bool:
        hidden = self._profile.attributes.hidden
        return number != self._player and memory.exists(number) and not memory.has(number, hidden)


def _globals(image: StoryImage, known: Globals) -> Globals:
    """Return the globals of a profile and those that early versions fix (8.2.2, 8.2.3)."""
    if image.version > 3:
        return known
    fixed = {"room": 0} if image.shows_time else {"room": 0, "score": 1, "moves": 2}
    named = {name: value for name, value in asdict(known).items() if value is not None}
    return Globals(**{**fixed, **named})


def _value(memory: MachineMemory, index: int | None) -> int | None:
    return None if index is None else memory.global_value(index)


def _guess_player(image: StoryImage) -> int | None:
    """Return the object that is named as compilers and authors name the player, if only one is.

    Where the standard fixes the room, the guess can be checked; elsewhere it must be one of the
    first objects, which are those of Inform's library.
    """
    last = image.object_count if image.version <= 3 else _LIBRARY_OBJECTS
    for name in _PLAYER_NAMES:
        found = [n for n in range(1, image.object_count + 1) if image.name(n) == name]
        if len(found) == 1:
            return found[0] if found[0] <= last else None
    return None


def score_in(memory: MachineMemory, index: int, form: ScoreForm) -> int:
    """Return the score that a variable holds in this form."""
    value = memory.signed_global(index)
    return -value if form == "negated" else value


def _world_hash(memory: MachineMemory, profile: Profile, room: int, score: int) -> str:
    """Hash the state of the world to 16 digits, which repeat when only time has passed.

    They cover the room, the score, which object is in which, the attributes that matter and the
    flags that a profile names. They leave out the move counter, clocks, the order of things on a
    pile, bookkeeping such as "visited", and actors that wander about by themselves.
    """
    world = profile.world
    width = 8 * memory.image.attribute_bytes
    mask = (1 << width) - 1
    for attribute in world.ignored_attributes:
        mask &= ~(1 << (width - 1 - attribute))
    values: list[object] = [room, score]
    values += [memory.area(*area) for area in world.memory]
    values += [memory.global_value(index) for index in world.globals]
    for number in range(1, memory.image.object_count + 1):
        if number not in world.ignored_objects:
            own_mask = 0 if number == profile.player else mask  # what a parser notes on the player
            values += (memory.parent(number), memory.attributes(number) & own_mask)
    return sha256(repr(values).encode()).hexdigest()[:16]
