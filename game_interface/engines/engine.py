"""What the game layer asks of a Z-machine interpreter."""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

EngineName = Literal["fernz", "jericho"]
EngineChoice = Literal["auto", "fernz", "jericho"]
MAX_SEED = 2**31 - 1
_PROMPT = re.compile(r"\s*>?\s*\Z")


def without_prompt(text: str) -> str:
    """The answer without the prompt behind it; line breaks and paragraphs stay."""
    lines = (line.rstrip() for line in _PROMPT.sub("", text).split("\n"))
    return "\n".join(lines).strip("\n")


@dataclass(frozen=True, slots=True)
class VmState:
    """A moment of an interpreter: its dynamic memory, and the rest in the engine's own JSON."""

    ram: bytes
    rest: bytes


class Engine(Protocol):
    """One story being interpreted. Text in and out is Latin-1 at most; lines end with a newline."""

    @property
    def name(self) -> EngineName:
        """The name that a snapshot carries."""

    @property
    def done(self) -> bool:
        """Whether the story has quit; an engine that cannot tell says False."""

    def reset(self) -> str:
        """Start the story again and return what it prints up to its first question.

        Raises: StoryFormatError or EngineError, as from `step`.
        """

    def step(self, command: str) -> str:
        """Give the story a line and return what it prints, prompt and status line left out.

        Raises: InvalidCommandError for characters the story cannot take; StoryFormatError where it
        does what no story may; EngineError when it goes on for too long. After the last two only
        `reset` and `restore` are of use.
        """

    def snapshot(self) -> VmState:
        """Everything that `restore` needs, the random numbers included."""

    def restore(self, state: VmState) -> None:
        """Continue from a snapshot of the same story.

        Raises: SnapshotError when the engine cannot use it.
        """

    def close(self) -> None:
        """Release everything; calling it again does nothing."""
