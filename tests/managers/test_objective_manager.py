"""What the player wants: set, achieved by facts, given up by turns, overwritten by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session.game_state import Observation, Place, TurnRecord
from session.knowledge import Goal, Objective, Reflection
from session.similarity import near_duplicates
from tests.support.mind.objectives import (
    LETTERS,
    RECORDS,
    UID,
    begun,
    closed,
    declared,
    ended,
    learnt,
    proposal,
    reconciled,
    texts,
    told,
)
from tests.support.records import observation, record

if TYPE_CHECKING:
    from managers.reflection.answer import ObjectiveProposal, ObjectiveRevision


def test_what_the_agent_declares_is_kept_with_the_room_where_it_did() -> None:
    (objective,) = begun(declared(4, "Cross\nthe river", 2)).open()
    assert objective == Objective(
        id=f"{UID}-o1",
        text="Cross the river",
        room=Place(id=2, name="Room 2"),
        source="agent",
        turn=4,
    )


@pytest.mark.parametrize("text", ["None", "null", " n/a. ", "\n", "nothing"])
def test_what_means_no_objective_is_none(text: str) -> None:
    assert begun(declared(1, text)).all() == ()


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        ("o1 done", "completed", "done"),
        ("[o1]: achieved, the hatch is open", "completed", "achieved, the hatch is open"),
        ("o1 dropped: nothing opens it", "retired", "dropped: nothing opens it"),
        ("o1", "retired", "dropped by the player"),
        ("k7f3qa-o1 is done", "completed", "is done"),
    ],
)
def test_the_model_closes_an_objective_by_its_id(said: str, status: str, reason: str) -> None:
    first = record(1, "look", 1, 1, new_objective="Open the hatch")
    objectives = begun(first, record(2, "look", 1, 1, close_objective=said))
    (objective,) = closed(objectives)
    assert (objective.status, objective.reason, objective.closed) == (status, reason, 2)


@pytest.mark.parametrize("said", ["o2 done", "none", "the hatch", "[]"])
def test_what_names_no_open_objective_closes_none(said: str) -> None:
    first = record(1, "look", 1, 1, new_objective="Open the hatch")
    assert closed(begun(first, record(2, "look", 1, 1, close_objective=said))) == ()


def test_what_is_open_is_not_set_twice_but_may_be_again_later() -> None:
    objectives = begun(declared(1, "Repair the bridge"), declared(2, "Repair the old bridge."))
    reflection = learnt(objectives, proposal("Repairing the bridge"), proposal("Cross the river"))
    assert texts(objectives.open()) == ["Repair the bridge", "Cross the river"]
    assert reflection.dropped == (f"objective 'Repairing the bridge': {UID}-o1 says the same",)
    objectives.learn(reconciled(objectives, ends=(ended("o1", completed=False),)))
    objectives.apply(declared(6, "Repair the bridge"))
    assert texts(objectives.open()) == ["Cross the river", "Repair the bridge"]
    assert [objective.id for objective in objectives.all()] == [f"{UID}-o{n}" for n in (1, 2, 3)]


def test_looking_back_adds_to_what_the_agent_declared_and_replaces_none_of_it() -> None:
    # Fault 15: discovery overwrote the agent's own objectives.
    objectives = begun(*(declared(n, f"Do {LETTERS[n]}") for n in range(1, 4)))
    before = objectives.open()
    learnt(objectives, *(proposal(f"Find out about {letter}") for letter in LETTERS[10:20]))
    assert objectives.open()[:3] == before
    assert len(objectives.open()) == 13


def test_a_proposal_needs_words_and_a_turn_that_was_looked_back_at() -> None:
    reflection = reconciled(begun(), proposal(" "), proposal("Cross the river", turn=99))
    assert reflection.objectives == ()
    assert reflection.dropped == (
        "objective '': it says nothing",
        "objective 'Cross the river': turn 99 is not part of this reflection",
    )


def test_rooms_that_were_never_seen_are_left_out() -> None:
    objectives = begun(record(1, "e", 1, 2))
    seen, unseen, unseen_goal = learnt(
        objectives,
        proposal("Cross the river", room_id=2, goal_room_id=1),
        proposal("Climb the wall", room_id=77),
        proposal("Bring the lamp", goal_room_id=77, goal_item="lamp"),
    ).objectives
    assert (seen.room, seen.goal) == (Place(id=2, name="Room 2"), Goal(room=1))
    assert (unseen.room, unseen.goal) == (None, None)
    assert unseen_goal.goal is None
    assert reconciled(objectives, proposal("Fly", goal_room_id=77)).dropped == (
        "room 77 of the goal of objective 'Fly': no such room was seen",
    )


@pytest.mark.parametrize(
    ("fields", "goal"),
    [
        ({"goal_item": "Lamp"}, Goal(item="Lamp")),
        ({"goal_score": 20}, Goal(score=20)),
        ({"goal_item": "lamp", "goal_score": 0}, Goal(item="lamp")),  # 0 holds: an empty field
        ({"goal_item": "lamp", "goal_score": 20}, None),
        ({"goal_item": "lamp", "goal_room_id": 2}, None),
        ({"goal_item": "coin"}, None),
        ({"goal_room_id": 2}, None),
        ({"goal_score": 5}, None),
        ({"goal_item": " the "}, None),
        ({}, None),
    ],
)
def test_a_goal_is_one_fact_that_does_not_hold_yet(
    fields: dict[str, object], goal: Goal | None
) -> None:
    here = observation(2, inventory=["gold coin (in purse)"], score=5)
    (objective,) = reconciled(
        begun(record(1, "e", 1, 2, here)), proposal("Do it", 3, **fields)
    ).objectives
    assert objective.goal == goal


@pytest.mark.parametrize(
    ("goal", "after", "reason"),
    [
        ({"goal_room_id": 1}, observation(1), "you were in Room 1 (#1)"),
        ({"goal_item": "lamp"}, observation(3, inventory=["Brass Lamp"]), "you carried lamp"),
        (
            {"goal_item": "old brass lamp"},
            observation(3, inventory=["sack", "lamp (in sack)"]),
            "you carried old brass lamp",
        ),
        ({"goal_score": 7}, observation(3, score=9), "the score was 9"),
    ],
)
def test_an_objective_is_completed_by_the_games_facts(
    goal: dict[str, object], after: Observation, reason: str
) -> None:
    objectives = begun(record(1, "e", 1, 2))
    learnt(objectives, proposal("Do it", 3, **goal))
    objectives.apply(record(6, "wait", 2, 2, observation(2, visible=["lamp"], inventory=["sack"])))
    assert len(objectives.open()) == 1
    objectives.apply(record(7, "go", 2, after.room_id, after))
    (objective,) = closed(objectives)
    assert (objective.status, objective.reason, objective.closed) == ("completed", reason, 7)
    assert objectives.open() == ()


def named(room: int, name: str, visible: str) -> Observation:
    return observation(room, visible=[visible]).model_copy(
        update={"room": Place(id=room, name=name)}
    )


SEEN = (
    record(1, "e", 1, 2, named(2, "Boat House", "rusty key")),
    record(2, "e", 2, 3, named(3, "Maze", "brass lantern")),
    record(3, "e", 3, 4, named(4, "Maze", "silver key")),
)


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Go to the Boat House", Goal(room=2)),
        ("return to boat house.", Goal(room=2)),
        ("Go back to the Boat House", Goal(room=2)),
        ("Reach the boat house", Goal(room=2)),
        ("Get the lantern", Goal(item="brass lantern")),
        ("Find the Rusty Key!", Goal(item="rusty key")),
        ("Go to the Boat House with the lantern", None),
        ("Reach the Maze", None),
        ("Reach the House", None),
        ("Reach the Tower", None),
        ("Take a key", None),
        ("Take the lantern and light it", None),
        ("Take the crown", None),
        ("Explore the Boat House", None),
        ("Light the lantern", None),
        ("Take the", None),
    ],
)
def test_code_checks_an_objective_of_the_agent_that_names_one_known_room_or_thing(
    text: str, goal: Goal | None
) -> None:
    (objective,) = begun(*SEEN, declared(4, text, 4)).open()
    assert objective.goal == goal


def test_an_objective_may_be_achieved_in_the_turn_that_declares_it() -> None:
    carrying = observation(4, inventory=["silver key"])
    objectives = begun(*SEEN, declared(4, "Take the silver key", 4, carrying))
    assert [(each.status, each.closed) for each in objectives.all()] == [("completed", 4)]


def test_a_thing_that_is_carried_already_completes_nothing() -> None:
    carrying = observation(4, inventory=["silver key"])
    taken = record(4, "take key", 4, 4, carrying)
    objectives = begun(*SEEN, taken, declared(5, "Find the silver key", 4, carrying))
    assert [each.goal for each in objectives.open()] == [None]


def test_a_room_that_is_left_in_the_turn_that_declares_it_is_to_be_come_back_to() -> None:
    leaving = record(4, "w", 4, 3, new_objective="Return to the Boat House")
    staying = declared(5, "Reach the Boat House", 2)
    objectives = begun(*SEEN[:1], leaving.model_copy(update={"place": SEEN[0].after.room}))
    assert [each.goal for each in objectives.open()] == [Goal(room=2)]
    assert [each.goal for each in begun(*SEEN[:1], staying).open()] == [None]


def test_looking_back_ends_objectives_with_a_turn_and_a_reason() -> None:
    objectives = begun(declared(1, "Cross the river"), declared(2, "Tame the dog"))
    reflection = reconciled(
        objectives,
        ends=(
            ended("o1", completed=True, reason="The raft\narrived."),
            ended(f"{UID}-o2", completed=False, turn=4, reason=""),
            ended("o2", completed=True),
            ended("o9", completed=True),
        ),
    )
    assert texts(objectives.open()) == ["Cross the river", "Tame the dog"]
    objectives.learn(reflection)
    assert [(each.status, each.reason, each.closed) for each in closed(objectives)] == [
        ("completed", "The raft arrived.", 3),
        ("retired", "retired", 4),
    ]
    assert reflection.dropped == (
        "ended objective o2: there is no such open objective",
        "ended objective o9: there is no such open objective",
    )
    unseen = reconciled(
        begun(RECORDS[0], declared(2, "X")), ends=(ended("o1", completed=True, turn=9),)
    )
    assert unseen.dropped == ("ended objective o1: turn 9 is not part of this reflection",)


def test_the_games_facts_are_above_the_word_that_something_is_achieved() -> None:
    objectives = begun(*SEEN, declared(4, "Get the lantern", 4))
    reflection = reconciled(objectives, ends=(ended("o1", completed=True),))
    assert reflection.objective_changes == ()
    assert reflection.dropped == (
        "ended objective o1: the game's facts do not show that it is achieved",
    )
    objectives.learn(reconciled(objectives, ends=(ended("o1", completed=False),)))
    assert [each.status for each in closed(objectives)] == ["retired"]


def test_an_objective_without_progress_is_retired_after_so_many_turns() -> None:
    # Fault 15: staleness is counted in turns, however often somebody looks.
    objectives = begun(declared(1, "Tame the dog"), stale=10)
    for turn in range(2, 11):
        objectives.apply(record(turn, "wait", 1, 1))
        told(objectives)
        reconciled(objectives)
    assert len(objectives.open()) == 1
    objectives.apply(record(11, "wait", 1, 1))
    (objective,) = closed(objectives)
    assert (objective.status, objective.closed) == ("retired", 11)
    assert objective.reason == "no progress in 10 turns"


@pytest.mark.parametrize(
    ("event", "until"),
    [
        (record(5, "wait", 1, 1), 11),
        (record(5, "pray", 1, 1, observation(1, score=3)), 15),
        (record(5, "e", 1, 2), 15),
        (record(5, "take rope", 1, 1, observation(1, inventory=["long rope"])), 15),
        (record(5, "take hat", 1, 1, observation(1, inventory=["hat"])), 11),
    ],
)
def test_points_a_new_room_or_a_needed_thing_are_progress(event: TurnRecord, until: int) -> None:
    objectives = begun(stale=10)
    objectives.learn(
        Reflection(
            number=1,
            first_turn=1,
            last_turn=1,
            objectives=(
                Objective(
                    id="x-o1", text="Climb down", needs=("rope",), source="reflection", turn=1
                ),
            ),
        )
    )
    objectives.apply(event)
    for turn in range(6, 30):
        objectives.apply(record(turn, "wait", 1, 1, observation(1, score=event.after.score)))
    assert [each.closed for each in closed(objectives)] == [until]


def test_what_was_seen_gained_or_carried_before_is_not_progress() -> None:
    rope, none = observation(1, inventory=["rope"], score=5), observation(1)
    objectives = begun(record(1, "take rope", 1, 1, rope), stale=10)
    learnt(objectives, proposal("Climb down", needs=["rope"]))
    for turn in range(6, 15):
        objectives.apply(record(turn, "juggle", 1, 1, none if turn % 2 else rope))
    assert len(objectives.open()) == 1
    objectives.apply(record(15, "juggle", 1, 1, none))
    assert objectives.open() == ()


def test_beyond_thirty_the_stalest_that_looking_back_found_makes_room() -> None:
    objectives = begun(declared(1, "Tame the dog"))
    learnt(objectives, *(proposal(f"Follow clue {number}") for number in range(29)))
    objectives.apply(declared(6, "Cross the river"))
    (oldest,) = closed(objectives)
    assert (oldest.text, oldest.reason) == ("Follow clue 0", "made room for newer ones")
    reflection = learnt(objectives, proposal("Ring the bell"))
    assert [change.id for change in reflection.objective_changes] == [f"{UID}-o3"]
    assert len(objectives.open()) == 30
    assert {"Tame the dog", "Cross the river", "Ring the bell"} <= set(texts(objectives.open()))


def test_what_looking_back_finds_never_makes_the_agents_own_give_way() -> None:
    objectives = begun(*(declared(n, f"Do {LETTERS[n % 26]}{n}") for n in range(1, 31)))
    reflection = learnt(objectives, proposal("Cross the river"))
    assert reflection.dropped == ("objective 'Cross the river': there are 30 open ones",)
    objectives.apply(declared(31, "Cross the river"))
    assert texts(closed(objectives)) == ["Do B1"]
    assert len(objectives.open()) == 30


PROPOSALS = st.builds(
    proposal,
    st.lists(st.sampled_from(["open", "gate", "bell", "red", "old"]), max_size=4).map(" ".join),
    turn=st.integers(1, 6),
    goal_item=st.sampled_from([None, "", "lamp"]),
    goal_room_id=st.sampled_from([None, 1, 2, 99]),
)
REVISIONS = st.builds(
    ended, st.sampled_from(["o1", "o2", "o3", "x"]), completed=st.booleans(), turn=st.integers(1, 6)
)
STEPS = st.one_of(
    st.tuples(st.lists(PROPOSALS, max_size=12), st.lists(REVISIONS, max_size=2)),
    st.sampled_from(["open gate", "ring bell", "get lamp", None]),
)


@settings(deadline=None)  # a busy machine is not a failure
@given(st.lists(STEPS, max_size=12))
def test_whatever_happens_every_objective_stays_known_and_a_replay_gives_the_same(
    steps: list[tuple[list[ObjectiveProposal], list[ObjectiveRevision]] | str | None],
) -> None:
    objectives, again = begun(stale=5), begun(stale=5)
    for turn, step in enumerate(steps, start=6):
        known = {each.id for each in objectives.all()}
        if isinstance(step, tuple):
            reflection = reconciled(objectives, *step[0], ends=tuple(step[1]))
            assert reconciled(objectives, *step[0], ends=tuple(step[1])) == reflection
            objectives.learn(reflection)
            again.learn(Reflection.model_validate_json(reflection.model_dump_json()))
            assert not known & {each.id for each in reflection.objectives}
        else:
            after = observation(1, visible=["lamp"], inventory=["lamp"] if turn % 4 == 0 else [])
            objectives.apply(declared(turn, step or "", after=after))
            again.apply(declared(turn, step or "", after=after))
        assert known <= {each.id for each in objectives.all()}
        assert len(objectives.open()) <= 30
        assert all(each.reason and each.closed is not None for each in closed(objectives))
        pairs = [(a, b) for a in objectives.open() for b in objectives.open() if a.id < b.id]
        assert not [1 for a, b in pairs if near_duplicates(a.text, b.text)]
    assert (again.all(), told(again)) == (objectives.all(), told(objectives))
