"""What was tried where, what came of it, and whether the world was like this before."""

from __future__ import annotations

from collections.abc import Iterable

from managers.attempt_manager import AttemptManager
from orchestration.turn import observation_of
from session.game_state import GameState, Observation, Place, TurnRecord
from session.knowledge import CarriedOver
from tests.support.games import started
from tests.support.records import observation, record
from tests.support.work import steps

NO_WAY = "You can't go\nthat way."
VAIN = "Tried here, with no effect but the answer"
VARIES = "Tried here, and answered in different ways"
WORKED, LOOP = "What worked here", "Going in circles"
VERBS = "Verbs that had an effect in this game so far, by example"


class Told:
    """An attempt manager and the state beside it, fed with the same records."""

    def __init__(self, first: Observation | None = None) -> None:
        self.manager = AttemptManager()
        self.state = GameState("told")
        first = first or observation(1)
        self.state.begin("", first)
        self.manager.begin(first, CarriedOver())

    def tell(self, records: Iterable[TurnRecord]) -> Told:
        for each in records:
            self.state.apply(each)
            self.manager.apply(each)
        return self

    def try_here(self, *commands: str, answer: str = NO_WAY) -> Told:
        """Commands in the present room that change nothing."""
        for command in commands:
            seen = self.seen()
            turn = self.state.turn_count + 1
            self.tell([record(turn, command, seen.room_id, seen.room_id, seen, response=answer)])
        return self

    def seen(self) -> Observation:
        assert self.state.observation
        return self.state.observation

    def section(self, title: str) -> list[str]:
        return [
            line
            for section in self.manager.sections(self.state)
            if section.title == title
            for line in section.lines
        ]

    def compact(self) -> list[str]:
        return list(self.manager.compact_lines(self.state))


def test_what_did_nothing_is_told_once_with_count_and_latest_answer() -> None:
    told = Told().try_here("east", "open hatch", "East", "e", "go east")
    assert told.section(VAIN) == [
        "open hatch: You can't go that way.",
        "east (4 times): You can't go that way.",
    ]
    assert told.compact() == ["Tried here: open hatch, east."]


def test_what_worked_is_told_apart_from_what_did_not_and_ways_are_left_to_the_map() -> None:
    opened = observation(1, world_hash="open", visible=("ladder",))
    told = Told().tell([record(1, "open hatch", 1, 1, opened), record(2, "down", 1, 2)])
    told.tell([record(3, "up", 2, 1, opened)])
    assert told.section(WORKED) == ["open hatch"]
    assert told.section(VAIN) == []
    assert told.compact() == []


def test_what_worked_once_and_then_no_more_says_so() -> None:
    told = Told().tell([record(1, "pull rope", 1, 1, observation(1, visible=("bell",)))])
    told.try_here("pull rope", answer="Nothing happens.")
    assert told.section(VAIN) == [
        "pull rope (2 times, did something in turn 1): Nothing happens.",
    ]
    assert told.section(WORKED) == []


def test_a_change_of_score_or_inventory_alone_is_an_effect() -> None:
    for change in ({"score": 5}, {"inventory": ("stamp",)}):
        told = Told().tell([record(1, "do it", 1, 1, observation(1, **change))])
        assert told.section(WORKED) == ["do it"]


def test_a_death_is_not_a_success() -> None:
    told = Told().tell([record(1, "eat mushroom", 1, 9, died=True, response="It was poison.")])
    told.tell([record(2, "north", 9, 1)])
    assert told.section(VAIN) == ["eat mushroom (deadly): It was poison."]
    assert told.section(VERBS) == []


def test_fault_17_rooms_of_one_name_are_kept_apart() -> None:
    def maze(room: int) -> Observation:
        return observation(room).model_copy(update={"room": Place(id=room, name="Maze")})

    told = Told(maze(1)).try_here("east", "west")
    told.tell([record(3, "north", 1, 2, maze(2), place={"id": 1, "name": "Maze"})])
    assert told.section(VAIN) == []
    told.try_here("up", "up")
    assert told.section(VAIN) == ["up (2 times): You can't go that way."]


def test_fault_17_the_list_does_not_grow_with_repetitions() -> None:
    told = Told().try_here(*["east"] * 50)
    assert len(told.section(VAIN)) == 1


def test_fault_10_dithering_is_seen_although_time_goes_on() -> None:
    told = Told(observation(1, moves=0))
    for turn in range(1, 9, 2):
        told.tell([record(turn, "north", 1, 2, observation(2, moves=turn))])
        told.tell([record(turn + 1, "south", 2, 1, observation(1, moves=turn + 1))])
    told.try_here("jump")
    (line,) = told.section(LOOP)
    assert line.startswith(
        "Room, things and score are as they were after turns 0 and 2 and 4 and 6. From"
    )
    assert line.endswith("From there you tried: north, jump (nothing changed).")


