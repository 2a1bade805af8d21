"""``--resume`` finds the right episode, and says what to do where it cannot go on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import pytest

from mcp_ghost.testing import ModelServer
from tests.support import ROOT
from tests.support.games import written
from tests.support.program import Program
from tests.support.tiny_story import Object, build
from workshop.scripted_model import action_reply


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: action_reply("look")) as server:
        yield server


def test_resume_goes_on_where_the_episode_stopped(program: Program, model: ModelServer) -> None:
    assert program.play(model).returncode == 0
    folder = program.episodes()[0]
    for turn, wanted in enumerate((folder.name, str(folder), "latest"), start=3):
        before = len(model.requests)
        flags = ("--max-turns", str(turn), "--base-url", model.base_url)
        played = program.run("--resume", wanted, *flags)
        assert played.returncode == 0
        assert len(model.requests) == before + 1
        assert f"continues after turn {turn - 1}" in played.stdout
        assert f"Turn {turn} · " in played.stdout
        assert f"Turn {turn - 1} · " not in played.stdout
    assert program.episodes() == [folder]


def test_a_damaged_log_ends_with_2_and_can_be_cut_by_hand_before_the_damage(
    program: Program, model: ModelServer
) -> None:
    assert program.play(model, "--max-turns", "4").returncode == 0
    log = program.episodes()[0] / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    third = next(i for i, line in enumerate(lines) if b'"turn", ' in line and b'"turn": 3' in line)
    flags = ("--resume", "latest", "--base-url", model.base_url, "--max-turns", "3")
    for damage, said in (
        (b"\xff\x00 garbage\n", f"Line {third + 1} of "),
        (b'{"turn": 3}\n', f"Line {third + 1} of "),
        (b'{"event_type": "turn", "turn": 3, "snapshot": ""}\n', f"Line {third + 1} of "),
    ):
        log.write_bytes(b"".join([*lines[:third], damage, *lines[third + 1 :]]))
        refused = program.run(*flags)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert "delete" in refused.stderr
    log.write_bytes(b"".join(lines[:third]))
    resumed = program.run(*flags)
    assert "continues after turn 2\n" in resumed.stdout
    assert resumed.returncode == 0


def test_a_copy_of_an_episode_is_replayed_anywhere_but_continued_only_among_episodes(
    program: Program, model: ModelServer
) -> None:
    assert program.play(model).returncode == 0
    copy = program.folder / "from a colleague"
    shutil.copytree(program.episodes()[0], copy)
    replayed = program.run("--replay", copy.name)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    refused = program.run("--resume", str(copy))
    assert refused.returncode == 2
    assert f"The episode in {copy} can only be continued below a folder" in refused.stderr


def test_a_story_that_was_moved_is_named_with_its_place_and_found_where_the_settings_say(
    program: Program, model: ModelServer
) -> None:
    story = program.folder / "mine.z5"
    shutil.copy(ROOT / "stories" / "weatherworks.z5", story)
    assert program.play(model, "--story", story.name).returncode == 0
    moved = story.rename(program.folder / "moved.z5")
    for again in (["--replay", "latest"], ["--resume", "latest", "--base-url", model.base_url]):
        lost = program.run(*again)
        assert lost.returncode == 2
        assert f"is no longer at {story}" in lost.stderr
    program.env["ZORKGPT_STORY"] = str(moved)
    assert program.run("--replay", "latest").returncode == 0
    image = bytearray(moved.read_bytes())
    image[0x12:0x18] = b"990101"  # its serial number
    moved.write_bytes(image)
    other = program.run("--replay", "latest")
    assert (other.returncode, "is not the story that was played" in other.stderr) == (1, True)


def test_latest_is_the_last_episode_that_began(program: Program, model: ModelServer) -> None:
    assert program.play(model).returncode == 0
    (episode,) = program.episodes()
    wrong = program.run("--story", "missing.z5", "--base-url", model.base_url)
    assert wrong.returncode == 2
    resumed = program.run("--resume", "latest", "--base-url", model.base_url, "--max-turns", "3")
    assert resumed.returncode == 0
    assert f"episodes/{episode.name}/episode.log" in resumed.stdout


def test_of_a_game_that_cannot_begin_only_a_log_for_reading_is_left(program: Program) -> None:
    story = written(program.folder, build([Object("Hall")], code=b"\0"))
    failed = program.run("--story", str(story), "--player", "random")
    assert (failed.returncode, "the game cannot start" in failed.stderr) == (1, True)
    (folder,) = (program.folder / "game_files" / "episodes").iterdir()
    assert (
        failed.stderr.splitlines()[-1] == f"Log: {folder.relative_to(program.folder)}/episode.log"
    )
    assert "EngineError: the interpreter stopped" in (folder / "episode.log").read_text()
    assert [file.name for file in folder.iterdir()] == ["episode.log"]
    program.command = [sys.executable, "-m", "viewer"]
    program.env["PYTHONPATH"] = str(ROOT)
    assert "There is no episode in game_files yet" in program.run("show", "latest").stderr


@pytest.mark.parametrize("flag", ["--resume", "--replay"])
def test_what_a_crash_left_of_an_episode_before_its_game_began_cannot_go_on(
    program: Program, flag: str
) -> None:
    folder = program.folder / "game_files" / "episodes" / "cut-off"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").touch()
    refused = program.run(flag, "cut-off")
    assert (refused.returncode, "its game never began" in refused.stderr) == (2, True)
