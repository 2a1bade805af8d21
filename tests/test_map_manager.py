"""The map that is learned from turn records."""

from __future__ import annotations

import pytest

from managers.map_manager import MapManager, direction_of
from session.game_state import Place
from tests.records import observation, record


@pytest.mark.parametrize(
    ("command", "direction"),
    [
        ("n", "north"),
        ("go NE", "northeast"),
        ("Walk up", "up"),
        ("out", "out"),
        ("take lamp", None),
        ("go to bed", None),
    ],
)
def test_directions_are_read_from_commands(command: str, direction: str | None) -> None:
    assert direction_of(command) == direction


def test_only_the_way_that_was_walked_is_known() -> None:
    game_map = MapManager()
    game_map.begin(observation(1))
    game_map.apply(record(1, "n", 1, 2))
    assert game_map.ways(1) == {"north": Place(id=2, name="Room 2")}
    assert game_map.ways(2) == {}
    assert game_map.rooms == {1: "Room 1", 2: "Room 2"}


def test_a_refused_direction_is_kept_with_the_games_words_until_it_opens() -> None:
    game_map = MapManager()
    game_map.apply(record(1, "east", 1, 1, response="The door\nis locked."))
    assert game_map.blocked(1) == {"east": "The door is locked."}
    game_map.apply(record(2, "e", 1, 3))
    assert game_map.blocked(1) == {}


def test_a_failed_action_is_no_blocked_exit_and_a_death_is_no_way() -> None:
    game_map = MapManager()
    game_map.apply(record(1, "take lamp", 1, 1, response="You can't."))
    game_map.apply(record(2, "down", 1, 9, died=True))
    assert game_map.ways(1) == {}
    assert game_map.blocked(1) == {}
