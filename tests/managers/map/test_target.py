"""The way to a room that the model names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.knowledge import CarriedOver, Passage
from tests.managers.test_map_manager import learned, named, place, told, walked
from tests.support.records import observation, record

if TYPE_CHECKING:
    from session.game_state import TurnRecord

ROUND = (("north", 2), ("east", 3), ("up", 4), ("down", 3), ("west", 2), ("south", 1))


def asked(text: str, *, steps: tuple[tuple[str, int], ...] = ROUND) -> MapManager:
    """A map on which the model asked for a room at the end of a walk."""
    *turns, last = walked(*steps)
    return learned(*turns, last.model_copy(update={"nav_target": text}))


def route(game_map: MapManager, here: int) -> str:
    return told(game_map, observation(here)).get("Route", "")


@pytest.mark.parametrize("text", ["Room 4", "the room 4", "#4", "4", "Somewhere #4", "oom 4"])
def test_the_whole_route_is_told_however_the_room_is_named(text: str) -> None:
    assert route(asked(text), 1) == "To Room 4 #4, 3 steps: north, east, up."


def test_the_route_is_told_from_room_to_room_until_it_is_reached() -> None:
    game_map = asked("#4")
    game_map.apply(record(7, "n", 1, 2))
    assert route(game_map, 2) == "To Room 4 #4, 2 steps: east, up."
    game_map.apply(record(8, "e", 2, 3))
    game_map.apply(record(9, "u", 3, 4))
    assert route(game_map, 4) == ""
    game_map.apply(record(10, "d", 4, 3))
    assert route(game_map, 3) == ""


@pytest.mark.parametrize("text", ["", "none", "Room 1"])
def test_an_empty_target_or_the_present_room_ends_the_route(text: str) -> None:
    game_map = asked("#4")
    game_map.apply(record(7, "look", 1, 1, nav_target=text))
    assert route(game_map, 1) == ""


def test_another_target_takes_the_place_of_the_first() -> None:
    game_map = asked("#4")
    game_map.apply(record(7, "look", 1, 1, nav_target="#2"))
    assert route(game_map, 1) == "To Room 2 #2, 1 step: north."


def test_an_unknown_room_is_said_to_be_unknown_once() -> None:
    game_map = asked('Pantry "of"\nold')
    assert route(game_map, 1).startswith('"Pantry "of" old": no such room is known.')
    game_map.apply(record(7, "look", 1, 1))
    assert route(game_map, 1) == ""


def test_a_room_to_which_no_way_is_known_is_told_once() -> None:
    game_map = asked("#1", steps=(("north", 2),))
    assert route(game_map, 2) == "To Room 1 #1: no known way leads there from here."
    game_map.apply(record(2, "look", 2, 2))
    assert route(game_map, 2) == ""


def test_a_route_that_is_lost_on_the_way_is_told_as_lost() -> None:
    game_map = asked("#4")
    game_map.apply(record(7, "jump", 1, 9))
    assert route(game_map, 9) == "To Room 4 #4: no known way leads there from here."


def test_of_several_rooms_with_a_name_the_nearest_is_taken_and_the_others_told() -> None:
    def grove(turn: int, command: str, start: int, end: int, **changes: object) -> TurnRecord:
        seen = named(end, "Grove" if end > 1 else "Hut")
        return record(turn, command, start, end, seen, **changes)

    steps = (("n", 1, 2), ("n", 2, 3), ("s", 3, 2), ("s", 2, 1))
    turns = [grove(turn, *step) for turn, step in enumerate(steps, start=1)]
    game_map = learned(*turns, grove(5, "look", 1, 1, nav_target="grove"))
    assert [room.id for room in game_map.world.find_room("GROVE")] == [2, 3]
    assert route(game_map, 1).splitlines() == [
        "Several rooms fit that name; Grove #2 is the nearest. Others: #3.",
        "To Grove #2, 1 step: north.",
    ]


def test_a_route_warns_of_ways_of_earlier_episodes_and_of_no_return() -> None:
    game_map = MapManager(GameConfiguration())
    known = Passage(room=place(1), direction="down", to=place(2))
    game_map.begin(observation(1), CarriedOver(episodes=1, passages=(known,)))
    game_map.apply(record(1, "look", 1, 1, nav_target="Room 2"))
    assert route(game_map, 1).splitlines() == [
        "To Room 2 #2, 1 step: down.",
        "Partly as in earlier episodes: a door may be shut again.",
        "No way back from there is known.",
    ]


@pytest.mark.parametrize("text", ["1" * 5000, f"#{'9' * 5000}", "x" * 5000])
def test_a_target_of_thousands_of_characters_is_an_unknown_room(text: str) -> None:
    told_of_it = route(asked(text), 1)
    assert "no such room is known" in told_of_it
    assert len(told_of_it) < 200
