"""When the player looks back, what it asks, and what it makes of the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from managers.reflection.answer import ReflectionAnswer
from mcp_ghost.testing import content_reply, error_reply
from session.knowledge import CarriedOver, Reflection
from tests.support.mind.reflecting import looking_back, walk
from tests.support.records import observation, record

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelServer

NOTHING = json.dumps({name: [] for name in ReflectionAnswer.model_fields})
MEMORY = {
    "turn": 2,
    "category": "failure",
    "title": "Gate needs oil",
    "text": "The gate is rusted shut.",
    "persistence": "permanent",
    "tentative": False,
    "supersedes": [],
}
CLAIM = {"turn": 2, "text": "Rust needs oil.", "quote": "answer 2", "tested": True}


def asked(server: ModelServer, request: int = -1) -> str:
    return str(server.requests[request].last["content"])


# --- When ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("score", {"scored": 5}),
        ("inventory", {"after": observation(1, inventory=("key",))}),
        ("new room", {"after": observation(2)}),
        ("objective", {"new_objective": "Open the gate"}),
    ],
)
def test_what_happened_makes_a_reflection_due_when_the_interval_is_over(
    name: str, changes: dict[str, Any]
) -> None:
    with looking_back([NOTHING]) as (manager, _):
        walk(manager, range(1, 4), **changes)
        assert not manager.due()
        walk(manager, range(4, 5))
        assert manager.due()
        assert manager.reflect().triggers == (name,)


def test_a_long_stretch_without_anything_makes_none_due() -> None:
    with looking_back() as (manager, _):
        walk(manager, range(1, 40))
        assert not manager.due()


def test_a_room_is_new_only_once() -> None:
    with looking_back([NOTHING]) as (manager, _):
        for turn in range(1, 9):
            manager.apply(record(turn, f"step {turn}", turn % 2, (turn + 1) % 2))
        manager.learn(manager.reflect())
        for turn in range(9, 17):
            manager.apply(record(turn, f"step {turn}", turn % 2, (turn + 1) % 2))
        assert not manager.due()


def test_a_refusal_repeated_in_the_same_room_makes_one_due() -> None:
    with looking_back([NOTHING]) as (manager, _):
        walk(manager, range(1, 4))
        for turn, answer in ((4, "It is locked."), (5, "It is jammed."), (6, "It is jammed.")):
            assert not manager.due()
            manager.apply(record(turn, "Open  Gate", 1, 1, response=answer))
        assert manager.due()
        assert manager.reflect().triggers == ("repeated refusal",)


def test_looking_twice_and_walking_the_same_way_twice_is_not_a_refusal() -> None:
    with looking_back() as (manager, _):
        for turn in range(1, 9):
            manager.apply(record(turn, "look", 1, 1, response="A hall."))
        manager.begin(observation(2), CarriedOver())  # so that no room is new
        for turn in range(9, 19, 2):
            manager.apply(record(turn, "north", 1, 2, response="A yard."))
            manager.apply(record(turn + 1, "south", 2, 1, response="A hall."))
        assert not manager.due()


def test_fault_7_death_is_the_engines_flag_and_never_a_word() -> None:
    with looking_back([NOTHING]) as (manager, server):
        walk(
            manager,
            range(1, 5),
            thinking="I must avoid death. You have died?",
            response="A sign reads: You have died. Score 0.",
        )
        assert not manager.due()
        walk(manager, range(5, 9), died=True, response="All is dark.")
        assert manager.due()
        assert manager.reflect().triggers == ("death",)
        assert asked(server).count("[you died]") == 1


def test_at_the_end_one_turn_is_enough_and_nothing_has_to_have_happened() -> None:
    with looking_back([NOTHING]) as (manager, _):
        walk(manager, range(1, 2))
        assert manager.due(ending=True)
        manager.learn(manager.reflect(ending=True))
        assert not manager.due(ending=True)


def test_a_death_is_looked_back_at_at_once_with_what_led_up_to_it() -> None:
    with looking_back([NOTHING, NOTHING]) as (manager, server):
        walk(manager, range(1, 9), scored=1)
        manager.learn(manager.reflect())
        walk(manager, range(9, 10))
        assert not manager.due()
        walk(manager, range(10, 11), died=True)
        assert manager.due()
        reflection = manager.reflect()
        assert (reflection.first_turn, reflection.last_turn) == (9, 10)
        told = asked(server)
        assert "Turn 10, Room 1 (#1): > try 10 [you died]" in told
        assert [n for n in range(1, 11) if f"Turn {n}, " in told] == list(range(3, 11))
        assert "answer 3" in told


@pytest.mark.parametrize(
    "settings",
    [
        {"reflection_enabled": False},
        {"memories_enabled": False, "objectives_enabled": False, "knowledge_enabled": False},
        {"memories_enabled": False, "context_profile": "compact"},
    ],
)
def test_nobody_looks_back_when_nobody_wants_what_it_yields(settings: dict[str, Any]) -> None:
    with looking_back(**settings) as (manager, _):
        walk(manager, range(1, 9), scored=5)
        assert not manager.due()
        assert not manager.due(ending=True)


def test_reflecting_without_turns_is_an_error() -> None:
    with looking_back() as (manager, _), pytest.raises(ValueError, match="no turns to look back"):
        manager.reflect()


# --- What is asked -------------------------------------------------------------------------------


def test_one_call_tells_the_turns_their_facts_and_what_is_known() -> None:
    with looking_back([NOTHING]) as (manager, server):
        walk(manager, range(1, 3))
        after = observation(2, score=5, inventory=("key",))
        manager.apply(record(3, "get key", 1, 2, after, scored=5, response="You fall.\n\nOuch!"))
        walk(manager, range(4, 5))
        manager.reflect()
    assert server.refusals == []
    (request,) = server.requests
    told = asked(server)
    assert "Turn 3, Room 1 (#1): > get key" in told
    for fact in (
        "[score +5, now 5]",
        "[gained key]",
        "[now in Room 2 (#2) for the first time]",
        "[no longer carried: key]",
        "game: You fall. Ouch!",
        "player thought: thought 3",
        "m1 about turn 1",
    ):
        assert fact in told
    assert "Leave" not in told
    assert request.chat["temperature"] == 0.3
    schema = request.chat["response_format"]["json_schema"]
    assert schema["strict"]
    assert list(schema["schema"]["properties"]) == list(ReflectionAnswer.model_fields)


def test_the_head_of_the_prompt_is_the_same_each_time() -> None:
    with looking_back([NOTHING, NOTHING]) as (manager, server):
        for start in (1, 5):
            walk(manager, range(start, start + 4), scored=1)
            manager.learn(manager.reflect())
    first, second = (request.messages for request in server.requests)
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_what_is_switched_off_is_asked_to_be_left_empty() -> None:
    with looking_back([NOTHING], memories_enabled=False, knowledge_enabled=False) as (
        manager,
        server,
    ):
        walk(manager, range(1, 5), scored=1)
        manager.reflect()
    lists = "memories, wrong_memories, claims, judged_claims"
    assert f"Leave these lists empty this time: {lists}." in asked(server)


def test_long_stretches_keep_the_budget_and_every_turns_number() -> None:
    with looking_back([NOTHING]) as (manager, server):
        for turn in range(1, 101):
            manager.apply(record(turn, "dig", 1, 1, response=f"Nothing {turn}. " * 60))
        walk(manager, range(101, 102), scored=1)
        reflection = manager.reflect()
    told = asked(server)
    assert 10_000 < len(told) < 13_000
    assert (reflection.first_turn, reflection.last_turn) == (42, 101)
    assert all(f"Turn {turn}, " in told for turn in range(42, 102))
    assert "Nothing 100." in told
    assert "Nothing 42." not in told


# --- What is made of the answer ------------------------------------------------------------------


def test_memories_and_claims_come_of_one_call_with_its_cost() -> None:
    answer = json.dumps({**json.loads(NOTHING), "memories": [MEMORY], "claims": [CLAIM]})
    with looking_back([answer]) as (manager, server):
        walk(manager, range(1, 5), scored=1)
        reflection = manager.reflect()
    assert len(server.requests) == 1
    assert [memory.title for memory in reflection.memories] == ["Gate needs oil"]
    assert [(claim.id, claim.basis) for claim in reflection.claims] == [("aaaaaa-c1", "tested")]
    assert (reflection.number, reflection.first_turn, reflection.last_turn) == (1, 1, 4)
    assert reflection.failure is None
    assert reflection.usage.calls == 1
    assert reflection.usage.prompt_tokens > 500
    assert reflection.seconds > 0
    assert Reflection.model_validate_json(reflection.model_dump_json()) == reflection


def test_malformed_items_are_dropped_with_a_reason_and_the_others_kept() -> None:
    answer = {
        "memories": [
            {**MEMORY, "category": "gossip"},
            {**MEMORY, "supersedes": None},
            "a string",
            {**MEMORY, "turn": 99},
        ],
        "claims": [{"text": "No turn."}, {**CLAIM, "quote": "never said"}],
        "objectives": "none",
        "ended_objectives": None,
    }
    with looking_back([f"Here it is:\n```json\n{json.dumps(answer)}\n```"]) as (manager, _):
        walk(manager, range(1, 5), scored=1)
        reflection = manager.reflect()
    assert [memory.title for memory in reflection.memories] == ["Gate needs oil"]
    assert [claim.basis for claim in reflection.claims] == ["inferred"]
    assert reflection.failure is None
    told = "\n".join(reflection.dropped)
    for reason in (
        "memories[0].category",
        "memories[2]",
        "claims[0].turn",
        "objectives: not a list",
    ):
        assert reason in told
    assert "no turn 99" in told
    assert len(reflection.dropped) == 5


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([content_reply("Nothing of note.")], "no JSON object"),
        ([content_reply('{"action": "look"}')], "none of the lists"),
        (2 * [content_reply('{"memories": [{"turn": 1', finish_reason="length")], "cut off"),
        ([content_reply(json.dumps([MEMORY]))], "none of the lists"),
    ],
)
def test_an_unreadable_answer_is_a_failure_that_says_why_and_what_it_cost(
    replies: list[Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with looking_back(replies) as (manager, _):
        walk(manager, range(1, 5), scored=1)
        reflection = manager.reflect()
    assert reason in (reflection.failure or "")
    assert reflection.usage.calls == len(replies)
    assert [each for each in caplog.records if "cannot be read" in each.getMessage()]


@pytest.mark.parametrize("reply", [error_reply(500), error_reply(401)])
def test_a_model_that_cannot_be_asked_is_a_failure(reply: Any) -> None:  # noqa: ANN401  a Reply
    with looking_back([reply]) as (manager, _):
        walk(manager, range(1, 5), scored=1)
        reflection = manager.reflect()
    assert "could not be asked" in (reflection.failure or "")
    assert reflection.memories == ()


def test_an_endpoint_that_is_down_is_a_failure() -> None:
    with looking_back(client_base_url="http://127.0.0.1:9/v1") as (manager, _):
        walk(manager, range(1, 5), scored=1)
        assert "could not be asked" in (manager.reflect().failure or "")


def test_after_a_failure_the_interval_passes_and_no_turn_is_lost() -> None:
    with looking_back([error_reply(400), NOTHING]) as (manager, server):
        walk(manager, range(1, 5), scored=1)
        manager.learn(manager.reflect())
        assert not manager.due()
        assert not manager.due(ending=True)
        walk(manager, range(5, 8))
        assert not manager.due()
        assert manager.due(ending=True)
        walk(manager, range(8, 9))
        assert manager.due()
        reflection = manager.reflect()
    assert (reflection.number, reflection.first_turn, reflection.last_turn) == (2, 1, 8)
    assert "Turn 1, " in asked(server)


# --- Two phases ----------------------------------------------------------------------------------


def test_a_reflection_that_was_not_learnt_is_due_again_with_the_same_turns() -> None:
    """As after a kill between the answer and the log: the resumed one replays the log."""
    answer = json.dumps({"memories": [MEMORY]})
    with looking_back([answer]) as (manager, _):
        walk(manager, range(1, 5), scored=1)
        lost = manager.reflect()
        assert manager.due()
    with looking_back([answer]) as (resumed, _):
        walk(resumed, range(1, 5), scored=1)
        assert resumed.due()
        again = resumed.reflect()
        assert again.model_dump(exclude={"seconds", "usage"}) == lost.model_dump(
            exclude={"seconds", "usage"}
        )
        resumed.learn(again)
        assert not resumed.due(ending=True)


def test_replaying_records_and_reflections_gives_the_same_next_reflection() -> None:
    with looking_back([NOTHING, NOTHING]) as (manager, server):
        walk(manager, range(1, 5), scored=1)
        logged = manager.reflect()
        manager.learn(logged)
        walk(manager, range(5, 9), died=True)
        first = manager.reflect()
        message = asked(server)
    with looking_back([NOTHING]) as (resumed, server):
        walk(resumed, range(1, 5), scored=1)
        resumed.learn(logged)
        walk(resumed, range(5, 9), died=True)
        second = resumed.reflect()
        assert asked(server) == message
    assert (first.number, first.triggers) == (second.number, second.triggers) == (2, ("death",))
    assert first.first_turn == 5
