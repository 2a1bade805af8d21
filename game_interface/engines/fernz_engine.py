"""The engine that is always there: fernz, a Z-machine in pure Python."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from fernz import ExecutionError, FernzEnv, GameState, Memory, _machine
from fernz._errors import UnsupportedOpcodeError
from fernz._instruction import Instruction

from game_interface.engines.engine import EngineName, VmState, without_prompt
from game_interface.errors import (
    EngineError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
)
from game_interface.machine.memory import StoryImage, damaged

MAX_INSTRUCTIONS = 1_000_000
"""Between two questions of a story; the most that a real one was seen to need is 250,000."""

_STREAM_PART = re.compile(r"<<|<([^<>]*)>|[^<]+")
_WINDOWS = {"top": False, "bottom": True}
_UNCHECKED = (ArithmeticError, AssertionError, LookupError, NotImplementedError, ValueError)
"""What fernz fails with where it does not check a story; a failed access to memory, too."""


class _Decoder:
    """A `decode` that remembers, for code outside the dynamic memory cannot change.

    fernz spends two thirds of its time on decoding the same instructions again.
    """

    def __init__(self, decode: Callable[[Memory, int], Instruction]) -> None:
        self._decode = decode
        self._decoded: WeakKeyDictionary[Memory, dict[int, Instruction]] = WeakKeyDictionary()
        self.address = 0
        """Of the latest instruction."""

    def __call__(self, memory: Memory, address: int) -> Instruction:
        self.address = address
        try:
            return self._decoded[memory][address]
        except KeyError:
            instruction = self._decode(memory, address)
        if address >= memory.story.header.static_memory:
            self._decoded.setdefault(memory, {})[address] = instruction
        return instruction


# The only private name that is changed here; the version of fernz is pinned exactly.
_decoder = _Decoder(_machine.decode)  # type: ignore[attr-defined]  # private
_machine.decode = _decoder  # type: ignore[attr-defined]  # the same


@contextmanager
def _explained() -> Iterator[None]:
    """Say what a story did that no story may, and where.

    fernz checks much of it, and leaves the rest to Python.
    """
    try:
        yield
    except ExecutionError as error:
        if str(error).startswith("Instruction budget"):
            raise EngineError(f"the story does not come to an end ({error})") from error
        raise _damage(str(error)) from error
    except UnsupportedOpcodeError as error:
        raise _damage(str(error)) from error
    except _UNCHECKED as error:
        raise _damage(repr(error)) from error


def _damage(how: str) -> StoryFormatError:
    placed = "0x" in how
    return damaged(how if placed else f"{how}, in the instruction at {_decoder.address:#x}")


class FernzEngine:
    """A story in fernz."""

    name: EngineName = "fernz"

    def __init__(self, image: StoryImage, seed: int) -> None:
        """Load a story; positive seeds give the same random numbers as Frotz."""
        self._story = image.story
        self._env = FernzEnv(self._story, seed=seed)
        self._in_main_window = True

    @property
    def done(self) -> bool:
        """Whether the story has quit."""
        return bool(self._env.done)

    def reset(self) -> str:
        """Start the story again and return its opening."""
        self._in_main_window = True
        with _explained():
            observation, _ = self._env.reset(max_steps=MAX_INSTRUCTIONS)
        return self._main_text(observation.stream)

    def step(self, command: str) -> str:
        """Give the story a line and return its answer."""
        try:
            with _explained():
                observation, *_ = self._env.step(command, max_steps=MAX_INSTRUCTIONS)
        except StoryFormatError as error:
            if command.isascii() or not self._env.initialized:
                raise
            raise InvalidCommandError(f"the story cannot take this text: {error}") from error
        return self._main_text(observation.stream)

    def _main_text(self, stream: str) -> str:
        """The text of the main window; the upper one holds the status line."""
        kept = []
        for part in _STREAM_PART.finditer(stream):
            if part[1] is not None:
                self._in_main_window = _WINDOWS.get(part[1], self._in_main_window)
            elif self._in_main_window:
                kept.append("<" if part[0] == "<<" else part[0])
        return without_prompt("".join(kept))

    def snapshot(self) -> VmState:
        """The machine's state, in fernz's own JSON without the memory."""
        state = self._env.get_state()
        document = json.loads(state.to_json())
        del document["ram_base64"]
        return VmState(state.ram, json.dumps(document, separators=(",", ":")).encode())

    def restore(self, state: VmState) -> None:
        """Continue from a snapshot of the same story."""
        try:
            document = json.loads(state.rest)
            document["ram_base64"] = base64.b64encode(state.ram).decode("ascii")
            restored = GameState.from_json(json.dumps(document), story=self._story)
            self._env.set_state(restored)
        except (ValueError, TypeError) as error:
            raise SnapshotError(f"fernz cannot use this snapshot: {error}") from error
        self._in_main_window = restored.output.window == 0

    def close(self) -> None:
        """Nothing is held open."""
        self._env.close()
