"""What reflections say about rooms: checked, merged, replaced, and never lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.reflection.answer import MemoryProposal, MemoryRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_state import Place, TurnRecord
from session.knowledge import Evidence, Memory, MemoryChange, Reflection
from session.similarity import near_duplicates
from tests.support.mind.memories import (
    TURNS,
    UID,
    begun,
    carried,
    learnt,
    proposal,
    reconciled,
    statuses,
    told,
)
from tests.support.records import observation, record


def test_a_memory_is_kept_where_the_action_was_taken_with_what_the_game_said() -> None:
    memories = begun()
    learnt(memories, proposal(2, "East leads to a hall."), proposal(3, "The hatch opens."))
    first, second = memories.all()
    assert (first.id, first.room.id) == (f"{UID}-m1", 1)
    assert (second.id, second.room.id, second.scored) == (f"{UID}-m2", 2, 5)
    # Fault 13: not a year, but the episode and its turn.
    assert second.evidence == Evidence(episode=UID, turn=3, quote="answer 3")


def test_a_memory_that_cites_no_turn_of_the_grounds_is_dropped_with_the_reason() -> None:
    reflection = reconciled(begun(), proposal(99, "Made up."), proposal(3, " \n "))
    assert reflection.memories == ()
    assert reflection.dropped == (
        "memory 'A note': turn 99 is not part of this reflection",
        "memory 'A note': it says nothing",
    )


def test_titles_and_texts_are_one_line_of_limited_length() -> None:
    (memory,) = reconciled(begun(), proposal(3, "a b\n" * 300, title="c\nd " * 60)).memories
    assert (len(memory.title), len(memory.text)) == (60, 300)
    assert "\n" not in memory.title + memory.text
    (untitled,) = reconciled(begun(), proposal(3, "The hatch opens.", title=" ")).memories
    assert untitled.title == "The hatch opens."


def test_reconciling_changes_nothing_until_the_reflection_is_learnt() -> None:
    memories = begun(TURNS, carried(1, 2, "The hatch is stuck fast."))
    before = memories.all(), told(memories, 2)
    answer = proposal(3, "The hatch opens.", supersedes=["aaaaaa-m1"])
    first = reconciled(memories, answer)
    # The program dies here, before the reflection is logged: nothing is lost, nothing half done.
    assert (memories.all(), told(memories, 2)) == before
    assert reconciled(begun(TURNS, carried(1, 2, "The hatch is stuck fast.")), answer) == first
    memories.learn(first)
    assert statuses(memories) == {"aaaaaa-m1": "superseded", f"{UID}-m1": "active"}


def test_a_replacement_and_the_change_of_the_replaced_come_in_one_reflection() -> None:
    memories = begun(TURNS, carried(1, 2, "The hatch is stuck fast."))
    reflection = reconciled(
        memories, proposal(3, "It opens.", title="Hatch", supersedes=["aaaaaa-m1"])
    )
    assert [memory.id for memory in reflection.memories] == [f"{UID}-m1"]
    (change,) = reflection.memory_changes
    assert (change.id, change.status, change.superseded_by) == (
        "aaaaaa-m1",
        "superseded",
        f"{UID}-m1",
    )
    assert (change.turn, change.reason) == (3, "replaced")


def test_a_memory_is_invalidated_without_a_new_one() -> None:
    memories = begun(TURNS, carried(1, 2, "The hatch is stuck."))
    wrong = (
        MemoryRevision(id="aaaaaa-m1", turn=3, reason="It\nopened."),
        MemoryRevision(id="aaaaaa-m1", turn=99, reason="?"),
        MemoryRevision(id="m7", turn=3, reason="?"),
    )
    reflection = reconciled(memories, wrong=wrong)
    assert reflection.memory_changes == (
        MemoryChange(id="aaaaaa-m1", status="invalidated", reason="It opened.", turn=3),
    )
    assert reflection.dropped == (
        "wrong memory aaaaaa-m1: turn 99 is not part of this reflection",
        "wrong memory m7: there is no such active memory",
    )
    memories.learn(reflection)
    (memory,) = memories.all()
    assert (memory.status, memory.reason) == ("invalidated", "It opened.")
    assert told(memories, 2) == ()


def test_ids_are_given_in_full_or_without_the_prefix_of_this_episode_and_never_by_title() -> None:
    memories = begun(TURNS, carried(1, 2, "Old news."))
    learnt(memories, proposal(3, "The hatch is stuck.", title="Hatch"))
    for name, replaced in (
        ("m1", f"{UID}-m1"),
        ("[m1]", f"{UID}-m1"),
        (f"{UID}-m1", f"{UID}-m1"),
        ("aaaaaa-m1", "aaaaaa-m1"),
    ):
        reflection = reconciled(memories, proposal(3, "A new thing.", supersedes=[name]))
        assert [change.id for change in reflection.memory_changes] == [replaced]
    reflection = reconciled(memories, proposal(3, "A new thing.", supersedes=["Hatch"]))
    assert (len(reflection.memories), reflection.memory_changes) == (1, ())
    assert reflection.dropped == ("superseding Hatch by 'A note': there is no such active memory",)


def test_what_is_ephemeral_replaces_what_is_ephemeral_and_nothing_else() -> None:
    memories = begun()
    learnt(
        memories,
        proposal(3, "The hatch is open.", title="Hatch", persistence="ephemeral"),
        proposal(3, "Ropes ring bells.", title="Ropes"),
    )
    newer = proposal(
        3, "Now it is shut again.", title="Shut", persistence="ephemeral", supersedes=["m1", "m2"]
    )
    reflection = learnt(memories, newer)
    assert statuses(memories) == {
        f"{UID}-m1": "superseded",
        f"{UID}-m2": "active",
        f"{UID}-m3": "active",
    }
    assert reflection.dropped == (
        "superseding m2 by 'Shut': what is ephemeral cannot replace what is permanent",
    )
    learnt(memories, proposal(3, "It shuts by itself.", title="Spring", supersedes=["m3"]))
    assert statuses(memories)[f"{UID}-m3"] == "superseded"


def test_of_two_memories_that_say_the_same_the_older_stays() -> None:
    memories = begun()
    learnt(memories, proposal(3, "The hatch opens with a creak.", title="Hatch"))
    again = proposal(3, "The hatch creaks open: it opens with creaks.", title="The hatch")
    reflection = learnt(memories, again)
    assert (reflection.memories, reflection.memory_changes) == ((), ())
    assert reflection.dropped == (f"memory 'The hatch': {UID}-m1 says the same",)
    assert statuses(memories) == {f"{UID}-m1": "active"}


def test_one_that_says_more_replaces_the_older() -> None:
    memories = begun()
    learnt(memories, proposal(3, "The hatch opens with a creak.", title="Hatch"))
    learnt(memories, proposal(3, "The iron hatch opens with a loud creak.", title="Hatch"))
    assert statuses(memories) == {f"{UID}-m1": "superseded", f"{UID}-m2": "active"}
    assert memories.all()[0].superseded_by == f"{UID}-m2"


def test_the_same_is_taken_again_when_it_has_become_certain_or_lasting() -> None:
    memories = begun()
    hatch = {"text": "The hatch opens with a creak.", "title": "Hatch"}
    learnt(memories, proposal(3, **hatch, persistence="ephemeral", tentative=True))
    learnt(memories, proposal(3, **hatch, persistence="ephemeral"))
    learnt(memories, proposal(3, **hatch))
    for worth_less in ({"tentative": True}, {"persistence": "ephemeral"}):
        learnt(memories, proposal(3, **hatch, **worth_less))
    assert [memory.status for memory in memories.all()] == ["superseded", "superseded", "active"]


def test_the_same_title_alone_makes_no_duplicate() -> None:
    memories = begun()
    learnt(
        memories,
        proposal(3, "It is locked.", title="Hatch"),
        proposal(3, "An iron key opens it.", title="Hatch"),
    )
    assert [memory.text for memory in memories.memories_of(2)] == [
        "It is locked.",
        "An iron key opens it.",
    ]


def test_the_same_words_in_another_room_of_the_same_name_are_another_memory() -> None:
    # Fault 17: fifteen rooms of a maze may share one name.
    maze = [Place(id=number, name="Maze") for number in (1, 2)]
    turns = [record(n, "look", n, n, place=maze[n - 1]) for n in (1, 2)]
    memories = begun()
    answer = ReflectionAnswer(memories=[proposal(n, "A skull lies here.") for n in (1, 2)])
    fields: Any = memories.reconcile(answer, EvidenceFinder(UID, turns))
    memories.learn(Reflection(number=1, first_turn=1, last_turn=2, **fields))
    assert [len(memories.memories_of(room)) for room in (1, 2)] == [1, 1]
    assert told(memories, 1) == ("- m1 note: A note. A skull lies here.",)


def test_nothing_is_superseded_by_a_memory_that_is_not_taken() -> None:
    memories = begun(TURNS, carried(1, 2, "A rope hangs down."))
    learnt(memories, proposal(3, "The hatch opens with a creak.", title="Hatch"))
    duplicate = proposal(
        3, "The hatch opens with a creak.", title="Hatch", supersedes=["aaaaaa-m1", "m1"]
    )
    reflection = learnt(memories, duplicate)
    assert (reflection.memories, reflection.memory_changes) == ((), ())
    assert set(statuses(memories).values()) == {"active"}


def test_a_better_wording_replaces_the_one_that_it_names() -> None:
    memories = begun()
    learnt(memories, proposal(3, "The hatch opens with a loud creak.", title="Hatch"))
    shorter = proposal(3, "The hatch opens, creaks.", title="Hatch", supersedes=["m1"])
    learnt(memories, shorter)
    assert [memory.text for memory in memories.memories_of(2)] == ["The hatch opens, creaks."]


def test_one_answer_holds_no_two_memories_that_say_the_same() -> None:
    memories = begun()
    texts = (
        "The hatch opens, creaks.",
        "The hatch creaks, opens.",
        "The iron hatch creaks, opens.",
    )
    learnt(memories, *(proposal(3, text, title="Hatch") for text in texts))
    assert [memory.text for memory in memories.memories_of(2)] == [texts[2]]
    assert statuses(memories) == {f"{UID}-m1": "superseded", f"{UID}-m2": "active"}


def test_what_one_answer_calls_wrong_does_not_keep_its_correction_out() -> None:
    memories = begun(TURNS, carried(1, 2, "The hatch opens with a loud creak.", title="Hatch"))
    wrong = MemoryRevision(id="aaaaaa-m1", turn=3, reason="not loud")
    correction = proposal(3, "The hatch opens with a creak.", title="Hatch")
    memories.learn(reconciled(memories, correction, wrong=(wrong,)))
    assert statuses(memories) == {"aaaaaa-m1": "invalidated", f"{UID}-m1": "active"}


@pytest.mark.parametrize(
    ("earlier", "kept_as"),
    [
        pytest.param([], "core", id="on the first visit"),
        pytest.param([record(1, "look", 1, 1)], "core", id="after looking"),
        pytest.param(
            [record(1, "x cat", 1, 1, observation(1, world_hash="others"))], "core", id="others act"
        ),
        pytest.param(
            [record(1, "take mat", 1, 1, observation(1, inventory=["mat"]))],
            "ephemeral",
            id="taken",
        ),
        pytest.param(
            [record(1, "open box", 1, 1, observation(1, world_hash="open"))],
            "ephemeral",
            id="opened",
        ),
        pytest.param(
            [record(1, "e", 1, 2), record(2, "w", 2, 1)], "permanent", id="on the second visit"
        ),
        pytest.param(
            [
                record(1, "take mat", 1, 1, observation(1, inventory=["mat"])),
                record(2, "e", 1, 2, observation(2, inventory=["mat"])),
                record(3, "w", 2, 1, observation(1, inventory=["mat"])),
            ],
            "ephemeral",
            id="taken on an earlier visit",
        ),
        pytest.param(
            [
                record(1, "take mat", 1, 1, observation(1, inventory=["mat"])),
                record(2, "e", 1, 2, observation(2, inventory=["mat"])),
            ],
            "core",
            id="changed elsewhere",
        ),
    ],
)
def test_only_what_the_game_began_with_is_core(earlier: list[TurnRecord], kept_as: str) -> None:
    seen = earlier[-1].after if earlier else observation(1)
    last = record(len(earlier) + 1, "read sign", seen.room_id, seen.room_id, seen)
    memories = begun((*earlier, last))
    answer = ReflectionAnswer(memories=[proposal(last.turn, "A sign.", persistence="core")])
    fields: Any = memories.reconcile(answer, EvidenceFinder(UID, [*earlier, last]))
    assert [memory.persistence for memory in fields["memories"]] == [kept_as]


def test_the_turn_that_changes_a_room_still_shows_how_it_was() -> None:
    (memory,) = reconciled(begun(), proposal(3, "A shut hatch.", persistence="core")).memories
    assert memory.persistence == "core"


PROPOSALS = st.builds(
    proposal,
    st.integers(1, 4),
    st.lists(st.sampled_from(["hatch", "opens", "bell", "not", "red"]), max_size=4).map(" ".join),
    title=st.sampled_from(["Hatch", "Bell", ""]),
    persistence=st.sampled_from(["core", "permanent", "ephemeral"]),
    tentative=st.booleans(),
    supersedes=st.lists(st.sampled_from(["m1", "m2", "m3", "aaaaaa-m1", "x"]), max_size=2),
)
REVISIONS = st.builds(
    MemoryRevision,
    id=st.sampled_from(["m1", "m2", "aaaaaa-m1", "x"]),
    turn=st.integers(1, 4),
    reason=st.sampled_from(["", "so it is"]),
)
ANSWERS = st.lists(st.tuples(st.lists(PROPOSALS, max_size=3), st.lists(REVISIONS, max_size=1)))


def check_changes_have_their_reasons(after: dict[str, Memory]) -> None:
    for memory in after.values():
        if memory.status in ("superseded", "invalidated"):
            assert memory.reason
        if memory.superseded_by and memory.persistence != "ephemeral":
            assert after[memory.superseded_by].persistence != "ephemeral"


@settings(deadline=None)  # a busy machine is not a failure
@given(ANSWERS)
def test_whatever_is_answered_nothing_is_lost_or_kept_twice(
    answers: list[tuple[list[MemoryProposal], list[MemoryRevision]]],
) -> None:
    memories = begun(TURNS, carried(1, 2, "The bell is red.", title="Bell"))
    reflections = []
    for proposals, wrong in answers:
        known = {memory.id for memory in memories.all()}
        reflections.append(reconciled(memories, *proposals, wrong=tuple(wrong)))
        memories.learn(reflections[-1])
        new = {memory.id for memory in reflections[-1].memories}
        assert not known & new
        assert {memory.id for memory in memories.all()} == known | new
        check_changes_have_their_reasons({memory.id: memory for memory in memories.all()})
    for room in (1, 2):
        texts = [f"{memory.title}. {memory.text}" for memory in memories.memories_of(room)]
        pairs = [(a, b) for number, a in enumerate(texts) for b in texts[:number]]
        assert not [pair for pair in pairs if near_duplicates(*pair)]
    again = begun(TURNS, carried(1, 2, "The bell is red.", title="Bell"))
    for reflection in reflections:  # as on resume, from the log
        again.learn(Reflection.model_validate_json(reflection.model_dump_json()))
    assert (again.all(), told(again, 2)) == (memories.all(), told(memories, 2))
