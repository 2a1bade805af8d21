"""A run of an interpreter is bounded, leaves nothing, and costs a game at most one command."""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from game_interface import Game, open_game
from game_interface.engines import confinement, interpreter
from game_interface.engines.confinement import started_confined
from game_interface.engines.interpreter import Interpreter, find_interpreter
from game_interface.errors import EngineError, EngineUnavailableError
from mcp_ghost.servers import reaper
from tests.game_interface.bad_stories import COPYING, HANGING, PRINTING
from tests.support import FOREVER, PATIENCE, ROOT
from tests.support.games import bundled_solution, needs_jericho, written
from tests.support.servers import eventually
from tests.support.tiny_story import build, loop, say

PROGRAM = [sys.executable, "-m", "tests.support.processes.engine_parent"]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ENGINES = [pytest.param("auto"), pytest.param("jericho", marks=needs_jericho)]


@pytest.fixture(autouse=True)
def no_memory_of_programs() -> Iterator[None]:
    find_interpreter.cache_clear()
    yield
    find_interpreter.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs have their folders."""
    place = tmp_path / "runs"
    place.mkdir()
    monkeypatch.setattr(interpreter, "_MEMORY_FOLDER", place)
    return place


def interpreters_of(pid: int) -> list[int]:
    """The processes of bocfel that this process started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if is_interpreter(int(child))]


def is_interpreter(pid: int) -> bool:
    """Whether the process runs bocfel; one that has ended and is not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name == "bocfel"
    except OSError:
        return False


def test_what_killed_programs_left_is_removed_when_it_is_old(folder: Path) -> None:
    old, new, other = (folder / name for name in ("zorkgpt-run-1", "zorkgpt-run-2", "mine"))
    for path in (old, new, other):
        path.mkdir()
    for path in (old, other):
        os.utime(path, (1, 1))
    interpreter._sweep.cache_clear()
    Interpreter(Path("/bin/true"), 1)
    assert sorted(folder.iterdir()) == [other, new]


@needs_jericho
def test_jericho_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_game("bundled", engine="jericho") as game:
        game.start()
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("story", [HANGING, COPYING], ids=["hanging", "copying"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_command_without_end_is_undone_at_its_deadline_and_the_next_one_plays(
    engine: str, story: bytes, tmp_path: Path, folder: Path
) -> None:
    path = written(tmp_path, story, f"bad.z{story[0]}")
    with open_game(path, engine=engine, turn_timeout_seconds=0.5) as game:  # type: ignore[arg-type]
        game.start()
        facts, snapshot = game.facts(), game.snapshot()
        key = "x" if facts.waits_for == "key" else "wave"
        for _ in range(2):
            with pytest.raises(EngineError, match=rf"failed at '{key}': .* 0.5 seconds"):
                game.step(key)
            assert (game.facts(), game.snapshot()) == (facts, snapshot)
    assert list(folder.iterdir()) == []


@linux_only
def test_a_story_that_prints_without_end_is_stopped_by_the_limit_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "MEMORY_BYTES", 60 * 2**20)
    path = written(tmp_path, PRINTING)
    with open_game(path, turn_timeout_seconds=FOREVER) as game:
        game.start()
        with pytest.raises(EngineError, match=r"stopped unexpectedly \(SIG.*60 MiB of memory"):
            game.step("wave")


def test_more_output_than_allowed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "OUTPUT_BYTES", 2**20)
    text = say("twenty letters here.") * 20
    path = written(tmp_path, build(code=say("Hall\n") + loop(text * 100)))
    with open_game(path) as game:
        game.start()
        game.step("wave")
        monkeypatch.setattr(interpreter, "OUTPUT_BYTES", 1000)
        with pytest.raises(EngineError, match="the story printed more than 0 MiB"):
            game.step("wave")


@linux_only
def test_an_interpreter_that_is_not_stopped_ends_with_its_processor_time(tmp_path: Path) -> None:
    """As where the program is stopped, and its helper killed."""
    spinning = Interpreter(Path("/bin/sh"), seconds=0.1)
    spinning._seconds = FOREVER
    with pytest.raises(EngineError, match="it used up its processor time"):
        spinning.run(["-c", "while :; do :; done"], {}, b"")


@linux_only
def test_an_interpreter_gets_nothing_of_the_users_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up")
    monkeypatch.setenv("BOCFEL_PATCH_FILE", "/nowhere")
    said = Interpreter(Path("/usr/bin/env"), 5).run([], {}, b"").output.decode()
    assert set(said.split()) == {"BOCFEL_AUTOSAVE_DIRECTORY=.", "HOME=/dev/null"}


DEEDS = """
import json, os, socket, sys
def tried(deed):
    try:
        return deed() is None
    except OSError:
        return False
