"""Where a map puts rooms: true to the compass, apart from each other, one sheet a level."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.map.ways import Way
from orchestration.turn import observation_of
from session.game_state import TurnRecord
from tests.support.games import ZORK1, needs_zork1, started
from tests.support.work import steps
from viewer.map.links import COMPASS, flaws, links_of
from viewer.map.map_view import MapView
from viewer.map.sheets import Placed, Sheets
from workshop.benchmarks.map_figures import figures
from workshop.scripted_model import read_commands

BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
DIRECTIONS = st.sampled_from([*COMPASS, "up", "down", "in", "out", "enter hut", "pray"])
LINKS = st.tuples(st.integers(1, 25), DIRECTIONS, st.integers(1, 25))
WALKTHROUGH = os.environ.get("ZORK1_WALKTHROUGH", "")


def way(start: int, command: str, end: int) -> Way:
    made = Way(start, command, first_turn=1)
    made.lead(end)
    return made


def sheets(rooms: Iterable[int], ways: Iterable[Way]) -> dict[int, Placed]:
    """Draw a map that was never drawn before."""
    return Sheets().draw(rooms, ways)


def figures_of(placed: dict[int, Placed], ways: list[Way]) -> dict[str, float]:
    rooms = [{"id": room, **it._asdict()} for room, it in placed.items()]
    passages = [
        {"from": it.room_id, "direction": it.command, "to": end}
        for it in ways
        for end in it.destinations
    ]
    return figures({"rooms": rooms, "passages": passages})


def flaws_of(placed: dict[int, Placed], ways: list[Way]) -> tuple[int, ...]:
    spots = {room: (it.x, it.y) for room, it in placed.items()}
    levels = {room: it.level for room, it in placed.items()}
    links = [it for it in links_of(ways) if levels[it.start] == levels[it.end]]
    return flaws(spots, [it for it in links if it.sides or it.others])


@pytest.mark.parametrize("direction", COMPASS)
def test_a_room_lies_where_the_compass_says_also_seen_from_the_way_back(direction: str) -> None:
    across, down = COMPASS[direction]
    there = sheets([1, 2], [way(1, direction, 2)])
    assert (there[2].x - there[1].x, there[2].y - there[1].y) == (across, down)
    back = sheets([1, 2], [way(2, direction, 1)])
    assert (back[1].x - back[2].x, back[1].y - back[2].y) == (across, down)


def test_a_way_back_that_turns_a_corner_puts_the_room_diagonally() -> None:
    placed = sheets([1, 2], [way(1, "north", 2), way(2, "west", 1)])
    assert (placed[2].x - placed[1].x, placed[2].y - placed[1].y) == (1, -1)


def test_stairs_lead_to_sheets_above_and_below() -> None:
    ways = [way(1, "up", 2), way(2, "east", 3), way(1, "down", 4), way(4, "north", 5)]
    placed = sheets(range(1, 6), ways)
    assert {room: it.level for room, it in placed.items()} == {1: 0, 2: 1, 3: 1, 4: -1, 5: -1}
    assert len(set(placed.values())) == 5
    assert placed[3].x == placed[2].x + 1


def test_a_floor_reached_by_two_stairs_is_one_sheet_although_one_passage_contradicts() -> None:
    """An attic, a house, and a hidden passage on the flat between them that only one end knows."""
    ways = [way(1, "up", 2), way(2, "east", 3), way(3, "down", 4), way(1, "east", 4)]
    placed = sheets(range(1, 5), [*ways, way(3, "north", 1)])
    assert placed[2].level == placed[3].level == 1
    assert placed[1].level == placed[4].level == 0


def grid_and_maze() -> list[Way]:
    """Six by five rooms with every passage between them, and a maze that contradicts itself."""
    ways = []
    for room in range(30):
        for command, by, edge in (("east", 1, room % 6 == 5), ("south", 6, room >= 24)):
            if not edge:
                ways += [way(room, command, room + by), way(room + by, BACK[command], room)]
    maze = [(30, "east", 31), (31, "north", 32), (32, "east", 33), (33, "south", 31)]
    return [*ways, way(29, "east", 30), *(way(*it) for it in maze), way(32, "north", 30)]


def test_a_grid_and_a_maze_keep_within_the_bounds() -> None:
    ways = grid_and_maze()
    found = figures_of(sheets(range(34), ways), ways)
    assert found["wrong directions"] <= 1
    assert found["lines through rooms"] == 0
    assert found["crossings"] <= 2
    assert 0.5 <= found["width to height"] <= 3


def test_sheets_of_single_rooms_fill_the_gaps_and_do_not_overlap() -> None:
    cellars = [way(room, "down", 100 + room) for room in range(12)]
    placed = sheets([*range(34), *range(100, 112), *range(200, 212)], [*grid_and_maze(), *cellars])
    around = {
        level: [
            (min(side), max(side))
            for side in (
                [it.x for it in placed.values() if it.level == level],
                [it.y for it in placed.values() if it.level == level],
            )
        ]
        for level in (0, -1)
    }
    upper, lower = around[0], around[-1]
    assert any(one[1] < two[0] or two[1] < one[0] for one, two in zip(upper, lower, strict=True))
    columns, rows = (max(high for _, high in sides) + 1 for sides in zip(upper, lower, strict=True))
    assert columns * rows <= 3.4 * len(placed)
    assert 0.5 <= columns * 148 / (rows * 84) <= 3
    assert sheets([], []) == {}


@given(st.lists(LINKS, max_size=60))
def test_every_room_has_a_spot_of_its_own_whatever_the_ways_say(
    links: list[tuple[int, str, int]],
) -> None:
    placed = sheets(range(1, 26), [way(*link) for link in links])
    assert list(placed) == list(range(1, 26))
    assert len({(it.x, it.y) for it in placed.values()}) == 25


def test_a_room_that_is_found_moves_no_other_if_there_is_place_for_it() -> None:
    drawing = Sheets()
    walk = [(1, "north", 2), (2, "east", 3), (3, "east", 4), (4, "south", 5), (5, "southwest", 6)]
    walk += [(2, "west", 7), (7, "northwest", 8), (1, "southwest", 9), (9, "down", 10)]
    before: dict[int, Placed] = {}
    for number in range(1, len(walk) + 1):
        drawn = drawing.draw(range(1, number + 2), [way(*it) for it in walk[:number]])
        assert {room: drawn[room] for room in before} == before
        before = drawn
    assert len({(it.x, it.y) for it in before.values()}) == 10


def test_a_room_without_a_place_has_the_others_make_way_and_stay_as_they_lie() -> None:
    ways = [way(1, "north", 2), way(2, "east", 3), way(3, "south", 4), way(4, "south", 5)]
    drawing = Sheets()
    before = drawing.draw([1, 2, 3, 4, 5], ways)
    drawn = drawing.draw([1, 2, 3, 4, 5, 6], [*ways, way(1, "east", 6)])
    assert figures_of(drawn, [*ways, way(1, "east", 6)])["wrong directions"] == 0
    moved = {
        (it.x - before[room].x, it.y - before[room].y) for room, it in drawn.items() if room < 6
    }
    assert moved == {(0, 0), (1, 0)}


def test_a_drawing_that_would_mislead_gives_way_to_a_new_one() -> None:
    ways = [way(1, "north", 2), way(2, "north", 3), way(1, "east", 4), way(4, "north", 5)]
    drawing = Sheets()
    drawing.draw([1, 2, 3, 4, 5], ways)
    ways += [way(3, "east", 5), way(5, "west", 3)]
    drawn = drawing.draw([1, 2, 3, 4, 5], ways)
    assert figures_of(drawn, ways)["wrong directions"] == 0
    assert figures_of(drawn, ways)["askew"] == 0


def test_much_that_was_found_since_the_last_drawing_costs_little_more_than_a_new_one() -> None:
    rooms = range(1, 31)
    ways = [way(room, "east" if room % 6 else "south", room + 1) for room in rooms[:-1]]
    ways += [way(room, "north", room - 6) for room in rooms[6:]]
    drawing = Sheets()
    drawing.draw(rooms[:3], ways[:2])
    anew = steps(lambda: sheets(rooms, ways))
    assert steps(lambda: drawing.draw(rooms, ways)) < 1.5 * anew


@settings(max_examples=25)
@given(st.lists(LINKS, max_size=20))
def test_a_map_that_grows_is_never_worse_than_one_drawn_anew(
    links: list[tuple[int, str, int]],
) -> None:
    drawing = Sheets()
    for number in range(0, len(links) + 1, 4):
        ways = [way(*link) for link in links[:number]]
        drawn = drawing.draw(range(1, 26), ways)
        anew = sheets(range(1, 26), ways)
        assert list(drawn) == list(anew)
        assert len({(it.x, it.y) for it in drawn.values()}) == 25
        assert flaws_of(drawn, ways) <= flaws_of(anew, ways)


@needs_zork1
@pytest.mark.skipif(not WALKTHROUGH, reason="ZORK1_WALKTHROUGH names no solution")
def test_the_map_of_zork_i_keeps_within_the_bounds() -> None:
    game, view = started(ZORK1, seed=12), MapView()
    now = observation_of(game.facts())
    view.begin(now)
    for turn, command in enumerate(read_commands(Path(WALKTHROUGH)), start=1):
        place, response = now.room, game.step(command)
        now = observation_of(game.facts())
        view.apply(
            TurnRecord(
                turn=turn,
                place=place,
                command=command,
                proposed=command,
                thinking="",
                response=response,
                after=now,
                died=game.died_in_last_step,
                over=game.is_over,
                seconds=0.0,
                snapshot="",
            )
        )
    found = figures(view.json())
    assert found["passages on the compass"] >= 100
    assert found["wrong directions"] <= 3
    assert found["lines through rooms"] == 0
    assert found["crossings"] <= 15
    assert 0.5 <= found["width to height"] <= 3
