"""A snapshot continues with the identical game, in another process too, or is refused."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from game_interface import open_game
from game_interface.engines.engine import EngineName
from game_interface.errors import GameError, SnapshotError
from game_interface.snapshot import Progress, Snapshot, decode, encode
from game_interface.story import load_story
from tests.support import PATIENCE, ROOT
from tests.support.games import ENGINES, bundled_solution, needs_jericho, started, written
from tests.support.tiny_story import QUIT, build, loop, say

# random 100 -> sp; print_num sp
DICE = b"\xe7\x7f\x64\x00" + b"\xe6\xbf\x00" + say("\n")

CONTINUE = """
import sys
from game_interface import open_game
story, engine, *commands = sys.argv[1:]
with open_game(story, engine=engine) as game:
    game.restore(sys.stdin.buffer.read())
    print(game.facts(), game.seed, game.is_over, game.died_in_last_step)
    for command in commands:
        print(game.step(command), game.facts())
"""


def continued(snapshot: bytes, story: str | Path, engine: str, commands: list[str]) -> str:
    """What a new process prints that goes on from a snapshot."""
    command = [sys.executable, "-c", CONTINUE, str(story), engine, *commands]
    done = subprocess.run(
        command, input=snapshot, capture_output=True, cwd=ROOT, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("engine", ENGINES)
def test_another_process_goes_on_with_the_identical_game(engine: EngineName) -> None:
    here, *after = bundled_solution(engine)[20:26]
    expected = f"{here.facts} 12 False False\n"
    expected += "".join(f"{turn.text} {turn.facts}\n" for turn in after)

    commands = [turn.command for turn in after]
    assert continued(here.snapshot, "bundled", engine, commands) == expected


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_random_numbers_go_on_where_they_were(
    engine: EngineName, seed: int, tmp_path: Path
) -> None:
    story = written(tmp_path, build(code=say("Dice\n") + loop(DICE)))
    with started(story, engine=engine, seed=seed) as game:
        first = [game.step("roll") for _ in range(20)]
        snapshot = game.snapshot()
        rest = [game.step("roll") for _ in range(20)]
        game.restore(snapshot)

        assert [game.step("roll") for _ in range(20)] == rest
        assert first != rest
        assert len(set(first)) > 5
    with started(story, engine=engine, seed=6) as other:
        assert [other.step("roll") for _ in range(20)] != first
        other.restore(snapshot)
        assert other.seed == seed
        assert [other.step("roll") for _ in range(20)] == rest
        other.start()
        assert [other.step("roll") for _ in range(20)] == first


@pytest.mark.parametrize("engine", ENGINES)
def test_snapshots_fit_into_a_line_of_the_log(engine: EngineName) -> None:
    assert max(len(turn.snapshot) for turn in bundled_solution(engine)) < 2048


def test_the_end_of_a_game_survives(tmp_path: Path) -> None:
    story = written(tmp_path, build(code=loop(say("Bye.\n") + QUIT)))
    with started(story) as game:
        game.step("wave")
        snapshot = game.snapshot()
    with open_game(story) as other:
        other.restore(snapshot)

        assert other.is_over
        assert other.facts().moves == 0


def test_an_unfinished_game_needs_no_start_before_it_is_restored() -> None:
    with started() as game:
        game.step("north")
        snapshot, facts = game.snapshot(), game.facts()
    with open_game("bundled") as other:
        with pytest.raises(GameError, match="has not begun"):
            other.facts()
        other.restore(snapshot)

        assert other.facts() == facts


def test_the_snapshot_of_another_story_is_refused(tmp_path: Path) -> None:
    with started(written(tmp_path, build())) as tiny, started() as bundled:
        with pytest.raises(SnapshotError, match="another story"):
            bundled.restore(tiny.snapshot())

        assert bundled.facts().room_name == "Landing Stage"


def test_the_snapshot_of_another_engine_is_refused(tmp_path: Path) -> None:
    story = load_story(written(tmp_path, build()))
    data = encode(Snapshot("jericho", 1, Progress(), b"{}"), story.info.sha256)

    with started(story.info.path) as game, pytest.raises(SnapshotError, match="engine 'jericho'"):
        game.restore(data)


def test_the_snapshot_of_an_earlier_version_is_refused_in_one_line() -> None:
    with started() as game, pytest.raises(SnapshotError, match=r"earlier version.*not continued$"):
        game.restore(b"zorkgpt-snapshot 1\n{}\n12345678")


def packed(head: object, saved: bytes = b"", library: object = None) -> bytes:
    return json.dumps(head).encode() + b"\n" + saved + json.dumps(library).encode()


def test_a_snapshot_with_a_foreign_state_is_refused(tmp_path: Path) -> None:
    story = load_story(written(tmp_path, build()))
    with started(story.info.path) as game:
        before, good = game.facts(), game._current.reply.state
        head = json.loads(good.partition(b"\n")[0])
        library: dict[str, Any] = {"windows": [], "streams": [], "filerefs": [], "generation": 1}
        outside = {**library, "streams": [{"file_filename": "../../.bashrc"}]}
        for state in (
            b"",
            b"{}\n",
            b"[" * 100_000,
            packed({**head, "name": "../../.ssh/config"}, library=library),
            packed({**head, "size": 0}, library=outside),
            packed({**head, "above": 1}, library=library),
            packed({**head, "size": 0}, library=None),
            packed({**head, "size": 0}, library={**library, "windows": [{"rock": 1}, 7]}),
            good[:-20],
        ):
            data = encode(Snapshot("bocfel", 1, Progress(), state), story.info.sha256)
            with pytest.raises(SnapshotError, match="damaged"):
                game.restore(data)
        assert game.facts() == before
        assert game.step("look") == "Done."


@needs_jericho
def test_a_snapshot_with_a_foreign_state_of_jericho_is_refused(tmp_path: Path) -> None:
    story = load_story(written(tmp_path, build()))
    data = encode(Snapshot("jericho", 1, Progress(), b'{"pc": 1}'), story.info.sha256)
    with started(story.info.path, engine="jericho") as game:
        with pytest.raises(SnapshotError, match="cannot use this snapshot"):
            game.restore(data)
        assert game.step("look") == "Done."


@pytest.mark.parametrize(
    "change",
    [{"died": 3}, {"ending": "maybe"}, {"player_globals": [999]}, {"seed": -1}, {"story": 5}, {}],
)
def test_a_head_that_somebody_changed_is_refused(change: dict[str, object]) -> None:
    """With a digest that is right, as anybody can make it."""
    with started() as game:
        kind, text, body = game.snapshot().split(b"\n", 2)
        head = json.loads(text)
        head.update(change)
        if not change:
            del head["died"]
        text = json.dumps(head).encode()
        digest = sha256(text + body[8:]).digest()[:8]
        with pytest.raises(SnapshotError):
            game.restore(b"\n".join((kind, text, digest + body[8:])))


def test_a_snapshot_that_unpacks_without_end_is_refused() -> None:
    with started() as game:
        bomb = encode(Snapshot("bocfel", 1, Progress(), bytes(2**26)), game.story.sha256)
        with pytest.raises(SnapshotError, match="too large"):
            game.restore(bomb)


def test_damaged_snapshots_are_refused() -> None:
    with started() as game:
        snapshot, before = game.snapshot(), game.facts()
        for position in range(0, len(snapshot), 29):
            damaged = bytearray(snapshot)
            damaged[position] ^= 1
            with pytest.raises(SnapshotError):
                game.restore(bytes(damaged))
        for cut in (b"", b"\n", snapshot[:-1], snapshot[: len(snapshot) // 2], b"zork"):
            with pytest.raises(SnapshotError):
                game.restore(cut)

        assert game.facts() == before


def test_decoding_gives_back_what_was_encoded() -> None:
    progress = Progress(died=True, ending="death", player_globals=(3, 7))
    snapshot = Snapshot("bocfel", 3, progress, b"\0x\n")

    assert decode(encode(snapshot, "a" * 64), "a" * 64, "bocfel") == snapshot


def test_a_replayed_game_has_the_same_snapshots_byte_for_byte() -> None:
    with started(seed=12) as game:
        for turn in bundled_solution("bocfel")[:15]:
            game.step(turn.command)
            assert game.snapshot() == turn.snapshot