def test_fault_10_dithering_in_a_real_game_is_seen() -> None:
    with started() as game:
        told = Told(observation_of(game.facts()))
        for turn, command in enumerate(["look", "north", "wait", "south", "jump"], 1):
            place = told.seen().room
            answer = game.step(command)
            after = observation_of(game.facts())
            told.tell([record(turn, command, 0, 0, after, place=place, response=answer)])
    (line,) = told.section(LOOP)
    assert line.startswith("Room, things and score are as they were after turn 0. From")
    assert line.endswith(
        "From there you tried: look (nothing changed), north, jump (nothing changed)."
    )


def test_staying_in_one_world_is_not_a_circle() -> None:
    assert Told().try_here("look", "jump", "sing").section(LOOP) == []


def test_a_world_that_came_to_be_new_is_not_a_circle() -> None:
    told = Told().tell([record(1, "north", 1, 2)])
    told.tell([record(2, "south", 2, 1, observation(1, world_hash="changed meanwhile"))])
    assert told.section(LOOP) == []


def test_verbs_that_had_an_effect_are_told_by_their_latest_example() -> None:
    told = Told()
    commands = ["take stamp", "open hatch", "north", "look", "wait", "take ink"]
    for turn, command in enumerate(commands, 1):
        told.tell([record(turn, command, 1, 1, observation(1, visible=(f"thing {turn}",)))])
    told.try_here("sing")
    assert told.section(VERBS) == ["open hatch, take ink"]


def test_vain_tries_count_for_one_world_and_one_command() -> None:
    told = Told().try_here("push wall", "Push  wall")
    manager = told.manager
    assert manager.vain_tries("push wall", "1", 1) == (2, "You can't go that way.")
    assert manager.vain_tries("push door", "1", 1)[0] == 0
    assert manager.vain_tries("push wall", "another world", 1)[0] == 0
    assert manager.vain_tries("push wall", "1", 2)[0] == 0


def test_what_is_answered_differently_is_left_to_chance() -> None:
    told = Told().try_here("hit goblin", answer="You miss.")
    assert told.manager.vain_tries("hit goblin", "1", 1)[0] == 1
    told.try_here("hit goblin", answer="A near miss.").try_here("hit goblin", answer="You miss.")
    assert told.manager.vain_tries("hit goblin", "1", 1)[0] == 0


def test_what_is_answered_in_different_ways_is_not_told_to_be_without_effect() -> None:
    told = Told().try_here("hit goblin", "push wall", "push wall", answer="You miss.")
    assert len(told.section(VAIN)) == 2
    told.tell([record(4, "hit goblin", 1, 1, observation(1, world_hash="hurt"), response="Hit!")])
    assert [line.partition(" ")[0] for line in told.section(VAIN)] == ["push"]
    assert told.section(VARIES) == ["hit goblin (2 times): Hit!"]


def test_what_did_something_in_this_world_once_is_not_vain() -> None:
    told = Told().tell([record(1, "pull rope", 1, 1, observation(1, world_hash="rung"))])
    told.tell([record(2, "push rope", 1, 1, observation(1))]).try_here("pull rope", "pull rope")
    assert told.manager.vain_tries("pull rope", "1", 1)[0] == 0


def test_a_question_of_the_game_is_open_until_its_next_answer() -> None:
    told = Told().try_here("open", answer="What do you want to open?\n")
    assert told.manager.question_is_open
    told.try_here("hatch", answer="It is locked.")
    assert not told.manager.question_is_open


def test_where_the_game_does_not_tell_rooms_apart_no_place_is_told() -> None:
    told = Told(observation(None)).try_here("east")
    assert told.section(VAIN) == []
    assert told.compact() == []


def test_the_sections_stay_short_whatever_is_tried() -> None:
    told = Told().try_here(*(f"ask about subject {n}" for n in range(300)), answer="No. " * 100)
    assert len(told.section(VAIN)) == 12
    assert told.section(VAIN)[-1].startswith("ask about subject 299: No. No.")
    assert max(len(line) for line in told.section(VAIN)) < 160
    assert len(told.compact()[0]) <= 180


def test_the_cost_of_a_turn_does_not_grow() -> None:
    told = Told()

    def play(turns: range) -> None:
        for turn in turns:
            told.try_here(f"say {turn}")
            list(told.manager.sections(told.state))

    play(range(1000, 1100))
    early = steps(lambda: play(range(1100, 1200)))
    play(range(1200, 3000))
    assert steps(lambda: play(range(3000, 3100))) <= 1.1 * early


def test_the_same_records_give_the_same_sections() -> None:
    records = [record(n, f"try {n % 7}", 1, 1, observation(1)) for n in range(1, 30)]
    first, second = Told().tell(records), Told().tell(records)
    assert list(first.manager.sections(first.state)) == list(second.manager.sections(second.state))
