"""What is handed on from episode to episode, and what it costs when that fails."""

from __future__ import annotations

from pathlib import Path

from tests.support import DATA
from tests.support.episodes import Played, played
from workshop.scripted_model import ScriptedModel, read_commands

WALKTHROUGH = read_commands(DATA / "weatherworks_walkthrough.txt")


def learning(folder: Path, episode: str) -> Played:
    script = ScriptedModel(WALKTHROUGH)
    return played(folder, script, episode=episode, max_turns_per_episode=8, reflection_enabled=True)


def carried(episode: Played) -> list[str]:
    (loaded,) = episode.events("knowledge_loaded")
    return [memory["id"] for memory in loaded["carried"]["memories"]]


def warnings(episode: Played) -> list[str]:
    return [str(event["message"]) for event in episode.events("storage_failed")]


def test_what_one_episode_learned_the_next_one_begins_with(tmp_path: Path) -> None:
    first, second = learning(tmp_path, "first"), learning(tmp_path, "second")
    assert carried(first) == []
    assert carried(second) != []
    assert warnings(first) + warnings(second) == []


def test_a_file_that_cannot_be_read_costs_the_edits_and_nothing_else(tmp_path: Path) -> None:
    learning(tmp_path, "first")
    (page,) = tmp_path.rglob("weatherworks.md")
    page.unlink()
    page.mkdir()
    second = learning(tmp_path, "second")
    assert carried(second) != []
    assert "Edited knowledge was not read" in warnings(second)[0]
    assert second.end["turns"] == 8


def test_a_database_that_cannot_be_used_costs_a_warning_and_no_turn(tmp_path: Path) -> None:
    first = learning(tmp_path, "first")
    (database,) = tmp_path.rglob("knowledge.db")
    database.write_bytes(b"this is not a database" * 100)
    second = learning(tmp_path, "second")
    assert len(warnings(second)) == 1
    assert "kept only in the log" in warnings(second)[0]
    assert second.end["turns"] == first.end["turns"] == 8
