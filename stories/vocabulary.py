"""The words of a story: which its parser knows, and which stand for things that can be missing.

Only what is certain is reported. A word is known to be for things alone only where the
compiler says so in the dictionary (the bits differ between Infocom's and Inform 6), and every
object that mentions the word in any of its properties counts as one that it may stand for.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from stories.memory import MachineMemory, StoryImage
from stories.profile import Profile

_PLAIN = re.compile("[a-z]+")
_SENTENCES = re.compile(r"[.;]|\bthen\b")
_LINKS = re.compile(r",|\band\b")
_SEPARATORS = re.compile(f"{_SENTENCES.pattern}|{_LINKS.pattern}")
_QUOTED = re.compile(r'"[^"]*"?')
_BLANK = " .;,"
_NOUN = 0x80
_INFOCOM_OTHERS = 0x40 | 0x20 | 0x10 | 0x08 | 0x04
"""Verb, adjective, direction, preposition, filler."""
_INFORM_OTHERS = 0x08 | 0x01
"""Preposition, verb."""
_VERB_OR_DIRECTION = 0x40 | 0x10
_INFORM_VERB = 0x01
_COMPILER = 0x3C
"""Where Inform writes its version as text."""
_INFORM_VERSIONS = b"56"
_COMPASS = re.findall(
    r"\w+",
    "n s e w ne nw se sw u d up down in out "
    "north south east west northeast northwest southeast southwest",
)
_INFORM_NAME = 1
_LONGEST = 100
"""Of a word: as much as a command has."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a story's parser knows."""

    words: frozenset[str] = frozenset()
    """Cut to `word_length`; none where the game does not tell them, and may know every one."""
    word_length: int = _LONGEST
    has_own_alphabet: bool = False
    starts: frozenset[str] = frozenset()
    """Those that begin a command: verbs and directions."""

    @classmethod
    def of(cls, image: StoryImage) -> Self:
        """Return the words of a story."""
        is_inform = image.byte(_COMPILER) in _INFORM_VERSIONS
        starts = set()
        for address, word in image.dictionary_entries.items():
            flags = image.word_flags(address)
            # Infocom's compiler tells verbs from things; Inform's calls most of its verbs nouns.
            begins = flags & _VERB_OR_DIRECTION and not flags & _NOUN
            if flags & _INFORM_VERB or word in _COMPASS if is_inform else begins:
                starts.add(word)
        words = frozenset(image.dictionary_entries.values())
        return cls(words, image.word_length, image.has_own_alphabet, frozenset(starts))

    def cut(self, word: str) -> str:
        """Return the part of the word that the parser looks at."""
        return word.lower()[: self.word_length]

    def may_know(self, word: str) -> bool:
        """Return whether the parser knows the word, or that cannot be determined.

        It cannot for numbers and for words with characters beyond the 26 letters, which
        parsers take apart or cut in their own ways, nor where the story has no dictionary.
        """
        if not self.words or self.has_own_alphabet or not _PLAIN.fullmatch(word.lower()):
            return True
        return self.cut(word) in self.words

    def commands_in(self, line: str) -> int:
        """Return how many commands the parser takes a line for; an order to somebody is one."""
        return len(self._ends(line)) + 1

    def first_command(self, line: str) -> str:
        """Return the first command of a line."""
        ends = self._ends(line)
        return line[: ends[0]].strip(_BLANK) if ends else line

    def _ends(self, line: str) -> list[int]:
        """Find where a command ends and another one follows; quotations are not taken apart."""
        bare = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), line.lower())
        ends: list[int] = []
        has_begun = False
        places = [(0, 0), *(found.span() for found in _SEPARATORS.finditer(bare))]
        for (end, start), (next_end, _) in zip(places, [*places[1:], (len(bare), 0)], strict=True):
            words = bare[start:next_end].split()
            if not words:
                continue
            begins = self.cut(words[0]) in self.starts
            is_link = bool(_LINKS.fullmatch(bare[end:start]))
            if bare[:end].strip(_BLANK) and (not is_link or (begins and has_begun)):
                ends.append(end)
            has_begun = begins or (has_begun and is_link)
        return ends


class AbsentWords:
    """The words for things, and which of those are certainly not at hand."""

    def __init__(self, image: StoryImage, profile: Profile) -> None:
        """Without a profile (`NO_PROFILE`) it is not known what words stand for."""
        self._image = image
        self._profile = profile

    def read(self, memory: MachineMemory, room: int) -> frozenset[str]:
        """List the cut words for nothing but portable things that are certainly not here.

        Here means whatever is in the room, however deep, the player and what is carried included.
        """
        if not room or not self._things:
            return frozenset()
        here = {room, self._profile.player or room}
        away = {thing for thing in self._things if self._is_away(memory, thing, here)}
        return frozenset(word for word, things in self._words.items() if things <= away)

    def _is_away(self, memory: MachineMemory, thing: int, here: set[int]) -> bool:
        if not self._profile.attributes.allow_carrying(memory, thing):
            return False
        if thing in here or thing in self._rooms:
            return False
        for holder in memory.holders(thing):
            if holder in here or holder in self._rooms:
                return holder not in here
        # It is nowhere, or in something like the holder of what is everywhere.
        return not memory.parent(thing)

    @cached_property
    def _rooms(self) -> frozenset[int]:
        """Objects with a way out."""
        ways = set(self._profile.directions.values())
        return frozenset(number for number, prop, *_ in self._properties() if prop in ways)

    @cached_property
    def _things(self) -> frozenset[int]:
        """Every object that one of the words may stand for."""
        return frozenset().union(*self._words.values())

    @cached_property
    def _words(self) -> Mapping[str, frozenset[int]]:
        """Word for things alone -> every object that mentions it."""
        if not self._rooms:
            return {}
        naming = self._naming_property()
        others = _INFORM_OTHERS if self._profile.inform else _INFOCOM_OTHERS
        objects: dict[int, set[int]] = defaultdict(set)
        names = set()
        for number, prop, start, end in self._properties():
            for address in self._words_in(start, end):
                objects[address].add(number)
                if prop == naming and self._image.word_flags(address) & (_NOUN | others) == _NOUN:
                    names.add(address)
        entries = self._image.dictionary_entries
        return {entries[address]: frozenset(objects[address]) for address in names}

    def _naming_property(self) -> int | None:
        """Find the property of names: Inform's, or the one that most often holds only words."""
        if self._profile.inform:
            return _INFORM_NAME
        lists = Counter[int]()
        for _, prop, start, end in self._properties():
            lists[prop] += 1 if 2 * len(self._words_in(start, end)) == end - start else -1
        return next((prop for prop, excess in lists.most_common(1) if excess > 0), None)

    def _properties(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield object, property, start and end of its data, as the story begins."""
        at_start = MachineMemory(self._image, self._image.data[: self._image.dynamic_size])
        for number in range(1, self._image.object_count + 1):
            for prop in at_start.properties(number):
                yield number, *prop

    def _words_in(self, start: int, end: int) -> list[int]:
        found = (self._image.word(address) for address in range(start, end - 1, 2))
        return [address for address in found if address in self._image.dictionary_entries]
