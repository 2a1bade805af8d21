"""The command `games`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from main import main
from tests.support.program import Program, heavy_imports


def test_games_are_listed_with_their_points_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("STORIES_DIR", raising=False)
    assert main(["games", "--stories", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 57
    assert "detective      Detective (360 points): missing (detective.z5)" in lines
    assert "murdac         Monsters of Murdac (250 points): missing (murdac.z5)" in lines
    assert lines[-1].startswith(
        "You have the files of 0 of 56 games. You can get the others from https://"
    )


def test_as_json_each_file_has_its_hash_and_where_it_can_be_had(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["games", "--json"]) == 0
    listed = {it["name"]: it for it in json.loads(capsys.readouterr().out)}
    assert len(listed["zork2"]["sha256"]) == 64
    assert any("jericho-game-suite/zork2.z5" in where for where in listed["zork2"]["sources"])


@pytest.mark.mcp
def test_a_known_game_that_is_not_at_hand_ends_with_2_and_where_to_get_it(tmp_path: Path) -> None:
    played = Program(tmp_path).run("--story", "detective", "--base-url", "http://127.0.0.1:9/v1")
    assert played.returncode == 2
    assert "get detective.z5 (SHA-256 f6b0b9b5" in played.stderr


def test_listing_waits_for_no_heavy_module() -> None:
    assert heavy_imports("main.py", "games") == set()
