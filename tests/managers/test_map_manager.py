"""The map that is learned from turn records."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.map.ways import movement_of
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import ExitSeen, GameState, Observation, Place, TurnRecord
from session.knowledge import CarriedOver, Passage
from session.perception.directions import direction_of
from tests.support.mind.maps import blocked, led, route
from tests.support.records import observation, record

CONFIG = GameConfiguration()


def place(room: int) -> Place:
    return Place(id=room, name=f"Room {room}")


def way(direction: str, room: int | None = None, kind: str = "open", **more: str) -> ExitSeen:
    return ExitSeen(direction=direction, kind=kind, room=place(room) if room else None, **more)


def named(room: int, name: str) -> Observation:
    return observation(room).model_copy(update={"room": Place(id=room, name=name)})


def learned(*records: TurnRecord, first: Observation | None = None) -> MapManager:
    game_map = MapManager(CONFIG)
    game_map.begin(first or observation(records[0].place_id), CarriedOver())
    for turn in records:
        game_map.apply(turn)
    return game_map


def walked(*steps: tuple[str, int], start: int = 1) -> list[TurnRecord]:
    """Turns along ``steps``, each a command and the room that it leads to."""
    rooms = [start, *(room for _, room in steps)]
    return [
        record(turn, command, rooms[turn - 1], room)
        for turn, (command, room) in enumerate(steps, start=1)
    ]


def told(game_map: MapManager, seen: Observation) -> dict[str, str]:
    state = GameState("e")
    state.begin("", seen)
    return {section.title: "\n".join(section.lines) for section in game_map.sections(state)}


@pytest.mark.parametrize(
    ("command", "direction"),
    [
        ("n", "north"),
        ("go NE", "northeast"),
        ("Walk up", "up"),
        ("out", "out"),
        ("take lamp", None),
        ("go to bed", None),
        ("n. n", None),
    ],
)
def test_directions_are_read_from_commands(command: str, direction: str | None) -> None:
    assert direction_of(command) == direction


@pytest.mark.parametrize(
    ("command", "movement"),
    [
        ("Enter the  hut", "enter hut"),
        ("climb tree", "climb tree"),
        ("get in boat", "get in boat"),
        ("go through a gate", "go through gate"),
        ("get lamp", None),
        ("pray", None),
        ("enter hut. north", None),
        ("climb tree and wait", None),
    ],
)
def test_movements_by_other_words_are_read_too(command: str, movement: str | None) -> None:
    assert movement_of(command) == movement


def test_only_the_way_that_was_walked_is_known() -> None:
    game_map = learned(record(1, "n", 1, 2))
    assert led(game_map.world, 1) == {"north": place(2)}
    assert led(game_map.world, 2) == {}
    assert game_map.world.rooms == {1: "Room 1", 2: "Room 2"}
    assert (game_map.world.distance(1, 2), game_map.world.distance(2, 1)) == (1, None)


def test_a_refused_direction_is_kept_with_the_games_words_until_it_opens() -> None:
    refused = record(1, "east", 1, 1, response="The door\nis locked.")
    game_map = learned(refused, record(2, "e", 1, 1, response="Locked."))
    assert blocked(game_map.world, 1) == {"east": "Locked."}
    (tried,) = game_map.world.ways.all()
    assert (tried.attempts, tried.first_turn, tried.turn) == (2, 1, 2)
    game_map.apply(record(3, "e", 1, 3))
    assert (blocked(game_map.world, 1), led(game_map.world, 1)) == ({}, {"east": place(3)})


def test_a_way_that_closes_is_blocked_and_no_route_uses_it_but_it_is_remembered() -> None:
    game_map = learned(*walked(("east", 2), ("west", 1)))
    assert route(game_map.world, 1, 2) == (("east", place(2)),)
    game_map.apply(record(3, "east", 1, 1, response="It fell shut."))
    assert (route(game_map.world, 1, 2), game_map.world.distance(1, 2)) == (None, None)
    assert led(game_map.world, 1) == {}
    assert told(game_map, observation(1))["Ways out"] == (
        'Tried in vain: east ("It fell shut."; led to Room 2 #2 before)'
    )


def test_a_failed_action_is_not_a_blocked_exit_and_neither_death_nor_the_end_is_a_way() -> None:
    game_map = learned(
        record(1, "take lamp", 1, 1, response="You can't."),
        record(2, "frobnicate north", 1, 1, response="I don't know that word."),
        record(3, "head north", 1, 1, response="I don't know the word head."),
        record(4, "down", 1, 9, died=True),
        record(5, "west", 9, 9, over=True, won=True),
    )
    assert list(game_map.world.ways.all()) == []


def test_a_walk_back_to_the_same_room_is_a_way_and_no_refusal() -> None:
    game_map = learned(record(1, "west", 1, 1, response="Room 1\nTrees everywhere."))
    assert (led(game_map.world, 1), blocked(game_map.world, 1)) == ({"west": place(1)}, {})
    assert "west here again" in told(game_map, observation(1))["Ways out"]


def test_ways_by_other_words_than_directions_are_walked_again() -> None:
    game_map = learned(*walked(("enter the hut", 2), ("exit", 1), ("climb tree", 3)))
    assert route(game_map.world, 2, 3) == (("exit", place(1)), ("climb tree", place(3)))


def test_again_is_the_command_that_it_stands_for() -> None:
    game_map = learned(*walked(("n", 2), ("g", 3)))
    assert led(game_map.world, 2) == {"north": place(3)}


def test_what_carried_the_player_counts_for_routes_only_when_it_did_so_twice() -> None:
    game_map = learned(*walked(("wait", 2), ("north", 1)))
    assert led(game_map.world, 1) == {"wait": place(2)}
    assert route(game_map.world, 1, 2) is None
    assert "wait to Room 2 #2 (happened once)" in told(game_map, observation(1))["Ways out"]
    game_map.apply(record(3, "Wait", 1, 2))
    assert route(game_map.world, 1, 2) == (("wait", place(2)),)


def test_a_direction_that_the_games_memory_leads_elsewhere_did_not_move_the_player() -> None:
    first = observation(1, exits=(way("north", 5), way("east")))
    drifted = learned(record(1, "north", 1, 2), first=first)
    assert route(drifted.world, 1, 2) is None
    assert drifted.world.passages() == ()
    conditional = learned(record(1, "east", 1, 2), first=first)
    assert conditional.world.distance(1, 2) == 1


def test_directions_of_the_game_itself_are_directions() -> None:
    game_map = learned(record(1, "Land", 1, 2), first=observation(1, exits=(way("land", 2),)))
    assert route(game_map.world, 1, 2) == (("land", place(2)),)


def test_random_ways_keep_every_destination_and_no_route_uses_them() -> None:
    game_map = learned(*walked(("north", 2), ("south", 1), ("north", 3), ("south", 1)))
    (random,) = [way for way in game_map.world.ways.all() if way.is_random]
    assert random.destinations == {2: 1, 3: 1}
    assert (game_map.world.distance(1, 2), game_map.world.distance(1, 3)) == (None, None)
    assert "(led to different rooms: Room 2 #2, Room 3 #3" in told(game_map, observation(1)).get(
        "Ways out", ""
    )


def test_a_way_is_one_way_until_somebody_comes_straight_back() -> None:
    game_map = learned(*walked(("down", 2), ("east", 3), ("up", 1)))
    down, east, up = game_map.world.ways.all()
    assert [game_map.world.is_one_way(way) for way in (down, east, up)] == [True, True, True]
    for turn, (command, start, end) in enumerate([("down", 1, 2), ("up", 2, 1)], start=4):
        game_map.apply(record(turn, command, start, end))
    assert not game_map.world.is_one_way(down)


def test_a_way_from_which_nobody_came_back_is_marked() -> None:
    slide = [record(1, "down", 1, 2), record(2, "jump", 2, 1, died=True)]
    assert (
        "down to Room 2 #2 (no known way back)" in told(learned(*slide), observation(1))["Ways out"]
    )
    round_trip = learned(*walked(("down", 2), ("east", 3), ("up", 1)))
    assert "no known way back" not in told(round_trip, observation(1))["Ways out"]


def test_the_room_tells_what_was_walked_tried_and_left_out() -> None:
    exits = (
        way("up", kind="door", note="hatch (closed)"),
        way("west", kind="blocked", note="A wall."),
        way("north", 2),
        way("east", 4),
    )
    home = observation(1, exits=exits)
    back = record(2, "south", 2, 1, home)
    vain = [record(3, way, 1, 1, home, response="Too narrow.") for way in ("e", "s")]
    game_map = learned(record(1, "n", 1, 2), back, *vain, first=home)
    assert told(game_map, home)["Ways out"].splitlines() == [
        'Blocked: west ("A wall.")',
        'Tried in vain: east, south ("Too narrow.")',
        "Known: north to Room 2 #2",
        "Not yet tried: up (hatch (closed))",
    ]


def test_a_way_tried_in_vain_is_new_again_once_the_games_memory_shows_it_changed() -> None:
    shut = observation(1, exits=(way("east", kind="door", note="gate (closed)"),))
    open_ = observation(1, exits=(way("east", kind="door", note="gate (open)"),))
    game_map = learned(record(1, "e", 1, 1, shut, response="It is closed."), first=shut)
    assert "Not yet tried" not in told(game_map, shut)["Ways out"]
    game_map.apply(record(2, "open gate", 1, 1, open_))
    assert (
        "Not yet tried: east (gate (open); in vain before it changed)"
        in (told(game_map, open_)["Ways out"])
    )


def test_rooms_around_show_their_ways_and_what_is_left_to_try() -> None:
    hall = observation(2, exits=(way("up", 7), way("south", 1)))
    turns = [record(1, "n", 1, 2, hall), record(2, "e", 2, 3), record(3, "w", 3, 2, hall)]
    game_map = learned(*turns, record(4, "s", 2, 1))
    assert told(game_map, observation(1))["Map around"].splitlines() == [
        "Room 2 #2: east to Room 3 #3, south to Room 1 #1; not yet tried: up",
        "Room 3 #3: west to Room 2 #2",
    ]
    state = GameState("e")
    state.begin("", observation(1))
    assert list(game_map.compact_lines(state)) == ["Towards a new way: north."]
    assert told(game_map, observation(1))["Ways out"].endswith(
        "Nearest ways not yet tried: up from Room 2 #2, 1 step: north"
    )


def test_as_many_rooms_are_shown_as_configured_and_they_are_the_nearest() -> None:
    game_map = MapManager(GameConfiguration(map_rooms_shown=3))
    game_map.begin(observation(1), CarriedOver())
    steps = [("east", 2), ("east", 3), ("east", 4), ("east", 5)]
    back = [("west", 4), ("west", 3), ("west", 2), ("west", 1)]
    for turn in walked(*steps, *back):
        game_map.apply(turn)
    lines = told(game_map, observation(1))["Map around"].splitlines()
    assert [line.split(":")[0] for line in lines] == ["Room 2 #2", "Room 3 #3", "Room 4 #4"]


def test_very_small_models_are_told_the_new_ways_in_a_line() -> None:
    seen = observation(1, exits=(way("up", 2), way("north", 3), way("east", kind="blocked")))
    state, game_map = GameState("e"), MapManager(CONFIG)
    state.begin("", seen)
    game_map.begin(seen, CarriedOver())
    assert list(game_map.compact_lines(state)) == ["New ways: north, up."]


def test_earlier_episodes_are_told_as_such_until_this_one_knows_better() -> None:
    carried = CarriedOver(
        passages=(
            Passage(room=place(1), direction="north", to=place(2)),
            Passage(room=place(1), direction="east", answer="Locked.", times=3),
            Passage(room=place(2), direction="up", to=place(3)),
            Passage(room=place(2), direction="up", answer="Shut."),
        )
    )
    game_map = MapManager(CONFIG)
    game_map.begin(observation(1), carried)
    assert told(game_map, observation(1))["Ways out"].splitlines() == [
        'Tried in vain: east ("Locked."; 3 times; in earlier episodes)',
        "Known: north to Room 2 #2 (as in earlier episodes; no known way back)",
    ]
    assert game_map.world.distance(1, 3) == 2
    assert game_map.world.passages() == ()
    game_map.apply(record(1, "north", 1, 9))
    assert led(game_map.world, 1) == {"north": place(9)}
    assert game_map.world.passages() == (Passage(room=place(1), direction="north", to=place(9)),)


def test_what_is_handed_on_comes_back_as_it_was() -> None:
    turns = walked(("n", 2), ("s", 1), ("n", 3), ("pray", 1), ("enter hut", 4), ("out", 1))
    shut = record(7, "west", 1, 1, response="Shut.")
    game_map = learned(*turns, shut, record(8, "out", 4, 4, response="Stuck."))
    later = MapManager(CONFIG)
    later.begin(observation(1), CarriedOver(episodes=1, passages=game_map.world.passages()))
    assert later.world.rooms == game_map.world.rooms
    for before, after in zip(game_map.world.ways.all(), later.world.ways.all(), strict=True):
        assert after.destinations == before.destinations
        assert (after.answer, after.attempts) == (before.answer, before.attempts)
        assert after.moves == before.moves
    assert (game_map.world.distance(4, 1), later.world.distance(4, 1)) == (None, 1), (
        "the world was reset"
    )


def test_the_drawing_shows_every_kind_of_way_and_where_the_player_is() -> None:
    turns = walked(("n", 2), ("s", 1), ("down", 3), ("pray", 4), ("up", 4))
    game_map = learned(*turns[:-1], record(5, "up", 4, 4, response='A "hatch" is shut.'))
    drawing = game_map.world.mermaid()
    for line in (
        'r1["Room 1 #1"]',
        'r1 <-->|"north - south"| r2',
        'r1 -->|"down"| r3',
        'r3 -.->|"pray"| r4',
        'r4 --x|"up"| b0(["up of #35;4 - A #34;hatch#34; is shut#46;"])',
        "class r4 here",
    ):
        assert f"  {line}\n" in drawing


@given(st.dictionaries(st.integers(1, 99), st.text(max_size=30), min_size=1))
def test_room_names_cannot_break_the_drawing_and_labels_are_unique(names: dict[int, str]) -> None:
    game_map = MapManager(CONFIG)
    for room, name in names.items():
        game_map.begin(named(room, name), CarriedOver())
    nodes = [line for line in game_map.world.mermaid().splitlines() if re.match(r"  r\d+\[", line)]
    labels = [re.fullmatch(r'  r\d+\["((?:[\w ,\'-]|#\d+;)*) #\d+"\]', line) for line in nodes]
    assert all(labels)
    assert len({label and label[0] for label in labels}) == len(names)


ROOMS = st.integers(1, 6)
COMMANDS = st.sampled_from(
    ["n", "s", "go east", "up", "g", "wait", "enter hut", "take lamp", "n. n", "again"]
)


@given(st.lists(st.tuples(COMMANDS, ROOMS, st.booleans()), min_size=1, max_size=60))
def test_whatever_is_walked_the_map_knows_no_way_that_was_not(
    steps: list[tuple[str, int, bool]],
) -> None:
    turns, start = [], 1
    for turn, (command, end, died) in enumerate(steps, start=1):
        turns.append(record(turn, command, start, end, died=died))
        start = end
    game_map = learned(*turns)
    moved = {(turn.place_id, turn.after.room_id) for turn in turns if not turn.died}
    for passage in game_map.world.passages():
        assert passage.to is None or (passage.room.id, passage.to.id) in moved
    for from_id in game_map.world.rooms:
        for to_id in game_map.world.rooms:
            steps_there = route(game_map.world, from_id, to_id)
            assert game_map.world.distance(from_id, to_id) == (
                None if steps_there is None else len(steps_there)
            )
            stops = [from_id, *(room.id for _, room in steps_there or ())]
            assert set(pairwise(stops)) <= moved


def test_of_a_room_that_nobody_left_it_is_told_what_is_known_of_its_ways() -> None:
    game_map = MapManager(CONFIG)
    carried = (Passage(room=place(1), direction="east", to=place(2)),)
    game_map.begin(observation(1), CarriedOver(passages=carried))
    around = told(game_map, observation(1))["Map around"]
    assert around == "Room 2 #2: no way out is known"
    game_map.apply(record(1, "east", 1, 2, observation(2, exits=(way("up"),))))
    game_map.apply(record(2, "magic", 2, 1))
    around = told(game_map, observation(1))["Map around"]
    assert around == "Room 2 #2: magic to Room 1 #1; not yet tried: up"
