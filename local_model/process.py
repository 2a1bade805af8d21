"""The embedded model's child process, from the parent's side: started late, never left over."""

import atexit
import ctypes
import logging
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Self, TypeAlias

from local_model.errors import LocalModelError
from local_model.settings import INSTEAD, KEY_VARIABLE, Settings, find_model
from mcp_ghost.servers import reaper

START_SECONDS = 120.0  # the bundled model takes one; a large file on a cold disk takes long
STOP_SECONDS = 3.0
ILLEGAL_INSTRUCTION = (-4, 132, 0xC000001D)  # SIGILL; the same behind a shell; on Windows

_READY = re.compile(rb'\{"listens": "[^"]+"\}\s*$')
"""What server.py prints; whatever else comes is a library's and means nothing."""

_OPENMP, _OPENMP_PACKAGE = "libgomp.so.1", "cmeel-libomp"
"""A library that the engine needs, and a package that has it for systems without it."""

Notice: TypeAlias = Callable[[str], None]
OnProgress: TypeAlias = Callable[[str, float | None], None]
"""(what is waited for, the share of it that is done); no share where nobody can know it"""


class LocalModel:
    """One embedded model, running or not. All methods may be called from any thread."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        on_notice: Notice | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.on_notice: Notice = on_notice or logging.getLogger(__name__).info
        self.on_progress: OnProgress = lambda _label, _share: None
        self.settings = settings or Settings()
        self._start_seconds = start_seconds
        self._starting = threading.Lock()
        self._child: ModelProcess | None = None

    @property
    def pid(self) -> int | None:
        """The process id while the model runs."""
        child = self._child
        return child.pid if child and not child.ended(within=0) else None

    def endpoint(self) -> "ModelProcess":
        """Start the model unless it runs, and return the process, which listens.

        Raises:
            LocalModelError: it cannot start.
        """
        with self._starting:
            child = self._child
            if child is None or child.ended(within=0):
                child = self._start(restart=child is not None and child.is_ready)
            if child.is_ready:
                return child
            label = f"Loading {self.settings.title}"
            self.on_progress(label, None)
            try:
                return child.ready(self._start_seconds)
            except LocalModelError:
                if self._child is not child or not child.was_killed:
                    raise
                # One that somebody kills while it loads is started once more.
                return self._start(restart=True).ready(self._start_seconds)
            finally:
                self.on_progress(label, 1.0)

    def has_ended(self, *, within: float = 1.0) -> bool:
        """Return whether the started model is gone, or goes within so many seconds."""
        child = self._child
        return child is not None and child.ended(within=within)

    def close(self) -> None:
        """Stop the child if there is one. Takes a few seconds at most, even while it starts."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()
            atexit.unregister(self.close)

    def _start(self, *, restart: bool) -> "ModelProcess":
        settings, model = self.settings, find_model(self.settings)
        # -P: a file in the working directory must not replace a module of the standard library.
        command = [sys.executable, "-P", "-m", "local_model.server", "--model", str(model)]
        command += ["--name", settings.name, "--context", str(settings.context)]
        command += ["--threads", str(settings.threads)] if settings.threads else []
        again = "The embedded model ended unexpectedly; starting it again ..."
        self.on_notice(again if restart else f"Starting the embedded model {settings.title} ...")
        atexit.register(self.close)
        self._child = ModelProcess(command)
        return self._child


class ModelProcess:
    """The process itself, which the reaper ends with this program, however that ends."""

    def __init__(self, command: list[str]) -> None:
        self.is_ready = False
        self._folder = tempfile.mkdtemp(prefix="zorkgpt-model-")
        self.socket = f"{self._folder}/model.sock"
        """The path of the Unix socket where it listens, in a folder of this user alone."""
        self.key = secrets.token_urlsafe(32)
        """The key that it asks for."""
        self._is_unwanted = False
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed once it has ended
        try:
            self._process = subprocess.Popen(
                [*command, "--socket", self.socket],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=_environment(self.key),
                start_new_session=True,  # Ctrl-C is for the game, which then stops the model
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise LocalModelError(
                f"The embedded model's process cannot be started: {error}"
            ) from error
        self.pid = self._process.pid
        reaper.guard(self.pid)
        self._failure = ""
        self._settled = threading.Event()  # it is ready, or it ended before
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def was_killed(self) -> bool:
        """Whether a signal that was not ours ended it, as when memory is short for a moment."""
        code = self._process.returncode
        return (code or 0) < 0 and not self._is_unwanted and code not in ILLEGAL_INSTRUCTION

    def ready(self, seconds: float) -> Self:
        """Wait until the model is loaded.

        Raises:
            LocalModelError: It ends before, or takes too long.
        """
        if not self._settled.wait(seconds):
            self.stop()
            raise LocalModelError(f"The embedded model was not ready after {seconds:g} seconds.")
        if not self.is_ready:
            raise LocalModelError(self._failure)
        return self

    def ended(self, *, within: float) -> bool:
        """Return whether it is gone, or goes within so many seconds."""
        self._listener.join(within)
        return not self._listener.is_alive()

    def stop(self) -> None:
        """End the child, which has nothing to save."""
        self._is_unwanted = True
        self._process.terminate()
        if not self.ended(within=STOP_SECONDS):
            self._process.kill()
            self.ended(within=STOP_SECONDS)

    def _listen(self) -> None:
        """Hear that it is ready, and stay until it ends."""
        with self._process, self._complaints as stderr:
            for line in self._process.stdout or ():
                if _READY.search(line):
                    self.is_ready = True
                    self._settled.set()
            code = self._process.wait()
            reaper.release(self.pid)
            stderr.seek(0)
            lines = stderr.read().decode(errors="replace").strip().splitlines()
        tail = "\n".join(lines[-10:]) or "It wrote no message."
        self._failure = (
            "The embedded model needs a processor with AVX2, which this one does not have. "
            f"Instead: {INSTEAD}."
            if code in ILLEGAL_INSTRUCTION
            else f"The embedded model ended while starting ({reaper.exit_reason(code)}).\n{tail}"
        )
        shutil.rmtree(self._folder, ignore_errors=True)
        self._settled.set()


def _environment(key: str) -> dict[str, str]:
    root = str(Path(__file__).parent.parent)
    libraries = [os.environ.get("LD_LIBRARY_PATH")]
    if sys.platform == "linux" and not is_installed(_OPENMP):  # elsewhere the engine has its own
        with suppress(PackageNotFoundError):  # installed without it: the engine says what it misses
            found = (it for it in files(_OPENMP_PACKAGE) or () if it.name == _OPENMP)
            libraries += [str(Path(it.locate()).parent) for it in found]
    found_in = os.pathsep.join(filter(None, libraries))
    return {
        **os.environ,
        **({"LD_LIBRARY_PATH": found_in} if found_in else {}),
        KEY_VARIABLE: key,
        "OMP_WAIT_POLICY": "passive",  # spinning threads starve every other process
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }


def is_installed(library: str) -> bool:
    """Return whether the system finds the shared ``library``."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
