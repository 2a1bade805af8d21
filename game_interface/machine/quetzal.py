"""The dynamic memory in a saved game: chunks as in the Quetzal standard 1.4, read with care."""

import re
from collections.abc import Iterator
from typing import Final

from game_interface.errors import EngineError
from stories.container import iff_chunks
from stories.memory import StoryImage

_FORMS: Final = (b"IFZS", b"BFZS")
"""Of the standard, and of what bocfel saves by itself."""
_ZEROS: Final = re.compile(rb"\0(.)", re.DOTALL)


def dynamic_memory(saved: bytes, image: StoryImage) -> bytes:
    """Return the dynamic memory: the story's own, changed by the chunk CMem, or the chunk UMem.

    Raises: EngineError when it is not a whole saved game.
    """
    chunks, size = dict(_chunks(saved)), image.dynamic_size
    if b"Stks" not in chunks or b"IFhd" not in chunks:
        raise EngineError("the state that the interpreter saved is incomplete")
    if (plain := chunks.get(b"UMem")) is not None and len(plain) == size:
        return plain
    if (packed := chunks.get(b"CMem")) is None:
        raise EngineError("the state that the interpreter saved contains no memory")
    # A zero and a number n stand for n + 1 zeros; whatever else for itself.
    difference = _ZEROS.sub(lambda it: bytes(it[1][0] + 1), packed[: 2 * size + 1])
    if len(difference) > size:
        raise EngineError("the state that the interpreter saved is from another story")
    return image.difference(difference.ljust(size, b"\0"))


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
