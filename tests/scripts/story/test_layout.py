"""The maps of the variants: consistent, new, and with nothing locked away by itself."""

from itertools import pairwise
from random import Random

import pytest

from scripts.story.layout import (
    BLOCKED,
    CHOICES,
    COMPASS,
    HOMES,
    OPPOSITE,
    ROOM_OF,
    Layout,
    draw,
    neighbours,
)
from scripts.story.walkthrough import derive
from tests.support.games import original_layout

SEEDS = range(300)


def layout(seed: int) -> Layout:
    return draw(Random(seed))


@pytest.fixture(scope="module")
def layouts() -> list[Layout]:
    return [layout(seed) for seed in SEEDS]


def test_a_room_has_one_way_in_a_direction_and_ways_lead_back(layouts: list[Layout]) -> None:
    for each in layouts:
        of_rooms = [(here, direction) for (here, _), direction in each.ways.items()]
        assert len(of_rooms) == len(set(of_rooms))
        for room in {here for here, _ in each.ways}:
            for there, direction in neighbours(each, room):
                assert each.ways[there, room] == OPPOSITE[direction]


def test_a_walk_around_the_house_ends_where_it_began(layouts: list[Layout]) -> None:
    around = ["courtyard", "hall", "kitchen", "kitchen_garden", "courtyard"]
    for each in layouts:
        steps = [COMPASS[each.ways[way]] for way in pairwise(around)]
        assert (sum(x for x, _ in steps), sum(y for _, y in steps)) == (0, 0)


def test_every_refusal_has_a_direction(layouts: list[Layout]) -> None:
    for each in layouts:
        assert all((room, why) in each.ways for room, reasons in BLOCKED.items() for why in reasons)


def test_the_key_is_needed_so_that_its_points_are(layouts: list[Layout]) -> None:
    assert all("shelf" in each.places.values() for each in layouts)


def test_nothing_is_where_it_was_and_the_kipper_is_not_behind_its_own_door(
    layouts: list[Layout],
) -> None:
    for each in layouts:
        assert each.places.keys() == HOMES.keys()
        assert len(set(each.places.values())) == len(HOMES)
        assert all(place in ROOM_OF for place in each.places.values())
        assert not each.places.items() & HOMES.items()
        assert each.places["kipper"] != "shelf"
        assert each.can_place != original_layout().can_place
        assert each.wind != "west"
        assert each.wind != each.first_wind


def test_the_original_does_not_tell_the_way(layouts: list[Layout]) -> None:
    old = original_layout().ways
    for each in layouts:
        level = [way for way in old if each.ways.get(way) == old[way]]
        assert len(level) <= 2 * 5


def test_the_seeds_cover_every_choice_and_differ(layouts: list[Layout]) -> None:
    for room, hosts in CHOICES.items():
        assert {each.hosts[room] for each in layouts} == set(hosts)
    for thing in HOMES:
        assert len({each.places[thing] for each in layouts}) >= 5
    assert {each.wind for each in layouts} == {"north", "east", "south"}
    solutions = {tuple(derive(each, lambda text: text)) for each in layouts}
    assert len(solutions) == len(layouts)


def test_the_same_seed_gives_the_same_layout() -> None:
    assert layout(7) == layout(7) != layout(8)
