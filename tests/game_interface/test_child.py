"""The engine's process: it is bounded, it is never left over, and a game survives its death."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from game_interface import Game, open_game
from game_interface.child import limits, process
from game_interface.child.process import ANSWER_BYTES, EngineProcess, _start
from game_interface.engines.engine import EngineName
from game_interface.errors import (
    EngineStoppedError,
    EngineUnavailableError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
)
from game_interface.machine.memory import StoryImage
from tests.game_interface.bad_stories import (
    COPYING,
    HANGING,
    PRINTING,
    SHOUTING,
)
from tests.support import FOREVER, PATIENCE, ROOT
from tests.support.games import BUNDLED_COMMANDS, ENGINES, bundled_solution, needs_jericho, written
from tests.support.servers import eventually, is_running
from tests.support.tiny_story import READ_KEY, build, endlessly, loop, say

PROGRAM = [sys.executable, "-m", "tests.support.processes.engine_parent"]


@pytest.fixture(autouse=True)
def cold_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere but in other tests."""
    monkeypatch.setattr(process, "subprocess", subprocess)


def pid_of(game: Game) -> int:
    player = game._player
    assert isinstance(player, EngineProcess)
    return player.pid


def assert_gone(pid: int) -> None:
    assert eventually(lambda: not is_running(pid)), f"{pid} is left over"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_game_in_its_own_process_is_the_same_game(engine: EngineName) -> None:
    with open_game("bundled", seed=12, engine=engine) as game:
        game.start()
        for turn in bundled_solution(engine)[:30]:
            assert game.step(turn.command) == turn.text
            assert (game.facts(), game.is_over) == (turn.facts, turn.is_over)
            assert game.snapshot() == turn.snapshot
        assert pid_of(game) != os.getpid()


ENDLESS = [
    pytest.param(HANGING, "fernz", id="hanging"),
    pytest.param(COPYING, "fernz", id="copying"),
    pytest.param(PRINTING, "fernz", id="printing"),
    pytest.param(HANGING, "jericho", id="hanging jericho", marks=needs_jericho),
    pytest.param(COPYING, "jericho", id="copying jericho", marks=needs_jericho),
]


@pytest.mark.parametrize(("story", "engine"), ENDLESS)
def test_a_turn_without_end_is_stopped_at_its_deadline_and_goes_on_elsewhere(
    story: bytes, engine: EngineName, tmp_path: Path
) -> None:
    path = written(tmp_path, story, f"bad.z{story[0]}")
    with open_game(path, engine=engine, turn_timeout_seconds=0.5) as game:
        game.start()
        facts, snapshot = game.facts(), game.snapshot()
        with pytest.raises(EngineStoppedError, match=r"no answer in 0.5 seconds at 'wave'"):
            game.step("wave")

        assert_gone(pid_of(game))
        assert (game.facts(), game.snapshot()) == (facts, snapshot)
        with pytest.raises(EngineStoppedError, match=r"no answer in 0.5 seconds at 'wave'"):
            game.step("look")
    with open_game(path, engine=engine) as other:
        other.restore(snapshot)
        assert other.facts() == facts


@pytest.mark.soak
def test_an_answer_that_is_too_long_is_not_taken(tmp_path: Path) -> None:
    with open_game(written(tmp_path, SHOUTING), engine="fernz", turn_timeout_seconds=FOREVER) as it:
        it.start()
        with pytest.raises(EngineStoppedError, match=f"more than {ANSWER_BYTES >> 20} MiB"):
            it.step("wave")

        assert_gone(pid_of(it))


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
def test_an_engine_that_needs_too_much_memory_ends_alone() -> None:
    with open_game("bundled", engine="fernz", turn_timeout_seconds=FOREVER) as game:
        game.start()
        with pytest.raises(EngineStoppedError, match="more than 1024 MiB of memory at a snapshot"):
            game.restore(bomb(StoryImage(game.story.path.read_bytes()), 2 * limits.MEMORY_BYTES))

        assert_gone(pid_of(game))


