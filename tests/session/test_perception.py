"""What a player may know of made-up turns: level by level, and nothing that was not shown."""

from __future__ import annotations

import pytest

from session.game_state import ExitSeen, Observation, Place, ThingSeen, TurnRecord
from session.levels import ObservationLevel as Level
from session.perception.directions import directions_in
from session.perception.perception import Perception
from tests.support.records import record

HALL = Place(id=1, name="Hall")
CELLAR = Place(id=2, name="Cellar")
LAMP = ThingSeen("brass lamp")
OPENING = "Hall\nA bare hall. A ladder leads up, a door is north. A brass lamp hangs here."


def hall(**changes: object) -> Observation:
    values: dict[str, object] = {
        "room": HALL,
        "score": 5,
        "max_score": 350,
        "moves": 3,
        "inventory": ("key",),
        "visible": ("brass lamp", "iron chest", "pearl (in iron chest)"),
        "exits": (
            ExitSeen(direction="north", kind="door", room=CELLAR, note="oak door (closed)"),
            ExitSeen(direction="east", kind="open", room=CELLAR),
            ExitSeen(direction="west", kind="blocked", note="A bear is in the way."),
            ExitSeen(direction="up", kind="conditional"),
        ),
        "world_hash": "hall",
    }
    return Observation.model_validate({**values, **changes})


def turn(
    number: int, command: str, response: str, after: Observation, **changes: object
) -> TurnRecord:
    return record(number, command, 1, 1, after, place=HALL, response=response, **changes)


def test_at_text_only_the_games_words_are_left() -> None:
    perception = Perception(Level.TEXT)
    told = perception.begin(OPENING, hall())
    assert told == Observation(room=None, score=None, moves=None, inventory=None, world_hash="")
    after = perception.apply(turn(1, "north", "Locked.", hall(), scored=5, died=True))
    assert (after.place, after.after, after.scored, after.died) == (None, told, None, False)
    assert (after.command, after.response) == ("north", "Locked.")


def test_a_death_is_told_without_facts_only_where_the_game_says_so() -> None:
    perception = Perception(Level.STATUS)
    perception.begin(OPENING, hall())
    silent = perception.apply(turn(1, "jump", "You wake up elsewhere.", hall(), died=True))
    spoken = perception.apply(turn(2, "jump", "*** You have died ***", hall(), died=True))
    assert (silent.died, spoken.died) == (False, True)


def test_at_status_rooms_of_one_name_are_one_and_have_no_number_to_show() -> None:
    perception = Perception(Level.STATUS)
    first = perception.begin("Maze", hall(room=Place(id=7, name="Maze"))).room
    later = perception.apply(turn(1, "east", "Maze", hall(room=Place(id=8, name="Maze"))))
    assert first == later.after.room
    assert first is not None
    assert first.label == "Maze"
    assert later.after.score == 5
    assert (later.after.max_score, later.after.inventory, later.after.visible) == (None, None, ())


def test_things_are_told_once_they_are_named_while_in_view() -> None:
    perception = Perception(Level.FACTS)
    told = perception.begin(OPENING, hall())
    assert told.visible == (LAMP,)
    assert told.exits == ()
    told = perception.apply(turn(1, "search", "There is a pearl in the chest.", hall())).after
    assert told.visible == (LAMP, ThingSeen("chest"), ThingSeen("pearl", "chest"))


@pytest.mark.parametrize("command", ["take pearl", "open chest"])
def test_the_players_own_words_that_the_game_repeats_name_nothing(command: str) -> None:
    perception = Perception(Level.FACTS)
    perception.begin(OPENING, hall())
    echo = f"You cannot {command}!"
    assert perception.apply(turn(1, command, echo, hall())).after.visible == (LAMP,)


def test_what_was_named_elsewhere_is_not_known_here() -> None:
    perception = Perception(Level.FACTS)
    cellar = hall(room=CELLAR, visible=("iron chest",), exits=())
    perception.begin(OPENING, hall())
    walked = turn(1, "north. north", "Vault\nAn iron chest stands north.\n\nCellar\nDamp.", cellar)
    assert perception.apply(walked).after.visible == ()
    assert perception.ways(CELLAR.id) == ()


def test_a_noun_that_two_things_share_names_neither() -> None:
    perception = Perception(Level.FACTS)
    doors = hall(visible=("oak door", "trap door"))
    assert perception.begin(OPENING, doors).visible == ()
    told = perception.apply(turn(1, "look", "Hall\nThe oak door is shut.", doors)).after
    assert told.visible == (ThingSeen("oak door"),)


