"""The process in which Jericho plays: `python -m game_interface.engines.jericho_process DIR`.

Jericho carries Frotz as a C library. A story can make it loop or crash, so it is not loaded into
the program. Requests and answers are lines of JSON, bytes in them base64. It serves one story
until nobody can ask any more, and then removes the folder, which is all that it writes to.

Known gaps: it goes on past a story's QUIT, so that an end shows in the story's memory only; it
does not tell a key from a line; and it mixes the status line into the text.
"""

import base64
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import jericho
from jericho import FrotzEnv

from game_interface.engines.confinement import confine
from game_interface.engines.engine import without_prompt
from game_interface.engines.jericho_engine import MEMORY_BYTES

_FILE_BYTES = 2**24
# Up to version 3 the interpreter paints the status line: whenever it is wanted, in one turn often.
_STATUS_LINES = re.compile(
    r"^ (?:\S[^\n]*? {10,}(?:Score: +-?\d+ +Moves: +\d+|Time: +\d+:\d\d [ap]m) +)+\n?",
    re.MULTILINE,
)
# From version 4 on a story paints it itself: a row of blanks, then its text.
_STATUS_LINE_BEHIND = re.compile(r" {40,}[^\n]*\Z")
_SCALARS = ("pc", "sp", "fp", "frames", "opcode")


class _Story:
    """The story, and what can be asked of it."""

    def __init__(self, data: str, folder: str) -> None:
        story = base64.b64decode(data)
        self._early = story[0] <= 3
        self._size = len(story)
        path = Path(folder) / f"story.z{story[0]}"
        # One byte of padding: Jericho must not recognise the file, for what it does to the text of
        # games that it knows loses the first line of the opening.
        path.write_bytes(story + b"\0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that it does not know the game
            self._env = FrotzEnv(str(path), seed=1)

    def start(self, seed: int) -> dict[str, Any]:
        """Begin the story."""
        self._env._seed = seed  # noqa: SLF001  its own method takes 0 for none
        text, _ = self._env.reset()
        return self._moment(text)

    def step(self, command: str) -> dict[str, Any]:
        """Give it a line."""
        text, *_ = self._env.step(" " if command == "space" else command)
        if self._early:
            text = text.partition("\n")[2]  # prompt and status line come before the answer
        return self._moment(text)

    def restore(self, memory: str, stack: str, rest: dict[str, Any]) -> dict[str, Any]:
        """Continue from a state."""
        ram, old_stack, *_ = self._env.get_state()  # arrays of the right kind and size
        memoryview(ram)[:] = base64.b64decode(memory)
        memoryview(old_stack)[:] = base64.b64decode(stack)
        scalars = [int(rest[name]) for name in _SCALARS]
        self._check(base64.b64decode(stack), *scalars)
        self._env.set_state((ram, old_stack, *scalars, rest["rng"], b""))
        return {}

    def _check(self, stack: bytes, pc: int, sp: int, fp: int, frames: int, opcode: int) -> None:
        """Refuse what would lead the interpreter, which believes it, out of its own memory.

        Each call's frame (Frotz, process.c) has the place of the caller's, and where to go on.
        """
        words = memoryview(stack).cast("H")
        is_inside = 0 <= pc < self._size and 0 <= sp <= fp <= len(words) and 0 <= opcode < 256
        if not is_inside or not 0 <= frames <= len(words) // 4:
            raise ValueError("its position is outside the story or its stack")
        for _ in range(frames):
            if fp + 3 >= len(words) or not fp < words[fp + 1] + 1 <= len(words):
                raise ValueError("its calls point outside the stack")
            if words[fp + 3] << 9 | words[fp + 2] >= self._size:
                raise ValueError("its calls point outside the story")
            fp = words[fp + 1] + 1

    def _moment(self, text: str) -> dict[str, Any]:
        status = _STATUS_LINES if self._early else _STATUS_LINE_BEHIND
        ram, stack, *scalars, rng, _ = self._env.get_state()
        return {
            "text": without_prompt(status.sub("", text)),
            "memory": base64.b64encode(ram.tobytes()).decode(),
            "stack": base64.b64encode(stack.tobytes()).decode(),
            "rest": {**dict(zip(_SCALARS, scalars, strict=True)), "rng": [int(it) for it in rng]},
        }


def _serve(folder: str, answers: TextIO) -> None:
    story: _Story | None = None
    for line in sys.stdin:
        method, arguments = json.loads(line)
        try:
            if story is None:
                story, answer = _Story(arguments[0], folder), {}
            else:
                ask: Callable[..., dict[str, Any]] = getattr(story, method)
                answer = ask(*arguments)
        except Exception as error:  # noqa: BLE001  the edge of the process: the program must hear it
            answer = {"error": repr(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, _FILE_BYTES)):
        with suppress(ValueError, OSError):  # macOS limits no memory
            resource.setrlimit(kind, (most, most))
    own_stdout = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the library prints is no answer
    own = sys.argv[1]
    os.chdir(own)  # where stories may write what they like
    tempfile.tempdir = own
    # Python's libraries and Jericho's, as parts of both are loaded only when they are used.
    libraries = [Path(str(it.__file__)).parent for it in (os, jericho)]
    confine(Path(own), libraries, may_remove=True)
    try:
        _serve(own, own_stdout)
    finally:  # where the program was killed, nobody else does it
        shutil.rmtree(own, ignore_errors=True)
