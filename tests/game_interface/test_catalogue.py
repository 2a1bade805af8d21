"""The games that are known by name, their files and their profiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from game_interface import catalogue
from game_interface.errors import StoryNotFoundError
from game_interface.story import find_story
from stories.profile import GAMES_FILE, STORIES, find_profile
from tests.support.tiny_story import Object, build

IMAGE = build([Object("Hall")], global_values={0: 1})


@pytest.fixture
def one_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A list with one game, whose file can be made here."""
    game = {
        "name": "tiny",
        "title": "Tiny",
        "file": "tiny.z3",
        "sha256": sha256(IMAGE).hexdigest(),
        "seed": 0,
        "intro": [""],
        "profile": {"sha256": "0" * 64, "title": "Tiny", "max_score": 3},
    }
    sources = [{"repository": "somebody/games", "folder": "suite"}]
    (tmp_path / GAMES_FILE).write_text(json.dumps({"sources": sources, "games": [game]}))
    monkeypatch.setattr(catalogue, "STORIES", tmp_path)
    caches = (catalogue._document, catalogue.known_games)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_every_known_game_has_a_file_by_its_hash_and_a_profile_that_can_be_read() -> None:
    games = json.loads((STORIES / GAMES_FILE).read_bytes())["games"]
    assert len(games) == len({game["name"] for game in games}) == 56
    for game in games:
        assert re.fullmatch("[0-9a-f]{64}", game["sha256"]), game["name"]
        profile = find_profile(game["profile"]["sha256"], [])
        assert profile is not None
        assert profile.title == game["title"]


def test_a_profile_of_ones_own_goes_before_that_of_a_known_game() -> None:
    games = json.loads((STORIES / GAMES_FILE).read_bytes())["games"]
    (zork1,) = (game["profile"] for game in games if game["name"] == "zork1")
    profile = find_profile(zork1["sha256"], [STORIES])
    assert profile is not None
    assert profile.directions


@pytest.mark.usefixtures("one_game")
def test_a_known_game_is_found_by_what_is_in_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stories"
    folder.mkdir()
    (folder / "some name").write_bytes(IMAGE)
    (folder / "tiny.z3").write_bytes(IMAGE + b"\0")
    monkeypatch.setenv("STORIES_DIR", str(folder))

    story = find_story("tiny", cache_dir=tmp_path, download_url="", fallback=False, on_notice=print)
    assert (story.info.name, story.info.path) == ("tiny", folder / "some name")


@pytest.mark.usefixtures("one_game")
def test_a_file_that_is_not_at_hand_is_named_with_its_hash_and_where_it_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STORIES_DIR", raising=False)
    with pytest.raises(StoryNotFoundError) as caught:
        find_story("tiny", cache_dir=tmp_path, download_url="", fallback=True, on_notice=print)
    assert sha256(IMAGE).hexdigest() in str(caught.value)
    assert "https://github.com/somebody/games (suite/tiny.z3)" in str(caught.value)
    assert f"put it into {tmp_path} or a folder that STORIES_DIR names" in str(caught.value)