def test_what_is_carried_is_told_once_every_thing_has_a_name_that_was_printed() -> None:
    perception = Perception(Level.FACTS)
    carrying = hall(inventory=("rusty key", "Card_1"))
    assert perception.begin(OPENING, carrying).inventory is None
    told = perception.apply(turn(1, "inventory", "You hold a key and a card.", carrying)).after
    assert told.inventory is None
    carrying = hall(inventory=("rusty key",))
    told = perception.apply(turn(2, "drop card", "You drop it.", carrying)).after
    assert told.inventory == (ThingSeen("key"),)
    assert perception.apply(turn(3, "drop all", "Done.", hall(inventory=()))).after.inventory == ()


@pytest.mark.parametrize(
    ("printed", "name", "told"),
    [
        ("A dark dome, and a tower beside it.", "dark tower", "tower"),
        ("A tower. It is dark here.", "dark tower", "tower"),
        ("The dark towers rise.", "dark tower", "dark tower"),
        ("The brass lamp (battery-powered).", "battery-powered brass lamp", "brass lamp"),
        ("Some leaves in a pile.", "pile of leaves", "leaves"),
        ("A pile.", "pile of leaves", "pile"),
        ("The pile of leaves.", "pile of leaves", "pile of leaves"),
        ("Shafts and beams.", "walls and shafts", "shafts"),
        ("Jim and Ann. Ann and Rob.", "Jim and Rob", "Rob"),
        ("A door to a hall. Out to the cellar.", "door to the cellar", "cellar"),
        ("A door to the cellar.", "door to the cellar", "door to the cellar"),
        ("A lamp.", "the lamp", "the lamp"),
    ],
)
def test_of_a_name_only_words_that_were_printed_side_by_side_are_told(
    printed: str, name: str, told: str
) -> None:
    seen = hall(inventory=(name,), visible=())
    assert Perception(Level.FACTS).begin(printed, seen).inventory == (ThingSeen(told),)


def test_of_two_things_with_one_noun_the_words_of_another_do_not_name_one() -> None:
    lamps = hall(visible=("brass lamp", "steel lamp"))
    told = Perception(Level.FACTS).begin("Hall\nA brass lamp, and a steel door.", lamps)
    assert told.visible == (LAMP,)


def test_what_was_carried_here_is_known_here() -> None:
    perception = Perception(Level.FACTS)
    perception.begin(f"{OPENING} You hold a key.", hall())
    dropped = hall(inventory=(), visible=("brass lamp", "key"))
    assert perception.apply(turn(1, "drop it", "Done.", dropped)).after.visible == (
        LAMP,
        ThingSeen("key"),
    )


def test_the_maximum_is_told_once_the_game_has_told_it() -> None:
    perception = Perception(Level.FACTS)
    assert perception.begin(OPENING, hall()).max_score is None
    told = perception.apply(turn(1, "score", "5 of a possible 350, in 3 moves.", hall())).after
    assert told.max_score == 350


def test_exits_are_told_once_they_are_named_and_no_more_of_them_than_that() -> None:
    perception = Perception(Level.FACTS_EXITS)
    told = perception.begin(OPENING, hall())
    assert told.exits == (ExitSeen(direction="north", kind="mentioned"),)
    told = perception.apply(turn(1, "wait", "A growl comes from the west.", hall())).after
    assert [(way.direction, way.note) for way in told.exits] == [("north", None), ("west", None)]
    dark = perception.apply(turn(2, "douse lamp", "It is pitch black.", hall(dark=True))).after
    assert dark.exits == ()


def test_what_came_of_an_exit_is_told_and_not_what_the_memory_says_of_it() -> None:
    perception = Perception(Level.FACTS_EXITS)
    perception.begin(OPENING, hall())
    told = perception.apply(turn(1, "up", "The ladder breaks.", hall())).after
    assert told.exits[-1] == ExitSeen(direction="up", kind="blocked")
    below = hall(room=CELLAR, exits=())
    perception.apply(turn(2, "e", "Cellar\nDamp.", below))
    back = record(3, "w", 2, 1, hall(), place=CELLAR, response="Hall")
    told = perception.apply(back).after
    assert ExitSeen(direction="east", kind="open", room=CELLAR) in told.exits


@pytest.mark.parametrize(
    ("prose", "named"),
    [
        ("Paths lead north-east and SOUTH.", {"northeast", "south"}),
        ("An east-west passage.", {"east", "west"}),
        ("The western wall; a northerly wind.", set()),
        ("The windows are boarded up. A cock looks down from the gable.", set()),
        ("A chimney leads down. Stairs go steeply up.", {"down", "up"}),
        ("You are in a hall. Way out!", set()),
    ],
)
def test_directions_are_read_from_prose(prose: str, named: set[str]) -> None:
    assert directions_in(prose) == named
