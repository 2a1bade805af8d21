"""The memory of a Z-machine story, read in the same way whichever engine runs it.

`StoryImage` is the story as it was loaded and everything in it that never changes: header, texts,
object names, dictionary. `MachineMemory` is one moment of the game: the image with the dynamic
memory that an engine reports laid over it. Versions 3, 4, 5 and 8; section numbers are those of the
Z-Machine Standards Document 1.1.
"""

from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256

from fernz import ExecutionError, Memory, MemoryAccessError, Story
from fernz._text import Text  # the version of fernz is pinned exactly

from game_interface.errors import StoryFormatError

SUPPORTED_VERSIONS = (3, 4, 5, 8)
_NO_STORY = "not a Z-machine story of version 3, 4, 5 or 8"


def damaged(how: str) -> StoryFormatError:
    """The error for a story that is one by its header, and contradicts itself further on."""
    return StoryFormatError(f"the story is damaged: {how}")


class StoryImage:
    """A story as it was loaded: bytes that never change, and what can be read from them once."""

    def __init__(self, data: bytes) -> None:
        """Take a story's bytes, with or without the padding that distribution media add.

        Raises: StoryFormatError when the bytes are not a story of a supported version.
        """
        try:
            self.story = Story(data)
        except ValueError as error:
            said = str(error).partition("; expected")[0]  # it expects versions that are not played
            raise StoryFormatError(f"{_NO_STORY}: {said}") from error
        self.header = self.story.header
        self.version = self.header.version
        if self.version not in SUPPORTED_VERSIONS:
            raise StoryFormatError(_NO_STORY)
        self.data = self.story.data[: self.story.size]
        self.dynamic_size = self.header.static_memory
        early = self.version <= 3
        self.attribute_bytes = 4 if early else 6
        self.entry_size = 9 if early else 14
        self.object_table = self.header.object_table + 2 * (31 if early else 63)
        self._decoder = Text(Memory(self.story))
        self._names: dict[int, str] = {}
        self._texts: dict[int, str] = {}

    def byte(self, address: int) -> int:
        """The byte at `address`.

        Raises: StoryFormatError when the story ends before it.
        """
        try:
            return self.data[address]
        except IndexError:
            raise damaged(f"it points to {address:#x}, which is beyond its end") from None

    def word(self, address: int) -> int:
        """The two bytes at `address` as a number."""
        return int.from_bytes(self.data[address : address + 2], "big")

    @cached_property
    def sha256(self) -> str:
        """The hash that names this story: of the image without padding."""
        return sha256(self.data).hexdigest()

    @property
    def shows_time(self) -> bool:
        """Whether the status line shows a clock, so globals 1 and 2 are not a score (8.2.3)."""
        return self.version == 3 and bool(self.header.flags1 & 2)

    @cached_property
    def object_count(self) -> int:
        """How many objects there are: their table ends where the first property list starts.

        A convention of every known compiler, not a rule of the standard.
        """
        end, number = len(self.data), 0
        while (entry := self.object_table + self.entry_size * number) + self.entry_size <= end:
            end = min(end, self.word(entry + self.entry_size - 2))
            number += 1
        return number

    def entry(self, number: int) -> int:
        """The address of an object's entry in the object table (12.3)."""
        return self.object_table + self.entry_size * (number - 1)

    def property_list(self, number: int) -> int:
        """The address of an object's property list, which starts with its name (12.4)."""
        return self.word(self.entry(number) + self.entry_size - 2)

    def name(self, number: int) -> str:
        """The short name of an object, whole, or "" when it has none."""
        if number not in self._names:
            address = self.property_list(number)
            self._names[number] = self._text(address + 1, self.byte(address))
        return self._names[number]

    def packed_text(self, packed: int) -> str:
        """The text at a packed address (1.2.3), decoded once."""
        if packed not in self._texts:
            self._texts[packed] = self._text(self.header.unpack_string_address(packed))
        return self._texts[packed]

    def _text(self, address: int, words: int | None = None) -> str:
        """The text at a byte address, at most so many words of it; "" where there is none."""
        try:
            return self._decoder.decode(address, words=words)
        except (ExecutionError, MemoryAccessError, IndexError):  # the story is damaged there
            return ""

    @cached_property
    def dictionary(self) -> frozenset[str]:
        """The words that the game's parser knows, cut to its word length (13.2)."""
        return frozenset(self.dictionary_entries.values())

    @property
    def word_length(self) -> int:
        """The letters of a word that the game's parser looks at (13.3, 13.4)."""
        return self._decoder.key_chars

    @cached_property
    def dictionary_entries(self) -> dict[int, str]:
        """Address -> word."""
        first, length, count = self._dictionary_table
        entries = (first + length * number for number in range(count))
        return {at: self._text(at, self._word_bytes // 2) for at in entries}

    def word_flags(self, address: int) -> int:
        """The first byte that the compiler added to the word at `address`; 0 without any."""
        _, length, _ = self._dictionary_table
        return self.byte(address + self._word_bytes) if length > self._word_bytes else 0

    @property
    def _dictionary_table(self) -> tuple[int, int, int]:
        """The address of the first entry, the length of one, and their number (13.2)."""
        start = self.header.dictionary
        start += 1 + self.byte(start)  # the word separators
        first, length, count = start + 3, self.byte(start), self.word(start + 1)
        if count and (length < self._word_bytes or first + length * count > len(self.data)):
            raise damaged(
                f"its dictionary at {self.header.dictionary:#x} has {count} words of {length} bytes"
            )
        return first, length, count

    @property
    def _word_bytes(self) -> int:
        return 4 if self.version <= 3 else 6

    @property
    def has_own_alphabet(self) -> bool:
        """Whether the story has its own alphabet, which may cut words differently."""
        return bool(self.header.alphabet_table)


class MachineMemory:
    """The world at one moment: objects, properties and globals."""

    def __init__(self, image: StoryImage, dynamic: bytes) -> None:
        """Lay `dynamic`, the memory that an engine reports, over the story's image."""
        self.image = image
        self._dynamic = dynamic

    def _word(self, address: int) -> int:
        if address + 2 <= len(self._dynamic):
            return int.from_bytes(self._dynamic[address : address + 2], "big")
        return self.image.word(address)

    def global_value(self, number: int) -> int:
        """A global variable, numbered from 0, without sign."""
        return self._word(self.image.header.globals_table + 2 * number)

    def signed_global(self, number: int) -> int:
        """A global variable, numbered from 0, with sign."""
        value = self.global_value(number)
        return value - 0x10000 if value & 0x8000 else value

    def area(self, start: int, end: int) -> bytes:
        """The dynamic memory from `start` up to `end`."""
        return self._dynamic[start:end]

    def exists(self, number: int) -> bool:
        """Whether there is an object of this number."""
        return 1 <= number <= self.image.object_count

    def _byte(self, address: int) -> int:
        try:
            return self._dynamic[address]
        except IndexError:
            raise damaged(f"its objects reach {address:#x}, which cannot change") from None

    def _relative(self, number: int, which: int) -> int:
        entry = self.image.entry(number) + self.image.attribute_bytes
        if self.image.version <= 3:
            return self._byte(entry + which)
        return self._word(entry + 2 * which)

    def parent(self, number: int) -> int:
        """The object that holds this one, or 0."""
        return self._relative(number, 0)

    def children(self, number: int) -> list[int]:
        """The objects directly inside this one, in the game's order."""
        found: list[int] = []
        child = self._relative(number, 2)
        while child and len(found) <= self.image.object_count:  # a damaged chain may be a ring
            found.append(child)
            child = self._relative(child, 1)
        return found

    def attributes(self, number: int) -> int:
        """All attributes as one number; attribute 0 is the highest bit."""
        entry = self.image.entry(number)
        return int.from_bytes(self._dynamic[entry : entry + self.image.attribute_bytes], "big")

    def has(self, number: int, attribute: int | None) -> bool:
        """Whether the object has the attribute; never, for an attribute that is not known."""
        if attribute is None:
            return False
        return bool(self.attributes(number) >> (8 * self.image.attribute_bytes - 1 - attribute) & 1)

    def property_data(self, number: int, prop: int) -> bytes:
        """The object's own data of a property, or b"" when it has none."""
        return self.area(*self.property_span(number, prop))

    def property_span(self, number: int, prop: int) -> tuple[int, int]:
        """Start and end of the object's own data of a property; empty when it has none (12.4)."""
        for current, start, end in self.properties(number):
            if current <= prop:  # they stand in falling order
                return (start, end) if current == prop else (0, 0)
        return 0, 0

    def properties(self, number: int) -> Iterator[tuple[int, int, int]]:
        """The object's own properties: number, start and end of the data (12.4)."""
        address = self.image.property_list(number)
        address += 1 + 2 * self._byte(address)
        while size_byte := self._byte(address):
            if self.image.version <= 3:
                current, length, address = size_byte & 31, (size_byte >> 5) + 1, address + 1
            elif size_byte & 0x80:
                current, length = size_byte & 63, self._byte(address + 1) & 63 or 64
                address += 2
            else:
                current, length, address = size_byte & 63, 2 if size_byte & 0x40 else 1, address + 1
            yield current, address, address + length
            address += length
