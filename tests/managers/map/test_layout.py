"""Positions of rooms: true to the compass, apart from each other, and never changed again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.map.layout import layout
from managers.map.ways import Way

SIDES = {
    "north": (0, 1),
    "northeast": (1, 1),
    "east": (1, 0),
    "southeast": (1, -1),
    "south": (0, -1),
    "southwest": (-1, -1),
    "west": (-1, 0),
    "northwest": (-1, 1),
}
DIRECTIONS = st.sampled_from([*SIDES, "up", "down", "in", "out", "enter hut", "pray"])


def passage(start: int, direction: str, end: int | None) -> Way:
    way = Way(start, direction, first_turn=1)
    if end is not None:
        way.lead(end)
    return way


@pytest.mark.parametrize("direction", SIDES)
def test_a_room_lies_where_the_compass_says_also_seen_from_the_way_back(direction: str) -> None:
    x, y = SIDES[direction]
    assert layout([1, 2], [passage(1, direction, 2)]) == {1: (0, 0), 2: (x, y)}
    assert layout([1, 2], [passage(2, direction, 1)]) == {1: (0, 0), 2: (-x, -y)}


def test_up_down_in_and_out_go_to_four_different_corners() -> None:
    ways = [passage(1, way, room) for room, way in enumerate(["up", "down", "in", "out"], start=2)]
    spots = layout(range(1, 6), ways)
    assert {spots[room] for room in range(2, 6)} == {(1, 1), (-1, -1), (1, -1), (-1, 1)}


def test_the_compass_counts_more_than_other_ways() -> None:
    spots = layout([1, 2], [passage(1, "enter hut", 2), passage(1, "up", 2), passage(1, "west", 2)])
    assert spots[2] == (-1, 0)


def test_a_taken_spot_is_passed_by_on_the_same_side_without_a_room_on_the_line() -> None:
    spots = layout([1, 2, 3], [passage(1, "north", 2), passage(1, "north", 3)])
    (x, y) = spots[3]
    assert y > abs(x) > 0


def test_parts_without_a_known_way_lie_beside_each_other() -> None:
    spots = layout([1, 2, 3], [passage(1, "east", 2), passage(2, "pray", 3)])
    assert spots[3][0] > spots[2][0] + 1


def test_ways_that_lead_nowhere_or_back_to_the_same_room_place_nothing() -> None:
    assert layout([1], [passage(1, "east", None), passage(1, "west", 1)]) == {1: (0, 0)}


LINKS = st.tuples(st.integers(1, 40), DIRECTIONS, st.integers(1, 40))


@given(st.lists(LINKS, max_size=120), st.integers(1, 40))
def test_no_two_rooms_meet_and_later_rooms_move_nothing(
    links: list[tuple[int, str, int]], known: int
) -> None:
    passages = [passage(*link) for link in links]
    spots = layout(range(1, 41), passages)
    assert len(set(spots.values())) == 40
    earlier = [way for way in passages if way.room_id <= known and way.to and way.to <= known]
    before = layout(range(1, known + 1), earlier)
    assert before == {room: spots[room] for room in before}


@given(st.lists(st.tuples(st.sampled_from(sorted(SIDES)), st.integers(1, 10**6)), max_size=60))
def test_every_room_lies_within_45_degrees_of_its_first_way(steps: list[tuple[str, int]]) -> None:
    passages = [
        passage(1 + start % room, direction, room + 1)
        for room, (direction, start) in enumerate(steps, start=1)
    ]
    spots = layout(range(1, len(steps) + 2), passages)
    for way in passages:
        assert way.to is not None
        (x, y), (end_x, end_y) = spots[way.room_id], spots[way.to]
        side_x, side_y = SIDES[way.command]
        ahead = side_x * (end_x - x) + side_y * (end_y - y)
        aside = abs(side_x * (end_y - y) - side_y * (end_x - x))
        assert ahead > aside
