"""The engine for comparisons with Jericho's figures, an optional extra, in a process of its own."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from game_interface.engines.engine import EngineName, Reply
from game_interface.engines.interpreter import read_pipe
from game_interface.errors import (
    EngineError,
    EngineUnavailableError,
    InvalidCommandError,
    SnapshotError,
)
from mcp_ghost.servers import reaper
from mcp_ghost.text import one_line
from stories.memory import StoryImage

START_SECONDS = 60.0
"""For the process to start and to load the story."""
MEMORY_BYTES = 2**30
"""The process limits itself to that, where the operating system can."""
_ANSWER_BYTES = 2**23
_CHUNK = 2**16
_NEEDED = (
    *("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
"""Variables of the program that the process gets: no address with a password, no key."""
_SHOWN_CHARACTERS = 200


class JerichoEngine:
    """A story in Jericho. After a failure its process is started again, from the state before."""

    name: EngineName = "jericho"

    def __init__(self, image: StoryImage, seconds: float) -> None:
        """Start the process; a command may take so many seconds.

        Raises: EngineUnavailableError where it is not installed or cannot be loaded.
        """
        if not find_spec("jericho"):
            raise EngineUnavailableError(
                "the engine 'jericho' is not installed; run `uv sync --extra jericho`, "
                "or choose the engine 'auto'"
            )
        self._image = image
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._at: bytes | None = None
        """The state that the process is in."""
        try:
            self._open()
        except EngineError as error:
            raise EngineUnavailableError(
                f"the engine 'jericho' cannot be loaded ({error}); if the folder for temporary "
                "files allows no programs, point TMPDIR at one that does, or choose 'auto'"
            ) from error

    def _open(self) -> None:
        """Start the process, and have it load the story."""
        complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        folder = tempfile.mkdtemp(prefix="zorkgpt-")
        root, path = str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")
        try:
            process = subprocess.Popen(
                # -P: the modules of the program, not those of the folder that it is started in.
                [sys.executable, "-P", "-m", "game_interface.engines.jericho_process", folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env={
                    **{key: os.environ[key] for key in _NEEDED if key in os.environ},
                    "OPENBLAS_NUM_THREADS": "1",  # each thread of its arrays takes memory
                    "PYTHONPATH": os.pathsep.join(filter(None, (root, path))),
                },
                start_new_session=True,  # Ctrl-C is for the program, which then ends this one
            )
        except OSError as error:
            complaints.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise EngineError(f"its process cannot be started: {error}") from error
        reaper.guard(process.pid)
        self._process, self._complaints, self._at = process, complaints, None
        self._end = weakref.finalize(self, _end, process, complaints, folder, os.getpid())
        self._ask(START_SECONDS, "open", base64.b64encode(self._image.data).decode())

    def start(self, seed: int) -> Reply:
        """Begin the story."""
        return self._reply(self._ask(self._seconds, "start", seed), seed)

    def step(self, state: bytes, command: str) -> Reply:
        """Give the story a line."""
        if not command.isascii():
            raise InvalidCommandError(
                "the story cannot take this text: letters without accents only"
            )
        head, memory, stack = self._parts(state)
        if self._at is not state:
            encoded = (base64.b64encode(it).decode() for it in (memory, stack))
            self._ask(self._seconds, "restore", *encoded, head["rest"])
        return self._reply(self._ask(self._seconds, "step", command), head["seed"])

    def look(self, state: bytes) -> Reply:
        """Return the moment of a state, without a text."""
        _, memory, _ = self._parts(state)
        return Reply("", state, memory, waits_for=None)

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._end()
            self._process = None

    def _reply(self, answer: dict[str, Any], seed: int) -> Reply:
        memory, stack = (base64.b64decode(answer[name]) for name in ("memory", "stack"))
        head = json.dumps({"seed": seed, "rest": answer["rest"]}, separators=(",", ":"))
        self._at = head.encode() + b"\n" + self._image.difference(memory) + stack
        return Reply(str(answer["text"]), self._at, memory, waits_for=None)

    def _parts(self, state: bytes) -> tuple[dict[str, Any], bytes, bytes]:
        text, _, data = state.partition(b"\n")
        size = self._image.dynamic_size
        try:
            head = json.loads(text)
            if not isinstance(head["seed"], int) or len(data) < size:
                raise ValueError("it is incomplete")  # noqa: TRY301
            return head, self._image.difference(data[:size]), data[size:]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SnapshotError(f"jericho cannot use this snapshot: {error!r}") from error

    def _ask(self, seconds: float, method: str, *arguments: object) -> dict[str, Any]:
        """Return the answer to a request, a line of JSON; after a failure the process is gone."""
        if not self._process:
            self._open()
        assert self._process  # noqa: S101  just opened
        try:
            answer = self._answer(self._process, [method, arguments], seconds)
        except BaseException:  # interrupted, too: this answer must not pass for the next one's
            self.close()
            raise
        if "error" in answer:
            self.close()
            raise EngineError(f"jericho failed: {answer['error']}")
        return answer

    def _answer(
        self, process: subprocess.Popen[bytes], request: object, seconds: float
    ) -> dict[str, Any]:
        line = b""
        assert process.stdin and process.stdout  # noqa: S101, PT018  asked for at its start
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = read_pipe(process.stdout, seconds, _ANSWER_BYTES, one_line=True)
        if not line.endswith(b"\n"):
            code = process.wait()
            self._complaints.seek(max(0, self._complaints.seek(0, os.SEEK_END) - _CHUNK))
            lines = self._complaints.read().decode(errors="replace").rstrip().splitlines()
            said = f": {one_line(lines[-1], _SHOWN_CHARACTERS)}" if lines else ""
            raise EngineError(f"the engine stopped unexpectedly ({reaper.exit_reason(code)}{said})")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise EngineError(f"its answer is unusable: {error}") from error
        return answer


def _end(process: subprocess.Popen[bytes], complaints: IO[bytes], folder: str, owner: int) -> None:
    complaints.close()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    if os.getpid() != owner:  # a fork of the program, which goes on playing
        return
    process.kill()
    process.wait()
    reaper.release(process.pid)
    shutil.rmtree(folder, ignore_errors=True)
