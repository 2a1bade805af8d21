"""Facts about the game, read from its memory and never from its words.

With a profile everything is known. Without one, a version 3 story still tells room, score and moves
(the standard fixes their globals), and where an object has a name that marks it as the player, its
surroundings are known too. What cannot be known is `room_id` 0, score 0 or an empty tuple.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from game_interface.exits import Exit, ExitReader
from game_interface.vocabulary import Vocabulary
from game_interface.world import world_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from game_interface.memory import Memory, StoryImage
    from game_interface.profile import Profile

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
    """Words for nothing but things that can be carried and are certainly not at hand."""


class FactsReader:
    """Reads facts out of the memory of one story."""

    def __init__(self, image: "StoryImage", profile: "Profile | None") -> None:
        """Prepare what does not change while the story is played."""
        self._image = image
        self._profile = profile
        self.vocabulary = Vocabulary(image, profile)
        self._exits = ExitReader(image, profile)
        self._player = profile.player if profile else _guess_player(image)
        self._strings = profile.inform.strings_start if profile and profile.inform else None

    def read(self, memory: "Memory", *, ending: Ending | None, steps: int) -> Facts:
        """The facts of this moment; `steps` stands in for a move counter that is not known."""
        room = self.room(memory)
        dark = self._dark(memory)
        deaths = self.deaths(memory)
        return Facts(
            room_id=room,
            room_name=self._name(memory, room) if room else "",
            score=self.score(memory),
            max_score=self._profile.max_score if self._profile else None,
            moves=self._moves(memory, steps),
            inventory=tuple(self._contents(memory, self._player)) if self._player else (),
            visible=() if dark or not room else tuple(self._in_view(memory, room)),
            exits=self._exits.read(memory, room) if room else (),
            dark=dark,
            deaths=deaths + (ending == "death") if deaths is not None else None,
            dead=ending == "death",
            won=ending == "victory",
            world_hash=world_hash(memory, self._profile, room, self.score(memory)),
            absent_words=self.vocabulary.absent_words(memory, room),
        )

    def room(self, memory: "Memory") -> int:
        """The object number of the player's room, 0 when it cannot be known."""
        if self._profile:
            room = memory.global_value(self._profile.globals.room)
        elif self._image.version == 3:
            room = memory.global_value(0)
        else:
            room = _outermost(memory, self._player) if self._player else 0
        return room if memory.exists(room) else 0

    def score(self, memory: "Memory") -> int:
        """The game's score, 0 when it cannot be known."""
        if self._profile:
            return memory.signed_global(self._profile.globals.score)
        known = self._image.version == 3 and not self._image.shows_time
        return memory.signed_global(1) if known else 0

    def _moves(self, memory: "Memory", steps: int) -> int:
        if self._profile:
            return memory.global_value(self._profile.globals.moves)
        known = self._image.version == 3 and not self._image.shows_time
        return memory.global_value(2) if known else steps

    def deaths(self, memory: "Memory") -> int | None:
        """How often the player died and the game went on."""
        if not self._profile:
            return None
        index = self._profile.globals.deaths
        if index is not None:
            return memory.global_value(index)
        return 0 if self._profile.ending else None

    def _dark(self, memory: "Memory") -> bool:
        test = self._profile.dark_when if self._profile else None
        return test is not None and memory.global_value(test.index) == test.value

    def _name(self, memory: "Memory", number: int) -> str:
        """An object's name; Inform may keep a better one in a property."""
        inform = self._profile.inform if self._profile else None
        if inform and inform.short_name is not None:
            packed = int.from_bytes(memory.property_data(number, inform.short_name), "big")
            if packed >= inform.strings_start:
                return self._image.packed_text(packed)
        return self._image.name(number)

    def _in_view(self, memory: "Memory", room: int) -> "Iterator[Thing]":
        yield from self._contents(memory, room)
        prop = self._profile.scenery_property if self._profile else None
        for number in memory.property_data(room, prop) if prop is not None else b"":
            if self._shown(memory, number):
                yield self._thing(memory, number)

    def _contents(
        self, memory: "Memory", owner: int, holder: str | None = None, depth: int = 0
    ) -> "Iterator[Thing]":
        for number in memory.children(owner):
            if not self._shown(memory, number):
                continue
            thing = self._thing(memory, number, holder)
            yield thing
            if self._shows_contents(memory, number) and depth < 8:  # a damaged tree may be a ring
                yield from self._contents(memory, number, thing.name, depth + 1)

    def _thing(self, memory: "Memory", number: int, holder: str | None = None) -> Thing:
        name = self._name(memory, number)
        if self._profile is None:
            return Thing(number, name, holder)
        known = self._profile.attributes
        portable = known.allow_carrying(memory, number)
        shut = any(memory.has(number, attribute) for attribute in known.openable)
        shut = shut and not memory.has(number, known.open)
        return Thing(number, name, holder, portable=portable, shut=shut)

    def _shown(self, memory: "Memory", number: int) -> bool:
        if number == self._player or not memory.exists(number) or not self._image.name(number):
            return False
        return self._profile is None or not memory.has(number, self._profile.attributes.hidden)

    def _shows_contents(self, memory: "Memory", number: int) -> bool:
        if self._profile is None:
            return False
        known = self._profile.attributes
        return any(
            memory.has(number, attribute)
            for attribute in (known.open, known.transparent, known.surface)
        )


def _outermost(memory: "Memory", number: int) -> int:
    for _ in range(memory.image.object_count):
        holder = memory.parent(number)
        if not holder:
            return number
        number = holder
    return 0


def _guess_player(image: "StoryImage") -> int | None:
    """The object that is named as compilers and authors name the player, if only one is."""
    for name in _PLAYER_NAMES:
        found = [n for n in range(1, image.object_count + 1) if image.name(n) == name]
        if len(found) == 1:
            return found[0]
    return None
