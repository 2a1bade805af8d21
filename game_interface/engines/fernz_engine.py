"""The engine that is always there: fernz, a Z-machine in pure Python."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from fernz import FernzEnv, GameState, _env

from game_interface.engines.engine import EngineName, VmState, without_prompt
from game_interface.engines.fernz_machine import FAILURES, TranslatedMachine
from game_interface.errors import (
    EngineError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
)
from game_interface.machine.memory import StoryImage, damaged

MAX_INSTRUCTIONS = 20_000_000
"""Between two questions of a story. The walkthroughs of the known games need up to 1.3 million, for
one command in Afflicted that handles a lot of things; this many take less than 30 seconds."""

_STREAM_PART = re.compile(r"<<|<([^<>]*)>|[^<]+")
_WINDOWS = {"top": False, "bottom": True}

# The only name of fernz that is replaced; the version of fernz is pinned exactly.
_env.Machine = TranslatedMachine  # type: ignore[attr-defined]  # not exported


@contextmanager
def _explained() -> Iterator[None]:
    """Say what a story did that no story may, and where.

    fernz checks much of it, and leaves the rest to Python.
    """
    try:
        yield
    except FAILURES as error:
        told = str(error)
        if told.startswith("Instruction budget"):
            raise EngineError(f"the story ran too long ({told})") from error
        raise damaged(told) from error


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
