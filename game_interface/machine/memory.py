"""The memory of a Z-machine story, read in the same way whichever engine runs it.

`StoryImage` is the story as it was loaded and everything in it that never changes: header, texts,
object names, dictionary. `MachineMemory` is one moment of the game: the image with the dynamic
memory that an engine reports laid over it. Versions 3, 4, 5 and 8; section numbers are those of the
Z-Machine Standards Document 1.1.
"""

from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256

from game_interface.errors import StoryFormatError
from game_interface.machine.zscii import TextDecoder

SUPPORTED_VERSIONS = (3, 4, 5, 8)
_PACKED_SCALE = {3: 2, 4: 4, 5: 4, 8: 8}  # also the unit of the file length (1.2.3, 11.1.6)
_HEADER_SIZE = 64


def trimmed(data: bytes) -> bytes:
    """The story without the padding that distribution media add after its declared end.

    Raises: StoryFormatError when the bytes are not a story of a supported version.
    """
    if data.startswith(b"FORM"):
        raise StoryFormatError("this is a Blorb archive; extract the story file (.z5) from it")
    if len(data) < _HEADER_SIZE or data[0] not in SUPPORTED_VERSIONS:
        raise StoryFormatError("not a Z-machine story of version 3, 4, 5 or 8")
    declared = int.from_bytes(data[0x1A:0x1C], "big") * _PACKED_SCALE[data[0]]
    if declared > len(data):
        raise StoryFormatError(f"the story is cut off: {len(data)} of {declared} bytes are there")
    return data[: declared or len(data)]


class StoryImage:
    """A story as it was loaded: bytes that never change, and what can be read from them once."""

    def __init__(self, data: bytes) -> None:
        """Take a story's bytes, padded or not.

        Raises: StoryFormatError when the bytes are not a story of a supported version.
        """
        self.data = trimmed(data)
        self.version = self.data[0]
        self.release = self.word(0x02)
        self.serial = self.data[0x12:0x18].decode("ascii", errors="replace")
        self.dynamic_size = self.word(0x0E)
        self.globals_table = self.word(0x0C)
        self.packed_scale = _PACKED_SCALE[self.version]
        early = self.version <= 3
        self.attribute_bytes = 4 if early else 6
        self.entry_size = 9 if early else 14
        self.default_properties = 31 if early else 63
        self.object_table = self.word(0x0A) + 2 * self.default_properties
        self._check()
        self._names: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._decoder = TextDecoder(self.data)

    def _check(self) -> None:
        tables = (self.object_table + self.entry_size, self.globals_table + 480)
        size = len(self.data)
        if not _HEADER_SIZE <= self.dynamic_size <= size or max(tables) > size:
            raise StoryFormatError("the story's header points outside the file: it is damaged")

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
        return self.version == 3 and bool(self.data[1] & 2)

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
            self._names[number] = self._decoder.text(address + 1) if self.data[address] else ""
        return self._names[number]

    def packed_text(self, packed: int) -> str:
        """The text at a packed address (1.2.3), decoded once."""
        if packed not in self._texts:
            self._texts[packed] = self._decoder.text(packed * self.packed_scale)
        return self._texts[packed]

    @cached_property
    def dictionary(self) -> frozenset[str]:
        """The words that the game's parser knows, cut to its word length (13.2)."""
        return frozenset(self.dictionary_entries.values())

    @property
    def word_length(self) -> int:
        """The letters of a word that the game's parser looks at (13.3, 13.4)."""
        return 6 if self.version <= 3 else 9

    @cached_property
    def dictionary_entries(self) -> dict[int, str]:
        """Address -> word."""
        first, length, count = self._dictionary_table
        entries = range(first, first + length * count, length)
        return {at: self._decoder.text(at, limit=self._word_bytes) for at in entries}

    def word_flags(self, address: int) -> int:
        """The first byte that the compiler added to the word at `address`; 0 without any."""
        _, length, _ = self._dictionary_table
        return self.data[address + self._word_bytes] if length > self._word_bytes else 0

    @property
    def _dictionary_table(self) -> tuple[int, int, int]:
        """The address of the first entry, the length of one, and their number (13.2)."""
        start = self.word(0x08)
        start += 1 + self.data[start]  # the word separators
        return start + 3, self.data[start], self.word(start + 1)

    @property
    def _word_bytes(self) -> int:
        return 4 if self.version <= 3 else 6

    @property
    def has_own_alphabet(self) -> bool:
        """Whether the story has its own alphabet, which may cut words differently."""
        return self.version >= 5 and bool(self.word(0x34))


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
        return self._word(self.image.globals_table + 2 * number)

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

    def _relative(self, number: int, which: int) -> int:
        entry = self.image.entry(number) + self.image.attribute_bytes
        if self.image.version <= 3:
            return self._dynamic[entry + which]
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
        address += 1 + 2 * self._dynamic[address]
        while size_byte := self._dynamic[address]:
            if self.image.version <= 3:
                current, length, address = size_byte & 31, (size_byte >> 5) + 1, address + 1
            elif size_byte & 0x80:
                current, length = size_byte & 63, self._dynamic[address + 1] & 63 or 64
                address += 2
            else:
                current, length, address = size_byte & 63, 2 if size_byte & 0x40 else 1, address + 1
            yield current, address, address + length
            address += length
