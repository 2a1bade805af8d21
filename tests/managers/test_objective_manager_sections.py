"""What the model is told of its objectives."""

from __future__ import annotations

from session.game_state import GameState
from tests.support.mind.objectives import (
    LETTERS,
    RECORDS,
    begun,
    declared,
    ended,
    learnt,
    proposal,
    reconciled,
    told,
)


def test_those_for_this_room_are_told_first_then_the_newest() -> None:
    objectives = begun(
        declared(1, "Tame the dog", 1),
        declared(2, "Cross the river", 2),
        declared(3, "Climb the wall", 3),
        declared(4, "Ring the bell", 2),
        shown=3,
    )
    learnt(objectives, proposal("Open the vault", needs=["key", "lamp", "key"], room_id=1))
    assert told(objectives, 1) == (
        "- o5 Open the vault (at Room 1 (#1); needs key, lamp)",
        "- o1 Tame the dog (set in Room 1 (#1))",
        "- o4 Ring the bell (set in Room 2 (#2))",
    )
    assert told(objectives, 2)[0] == "- o4 Ring the bell (set in Room 2 (#2))"
    state = GameState("episode")
    assert list(objectives.compact_lines(state)) == ["Objective: Open the vault"]
    (section,) = objectives.sections(state)
    assert (section.title, section.importance) == ("Objectives", 5)


def test_the_latest_three_that_were_achieved_are_told_below() -> None:
    objectives = begun(*(declared(n, f"Do {LETTERS[n]}") for n in range(1, 7)))
    ends = [ended(f"o{n}", completed=n != 3) for n in range(1, 6)]
    objectives.learn(reconciled(objectives, ends=tuple(ends)))
    assert told(objectives) == (
        "- o6 Do G (set in Room 1 (#1))",
        "Achieved lately: Do F; Do E; Do C",
    )
    assert told(begun()) == ()


def test_who_looks_back_sees_the_open_ones_with_their_ids() -> None:
    objectives = begun(declared(1, "Tame the dog"), declared(2, "Cross the river"))
    learnt(objectives, proposal("Open the vault", needs=["key"]))
    objectives.learn(reconciled(objectives, ends=(ended("o1", completed=True),)))
    (section,) = objectives.to_revise(RECORDS)
    assert section.lines == (
        "- o2 Cross the river (set in Room 1 (#1)) [turn 2, agent]",
        "- o3 Open the vault (needs key) [turn 5, reflection]",
    )
    assert list(begun().to_revise(RECORDS)) == []