def bomb(image: StoryImage, size: int) -> bytes:
    """A snapshot that unpacks to so many bytes."""
    head = {"story": image.sha256, "engine": "fernz", "seed": 1, "steps": 0, "died": False}
    text = json.dumps({**head, "ending": None}).encode()
    packer = zlib.compressobj(level=1)
    zeros = bytes(2**20)
    body = b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()
    digest = sha256(text + body).digest()[:8]
    return b"\n".join((b"zorkgpt-snapshot 1", text, digest + body))


def test_errors_keep_their_type_and_words(tmp_path: Path) -> None:
    with open_game("bundled", engine="fernz") as game:
        game.start()
        before = game.facts()
        with pytest.raises(InvalidCommandError, match=r"cannot take this text: .*'¶'"):
            game.step("take ¶")
        with pytest.raises(SnapshotError, match="not a snapshot of this version"):
            game.restore(b"zork")

        assert game.facts() == before
        assert "Cliff Path" in game.step("north")
    with (
        open_game(written(tmp_path, build(code=b"\0\0\0\0")), engine="fernz") as broken,
        pytest.raises(StoryFormatError, match=r"cannot start: the story is damaged: .* at 0x1000"),
    ):
        broken.start()


def test_half_a_character_of_a_story_is_no_obstacle(tmp_path: Path) -> None:
    half = b"\xbe\x0b\x3f\xd8\x00"  # print_unicode 0xd800
    story = written(
        tmp_path, build(code=endlessly(READ_KEY + say("Two: ") + half), version=5), "half.z5"
    )
    with open_game(story, engine="fernz") as game:
        game.start()
        assert game.step("wave") == "Two: ?"


def test_without_another_process_there_is_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(EngineUnavailableError, match=r"process cannot be started: .*/nowhere"):
        open_game("bundled")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_engine_gets_no_key_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up")
    monkeypatch.setenv("LANG", "C.UTF-8")
    with closing(EngineProcess()) as engine:
        variables = Path(f"/proc/{engine.pid}/environ")
        eventually(lambda: b"PYTHONPATH" in variables.read_bytes())  # the program has begun
        assert b"LANG=C.UTF-8" in variables.read_bytes()
        assert b"sk-made-up" not in variables.read_bytes()


def test_a_story_that_is_not_found_leaves_no_process() -> None:
    children = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children")
    before = children.read_text() if children.exists() else ""
    with pytest.raises(Exception, match="there is no story file"):
        open_game("nowhere.z5")

    assert not children.exists() or children.read_text() == before


def test_a_game_that_nobody_closes_leaves_neither_process_nor_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    game = open_game("bundled")
    pid = pid_of(game)
    assert len(list(tmp_path.iterdir())) == 1
    del game
    gc.collect()

    assert_gone(pid)
    assert list(tmp_path.iterdir()) == []


@needs_jericho
def test_what_a_story_writes_is_not_written_here(tmp_path: Path) -> None:
    save = b"\xb5\x00\x40"  # save ?(next)
    story = written(tmp_path, build(code=say("Hall\n") + loop(save + say("Done.\n"))))
    with open_game(story, engine="jericho") as game:
        game.start()
        game.step("wave")

    assert list(tmp_path.iterdir()) == [story]


def test_a_program_that_ends_within_a_request_leaves_no_folder() -> None:
    for _ in range(5):
        process, link, folder, complaints = _start()
        with link, complaints:
            link.sendall(pickle.dumps(bytes(2000))[:1000])
        assert process.wait(PATIENCE) == 0
        assert not Path(folder).exists()


