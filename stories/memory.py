"""The memory of a Z-machine story, read in the same way whichever engine runs it.

`StoryImage` is the story as it was loaded and everything in it that never changes: header, texts,
object names, dictionary. `MachineMemory` is one moment of the game: the image with the dynamic
memory that an engine reports laid over it. All versions but 6; section numbers are those of the
Z-Machine Standards Document 1.1. What is read may be damaged or made to do harm: what contradicts
itself is a StoryFormatError, and nothing is followed without end.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256

from stories.errors import StoryFormatError
from stories.text import TextDecoder

VERSIONS = (1, 2, 3, 4, 5, 7, 8)
_OF_THE_SOURCE = re.compile(r"\(\w+\)")
_HEADER_BYTES = 64


def damaged(how: str) -> StoryFormatError:
    """Return the error for a story file with a valid header whose contents are corrupt."""
    return StoryFormatError(f"the story is damaged: {how}")


class StoryImage:
    """A story as it was loaded: bytes that never change, and what can be read from them once."""

    def __init__(self, data: bytes) -> None:
        """Take a story's bytes, with or without the padding that distribution media add.

        Raises: StoryFormatError when the bytes are not a story of a supported version.
        """
        if len(data) < _HEADER_BYTES or data[0] not in VERSIONS:
            raise StoryFormatError("not a Z-machine story of version 1 to 5, 7 or 8")
        self.data = data
        self.version = data[0]
        early = self.version <= 3
        scale = 2 if early else 4 if self.version <= 5 else 8
        size = self.word(0x1A) * scale or len(data)
        if size > len(data):
            raise damaged(f"it should have {size:,} bytes, and has {len(data):,}")
        self.shows_time = self.version == 3 and bool(data[1] & 2)
        """Whether the status line shows a clock, so globals 1 and 2 are not a score (8.2.3)."""
        self.release = self.word(0x02)
        self.serial = data[0x12:0x18].decode("ascii", "replace")
        self.dynamic_size = self.word(0x0E)
        self.globals_table = self.word(0x0C)
        self.attribute_bytes = 4 if early else 6
        self.entry_size = 9 if early else 14
        self.object_table = self.word(0x0A) + 2 * (31 if early else 63)
        tables = {"globals": self.globals_table + 480, "objects": self.object_table}
        for name, end in {**tables, "dynamic memory": self.dynamic_size}.items():
            if not _HEADER_BYTES <= end <= min(size, self.dynamic_size):
                raise StoryFormatError(
                    f"not a Z-machine story, or a damaged one: its {name} would end at {end:#x}, "
                    "outside of its dynamic memory"
                )
        self.data = data[:size]
        self.sha256 = sha256(self.data).hexdigest()
        """The hash that names this story: of the image without padding."""
        alphabet = self.word(0x34) if self.version >= 5 else 0
        self.has_own_alphabet = bool(alphabet)
        """Whether the story has its own alphabet, which may cut words differently."""
        abbreviations = self.word(0x18) if self.version >= 2 else 0
        self._decoder = TextDecoder(self.data, self.version, abbreviations, alphabet)
        self.packed_scale = 2 if early else 8 if self.version == 8 else 4
        """Bytes for each unit of a packed address (1.2.3)."""
        self.word_length = 6 if early else 9
        """The letters of a word that the game's parser looks at (13.3, 13.4)."""
        self._word_bytes = 4 if early else 6
        self._strings_offset = 8 * self.word(0x2A) if self.version == 7 else 0
        self._names: dict[int, str] = {}
        self._texts: dict[int, str] = {}

    def byte(self, address: int) -> int:
        """Return the byte at `address`.

        Raises: StoryFormatError when the story ends before it.
        """
        try:
            return self.data[address]
        except IndexError:
            raise damaged(f"it points to {address:#x}, which is beyond its end") from None

    def word(self, address: int) -> int:
        """Return the two bytes at `address` as a number."""
        return int.from_bytes(self.data[address : address + 2], "big")

    def difference(self, memory: bytes) -> bytes:
        """Return memory XOR the story's first bytes: nearly all zeros, and its own inverse."""
        first = int.from_bytes(self.data[: len(memory)], "big")
        return (int.from_bytes(memory, "big") ^ first).to_bytes(len(memory), "big")

    def takes(self, character: str) -> bool:
        """Return whether the story can be given this character (3.8)."""
        return " " <= character <= "~" or character in self._decoder.extra

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
        """Return the address of an object's entry in the object table (12.3)."""
        return self.object_table + self.entry_size * (number - 1)

    def property_list(self, number: int) -> int:
        """Return the address of an object's property list, which starts with its name (12.4)."""
        return self.word(self.entry(number) + self.entry_size - 2)

    def name(self, number: int) -> str:
        """Return the short name of an object, whole, or "" when it has none that players read.

        Inform names an object whose name is made up as the story goes, "(like_this)".
        """
        if number not in self._names:
            address = self.property_list(number)
            name = self._decoder.decode(address + 1, self.byte(address))
            self._names[number] = "" if _OF_THE_SOURCE.fullmatch(name) else name
        return self._names[number]

    def packed_text(self, packed: int) -> str:
        """Return the text at a packed address (1.2.3), decoded once."""
        if packed not in self._texts:
            self._texts[packed] = self._decoder.decode(
                self.packed_scale * packed + self._strings_offset
            )
        return self._texts[packed]

    @cached_property
    def dictionary_entries(self) -> dict[int, str]:
        """Address -> word that the game's parser knows, cut to its word length (13.2)."""
        first, length, count = self._dictionary_table
        entries = (first + length * number for number in range(count))
        return {at: self._decoder.decode(at, self._word_bytes // 2) for at in entries}

    def word_flags(self, address: int) -> int:
        """Return the first byte that the compiler added to the word at `address`; 0 without any."""
        _, length, _ = self._dictionary_table
        return self.byte(address + self._word_bytes) if length > self._word_bytes else 0

    @cached_property
    def _dictionary_table(self) -> tuple[int, int, int]:
        """The address of the first entry, the length of one, and their number (13.2)."""
        start = self.word(0x08)
        start += 1 + self.byte(start)  # the word separators
        first, length, count = start + 3, self.byte(start), self.word(start + 1)
        if count and (length < self._word_bytes or first + length * count > len(self.data)):
            raise damaged(
                f"its dictionary at {self.word(0x08):#x} has {count} words of {length} bytes"
            )
        return first, length, count


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
        """Return a global variable, numbered from 0, without sign."""
        return self._word(self.image.globals_table + 2 * number)

    def signed_global(self, number: int) -> int:
        """Return a global variable, numbered from 0, with sign."""
        value = self.global_value(number)
        return value - 0x10000 if value & 0x8000 else value

    def area(self, start: int, end: int) -> bytes:
        """Return the dynamic memory from `start` up to `end`."""
        return self._dynamic[start:end]

    def exists(self, number: int) -> bool:
        """Return whether there is an object of this number."""
        return 1 <= number <= self.image.object_count

    def _byte(self, address: int) -> int:
        try:
            return self._dynamic[address]
        except IndexError:
            raise damaged(f"its objects reach {address:#x}, where memory cannot change") from None

    def _relative(self, number: int, which: int) -> int:
        entry = self.image.entry(number) + self.image.attribute_bytes
        if self.image.version <= 3:
            return self._byte(entry + which)
        return self._word(entry + 2 * which)

    def parent(self, number: int) -> int:
        """Return the object that holds this one, or 0."""
        return self._parents[number - 1] if self.exists(number) else 0

    def holders(self, number: int) -> list[int]:
        """List what an object is in, from the inside out; nothing where the tree is damaged."""
        found: list[int] = []
        while (number := self.parent(number)) and number not in found:
            found.append(number)
        return [] if number else found

    @cached_property
    def _parents(self) -> list[int]:
        """Of all objects: whoever asks for one asks for many."""
        return [self._relative(number, 0) for number in range(1, self.image.object_count + 1)]

    def children(self, number: int) -> list[int]:
        """Return the objects directly inside this one, in the game's order."""
        found: list[int] = []
        child = self._relative(number, 2)
        while child and len(found) <= self.image.object_count:  # a damaged chain may be a ring
            found.append(child)
            child = self._relative(child, 1)
        return found

    def attributes(self, number: int) -> int:
        """Return all attributes as one number; attribute 0 is the highest bit."""
        entry = self.image.entry(number)
        return int.from_bytes(self._dynamic[entry : entry + self.image.attribute_bytes], "big")

    def has(self, number: int, attribute: int | None) -> bool:
        """Return whether the object has the attribute; False for an unknown attribute (None)."""
        if attribute is None:
            return False
        place = self.image.entry(number) + attribute // 8
        return bool(int.from_bytes(self._dynamic[place : place + 1], "big") & 0x80 >> attribute % 8)

    def property_data(self, number: int, prop: int) -> bytes:
        """Return the object's own data of a property, or b"" when it has none."""
        for current, start, end in self.properties(number):
            if current <= prop:  # they stand in falling order
                return self.area(start, end) if current == prop else b""
        return b""

    def properties(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Yield the object's own properties: number, start and end of the data (12.4)."""
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
