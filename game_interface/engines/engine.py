"""What the game layer asks of an interpreter: a moment and a command give the next moment."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from game_interface.machine.facts import Facts, Waits

EngineName: TypeAlias = Literal["bocfel", "glulxe", "jericho", "gymnasium"]
EngineChoice: TypeAlias = Literal["auto", "jericho"]
MAX_SEED = 2**31 - 1


def without_prompt(text: str) -> str:
    """Return the answer without the prompt behind it; line breaks and paragraphs stay."""
    lines = [line.rstrip() for line in text.rstrip().removesuffix(">").split("\n")]
    return "\n".join(lines).strip("\n")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a story did until it waited again, or ended."""

    text: str
    """What it printed in its main window, without the prompt; lines end with a newline."""
    state: bytes
    """All that the engine needs to go on; where the story ended, from before its last command.
    Empty where an engine has no states."""
    memory: bytes | None
    """The dynamic memory of a Z-machine; None where it cannot be read."""
    upper: str = ""
    """What is new above that and more than a status line: a menu, a quotation, a form."""
    status_line: str = ""
    waits_for: Waits | None = "line"
    """None where the engine cannot tell."""
    ended: bool = False
    """Whether the story takes no more input; an engine that cannot tell says False."""
    facts: Facts | None = None
    """Where the engine tells them; else they are read from the memory."""
    died: bool | None = None
    """Where the engine tells facts: whether this brought a death; None where that is not known."""


class Engine(Protocol):
    """One story. It holds no game: whoever plays keeps the state, and a failure changes nothing."""

    @property
    def name(self) -> EngineName:
        """The name that a snapshot carries."""

    def start(self, seed: int) -> Reply:
        """Begin the story, with these random numbers.

        Raises: EngineError when it cannot begin.
        """

    def step(self, state: bytes, command: str) -> Reply:
        """Give the story a line, or a key by its name, in this state.

        Raises: InvalidCommandError for what the story cannot be given; EngineError when it fails,
            takes too long, or needs too much.
        """

    def look(self, state: bytes) -> Reply:
        """Return the moment of a state, without a text.

        Raises: SnapshotError when it is none of this story's.
        """

    def close(self) -> None:
        """Release everything; calling it again does nothing."""
