"""The process of an engine, from the program's side: a deadline for each turn, and no orphans."""

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import IO, NoReturn, TypeVar

from game_interface import errors
from game_interface.child.limits import MEMORY_BYTES, OUT_OF_MEMORY, START_SECONDS
from game_interface.child.messages import Answer, Failure, Moment, Opened, Opening, decode
from game_interface.errors import EngineError, EngineStoppedError, EngineUnavailableError
from mcp_ghost.redact import names_a_secret
from mcp_ghost.text import one_line

TURN_TIMEOUT_SECONDS = 30.0
STOP_SECONDS = 2.0
ANSWER_BYTES = 2**23

_CHUNK = 2**16
_SHOWN_CHARACTERS = 200
_SIGNALS = {it.value: it.name for it in signal.Signals}
_ERRORS = {name: it for name, it in vars(errors).items() if isinstance(it, type)}

T = TypeVar("T", Opened, Moment)


class EngineProcess:
    """One story being played in a process of its own."""

    def __init__(self, turn_seconds: float = TURN_TIMEOUT_SECONDS) -> None:
        """Start the process; it loads its modules while the caller does something else.

        Raises: EngineUnavailableError when the system starts none.
        """
        self._turn_seconds = turn_seconds
        self._why_gone = ""
        try:
            self._process, self._link, folder, self._complaints = _start()
        except OSError as error:
            raise EngineUnavailableError(
                f"the engine's process cannot be started: {error}"
            ) from error
        self._finalize = weakref.finalize(
            self, _stop, self._process, self._link, folder, self._complaints, os.getpid()
        )

    @property
    def pid(self) -> int:
        """The process id, also of a process that is gone."""
        return self._process.pid

    def open(self, opening: Opening) -> Opened:
        """Load a story.

        Raises: StoryFormatError, EngineUnavailableError, EngineStoppedError.
        """
        return self._ask(Opened, opening, START_SECONDS, "while it loaded the story")

    def start(self) -> Moment:
        """Begin (again)."""
        return self._ask(Moment, ("start",), self._turn_seconds, "at the start of the game")

    def step(self, command: str) -> Moment:
        """Give the game a command."""
        return self._ask(Moment, ("step", command), self._turn_seconds, f"at {command!r}")

    def restore(self, data: bytes) -> Moment:
        """Continue from a snapshot."""
        return self._ask(Moment, ("restore", data), self._turn_seconds, "at a snapshot")

    def close(self) -> None:
        """End the process; calling it again does nothing."""
        self._finalize()

    def _ask(self, kind: type[T], request: object, seconds: float, when: str) -> T:
        """The answer to a request.

        Raises: EngineStoppedError, now and ever after, when there is none; the error that it is.
        """
        if self._why_gone:
            raise EngineStoppedError(self._why_gone)
        try:
            answer = self._exchange(pickle.dumps(request), time.monotonic() + seconds)
        except TimeoutError:
            self._give_up(f"the engine was stopped: no answer in {seconds:g} seconds {when}")
        except (ConnectionError, EOFError):
            self._give_up(f"the engine {self._how_it_ended()} {when}")
        except ValueError as error:
            self._give_up(f"the engine was stopped: its answer {when} is unusable: {error}")
        except BaseException:  # interrupted: this answer must not pass for that to the next request
            self._kill("the game was interrupted")
            raise
        if isinstance(answer, Failure):
            raise _ERRORS.get(answer.kind, EngineError)(answer.message)
        if not isinstance(answer, kind):
            self._give_up(f"the engine was stopped: it gave an unexpected answer {when}")
        return answer

    def _exchange(self, request: bytes, deadline: float) -> Answer:
        self._link.settimeout(_left(deadline))
        self._link.sendall(request)
        line = bytearray()
        while not line.endswith(b"\n"):
            self._link.settimeout(_left(deadline))
            chunk = self._link.recv(_CHUNK)
            line += chunk
            if not chunk:
                raise EOFError
            if len(line) > ANSWER_BYTES:
                raise ValueError(f"more than {ANSWER_BYTES >> 20} MiB")
        return decode(bytes(line))

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        if code == OUT_OF_MEMORY:
            return f"needed more than {MEMORY_BYTES >> 20} MiB of memory"
        if code == -signal.SIGXCPU:
            return "used up its processor time"
        said = _last_line(self._complaints)
        how = _SIGNALS.get(-code, f"code {code}")
        return f"ended by itself ({f'{how}: {said}' if said else how})"

    def _give_up(self, why: str) -> NoReturn:
        self._kill(why)
        raise EngineStoppedError(why)

    def _kill(self, why: str) -> None:
        self._why_gone = why
        self._process.kill()
        self.close()


def _left(deadline: float) -> float:
    if (seconds := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    return seconds


def _last_line(complaints: IO[bytes]) -> str:
    """What was said last on standard error, such as the error at the end of a traceback."""
    complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - _CHUNK))
    lines = complaints.read().decode(errors="replace").rstrip().splitlines()
    return one_line(lines[-1], _SHOWN_CHARACTERS) if lines else ""


def _start() -> tuple[subprocess.Popen[bytes], socket.socket, str, IO[bytes]]:
    """The process, our end of its socket, the folder that it writes to, and its complaints."""
    complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed with the game
    folder = tempfile.mkdtemp(prefix="zorkgpt-")
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(
                # -P: the modules of the program, not those of the folder that it is started in.
                [sys.executable, "-P", "-m", "game_interface.child", str(theirs.fileno()), folder],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=(theirs.fileno(),),
                cwd=folder,
                env=_environment(folder),
                start_new_session=True,  # Ctrl-C is for the program, which then ends this one
            )
    except OSError:
        ours.close()
        complaints.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return process, ours, folder, complaints


def _environment(folder: str) -> dict[str, str]:
    """That of the program, without its keys: what runs there is somebody else's."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **{name: value for name, value in os.environ.items() if not names_a_secret(name)},
        "OPENBLAS_NUM_THREADS": "1",  # of jericho's arrays: each thread takes memory of its own
        "PYTHONPATH": os.pathsep.join(paths),
        "TMPDIR": folder,
    }


def _stop(
    process: subprocess.Popen[bytes],
    link: socket.socket,
    folder: str,
    complaints: IO[bytes],
    owner: int,
) -> None:
    """Let the process end, which it does when nobody can ask it any more, or end it."""
    link.close()
    complaints.close()
    if os.getpid() != owner:  # a fork of the program, which goes on playing
        return
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)
