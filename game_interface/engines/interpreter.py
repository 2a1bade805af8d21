"""Other people's interpreters as programs: where they are, and one run of one within limits."""

import math
import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final, NamedTuple

from game_interface.engines.confinement import started_confined
from game_interface.errors import EngineError, EngineUnavailableError
from mcp_ghost.servers import reaper
from mcp_ghost.text import one_line

PACKAGE: Final = "mcp_server_if"
"""Only its programs are used; it is not imported, which would load a server."""
_BUILDS: Final = """
30c9263af118c40da6b512ebcbf8340b2c407a65f7ee1430fc8fb63914d37c4a bocfel Linux x86_64
26e719a160d6734fca7400113260d4bfb1939182be4d5fcd8f6bea2f07349efd bocfel Linux aarch64
13d4638fc4ebc710b909efc20ea1e317488d9e768cb73c4752a87127adf3adb4 bocfel macOS arm64
4e2753c4d70dd45dce6b0fe651bb559f24acc5c9722ccc532eaf96dab443d17e bocfel macOS x86_64
b2cfcb715b0c16d85409cb24b34c59484e66000349e2ac0fba7a3dac560cfaaf glulxe Linux x86_64
29c163eb778a6d1b90bdc535cddd8d30fd7e4bd1c00bd85a600eb1a6c16ff952 glulxe Linux aarch64
ba574cd3084643cf986f4febce8456e104fae928ade636e7df17189100019477 glulxe macOS arm64
04f552066c4fed6da1ab94b44b911b500ae3fa32ef1086e48185c92aef4e8eba glulxe macOS x86_64
"""
"""SHA-256 of the programs in the wheels of mcp-server-if 0.2.0."""
_WHAT_TO_DO: Final = (
    "build {name} with RemGlk and name it in interpreter_path ([tool.zorkgpt.game]), "
    "or install the extra jericho and choose the engine 'jericho'"
)
MEMORY_BYTES: Final = 400 * 2**20
"""bocfel needs 20 MB; a story that prints without end takes 100 MB a second."""
FILE_BYTES: Final = 16 * 2**20
"""Of each file that is written: glulxe keeps the memory of large stories."""
OUTPUT_BYTES: Final = 8 * 2**20
SPARE_SECONDS: Final = 1
"""Of processor time: while the program is there, it is the first to stop a command."""
_CHUNK: Final = 2**16
_SHOWN_CHARACTERS: Final = 200
_CANNOT_RUN: Final = (126, 127)
"""Exit codes of a shell, and of the system's loader where a library is missing."""
_ENVIRONMENT: Final = {"BOCFEL_AUTOSAVE_DIRECTORY": ".", "HOME": "/dev/null"}
"""And nothing of the user's: other variables would change bocfel's options, and below HOME it would
write what stories save."""
_MEMORY_FOLDER: Final = Path("/dev/shm")  # noqa: S108  each run has a folder of its own in it
"""Where Linux keeps files in memory: a run takes a tenth less time there."""
_PREFIX: Final = "zorkgpt-run-"
_STALE_SECONDS: Final = 3600
"""After which nobody can still be using the folder of a run."""
_LIMITED: Final = 'ulimit -c 0; ulimit -t "$0"; ulimit -f "$1"; shift; exec "$@"'
"""For systems that cannot limit a process from outside; macOS limits no memory at all."""


class RunResult(NamedTuple):
    """What an interpreter printed, and the files that it left, by name."""

    output: bytes
    files: Mapping[str, bytes]


@cache
def find_interpreter(name: str, given: str | None) -> Path:
    """Find the interpreter of that name: the user's own, at `given`, or the installed one.

    Raises: EngineUnavailableError, in one line that says what to do.
    """
    if given:
        own = Path(given).expanduser()
        own = (own / name if own.is_dir() else own.with_name(name)).resolve()
        try:
            said = Interpreter(own, 10).run(["-fm", "-v"], {}, b"").output
        except (EngineError, EngineUnavailableError) as error:
            raise EngineUnavailableError(f"interpreter_path cannot be used: {error}") from error
        if b'"type":"update"' not in said:
            raise EngineUnavailableError(
                f"interpreter_path cannot be used: {own} is not built with RemGlk"
            )
        return own
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    path = next((it for folder in folders if (it := Path(folder, "bin", name)).is_file()), None)
    if path is None:
        raise EngineUnavailableError(
            f"the interpreter {name} is not installed, and there may be none for this system: "
            + _WHAT_TO_DO.format(name=name)
        )
    if sha256(path.read_bytes()).hexdigest() not in _BUILDS:
        raise EngineUnavailableError(
            f"{path} is not one of the builds that this program knows; if it is yours, "
            f"name it in interpreter_path ([tool.zorkgpt.game])"
        )
    return path