print(json.dumps({
    "socket": tried(lambda: socket.socket().close()),
    "local socket": tried(lambda: socket.socket(socket.AF_UNIX).close()),
    "a file": tried(lambda: open(sys.argv[1]).close()),
    "home": tried(lambda: os.scandir(sys.argv[2]).close()),
    "a process": tried(lambda: open(f"/proc/{os.getppid()}/environ").close()),
    "a signal": tried(lambda: os.kill(os.getppid(), 0)),
    "another folder": tried(lambda: open(sys.argv[1] + "x", "w").close()),
    "its folder": tried(lambda: open("mine", "w").close()),
    "variables": sorted({*os.environ} - {"LC_CTYPE"}),
}))
"""
confined_only = pytest.mark.skipif(
    not confinement._landlock_version() or not confinement._refusing_sockets(),
    reason="this kernel has no Landlock, or no filter for sockets is known here",
)


@confined_only
def test_an_interpreter_has_no_network_no_files_of_the_users_and_none_of_their_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOVIE_DATABASE_URL", "postgresql://me:secret@db/x")
    secret = tmp_path / "secret"
    secret.write_text("a key")
    python = Interpreter(Path(sys.base_prefix, "bin", "python3"), FOREVER)
    python._readable = [Path(sys.base_prefix)]
    arguments = ["-ISc", DEEDS, str(secret), str(Path.home())]
    did = json.loads(python.run(arguments, {}, b"").output)
    assert did.pop("variables") == ["BOCFEL_AUTOSAVE_DIRECTORY", "HOME"]
    assert [deed for deed, was_done in did.items() if was_done] == ["its folder"]
    with socket.socket():  # of this program: it is free as before
        assert secret.read_text() == "a key"


@confined_only
@needs_jericho
def test_jerichos_process_is_confined_and_gets_none_of_the_users_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MOVIE_DATABASE_URL", "postgresql://me:secret@db/x")
    with open_game("bundled", engine="jericho") as game:
        game.start()
        process = Path(f"/proc/{game._engine._process.pid}")  # type: ignore[attr-defined]
        assert "Seccomp:\t2\n" in (process / "status").read_text()
        assert b"secret" not in (process / "environ").read_bytes()


def test_where_a_kernel_cannot_confine_that_is_logged_once_and_games_are_played(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asked = (confinement._landlock_version, confinement._refusing_sockets, confinement._tell)
    for cached in asked:
        cached.cache_clear()
    try:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(
                confinement, "_libc", Mock(**{"return_value.syscall.return_value": -1})
            )
            elsewhere.setattr(confinement, "_SOCKET", {})
            ran = [Interpreter(Path("/bin/echo"), FOREVER).run(["x"], {}, b"") for _ in range(2)]
        assert [it.output for it in ran] == [b"x\n", b"x\n"]
        said = [it.getMessage() for it in caplog.records if it.name == confinement.__name__]
        assert said == [
            "On this system, an interpreter can read your files (the kernel has no Landlock).",
            "On this system, an interpreter can use the network (there is no filter for it).",
        ]
    finally:
        for cached in asked:
            cached.cache_clear()


@linux_only
def test_a_start_that_is_interrupted_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    join = threading.Thread.join

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        raise KeyboardInterrupt

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["/bin/sleep", "60"]))
        return started[0]

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        started_confined(start, tmp_path, [])
    assert started[0].returncode == -signal.SIGKILL
    assert gc.isenabled()


@contextmanager
def program(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A program that has begun a game, and the group of processes that Ctrl-C would reach."""
    with subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[str], command: str) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{command}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "asked\n"


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_program_that_ends_inside_an_endless_command_leaves_no_interpreter(
    stop: signal.Signals, tmp_path: Path
) -> None:
    with program(written(tmp_path, COPYING, "bad.z5"), "auto", FOREVER) as process:
        ask(process, "x")
        assert eventually(lambda: bool(interpreters_of(process.pid)))
        (running,) = interpreters_of(process.pid)
        os.kill(process.pid, stop)
        process.wait(PATIENCE)
        assert eventually(lambda: not is_interpreter(running))


@pytest.mark.slow
def test_interpreters_killed_at_any_instant_leave_the_identical_game(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance, turns, failed = random.Random(3), bundled_solution("bocfel")[:40], 0
    guard = reaper.guard

    def kill_it(pid: int) -> None:
        guard(pid)
        if chance.random() < 0.5:
            threading.Timer(chance.random() / 200, _killed, [pid]).start()

    monkeypatch.setattr(reaper, "guard", kill_it)
    with open_game("bundled", seed=12) as game:
        while game._moment is None:
            _attempt(lambda: game.start())
        for turn in turns:
            while not _attempt(lambda turn=turn: _stepped(game, turn.command)):
                failed += 1
            assert (game.facts(), game.snapshot()) == (turn.facts, turn.snapshot)
    assert failed


def _killed(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        time.sleep(0)  # it was faster


def _attempt(play: object) -> bool:
    try:
        play()  # type: ignore[operator]
    except EngineError as error:
        assert "SIGKILL" in str(error) or "cannot be read" in str(error), error  # noqa: PT017
        return False
    return True


def _stepped(game: Game, command: str) -> None:
    game.step(command)


def test_a_program_of_an_unknown_build_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / interpreter.PACKAGE
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('it is not imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineUnavailableError, match=r"bocfel is not installed.* interpreter_path"):
        open_game("bundled")
    (package / "bin" / "bocfel").write_bytes(b"#!/bin/sh\n")
    with pytest.raises(EngineUnavailableError, match=r"not one of the builds .* interpreter_path"):
        open_game("bundled")


def test_builds_of_ones_own_are_used_where_they_speak_remglk(tmp_path: Path) -> None:
    real = find_interpreter("bocfel", None)
    (tmp_path / "bocfel").symlink_to(real)
    with open_game("bundled", interpreter_path=str(tmp_path)) as game:
        assert game.start().startswith("Weather")
    for broken, why in (
        ("#!/bin/sh\necho Bocfel 2.4\n", "is not built with RemGlk"),
        ("#!/bin/sh\necho no libstdc++.so.6 >&2\nexit 127\n", r"libstdc\+\+.so.6"),
    ):
        find_interpreter.cache_clear()
        (tmp_path / "bocfel").unlink()
        (tmp_path / "bocfel").write_text(broken)
        (tmp_path / "bocfel").chmod(0o755)
        with pytest.raises(EngineUnavailableError, match=why):
            open_game("bundled", interpreter_path=str(tmp_path))
    find_interpreter.cache_clear()
    with pytest.raises(EngineUnavailableError, match=r"interpreter_path cannot be used.*started"):
        open_game("bundled", interpreter_path="/nowhere")
