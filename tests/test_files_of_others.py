"""Pipes, devices and links in the place of files: an error in a line, or passed over, no wait."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.achievements.achievement import Achievements
from evaluation.fleet.file_sync import Piece, packed, unpack
from evaluation.fleet.file_sync import put as put_piece
from evaluation.protocols.protocol import Protocol
from evaluation.suites.suite import Suite
from game_interface.story import load_story
from mcp_ghost.config import load_servers
from mcp_ghost.config.variables import read_env_file as env_file_of_a_server
from mcp_ghost.config.variables import resolved
from mcp_ghost.env_file import read_env_file
from mcp_ghost.files import open_regular, write_whole
from mcp_ghost.golden import load_golden, save_golden
from mcp_ghost.run.shared import State
from movie_generator import VideoScript
from movie_generator.settings import AppConfig
from notes import journal
from players.walkthrough import read_walkthrough
from session.game_configuration import GameConfiguration
from session.record.branch import branch_off
from session.record.event_log import EventLog, read
from session.record.index import LogIndex, is_being_written
from session.record.text_log import EpisodeLog
from storage.files.edits import file_bytes
from stories.profile import find_profile, read_profile
from tests.support.viewing import play, recorded
from viewer.experiments.notes import NOTES_FILE, Notes
from viewer.experiments.search import turns_with
from viewer.library import Library
from viewer.summaries import SUMMARIES_FILE, Summaries

LOG = "events.jsonl"
KINDS = ("pipe", "device")
NAMED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "achievements": ("a.tsv", Achievements.read),
    "protocol": ("p.toml", lambda it: Protocol.read(str(it))),
    "suite": ("s.toml", lambda it: Suite.read(str(it))),
    "folder of stories": ("s.z5", lambda it: Suite.read(str(it.parent))),
    "story": ("story.z5", load_story),
    "profile": ("x.profile.json", read_profile),
    "configuration": ("pyproject.toml", lambda it: GameConfiguration.from_toml(it)),
    "servers": ("mcp_config.json", load_servers),
    "variables of a server": ("x.env", lambda it: env_file_of_a_server(str(it), "s")),
    "file in a variable": ("key", lambda it: resolved(f"${{file:{it}}}", {}, "s")),
    "variables": (".env", lambda _: read_env_file()),
    "golden": ("golden.json", load_golden),
    "checkpoint": ("checkpoint.json", State.of),
    "settings of movie_generator": ("config.yaml", AppConfig.load),
    "script": ("script.yaml", VideoScript.load),
    "walkthrough": ("commands.txt", read_walkthrough),
    "knowledge": ("knowledge.md", file_bytes),
    "log to append to": (LOG, lambda it: EventLog(it.parent)),
    "log to read": (LOG, lambda it: list(read(it.parent))),
    "log to branch from": (LOG, lambda it: branch_off(it.parent, 1, it.parent / "branch")),
    "log to follow": (LOG, lambda it: list(LogIndex(it).read_new())),
    "log for people": ("episode.log", lambda it: EpisodeLog(it.parent)),
    "notes of a player": ("notes.jsonl", lambda it: journal.changes(str(it))),
    "notes of a player, to add to": ("notes.jsonl", lambda it: journal.add(str(it), {}, 1)),
}
"""What is read, under which name, and how; the name says in what folder where that matters."""
PASSED_OVER: dict[str, tuple[str, Callable[[Path], object], object]] = {
    "summaries": (SUMMARIES_FILE, lambda it: Summaries(it.parent).known, {}),
    "annotations": (NOTES_FILE, lambda it: Notes(it.parent).json()["turns"], {}),
    "log being played": (LOG, is_being_written, False),
    "log looked through": (LOG, lambda it: turns_with(it.parent, "x")["turns"], []),
    "profile in a folder": ("x.profile.json", lambda it: find_profile("0", [it.parent]), None),
    "what a killed program left": (".it.0.tmp", lambda it: write_whole(it.parent / "it", ""), True),
}


def put(path: Path, kind: str) -> None:
    """Put that in the place of a file."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            target = path.with_name("target")
            target.write_text("{}\n")
            path.symlink_to(target)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", NAMED)
def test_what_is_no_file_is_an_error_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name, use = NAMED[what]
    put(tmp_path / name, kind)
    with pytest.raises(Exception) as refused:  # noqa: PT011  each has its own
        use(tmp_path / name)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("kind", [*KINDS, "link"])
@pytest.mark.parametrize("what", PASSED_OVER)
def test_what_is_no_file_is_passed_over(tmp_path: Path, what: str, kind: str) -> None:
    name, use, seen = PASSED_OVER[what]
    put(tmp_path / name, kind)
    assert use(tmp_path / name) == seen


@pytest.mark.parametrize("what", [it for it in NAMED if "log" in it or "notes" in it])
def test_a_link_in_an_episodes_folder_is_not_followed(tmp_path: Path, what: str) -> None:
    name, use = NAMED[what]
    put(tmp_path / name, "link")
    with pytest.raises(OSError, match=r"symbolic link|symbolic links|not a regular"):
        use(tmp_path / name)
    assert (tmp_path / "target").read_text() == "{}\n"


def test_a_list_of_episodes_leaves_out_what_is_no_log_and_shows_the_rest(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    for number, kind in enumerate((*KINDS, "link")):
        put(folder / f"{number}.json", kind)
        other = folder.with_name(kind)
        other.mkdir()
        put(other / LOG, kind)
    os.mkfifo(folder / NOTES_FILE)
    os.mkfifo(tmp_path / SUMMARIES_FILE)
    (row,) = Library(tmp_path).index()["episodes"]
    assert (row["id"], row["note"]) == ("played", "")


def test_what_holds_prompts_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = play(tmp_path, 2, reflection_enabled=False)
        branch_off(folder, 1, folder.with_name("branch"))
        unpack(packed(folder), tmp_path / "fleet")
        put_piece(Piece("events.jsonl", 0, b"{}"), tmp_path / "new")
        save_golden(tmp_path / "golden.json", {"final_text": "", "tool_chain": []})
        Library(tmp_path).index()
    finally:
        os.umask(before)
    files = [it for it in tmp_path.rglob("*") if it.is_file() and it.name != "knowledge.db"]
    names = ["events.jsonl"] * 4 + ["episode.log"] * 2 + ["golden.json", SUMMARIES_FILE]
    assert sorted(it.name for it in files) == sorted(names)
    assert {it.stat().st_mode & 0o777 for it in files} == {0o600}


def test_a_long_file_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.files.MOST_BYTES", 10)
    (tmp_path / "golden.json").write_text("{}" + " " * 20)
    with pytest.raises(Exception, match="File too large"):
        load_golden(tmp_path / "golden.json")


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


def test_a_folder_called_dot_env_is_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").mkdir()
    assert read_env_file() == {}
