"""What the game layer asks of a Z-machine interpreter, and how one is chosen."""

from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, Protocol

from game_interface.errors import EngineUnavailableError

if TYPE_CHECKING:
    from game_interface.memory import StoryImage

EngineName = Literal["fernz", "jericho"]
EngineChoice = Literal["auto", "fernz", "jericho"]
MAX_SEED = 2**31 - 1


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
        """Start the story again and return what it prints up to its first question."""

    def step(self, command: str) -> str:
        """Give the story a line and return what it prints, prompt and status line left out.

        Raises: InvalidCommandError for characters the story cannot take; EngineError when the
        interpreter fails, after which the game stands as before the command.
        """

    def memory(self) -> bytes:
        """The dynamic memory as it is now."""

    def snapshot(self) -> VmState:
        """Everything that `restore` needs, the random numbers included."""

    def restore(self, state: VmState) -> None:
        """Continue from a snapshot of the same story.

        Raises: SnapshotError when the engine cannot use it.
        """

    def close(self) -> None:
        """Let go of everything; calling it again does nothing."""


def start_engine(choice: EngineChoice, image: "StoryImage", seed: int, *, profiled: bool) -> Engine:
    """The engine for a story.

    "auto" is jericho where it is installed and its text is known to come out clean: it mixes the
    status line of stories of version 4 and later into their answers. Else it is fernz.

    Raises: EngineUnavailableError for jericho where it is not installed or cannot be loaded.
    """
    if choice == "jericho":
        return _start_jericho(image, seed)
    if choice == "auto" and (image.version == 3 or profiled) and find_spec("jericho"):
        with suppress(EngineUnavailableError):
            return _start_jericho(image, seed)
    from game_interface.fernz_engine import FernzEngine

    return FernzEngine(image, seed)


def _start_jericho(image: "StoryImage", seed: int) -> Engine:
    try:
        from game_interface.jericho_engine import JerichoEngine

        return JerichoEngine(image, seed)
    except ImportError as exc:
        raise EngineUnavailableError(
            "the engine 'jericho' is not installed; run `uv sync --extra jericho`, "
            "or choose the engine 'fernz'"
        ) from exc
    except OSError as exc:  # it loads a copy of its library from the temporary folder
        raise EngineUnavailableError(
            f"the engine 'jericho' cannot be loaded ({exc}); point TMPDIR to a folder that allows "
            "programs, or choose the engine 'fernz'"
        ) from exc
