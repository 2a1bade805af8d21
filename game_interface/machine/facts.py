"""Facts about the game, read from its memory and never from its words.

With a profile everything is known. Without one, a version 3 story still tells room, score and moves
(the standard fixes their globals), and where an object has a name that marks it as the player, its
surroundings are known too. What cannot be known is `room_id` 0, score 0 or an empty tuple.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from game_interface.machine.exits import Exit, ExitReader
from game_interface.machine.memory import MachineMemory, StoryImage
from game_interface.machine.profile import NO_PROFILE, Profile
from game_interface.machine.vocabulary import AbsentWords
from game_interface.machine.world import world_hash

Ending = Literal["death", "victory", "other"]
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


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the game after a step."""

    room_id: int
    room_name: str
    score: int
    max_score: int | None
    moves: int
    """The game's own counter; Zork I's starts again at 0 after 999."""
    inventory: tuple[Thing, ...]
    visible: tuple[Thing, ...]
    exits: tuple[Exit, ...]
    dark: bool
    deaths: int | None
    """Deaths so far, a final one included; None where no profile tells."""
    dead: bool
    """The game is over by a death."""
    won: bool
    world_hash: str
    """Repeats when nothing but time has passed."""
    absent_words: frozenset[str] = field(default=frozenset(), repr=False)
    """Words for nothing but things that can be carried and are certainly not here."""


class FactsReader:
    """Reads facts out of the memory of one story."""

    def __init__(self, image: StoryImage, profile: Profile) -> None:
        """Prepare what does not change while the story is played."""
        unprofiled = profile is NO_PROFILE
        self._image = image
        self._profile = profile
        self._absent = AbsentWords(image, profile)
        self._exits = ExitReader(image, profile)
        self._player = _guess_player(image) if unprofiled else profile.player
        # Where no profile tells, the globals of version 3 are those that `Profile` has by default.
        self._has_room = not unprofiled or image.version == 3
        self._has_score = self._has_room and not (unprofiled and image.shows_time)

    def read(self, memory: MachineMemory, *, ending: Ending | None, steps: int) -> Facts:
        """The facts of this moment; `steps` stands in for a move counter that is not known."""
        room = self._room(memory)
        dark = self._dark(memory)
        score = memory.signed_global(self._profile.globals.score) if self._has_score else 0
        deaths = self._deaths(memory)
        return Facts(
            room_id=room,
            room_name=self._name(memory, room) if room else "",
            score=score,
            max_score=self._profile.max_score,
            moves=memory.global_value(self._profile.globals.moves) if self._has_score else steps,
            inventory=tuple(self._contents(memory, self._player)) if self._player else (),
            visible=() if dark or not room else tuple(self._in_view(memory, room)),
            exits=self._exits.read(memory, room) if room else (),
            dark=dark,
            deaths=deaths + (ending == "death") if deaths is not None else None,
            dead=ending == "death",
            won=ending == "victory",
            world_hash=world_hash(memory, self._profile, room, score),
            absent_words=self._absent.read(memory, room),
        )

    def _room(self, memory: MachineMemory) -> int:
        """The object number of the player's room, 0 when it cannot be known."""
        if self._has_room:
            room = memory.global_value(self._profile.globals.room)
        else:
            room = _outermost(memory, self._player) if self._player else 0
        return room if memory.exists(room) else 0

    def _deaths(self, memory: MachineMemory) -> int | None:
        """How often the player died and the game went on."""
        index = self._profile.globals.deaths
        if index is not None:
            return memory.global_value(index)
        return 0 if self._profile.ending else None

    def _dark(self, memory: MachineMemory) -> bool:
        test = self._profile.dark_when
        return test is not None and memory.global_value(test.index) == test.value

    def _name(self, memory: MachineMemory, number: int) -> str:
        """An object's name; Inform may keep a better one in a property."""
        inform = self._profile.inform
        if inform and inform.short_name is not None:
            packed = int.from_bytes(memory.property_data(number, inform.short_name)[:2], "big")
            if packed >= inform.strings_start:
                return self._image.packed_text(packed)
        return self._image.name(number)

    def _in_view(self, memory: MachineMemory, room: int) -> Iterator[Thing]:
        yield from self._contents(memory, room)
        prop = self._profile.scenery_property
        for number in memory.property_data(room, prop) if prop is not None else b"":
            if self._shown(memory, number):
                yield self._thing(memory, number)

    def _contents(
        self, memory: MachineMemory, owner: int, holder: str | None = None, depth: int = 0
    ) -> Iterator[Thing]:
        for number in memory.children(owner):
            if not self._shown(memory, number):
                continue
            thing = self._thing(memory, number, holder)
            yield thing
            if self._shows_contents(memory, number) and depth < 8:  # a damaged tree may be a ring
                yield from self._contents(memory, number, thing.name, depth + 1)

    def _thing(self, memory: MachineMemory, number: int, holder: str | None = None) -> Thing:
        known = self._profile.attributes
        portable = known.allow_carrying(memory, number)
        shut = any(memory.has(number, attribute) for attribute in known.openable)
        shut = shut and not memory.has(number, known.open)
        return Thing(number, self._name(memory, number), holder, portable=portable, shut=shut)

    def _shown(self, memory: MachineMemory, number: int) -> bool:
        if number == self._player or not memory.exists(number) or not self._image.name(number):
            return False
        return not memory.has(number, self._profile.attributes.hidden)

    def _shows_contents(self, memory: MachineMemory, number: int) -> bool:
        known = self._profile.attributes
        showing = (known.open, known.transparent, known.surface)
        return any(memory.has(number, attribute) for attribute in showing)


def _outermost(memory: MachineMemory, number: int) -> int:
    for _ in range(memory.image.object_count):
        holder = memory.parent(number)
        if not holder:
            return number
        number = holder
    return 0


def _guess_player(image: StoryImage) -> int | None:
    """The object that is named as compilers and authors name the player, if only one is."""
    for name in _PLAYER_NAMES:
        found = [n for n in range(1, image.object_count + 1) if image.name(n) == name]
        if len(found) == 1:
            return found[0]
    return None
