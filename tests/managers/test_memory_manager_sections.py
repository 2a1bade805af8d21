"""What the model is told of what is remembered: in which order, and how much."""

from __future__ import annotations

from typing import Any

import pytest

from managers.reflection.answer import ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_state import GameState
from session.knowledge import CarriedOver, Reflection
from tests.support.mind.memories import (
    TURNS,
    UID,
    at,
    begun,
    carried,
    learnt,
    manager,
    proposal,
    told,
)
from tests.support.records import observation, record


def test_this_room_is_told_first_then_those_near_it_and_far_ones_by_title() -> None:
    steps = {3: 1, 4: 2, 5: 3}
    memories = manager(lambda _, to: steps.get(to))
    memories.begin(observation(2), CarriedOver())
    rooms = {4: "far", 5: "too far", 3: "near", 2: "here", 9: "unreachable"}
    turns = [record(room, "look", room, room) for room in rooms]
    answer = ReflectionAnswer(
        memories=[
            proposal(room, f"Body {room}.", title=f"Of {name}") for room, name in rooms.items()
        ]
        + [
            proposal(2, "A floor breaks.", title="Floor", category="danger", tentative=True),
            proposal(2, "A wall falls.", title="Wall", category="danger"),
        ]
    )
    fields: Any = memories.reconcile(answer, EvidenceFinder(UID, turns))
    memories.learn(Reflection(number=1, first_turn=2, last_turn=9, **fields))
    (section,) = memories.sections(at(2))
    assert (section.title, section.importance) == ("Memories", 4)
    assert section.lines == (
        "- m7 danger: Wall. A wall falls.",
        "- m4 note: Of here. Body 2.",
        "- m6 danger, uncertain: Floor. A floor breaks.",
        "- m3 note: in Room 3 (#3), 1 step away: Of near. Body 3.",
        "- m1 note: in Room 4 (#4), 2 steps away: Of far",
    )
    without_map = manager()
    without_map.learn(Reflection(number=1, first_turn=2, last_turn=9, **fields))
    assert len(told(without_map, 2)) == 3


@pytest.mark.parametrize(
    ("target", "plan"),
    [("room 5", ""), ("5", ""), ("", "1. To #5.\n2. Dig."), ("", "Dig in Room 5.")],
)
def test_memories_of_a_far_room_are_told_whole_where_target_or_plan_names_it(
    target: str, plan: str
) -> None:
    memories = manager(lambda _, to: {5: 7, 55: 8}.get(to))
    old = (carried(1, 5, "Soft ground."), carried(2, 55, "Hard ground."), carried(3, 6, "Sand."))
    memories.begin(observation(1), CarriedOver(memories=old))
    state = at(1)
    assert list(memories.sections(state)) == []
    state.nav_target, state.plan = target, plan
    (section,) = memories.sections(state)
    assert section.lines[1:] == (
        "- aaaaaa-m1 note: in Room 5 (#5), 7 steps away: Title 1. Soft ground.",
    )


def test_memories_of_earlier_episodes_stand_under_a_line_about_the_reset() -> None:
    memories = begun(
        TURNS,
        carried(1, 2, "A hatch."),
        carried(2, 2, "It stands open.", persistence="ephemeral"),
        carried(3, 2, "Wrong.", status="invalidated"),
    )
    learnt(memories, proposal(3, "Now open.", title="Hatch"))
    own, reset, old = told(memories, 2)
    assert own == "- m1 note: Hatch. Now open."
    assert "the world was reset" in reset
    assert old == "- aaaaaa-m1 note: Title 1. A hatch."


def test_the_budget_is_kept_to_the_character() -> None:
    old = tuple(carried(number, 1 + number % 3, "word " * number) for number in range(40))
    for tokens in (*range(1, 200), 500):
        memories = manager(lambda _, to: abs(to - 2), memories_token_budget=tokens)
        memories.begin(observation(2), CarriedOver(memories=old))
        sections = list(memories.sections(at(2)))
        assert sum(len(section.text()) for section in sections) <= tokens * 4
        # A line about the reset with nothing below it would say nothing.
        assert all(len(section.lines) >= 2 for section in sections)
        assert sections or tokens < 60


def test_what_does_not_fit_whole_is_told_by_its_title() -> None:
    memories = manager(memories_token_budget=80)
    old = (carried(number, 2, f"word{number} " * 20) for number in (1, 2))
    memories.begin(observation(2), CarriedOver(memories=tuple(old)))
    _, whole, short = told(memories, 2)
    assert "word1 word1" in whole
    assert short == "- aaaaaa-m2 note: Title 2"


def test_what_is_told_is_the_same_each_time() -> None:
    memories = begun(TURNS, carried(1, 2, "A hatch."), carried(2, 2, "A bell."))
    assert told(memories, 2) == told(memories, 2)
    assert list(memories.sections(GameState("not begun"))) == []
    assert told(memories, 77) == ()


def test_a_very_small_model_is_told_the_most_urgent_titles_of_this_room() -> None:
    memories = begun(
        TURNS,
        carried(1, 2, "a", title="A bell"),
        carried(2, 2, "b", title="Deep water " * 9, category="danger"),
        carried(3, 2, "c", title="A rope", category="success"),
    )
    (line,) = memories.compact_lines(at(2))
    assert line.startswith("Remember: Deep water")
    assert len(line) <= 100
    assert list(memories.compact_lines(at(1))) == []


def test_who_looks_back_sees_what_is_in_force_in_the_rooms_of_the_turns() -> None:
    memories = begun(
        TURNS,
        carried(1, 2, "A hatch."),
        carried(2, 1, "A rope.", status="tentative"),
        carried(3, 2, "Gone.", status="superseded"),
        carried(4, 7, "Elsewhere."),
    )
    learnt(memories, proposal(3, "It opens.", title="Hatch", persistence="ephemeral"))
    (section,) = memories.to_revise(TURNS)
    assert section.lines == (
        "aaaaaa-m1 [note, permanent, active] Room 2 (#2): Title 1. A hatch.",
        "m1 [note, ephemeral, active] Room 2 (#2): Hatch. It opens.",
        "aaaaaa-m2 [note, permanent, tentative] Room 1 (#1): Title 2. A rope.",
    )


def test_a_turn_costs_the_same_however_much_is_remembered_elsewhere() -> None:
    asked = []

    def distance(_: int, to: int) -> int | None:
        asked.append(to)
        return None

    memories = manager(distance)
    old = tuple(carried(number, 3 + number % 5, "Old.") for number in range(1000))
    memories.begin(observation(1), CarriedOver(memories=old))
    assert told(memories, 1) == ()
    assert sorted(asked) == [3, 4, 5, 6, 7]  # each room once, not each memory


def test_however_much_is_remembered_of_a_room_a_reflection_is_told_so_much_of_it() -> None:
    many = [carried(number, 1, f"Drawer {number} is stuck.") for number in range(300)]
    (section,) = begun(TURNS, *many, carried(300, 2, "The hatch squeaks.")).to_revise(TURNS)
    assert len(section.lines) == 40
    assert "The hatch squeaks." in section.lines[0]
