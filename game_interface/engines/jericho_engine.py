"""The fast engine, an optional extra: jericho, which carries Frotz as a C library.

Known gaps, which the game layer makes up for: it runs on past a story's QUIT, so `done` is always
False; and a loop inside a story ends with its process only.
"""

import base64
import json
import re
import tempfile
import warnings
from pathlib import Path

from jericho import FrotzEnv

from game_interface.engines.engine import EngineName, VmState, without_prompt
from game_interface.errors import InvalidCommandError, SnapshotError
from game_interface.machine.memory import StoryImage

# Up to version 3 the interpreter paints the status line: whenever it is wanted, in one turn often.
_STATUS_LINES = re.compile(
    r"^ (?:\S[^\n]*? {10,}(?:Score: +-?\d+ +Moves: +\d+|Time: +\d+:\d\d [ap]m) +)+\n?",
    re.MULTILINE,
)
# From version 4 on a story paints it itself: a row of blanks, then its text.
_STATUS_LINE_BEHIND = re.compile(r" {40,}[^\n]*\Z")
_SCALARS = ("pc", "sp", "fp", "frames", "opcode")


class JerichoEngine:
    """A story in jericho."""

    name: EngineName = "jericho"
    done = False

    def __init__(self, image: StoryImage, seed: int) -> None:
        """Load a story; a seed gives the same random numbers as in fernz."""
        self._image = image
        self._seed = seed
        self._folder = tempfile.TemporaryDirectory(prefix="zorkgpt-")  # read again at each reset
        path = Path(self._folder.name) / f"story.z{image.version}"
        # One byte of padding: jericho must not recognise the file, for what it does to the text of
        # games that it knows loses the first line of the opening.
        path.write_bytes(image.data + b"\0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that it does not know the game
            self._env = FrotzEnv(str(path), seed=seed)
        self._seed_next_reset()

    def _seed_next_reset(self) -> None:
        self._env._seed = self._seed  # noqa: SLF001  its own method takes 0 for none

    def reset(self) -> str:
        """Start the story again and return its opening."""
        text, _ = self._env.reset()
        return self._main_text(text)

    def step(self, command: str) -> str:
        """Give the story a line and return its answer."""
        if not command.isascii():
            raise InvalidCommandError(
                "the story cannot take this text: letters without accents only"
            )
        text, *_ = self._env.step(command)
        if self._image.version == 3:
            text = text.partition("\n")[2]  # prompt and status line come before the answer
        return self._main_text(text)

    def _main_text(self, text: str) -> str:
        status = _STATUS_LINES if self._image.version == 3 else _STATUS_LINE_BEHIND
        return without_prompt(status.sub("", text))

    def snapshot(self) -> VmState:
        """The machine's state."""
        ram, stack, *scalars, rng, _ = self._env.get_state()
        rest = {
            **dict(zip(_SCALARS, scalars, strict=True)),
            "rng": [int(number) for number in rng],
            "seed": self._seed,
            "stack": base64.b64encode(stack.tobytes()).decode("ascii"),
        }
        return VmState(ram.tobytes(), json.dumps(rest).encode())

    def restore(self, state: VmState) -> None:
        """Continue from a snapshot of the same story."""
        try:
            rest = json.loads(state.rest)
            ram, stack, *_ = self._env.get_state()  # arrays of the right kind and size
            memoryview(ram)[:] = state.ram
            memoryview(stack)[:] = base64.b64decode(rest["stack"])
            self._seed = rest["seed"]
            self._seed_next_reset()
            self._env.set_state((ram, stack, *(rest[name] for name in _SCALARS), rest["rng"], b""))
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError(f"jericho cannot use this snapshot: {error!r}") from error

    def close(self) -> None:
        """Remove the copy of the story."""
        self._folder.cleanup()