def test_a_fork_of_the_program_that_ends_takes_nothing_from_the_game(tmp_path: Path) -> None:
    code = """if True:
        import os, sys, tempfile
        from game_interface import open_game
        tempfile.tempdir = sys.argv[1]
        with open_game("bundled", engine="fernz") as game:
            game.start()
            if not (fork := os.fork()):
                sys.exit()
            os.waitpid(fork, 0)
            print(os.listdir(sys.argv[1]) != [], game.step("north").split()[0])
    """
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, timeout=PATIENCE, check=True, stdout=subprocess.PIPE)
    assert run.stdout == b"True Cliff\n"
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_fails_says_why_on_one_short_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a module of the user's has the name of one that it needs."""
    (tmp_path / "resource.py").write_text("raise ImportError('no such thing here' + 300 * '!')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(EngineStoppedError, match="ImportError: no such thing here!") as raised:
        open_game("bundled")
    assert re.fullmatch(
        r"the engine ended by itself \(code 1: .{199}…\) while it loaded the story",
        str(raised.value),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name all their signals")
def test_an_engine_that_a_nameless_signal_ends_is_an_error_like_any_other() -> None:
    with open_game("bundled", engine="fernz") as game:
        game.start()
        number = signal.SIGRTMIN + 1
        os.kill(pid_of(game), number)
        with pytest.raises(EngineStoppedError, match=rf"ended by itself \(code -{number}\)"):
            game.step("north")


@contextmanager
def program(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A program that has begun a game, and the group of processes that Ctrl-C would reach."""
    command = [*PROGRAM, *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def ask(process: subprocess.Popen[str], command: str) -> None:
    assert process.stdin
    process.stdin.write(f"{command}\n")
    process.stdin.flush()
    assert read(process) == "asked"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_that_is_killed_leaves_no_engine(engine: EngineName) -> None:
    chance = random.Random(7)
    for _ in range(5):
        with program("bundled", engine, FOREVER) as process:
            pid = int(read(process))
            for command in BUNDLED_COMMANDS[: chance.randrange(4)]:
                ask(process, command)
            time.sleep(chance.random() / 20)
            process.kill()
        assert_gone(pid)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_that_is_killed_inside_an_endless_turn_leaves_no_engine(
    engine: EngineName, tmp_path: Path
) -> None:
    story = written(tmp_path, COPYING, "bad.z5")
    with program(story, engine, FOREVER) as process:
        pid = int(read(process))
        ask(process, "wave")
        process.kill()
    assert_gone(pid)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_inside_an_endless_turn_ends_everything(
    stop: signal.Signals, tmp_path: Path
) -> None:
    story = written(tmp_path, COPYING, "bad.z5")
    with program(story, "fernz", FOREVER) as process:
        pid = int(read(process))
        ask(process, "wave")
        os.killpg(process.pid, stop)
        process.wait(PATIENCE)
        assert process.returncode == -stop
    assert_gone(pid)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_killed_at_any_instant_leave_the_identical_game(engine: EngineName) -> None:
    chance, turns, snapshot = random.Random(3), [*bundled_solution(engine)], b""

    def play(game: Game, most: int) -> None:
        nonlocal snapshot
        for _ in range(most):
            text = game.step(turns[0].command)
            snapshot, turn = game.snapshot(), turns.pop(0)
            assert (text, game.facts(), snapshot) == (turn.text, turn.facts, turn.snapshot)

    for _ in range(12):
        with open_game("bundled", seed=12, engine=engine) as game:
            if snapshot:
                game.restore(snapshot)
            else:
                game.start()
            play(game, chance.randrange(4))
            seconds = chance.random() / 100
            killer = threading.Timer(seconds, os.kill, (pid_of(game), signal.SIGKILL))
            killer.start()
            with pytest.raises(EngineStoppedError, match=r"ended by itself \(SIGKILL\)"):
                play(game, len(turns))
            killer.join()
    assert 0 < len(turns) < len(BUNDLED_COMMANDS)


@pytest.mark.slow
def test_a_turn_that_nobody_stops_ends_with_its_processor_time() -> None:
    code = "from game_interface.child.limits import limit_time\nlimit_time(0)\nwhile True: pass"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=PATIENCE, check=False)
    assert ended.returncode == -signal.SIGXCPU
