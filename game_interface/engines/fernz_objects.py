"""The table of objects in the memory of a story, read as often as instructions ask for it.

Its layout: section 12 of the Z-Machine Standards Document 1.1.
"""

from fernz import ExecutionError, Memory

from game_interface.engines.fernz_storage import HEADER_BYTES


class ObjectTable:
    """Links, attributes and properties of the objects; object 0 is nothing and has none.

    Every method raises ExecutionError for what cannot be an object, attribute or property.
    """

    def __init__(self, memory: Memory) -> None:
        """Share the bytes of fernz's memory."""
        header = memory.story.header
        early = header.version <= 3
        self._data: bytearray = memory._data  # noqa: SLF001 - a method call for each byte costs most of the time
        self._early = early
        self._size = 9 if early else 14
        self._attributes = 32 if early else 48
        self._properties = 31 if early else 63
        self._end = header.static_memory
        self._defaults = header.object_table - 2
        self._zeroth = header.object_table + 2 * self._properties - self._size
        room = (header.static_memory - self._zeroth) // self._size - 1
        self._last = min(255 if early else 65535, room)

    def _entry(self, number: int) -> int:
        if not 0 < number <= self._last:
            raise ExecutionError(f"Invalid object number {number}")
        return self._zeroth + self._size * number

    def parent(self, number: int) -> int:
        """The object that holds this one."""
        return self._link(number, 0)

    def sibling(self, number: int) -> int:
        """The next object in the same one."""
        return self._link(number, 1)

    def child(self, number: int) -> int:
        """The first object in this one."""
        return self._link(number, 2)

    def _link(self, number: int, which: int) -> int:
        if not number:
            return 0
        entry = self._entry(number)
        if self._early:
            return self._data[entry + 4 + which]
        place = entry + 6 + 2 * which
        return self._data[place] << 8 | self._data[place + 1]

    def attribute(self, number: int, attribute: int) -> bool:
        """Whether an object has an attribute."""
        if not number:
            return False
        if attribute >= self._attributes:
            raise ExecutionError(f"Invalid attribute {attribute}")
        byte = self._data[self._entry(number) + (attribute >> 3)]
        return bool(byte & 0x80 >> (attribute & 7))

    def address(self, number: int, wanted: int) -> int:
        """Where the data of an object's property begin; 0 if it has none."""
        if not number or wanted > self._properties:
            return 0
        return self._property(number, wanted)[0]

    def value(self, number: int, wanted: int) -> int:
        """The byte or the word of an object's property, or the default."""
        if not number:
            return 0
        address, size = self._property(number, wanted)
        if size == 1:
            return self._data[address]
        if not size:
            address = self._defaults + 2 * wanted
        elif size > 2:
            if self._early:
                raise ExecutionError(f"Property {wanted} is neither a byte nor a word")
            address -= 1  # as fernz has it, and stories of that age expect
        return self._data[address] << 8 | self._data[address + 1]

    def _property(self, number: int, wanted: int) -> tuple[int, int]:
        """Address and size of a property; zeros if the object has none."""
        if not 0 < wanted <= self._properties:
            raise ExecutionError(f"Invalid property {wanted}")
        data, place = self._data, self._entry(number) + self._size - 2
        table = data[place] << 8 | data[place + 1]
        if not HEADER_BYTES <= table < self._end:
            raise ExecutionError(f"Object data at {table:#x} is outside dynamic memory")
        address = table + 1 + 2 * data[table]
        while head := data[address]:
            address += 1
            if self._early:
                found, size = head & 31, (head >> 5) + 1
            elif head & 0x80:
                found, size = head & 63, data[address] & 63 or 64
                address += 1
            else:
                found, size = head & 63, 2 if head & 0x40 else 1
            if found <= wanted:  # in descending order
                return (address, size) if found == wanted else (0, 0)
            address += size
        return 0, 0
