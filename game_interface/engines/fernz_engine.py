"""The engine that is always there: fernz, a Z-machine in pure Python."""

import base64
import json
import re
from collections.abc import Callable
from weakref import WeakKeyDictionary

from fernz import ExecutionError, FernzEnv, GameState, Memory, MemoryAccessError, _machine
from fernz._instruction import Instruction

from game_interface.engines.engine import EngineName, VmState, without_prompt
from game_interface.errors import EngineError, InvalidCommandError, SnapshotError
from game_interface.machine.memory import StoryImage

_STREAM_PART = re.compile(r"<<|<([^<>]*)>|[^<]+")
_WINDOWS = {"top": False, "bottom": True}


def _decoding_once(
    decode: Callable[[Memory, int], Instruction],
) -> Callable[[Memory, int], Instruction]:
    """A `decode` that remembers, for code outside the dynamic memory cannot change.

    fernz spends two thirds of its time on decoding the same instructions again.
    """
    decoded: WeakKeyDictionary[Memory, dict[int, Instruction]] = WeakKeyDictionary()

    def decode_once(memory: Memory, address: int) -> Instruction:
        try:
            return decoded[memory][address]
        except KeyError:
            instruction = decode(memory, address)
        if address >= memory.story.header.static_memory:
            decoded.setdefault(memory, {})[address] = instruction
        return instruction

    return decode_once


# The only private name that is changed here; the version of fernz is pinned exactly.
_machine.decode = _decoding_once(_machine.decode)  # type: ignore[attr-defined, assignment] # private


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
        try:
            observation, _ = self._env.reset()
        except (ExecutionError, MemoryAccessError, NotImplementedError) as error:
            raise EngineError(f"fernz cannot start this story: {error}") from error
        return self._main_text(observation.stream)

    def step(self, command: str) -> str:
        """Give the story a line and return its answer."""
        before = self._env.get_state()
        try:
            observation, *_ = self._env.step(command)
        except (ExecutionError, MemoryAccessError, NotImplementedError) as error:
            self._env.set_state(before)
            raise EngineError(f"the engine failed at {command!r}: {error}") from error
        except ValueError as error:
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

    def memory(self) -> bytes:
        """The dynamic memory as it is now."""
        return bytes(self._env.memory.read_bytes(0, self._story.header.static_memory))

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
