"""The space of what games print, which Gymnasium's vectors can share between processes.

A vector asks once, at its start, for what its processes share, and expects it to change with the
memory behind it. Gymnasium's own `Text` gives it strings, which stay as blank as they were.
"""

from __future__ import annotations

import multiprocessing
from ctypes import c_char
from multiprocessing.context import BaseContext
from multiprocessing.sharedctypes import SynchronizedString
from types import ModuleType
from typing import TypeAlias

from gymnasium.spaces import Text
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

_Memory: TypeAlias = tuple[SynchronizedString, ...]
_MOST_BYTES = 4
"""Of a character in UTF-8."""


class PrintedText(Text):
    """Any text of at most a length; its characters are those of samples."""

    def contains(self, x: object) -> bool:
        """Whether it is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


class PrintedTexts:
    """What the games of a vector have printed last; a copy of it is a tuple of texts."""

    def __init__(self, memory: _Memory) -> None:
        self._memory = memory

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: int) -> str:
        return self._memory[index].value.decode()

    def __deepcopy__(self, _memo: object) -> tuple[str, ...]:
        return tuple(self[index] for index in range(len(self)))


@create_shared_memory.register(PrintedText)
def _create(
    space: PrintedText, n: int = 1, ctx: BaseContext | ModuleType = multiprocessing
) -> _Memory:
    return tuple(ctx.Array(c_char, space.max_length * _MOST_BYTES) for _ in range(n))


@read_from_shared_memory.register(PrintedText)
def _read(_space: PrintedText, shared_memory: _Memory, n: int = 1) -> PrintedTexts:
    return PrintedTexts(shared_memory[:n])


@write_to_shared_memory.register(PrintedText)
def _write(_space: PrintedText, index: int, value: str, shared_memory: _Memory) -> None:
    shared_memory[index].value = value.encode(errors="replace")