class Interpreter:
    """A program that plays one command and ends."""

    def __init__(self, path: Path, seconds: float) -> None:
        """Allow it so much time for each run."""
        self._path = path
        self._seconds = seconds
        _sweep()
        processor = math.ceil(seconds) + SPARE_SECONDS
        self._limits = {
            resource.RLIMIT_CPU: processor,
            resource.RLIMIT_AS: MEMORY_BYTES,
            resource.RLIMIT_FSIZE: FILE_BYTES,
            resource.RLIMIT_CORE: 0,
        }
        self._command = [str(path)]
        beside = path.parent  # where libraries of a build of one's own may lie
        self._readable = [path] if beside in (home := Path.home(), *home.parents) else [beside]
        if not hasattr(resource, "prlimit"):
            self._limits.clear()
            numbers = (str(processor), str(FILE_BYTES // 512))
            self._command = ["/bin/sh", "-c", _LIMITED, *numbers, str(path)]

    def run(self, arguments: Sequence[str], files: Mapping[str, bytes], event: bytes) -> RunResult:
        """Run it once in a folder of its own that holds these files, with `event` on its stdin.

        Files of other names than these begin with are not read.

        Raises: EngineError when it takes too long, needs too much, or breaks off;
            EngineUnavailableError when it cannot be started.
        """
        try:
            with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_place()) as folder:
                for name, data in files.items():
                    Path(folder, name).write_bytes(data)
                output = self._output(arguments, folder, event)
                left = {
                    it.name: Path(it).read_bytes()
                    for it in os.scandir(folder)
                    if it.is_file(follow_symlinks=False)
                }
        except OSError as error:
            raise EngineError(f"the interpreter could not be given the game: {error}") from error
        return RunResult(output, left)

    def _output(self, arguments: Sequence[str], folder: str, event: bytes) -> bytes:
        complaints = Path(folder, "complaints")
        with complaints.open("wb") as stderr:

            def start() -> subprocess.Popen[bytes]:
                return subprocess.Popen(
                    [*self._command, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    cwd=folder,
                    env=_ENVIRONMENT,
                    start_new_session=True,  # Ctrl-C is for the program, which then ends this one
                )

            try:
                process = started_confined(start, Path(folder), self._readable)
            except OSError as error:
                raise self._not_started(str(error)) from error
        assert process.stdin and process.stdout  # noqa: S101, PT018  asked for above
        reaper.guard(process.pid)
        try:
            # Limited from outside, which needs no shell, nor code between fork and exec.
            for kind, most in self._limits.items():
                _, hard = resource.getrlimit(kind)
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                with suppress(ProcessLookupError):  # it has ended already
                    resource.prlimit(process.pid, kind, (most, hard))
            with suppress(BrokenPipeError):  # it has ended without reading; its code says why
                process.stdin.write(event)  # shorter than a pipe holds
                process.stdin.close()
            output = read_pipe(process.stdout, self._seconds, OUTPUT_BYTES)
            code = process.wait(self._seconds)
        except BaseException:  # interrupted, too: nobody else would end it
            process.kill()
            process.wait()
            raise
        finally:
            reaper.release(process.pid)
            for pipe in (process.stdin, process.stdout):
                pipe.close()
        said = one_line(complaints.read_bytes()[-_CHUNK:].decode(errors="replace"))
        if code in _CANNOT_RUN:
            raise self._not_started(said[:_SHOWN_CHARACTERS])
        if code < 0:
            why = f"{reaper.exit_reason(code)}; a story may use {MEMORY_BYTES >> 20} MiB of memory"
            if -code == signal.SIGXCPU:
                why = "it used up its processor time"
            raise EngineError(f"the interpreter stopped unexpectedly ({why})")
        return output

    def _not_started(self, why: str) -> EngineUnavailableError:
        advice = _WHAT_TO_DO.format(name=self._path.name)
        return EngineUnavailableError(f"the interpreter cannot be started ({why}): {advice}")


def read_pipe(pipe: IO[bytes], seconds: float, most: int, *, one_line: bool = False) -> bytes:
    """Return what comes through a pipe until it is closed, or until the end of a line.

    Raises: EngineError after so many seconds, or more than so many bytes.
    """
    deadline = time.monotonic() + seconds
    output = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not (one_line and output.endswith(b"\n")):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise EngineError(f"the story did not answer within {seconds:g} seconds")
            if not (chunk := os.read(pipe.fileno(), _CHUNK)):
                break
            output += chunk
            if len(output) > most:
                raise EngineError(f"the story printed more than {most >> 20} MiB")
    return bytes(output)


def _place() -> str:
    return str(_MEMORY_FOLDER) if os.access(_MEMORY_FOLDER, os.W_OK) else tempfile.gettempdir()


@cache
def _sweep() -> None:
    """Remove the folders of runs whose program was killed; once in a program."""
    for folder in Path(_place()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's
            if folder.stat().st_mtime < time.time() - _STALE_SECONDS:
                shutil.rmtree(folder)
