"""One episode in its own process, which learns from this one what to play, and does not outlive it.

Each is a fork of Python's fork server, which has imported what episodes need: that takes most of a
short one. A process gets its orders once the reaper guards it. So whenever this program is killed,
an episode has either not begun or is ended by the reaper.
"""

import multiprocessing
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import chdir, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ensure_running
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from evaluation import ROOT
from evaluation.agreement import differences, program_at_hand
from evaluation.fleet.channel import Answer, DurableAck, ParentChannel, serve
from evaluation.fleet.limits import USED_UP
from mcp_ghost.cli import interruption
from mcp_ghost.env_file import load_env_file
from mcp_ghost.redact import redact
from mcp_ghost.servers import reaper
from mcp_ghost.text import one_line
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.branch import branch_off

PRELOADED = (
    "anyio",
    "dotenv",
    "evaluation.agreement",
    "evaluation.fleet.process",
    "game_interface.engines.glk_engine",
    "httpcore2",
    "orchestration.zork_orchestrator_v2",
)
_FROM_A_TERMINAL = (signal.SIGINT, signal.SIGHUP)
_UNKNOWN = 255
"""The exit code of all forks of a fork server that is gone, whether or not they have ended."""
multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOADED))


class _Fork(ForkServerProcess):
    """A process with a session, a folder, an environment and files of its own."""

    def __init__(
        self, line: socket.socket, files: list[int], cwd: Path, environment: Mapping[str, str]
    ) -> None:
        """Its standard error is the first of ``files``; the others only stay open."""
        super().__init__(daemon=True)
        self._line, self._files = line, list[Any](files)
        self._cwd, self._environment = cwd, dict(environment)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_files": [DupFd(file) for file in self._files]}

    def fork(self) -> int:
        """Start; the number of the process.

        Raises:
            OSError: There can be no further process.
        """
        # The fork server lives on if the terminal is closed; it and the resource tracker look for
        # modules in no folder but ours. It does not import this program again, as it does by
        # default: that may be Ray.
        with chdir(ROOT):
            resource_tracker.ensure_running()  # now: as it starts, it lets SIGINT through
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _FROM_A_TERMINAL)
            try:
                ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            self.start()
        except EOFError as error:
            raise OSError("The process that episodes are forked from is gone.") from error
        finally:
            sys.modules["__main__"] = program
        return cast("int", self.pid)

    def run(self) -> None:
        """Play the episode, in the fork."""
        os.setsid()  # Ctrl-C is for the program that stops them all
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FROM_A_TERMINAL)
        null, errors = os.open(os.devnull, os.O_RDWR), self._files[0].detach()
        for number, file in enumerate((null, null, errors)):
            os.dup2(file, number)
        os.close(null)
        os.close(errors)
        os.chdir(self._cwd)
        os.environ.clear()
        os.environ.update(self._environment)
        interruption.install()
        try:
            channel = ParentChannel(self._line)
            job = channel.orders()
            code = _play(job, channel) if job else 1
        except KeyboardInterrupt:
            code = interruption.caught()
        sys.exit(code)


def _play(job: dict[str, Any], channel: ParentChannel) -> int:
    """Play or continue the episode, in the fork; returns the exit code."""
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2

    load_env_file()  # tracing and tool servers read the environment, not our settings
    config = GameConfiguration.model_validate(job["settings"])
    name, resume = job["episode"], job["resume"]
    try:
        _expect_the_same(job["program"])
        if command := job["guest"]:
            from game_server.visit import play_with_guest

            play_with_guest(command, config, name)
            return 0
        if job["fork"] and not resume:
            trunk, turn = job["fork"]
            branch_off(Path(trunk), turn, Path(config.workdir, "episodes", name))
            resume = True
        handlers = [DurableAck(channel)]
        with ZorkOrchestratorV2(name, config, resume=resume, handlers=handlers, gate=channel) as it:
            it.play_episode()
    except Exception as error:  # noqa: BLE001  the edge of the process: its last line is shown
        text = f"{traceback.format_exc()}\n{one_line(error) or type(error).__name__}\n"
        sys.stderr.write(redact(text, config.secrets))
        return 1
    return 0


def _expect_the_same(program: dict[str, Any]) -> None:
    if changed := differences(program, program_at_hand()):
        raise ConfigurationError(
            f"Prompts or code changed while the evaluation was running: {'; '.join(changed)}."
        )


class EpisodeProcess:
    """One episode being played."""

    lost = False
    """Of an episode elsewhere, whether its worker is gone."""

    def __init__(
        self,
        job: dict[str, Any],
        errors: Path,
        answer: Answer,
        *,
        lock: int | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Start it; ``errors`` is where it says what went wrong, ``answer`` what it may do."""
        self._code: int | None = None
        self._refused = False
        self._errors = errors
        self._errors.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        with self._errors.open("wb") as output, theirs:
            files = [output.fileno(), *([] if lock is None else [lock])]
            self._process = _Fork(theirs, files, cwd or Path.cwd(), environment)
            self._pid = self._process.fork()
        reaper.guard(self._pid)

        def answered(what: str, number: float) -> float | None:
            wait = answer(what, number)
            self._refused |= wait is None
            return wait

        serve(ours, job, answered)

    def ended(self) -> bool:
        """Whether it is over; then ``failure`` says how."""
        if self._has_ended():
            self._let_go()
        return self._code is not None

    @property
    def failure(self) -> str:
        """Why the process could not play the episode; empty when it could."""
        if self._refused:
            return USED_UP
        code = self._code if self._has_ended() else None
        if not code:
            return ""
        lines = self.last_words().strip().splitlines()
        if code < 0:
            return f"killed by {reaper.exit_reason(code)}"
        if not lines:
            hint = ": is the disk full?" if code == 1 else ""
            return f"exit code {code}, without a message{hint}"
        return f"{lines[-1]} ({self._errors})"

    def stop(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def wait(self, deadline: float) -> None:
        """Wait until it is gone; after ``deadline`` it is killed."""
        self._process.join(max(0.0, deadline - time.monotonic()))
        if not self._has_ended():
            self.kill()
        self._let_go()

    def kill(self) -> None:
        """End it at once; what it started ends with it."""
        self._signal(signal.SIGKILL)
        self._process.join()

    def last_words(self) -> str:
        """What it wrote to its standard error."""
        with suppress(FileNotFoundError):
            return self._errors.read_text(encoding="utf-8", errors="replace")
        return ""

    def _has_ended(self) -> bool:
        if self._code is None and (code := self._process.exitcode) is not None:
            self._code = code
            if code == _UNKNOWN:
                reaper.signal_group(self._pid, signal.SIGKILL)
                self._code = -signal.SIGKILL
        return self._code is not None

    def _signal(self, number: int) -> None:
        if not self._has_ended():  # else the id may be somebody else's by now
            reaper.signal_group(self._pid, number)

    def _let_go(self) -> None:
        reaper.release(self._pid)
        if not self.last_words():
            self._errors.unlink(missing_ok=True)
