"""The menu of the compact prompt: what it offers, and in which order."""

from __future__ import annotations

from typing import Literal

from game_interface import Exit, Facts, Thing
from players.model import CandidateCommands
from session.perception.directions import DIRECTIONS
from tests.support.records import record

CHEST, LAMP = Thing(1, "chest"), Thing(2, "lamp", holder="shelf")


def way(direction: str, kind: Literal["open", "blocked"] = "open") -> Exit:
    return Exit(direction, None, None, kind)


def facts(*exits: Exit, room: int = 1, visible: tuple[Thing, ...] = ()) -> Facts:
    return Facts(
        room_id=room,
        room_name="Room",
        score=0,
        max_score=None,
        moves=0,
        inventory=(Thing(9, "map"),),
        visible=visible,
        exits=exits,
        dark=False,
        deaths=None,
        dead=False,
        won=False,
        world_hash="",
    )


def after(*commands: str) -> CandidateCommands:
    """With these tried in room 1, to which the player has just come back."""
    menu = CandidateCommands()
    for turn, command in enumerate(commands, start=1):
        menu.apply(record(turn, command, 1, 1))
    menu.apply(record(len(commands) + 1, "back", 2, 1))
    return menu


def test_ways_that_were_never_taken_come_first_then_what_could_be_done_here() -> None:
    seen = facts(way("up"), way("north", "blocked"), visible=(CHEST, LAMP))
    assert after().menu(seen) == [
        *("up", "take all", "take lamp", "examine chest", "examine lamp"),
    ]


def test_what_was_tried_here_gives_way_to_what_was_not() -> None:
    seen = facts(way("north"), way("south"), visible=(CHEST,))
    menu = after("north", "take all", "examine chest").menu(seen)
    assert menu == ["south", "open chest", "examine map"]
    elsewhere = facts(way("north"), room=2, visible=(CHEST,))
    assert after("north", "take all").menu(elsewhere)[:2] == ["north", "take all"]


def test_ways_taken_before_come_after_all_others_were_the_least_taken_first() -> None:
    seen = facts(way("north"), way("south"), way("west"))
    taken = ("north", "north", "south", "west", "south", "north")
    assert after(*taken).menu(seen) == ["west", "south", "north", "northeast", "examine map"]
    assert "north" not in after("north", "south").menu(seen)


def test_where_the_games_words_name_no_way_directions_are_tried_at_a_venture() -> None:
    assert after("examine map").menu(facts()) == ["north", "northeast", "east", "southeast"]
    refused = [way(name, "blocked") for name in ("north", "east")]
    assert after("examine map").menu(facts(*refused))[:2] == ["northeast", "southeast"]


def test_after_some_turns_in_a_room_only_ways_out_are_offered() -> None:
    seen = facts(way("north"), visible=(CHEST, LAMP))
    menu = after()
    for turn in (1, 2):
        menu.apply(record(turn, "look", 1, 1))
    assert "examine chest" in menu.menu(seen)
    menu.apply(record(3, "look", 1, 1))
    assert menu.menu(seen) == ["north"]
    assert "examine chest" in menu.menu(facts(visible=(CHEST,))), "no way out is known"


def test_at_most_four_ways_are_offered_and_none_that_leads_nowhere() -> None:
    ways = [way(name) for name in ("north", "south", "up", "down", "in", "out")]
    menu = after("south").menu(facts(*ways, way("east", "blocked"), visible=(CHEST,)))
    assert [it for it in menu if " " not in it] == ["north", "up", "down", "in"]


def test_the_menu_is_never_empty() -> None:
    refused = [way(name, "blocked") for name in DIRECTIONS.values()]
    assert after("examine map").menu(facts(*refused)) == ["look"]
