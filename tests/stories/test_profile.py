"""Profiles are checked when read, and found by the story's hash."""

import json
from pathlib import Path

import pytest

from game_interface.errors import StoryFormatError
from stories.memory import StoryImage
from stories.profile import STORIES, find_profile, read_profile
from tests.support.tiny_story import build

IMAGE = StoryImage(build())


def stored(folder: Path, **fields: object) -> Path:
    path = folder / "tiny.profile.json"
    path.write_text(json.dumps({"sha256": IMAGE.sha256, "title": "Tiny", **fields}))
    return path


@pytest.mark.parametrize("path", sorted(STORIES.glob("*.profile.json")), ids=lambda p: p.name)
def test_every_profile_that_ships_is_valid(path: Path) -> None:
    profile = read_profile(path)

    assert profile.max_score
    assert list(profile.directions)[:4] == ["north", "northeast", "east", "southeast"]


def test_both_releases_of_zork_1_and_the_bundled_story_ship_with_a_profile() -> None:
    titles = [read_profile(path).title for path in STORIES.glob("*.profile.json")]

    assert sorted(titles) == ["The Weatherworks", *["Zork I: The Great Underground Empire"] * 2]


def test_the_bundled_profile_is_for_the_bundled_story() -> None:
    image = StoryImage((STORIES / "weatherworks.z5").read_bytes())

    assert find_profile(image.sha256, [STORIES]) is not None


def test_a_profile_is_found_by_hash_whatever_its_file_is_called(tmp_path: Path) -> None:
    stored(tmp_path).rename(tmp_path / "other.profile.json")
    (tmp_path / "broken.profile.json").write_text("{")
    (tmp_path / "list.profile.json").write_text("[]")

    found = find_profile(IMAGE.sha256, [tmp_path / "none", tmp_path])

    assert found
    assert found.title == "Tiny"
    assert find_profile("0" * 64, [tmp_path]) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"playr": 4},
        {"player": "four"},
        {"sha256": "abc"},
        {"attributes": {"opened": 3}},
        {"ending_lines": {"abc": "draw"}},
    ],
)
def test_a_wrong_field_is_an_error_that_names_file_and_field(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    with pytest.raises(StoryFormatError) as caught:
        read_profile(stored(tmp_path, **fields))

    assert "tiny.profile.json" in str(caught.value)
    assert next(iter(fields)) in str(caught.value)
