"""The dynamic memory in a saved game: chunks as in the Quetzal standard 1.4, read with care."""

from collections.abc import Iterator
from typing import Final

from game_interface.errors import EngineError
from stories.container import iff_chunks

_FORMS: Final = (b"IFZS", b"BFZS")
"""Of the standard, and of what bocfel saves by itself."""


def dynamic_memory(saved: bytes, story: bytes, size: int) -> bytes:
    """Return the first `size` bytes of memory: the story's own, changed by the chunk CMem or UMem.

    Raises: EngineError when it is not a whole saved game.
    """
    chunks = dict(_chunks(saved))
    if b"Stks" not in chunks or b"IFhd" not in chunks:
        raise EngineError("the state that the interpreter left is not whole")
    if (plain := chunks.get(b"UMem")) is not None and len(plain) == size:
        return plain
    packed = chunks.get(b"CMem")
    if packed is None:
        raise EngineError("the state that the interpreter left has no memory")
    difference = bytearray()
    position = 0
    while position < len(packed) and len(difference) <= size:
        # A zero and a number n stand for n + 1 zeros; whatever else for itself.
        end = packed.find(0, position)
        end = len(packed) if end < 0 else end
        difference += packed[position:end]
        if end + 1 < len(packed):
            difference += bytes(packed[end + 1] + 1)
        position = end + 2
    if len(difference) > size:
        raise EngineError("the state that the interpreter left is of another story")
    difference += bytes(size - len(difference))
    memory = int.from_bytes(difference, "big") ^ int.from_bytes(story[:size], "big")
    return memory.to_bytes(size, "big")


def restorable(saved: bytes) -> bytes:
    """Return the saved game as bocfel restores it, without what was printed last."""
    body = saved[8:12]
    for name, data in _chunks(saved):
        if name == b"Args" and data[:1] == b"\1":  # of `read_char`: but one to three it refuses
            data = data[:7] if data[1:] else data + b"\0\1"
        if name != b"Bfhs":  # with which it would show the screen again
            body += name + len(data).to_bytes(4, "big") + data + bytes(len(data) % 2)
    return b"FORM" + len(body).to_bytes(4, "big") + body


def _chunks(form: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of the chunks of an IFF form; of none where the form is not whole."""
    length = int.from_bytes(form[4:8], "big")
    end = length + 8  # bocfel writes a few zeros more where there is nothing to undo
    if form[:4] != b"FORM" or form[8:12] not in _FORMS or any(form[end:]) or end > len(form):
        return
    yield from ((kind, content) for _, kind, content in iff_chunks(form[:end]))
