"""The variables of a story as functions, and the part of its memory that it may write.

Section 4.2 of the Z-Machine Standards Document 1.1: variable 0 is the stack, 1 to 15 are the
locals of the routine, the others are the words of a table in memory.
"""

from collections.abc import Callable

from fernz import Memory
from fernz._machine import Frame

Read = Callable[[Frame], int]
Write = Callable[[Frame, int], None]

WORD = 0xFFFF
HEADER_BYTES = 64
_LAST_LOCAL = 15
_LAST_VARIABLE = 255


class Storage:
    """The bytes of fernz's memory, which stay the same object when a game is restored."""

    def __init__(self, memory: Memory) -> None:
        """Find the parts that are a game's own."""
        header = memory.story.header
        self.data: bytearray = memory._data  # noqa: SLF001 - a method call for each byte costs most of the time
        self._globals = header.globals_table - 2 * (_LAST_LOCAL + 1)
        extension = header.extension_table or 0
        protected = extension + 2 * (header.extension_word(0) + 1) if extension else 0
        self._first = max(HEADER_BYTES, protected)
        self._end = header.static_memory

    def writable(self, address: int, size: int) -> bool:
        """Whether a story may write there without being checked by fernz."""
        return self._first <= address and address + size <= self._end

    def read(self, number: int) -> Read:
        """Get a variable; what is on the stack is taken from it."""
        return self.look(number) if number else _pop

    def write(self, number: int) -> Write | None:
        """Set a variable, the stack gets one more; None where fernz has to check it."""
        return self.replace(number) if number else _push

    def look(self, number: int) -> Read:
        """Get a variable; what is on the stack stays there."""
        if number == 0:
            return lambda frame: frame.stack[-1]
        if number <= _LAST_LOCAL:
            place = number - 1
            return lambda frame: frame.locals[place]
        data, high = self.data, self._globals + 2 * number
        low = high + 1
        return lambda _: data[high] << 8 | data[low]

    def replace(self, number: int) -> Write | None:
        """Set a variable, or what is on the stack; None where fernz has to check it."""
        if number == 0:
            return _replace_top
        if number <= _LAST_LOCAL:
            return _write_local(number - 1)
        high = self._globals + 2 * number
        plain = number <= _LAST_VARIABLE and self.writable(high, 2)
        return _write_word(self.data, high) if plain else None


def _pop(frame: Frame) -> int:
    return frame.stack.pop()


def _push(frame: Frame, value: int) -> None:
    frame.stack.append(value & WORD)


def _replace_top(frame: Frame, value: int) -> None:
    frame.stack[-1] = value & WORD


def _write_local(place: int) -> Write:
    def write(frame: Frame, value: int) -> None:
        frame.locals[place] = value & WORD

    return write


def _write_word(data: bytearray, high: int) -> Write:
    low = high + 1

    def write(_: Frame, value: int) -> None:
        data[high] = value >> 8 & 0xFF
        data[low] = value & 0xFF

    return write
