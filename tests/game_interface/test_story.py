"""Stories are found by name or path; where one cannot be had, the error says what to do."""

import os
from pathlib import Path

import pytest

from game_interface import BUNDLED_STORY, open_game
from game_interface.errors import StoryDownloadError, StoryFormatError, StoryNotFoundError
from tests.support.games import ZORK1, needs_zork1, written
from tests.support.tiny_story import Object, build

NOWHERE = "http://127.0.0.1:9/zork1.z3"


@pytest.fixture(autouse=True)
def _no_story_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZORK1_STORY", raising=False)


@pytest.mark.parametrize("name", ["bundled", BUNDLED_STORY])
def test_the_bundled_story_has_two_names(name: str) -> None:
    with open_game(name) as game:
        story = game.story

    assert (story.name, story.title) == (BUNDLED_STORY, "The Weatherworks")
    assert (story.max_score, story.profiled) == (100, True)
    assert story.path.is_file()
    assert story.release >= 1
    assert len(story.serial) == 6


def test_a_path_is_played_with_its_own_name(tmp_path: Path) -> None:
    path = written(tmp_path, build([Object("Hall")]), "my game.z3")
    for given in (path, str(path)):
        with open_game(given) as game:
            assert (game.story.name, game.story.title) == ("my game", "my game")
            assert (game.story.release, game.story.serial) == (7, "261121")
            assert not game.story.profiled


@pytest.mark.parametrize("name", ["zork9", "no/such/story.z5", "."])
def test_an_unknown_story_is_an_error_that_names_the_choices(name: str) -> None:
    with pytest.raises(StoryNotFoundError, match="'bundled', or the name of a game"):
        open_game(name)


def test_a_file_that_is_not_a_story_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, b"<html>" * 50, "page.z5")

    with pytest.raises(StoryFormatError, match=r"page\.z5 cannot be played: it is a page"):
        open_game(path)


def test_a_pipe_or_a_device_is_an_error_that_nobody_waits_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.z5")
    for path in ("/dev/zero", str(tmp_path / "pipe.z5")):
        with pytest.raises(StoryNotFoundError, match="not a regular file"):
            open_game(path)


def test_zork_1_that_cannot_be_had_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    notices: list[str] = []
    with pytest.raises(StoryDownloadError, match="put your own copy of Zork I") as caught:
        open_game("zork1", cache_dir=tmp_path, download_url=NOWHERE, on_notice=notices.append)

    assert str(tmp_path) in str(caught.value)
    assert "ZORK1_STORY" in str(caught.value)
    assert notices == []


def test_with_fallback_the_bundled_story_plays_and_one_line_says_so(tmp_path: Path) -> None:
    notices: list[str] = []
    with open_game(
        "zork1", fallback=True, cache_dir=tmp_path, download_url=NOWHERE, on_notice=notices.append
    ) as game:
        assert game.story.name == BUNDLED_STORY
        assert "Landing Stage" in game.start()

    assert len(notices) == 1
    assert "\n" not in notices[0]
    assert "the bundled story is played" in notices[0]


def test_fallback_is_for_zork_1_only() -> None:
    with pytest.raises(StoryNotFoundError):
        open_game("zork9", fallback=True)


def test_a_wrong_path_in_the_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORK1_STORY", str(tmp_path / "gone.z3"))
    with pytest.raises(StoryNotFoundError, match=r"ZORK1_STORY names .*gone\.z3"):
        open_game("zork1")

    monkeypatch.setenv("ZORK1_STORY", str(written(tmp_path, build())))
    with pytest.raises(StoryFormatError, match="not release 119 or 88 of Zork I"):
        open_game("zork1")


def test_other_files_in_the_cache_are_not_taken_for_zork_1(tmp_path: Path) -> None:
    written(tmp_path, build(), "zork1.z3")
    written(tmp_path, b"", "zork1-r119.z3")

    with pytest.raises(StoryDownloadError):
        open_game("zork1", cache_dir=tmp_path, download_url=NOWHERE)


@needs_zork1
@pytest.mark.parametrize("padding", [b"", b"\0" * 116 + b"^" * 7168])
def test_an_own_copy_is_found_in_the_cache_padded_or_not(tmp_path: Path, padding: bytes) -> None:
    written(tmp_path, Path(ZORK1).read_bytes() + padding, "zork1.z5")
    with open_game("zork1", cache_dir=tmp_path, download_url=NOWHERE) as game:
        assert game.story.name == "zork1"
        assert game.story.max_score == 350


@needs_zork1
def test_the_environment_goes_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORK1_STORY", ZORK1)
    with open_game("zork1", cache_dir=tmp_path, download_url=NOWHERE) as game:
        assert game.story.path == Path(ZORK1)
