"""Branches: they begin like their trunk, which stays as it is, and then go their own way."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from main import main
from mcp_ghost.testing import ModelServer
from orchestration.replay import replay
from session.configuration_file import ConfigurationError
from session.knowledge import Reflection
from session.record.branch import branch_name, branch_off
from session.record.event_log import EVENTS_FILE, read
from storage.store import Store
from tests.support import DATA
from tests.support.episodes import Played, answer, configured, played
from viewer.library import Library

WAY = ["north", "north", "wait", "north"]
OTHER = ["west", "wait"]


@pytest.fixture
def trunk(tmp_path: Path) -> Played:
    return played(
        tmp_path,
        [answer(word) for word in WAY],
        episode="trunk",
        max_turns_per_episode=len(WAY),
    )


def branch(trunk: Played, at: int, commands: list[str], name: str = "branch") -> Played:
    folder = trunk.folder.with_name(name)
    branch_off(trunk.folder, at, folder)
    return played(
        folder.parents[2],
        [answer(word) for word in commands],
        episode=name,
        resume=True,
        max_turns_per_episode=at + len(commands),
    )


def test_a_branch_goes_on_from_its_turn_and_the_trunk_stays_byte_for_byte(trunk: Played) -> None:
    log = trunk.folder / EVENTS_FILE
    before = log.read_bytes()
    other = branch(trunk, 2, OTHER)
    assert log.read_bytes() == before
    assert other.given == OTHER
    assert [turn.command for turn in other.turns] == WAY[:2] + OTHER
    assert other.turns[:2] == trunk.turns[:2]
    assert (other.start["trunk"], other.start["forked_at"]) == ("trunk", 2)
    assert replay(other.folder).turns == 4
    assert replay(trunk.folder).turns == len(WAY)


def test_a_branch_may_begin_with_the_game_or_branch_itself(trunk: Played) -> None:
    first = branch(trunk, 0, ["north", "wait"])
    assert [turn.command for turn in first.turns] == ["north", "wait"]
    second = branch(first, 1, OTHER, "twig")
    assert [turn.command for turn in second.turns] == ["north", *OTHER]
    rows = {it.id: it.summary() for it in Library(trunk.folder.parents[1]).episodes()}
    family = {name: (row["uid"], row["trunk"], row["forked_at"]) for name, row in rows.items()}
    uid = trunk.start["uid"]
    assert family == {
        "trunk": (uid, "", None),
        "branch": (uid, "trunk", 0),
        "twig": (uid, "branch", 1),
    }


def test_what_a_branch_learns_is_not_stored_again_with_what_its_trunk_learned(
    tmp_path: Path, trunk: Played
) -> None:
    other = branch(trunk, 2, OTHER)
    with_store = Store(configured(tmp_path, "http://127.0.0.1:1"))
    assert with_store.take_in_log(trunk.folder)
    assert with_store.take_in_log(other.folder) is None
    with_store.close()


def test_the_look_back_after_the_last_shared_turn_belongs_to_the_branch(tmp_path: Path) -> None:
    old = DATA / "episodes" / "ended"
    first = next(entry for entry in read(old) if isinstance(entry.event, Reflection))
    assert first.turn
    branch_off(old, first.turn, tmp_path / "branch")
    kept = [entry.event for entry in read(tmp_path / "branch")]
    assert [type(it) for it in kept if isinstance(it, Reflection)] == [Reflection]


def test_old_episodes_can_be_branched(tmp_path: Path) -> None:
    for old in sorted((DATA / "episodes").iterdir()):
        target = tmp_path / old.name
        branch_off(old, 1, target)
        lines = (target / EVENTS_FILE).read_bytes().splitlines()
        assert len(lines) <= len((old / EVENTS_FILE).read_bytes().splitlines())


@pytest.mark.parametrize(
    ("turn", "why"), [(9, "has no turn 9: its last one is 4"), (5, "has no turn 5")]
)
def test_where_there_is_no_such_turn_there_is_no_branch(trunk: Played, turn: int, why: str) -> None:
    target = trunk.folder.with_name("none")
    with pytest.raises(ConfigurationError, match=why):
        branch_off(trunk.folder, turn, target)
    assert not target.exists()


def test_the_command_line_forks(
    trunk: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(trunk.folder.parents[2])
    monkeypatch.setenv("ZORKGPT_REFLECTION_ENABLED", "false")
    for flags, why in (
        (["trunk"], "'trunk' is not EPISODE@TURN"),
        (["trunk@99"], "trunk has no turn 99"),
        (["trunk@2", "--seed", "3"], "--fork keeps the old one's"),
        (["trunk@2", "--max-turns", "2"], "No turn would be played"),
    ):
        with suppress(SystemExit):  # of wrong flags
            assert main(["--fork", *flags]) == 2
        assert why in capsys.readouterr().err
    with ModelServer([answer(word) for word in OTHER]) as model:
        flags = ["--base-url", model.base_url, "--max-turns", "4", "--no-mcp"]
        assert main(["--fork", "trunk@2", *flags]) == 0, capsys.readouterr().err
    names = {folder.name for folder in trunk.folder.parent.iterdir()}
    assert names == {"trunk", branch_name("trunk", 2)}
