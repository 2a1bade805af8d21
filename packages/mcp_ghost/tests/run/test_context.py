"""What of a long run the model is shown, and that the result keeps the whole of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost import resume
from mcp_ghost.golden import assert_matches_golden, record_golden, replay_golden
from mcp_ghost.messages import LLMResponse, Message, tool_message
from mcp_ghost.run.memory import Compaction, Meter, limit_of
from mcp_ghost.testing import (
    ModelRequest,
    ModelServer,
    Reply,
    content_reply,
    error_reply,
    tool_reply,
)
from tests.support.ghosts import KEY, PROVIDERS, Notes, ghost, play, said_to
from tests.support.servers import faulty

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
HEAD: list[Message] = [
    {"role": "system", "content": "Keep notes."},
    {"role": "user", "content": "Do it."},
]


def exchange(number: int, results: list[str], said: str = "") -> list[Message]:
    """A reply that calls as many tools as there are results, and their answers."""
    ids = [f"call_{number}_{position}" for position in range(len(results))]
    function = {"name": "notes.read", "arguments": f'{{"name": "{number}"}}'}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    reply = {"role": "assistant", "content": said or None, "tool_calls": calls}
    return [reply, *(tool_message(*pair) for pair in zip(ids, results, strict=True))]


def conversation(exchanges: list[list[Message]]) -> list[Message]:
    return [*HEAD, *(message for exchange in exchanges for message in exchange)]


def size(messages: list[Message]) -> int:
    return sum(len(message["content"] or "") for message in messages)


def growing(memory: Compaction, exchanges: list[list[Message]]) -> list[list[Message]]:
    """The view before each reply of a run."""
    return [viewed(memory, conversation(exchanges[:n])) for n in range(len(exchanges) + 1)]


def viewed(memory: Compaction, messages: list[Message]) -> list[Message]:
    with pytest.raises(StopIteration) as ended:  # nothing that it would wait for
        memory.view(messages).send(None)
    return ended.value.value  # type: ignore[no-any-return]  # a StopIteration's


# --- the views --------------------------------------------------------------------------------


def test_a_short_conversation_is_shown_as_it_is() -> None:  # B32
    messages = conversation([exchange(n, ["short"]) for n in range(20)])
    assert viewed(Compaction(2_500), messages) == messages


def test_older_results_are_shortened_first_and_recent_exchanges_stay_whole() -> None:  # B32
    exchanges = [exchange(n, ["x" * 3000], f"Step {n}.") for n in range(6)]
    view = viewed(Compaction(3_500), conversation(exchanges))
    assert len(view) == len(conversation(exchanges))
    assert view[-6:] == [message for each in exchanges[-3:] for message in each]
    assert view[3]["content"] == f"{'x' * 500} [shortened: 2500 more characters]"
    assert [message["role"] for message in view[:2]] == ["system", "user"]


def test_when_that_is_not_enough_older_exchanges_become_one_summary() -> None:  # B32
    exchanges = [exchange(n, ["x" * 3000], f"Step {n} is critical.") for n in range(12)]
    view = viewed(Compaction(3_200), conversation(exchanges))
    assert size(view) <= 12_800
    assert view[:2] == HEAD
    summary = view[2]
    assert summary["role"] == "user"
    assert "Summary of the" in summary["content"]
    assert "Step 0 is critical." in summary["content"]
    assert 'notes.read({"name": "0"}) returned: xxx' in summary["content"]
    assert view[-6:] == [message for each in exchanges[-3:] for message in each]


def test_recent_exchanges_shrink_only_when_nothing_else_helps() -> None:
    exchanges = [exchange(n, ["x" * 5000]) for n in range(4)]
    view = viewed(Compaction(1_500), conversation(exchanges))
    assert view[-1]["content"] == "x" * 5000
    assert size(view) <= 6_500


def test_the_same_conversation_always_gives_the_same_view() -> None:  # B32
    exchanges = [exchange(n, ["y" * 2000]) for n in range(15)]
    assert growing(Compaction(2250), exchanges) == growing(Compaction(2250), exchanges)


def test_the_head_stays_the_same_for_several_replies_so_that_it_can_be_cached() -> None:
    exchanges = [exchange(n, ["y" * 2000]) for n in range(40)]
    views = growing(Compaction(10_000), exchanges)
    changed = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(views))
    assert changed <= 4


def test_compaction_is_reported() -> None:
    memory = Compaction(2250)
    growing(memory, [exchange(n, ["y" * 2000]) for n in range(6)])
    told = memory.compactions
    assert told
    assert told[0]["size_before"] > 2250 > told[0]["size_after"]


@given(
    st.lists(st.lists(st.integers(0, 4000), min_size=1, max_size=3), max_size=12),
    st.integers(125, 5_000),
)
def test_no_view_ever_parts_a_call_from_its_result(sizes: list[list[int]], limit: int) -> None:
    # B32
    exchanges = [
        exchange(n, ["z" * each_size for each_size in each]) for n, each in enumerate(sizes)
    ]
    for memory in (Compaction(limit), Compaction(limit, only_latest=True)):
        for length in range(len(exchanges) + 1):
            view = viewed(memory, conversation(exchanges[:length]))
            asked = [call["id"] for message in view for call in message.get("tool_calls") or ()]
            answered = [m["tool_call_id"] for m in view if m["role"] == "tool"]
            assert asked == answered
            assert view[:2] == HEAD
            if length:
                latest = exchanges[length - 1]
                assert view[-len(latest) :] == latest


# --- whole runs -------------------------------------------------------------------------------


@every_provider
def test_without_memory_the_model_sees_only_the_latest_exchange(  # B31
    provider: WireName, tmp_path: Path
) -> None:
    notes = Notes(tmp_path)
    script: list[Reply | str] = [
        tool_reply([("notes.write", {"name": "alpha", "text": "1"})]),
        tool_reply([("notes.write", {"name": "beta", "text": "2"})]),
        "Done.",
    ]
    result, model = play(script, {"notes": notes.config}, provider, conversation_memory=False)
    assert result["success"]
    last = model.requests[2].messages
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool"]
    assert "beta" in said_to(model, 2)
    assert "alpha" not in said_to(model, 2)
    assert "alpha" in str(result["conversation_history"])


SUMMARY = "The user wants it done. Steps 0 and 1 brought only letters."


def is_for_a_summary(request: ModelRequest) -> bool:
    return "keep the memory of an assistant" in str(request.messages[0]["content"])


def long_run(steps: int = 8, summary: Reply | str = SUMMARY) -> Callable[[ModelRequest], Reply]:
    """A model that calls a tool with a long result so often, and summarises if it is asked."""
    numbers = count()

    def answer(request: ModelRequest) -> Reply:
        if is_for_a_summary(request):
            return content_reply(summary) if isinstance(summary, str) else summary
        number = next(numbers)
        if number == steps:
            return content_reply("Done.")
        return tool_reply([("s.huge", {"size": 2000 + number})], f"Step {number}.")

    return answer


@every_provider
def test_a_long_run_is_compacted_for_the_model_but_not_in_the_result(  # B32
    provider: WireName,
) -> None:
    events: list[dict[str, Any]] = []
    options = {"context_limit": 2250, "on_event": events.append, "tool_search_above": None}
    result, model = play(long_run(), {"s": faulty()}, provider, **options)
    assert result["success"]
    assert [m["role"] for m in result["conversation_history"]].count("tool") == 8
    assert [len(entry["result"]) for entry in result["tool_chain"]] == [2000 + n for n in range(8)]
    asked = [request for request in model.requests if is_for_a_summary(request)]
    told = [event for event in events if event["type"] == "compaction"]
    assert len(asked) == len([it for it in told if it["summary_by"] == "model"]) >= 1
    assert "Step 0." in str(asked[0].messages)
    assert not asked[0].tool_names
    assert SUMMARY in said_to(model, -1)
    assert "Step 0." not in said_to(model, -1)
    # The summaries were paid for, but they are not steps.
    assert result["execution_metadata"]["total_iterations"] == 9
    assert len(model.requests) == 9 + len(asked)
    assert result["execution_metadata"]["token_usage"]["completion_tokens"] == 8 * (9 + len(asked))


def test_a_summary_that_cannot_be_had_from_the_model_is_made_by_rule() -> None:
    events: list[dict[str, Any]] = []
    script = long_run(summary=error_reply(400, "no summaries today"))
    result, model = play(script, {"s": faulty()}, context_limit=2250, on_event=events.append)
    assert result["success"]
    assert "Step 0." in said_to(model, -1)
    assert "Summary of the" in said_to(model, -1)
    assert {it["summary_by"] for it in events if it["type"] == "compaction"} == {None, "rule"}
    error = result["errors"][0]
    assert "no summaries today" in error["error"]
    assert error["recovery_action"] == "summarised by rule"


@every_provider
def test_the_provider_counts_the_tokens(provider: WireName) -> None:
    """Short requests are taken for long ones where the provider says that they are."""
    usage = {"prompt_tokens": 5000, "completion_tokens": 10, "total_tokens": 5010}
    calls = [tool_reply([("s.echo", {"text": f"word {n}"})]) for n in range(4)]
    calls[-1] = tool_reply([("s.echo", {"text": "the last word"})], usage=usage)
    events: list[dict[str, Any]] = []
    script = [*calls, content_reply(SUMMARY), content_reply("Done.")]
    options = {"context_limit": 5000, "on_event": events.append}
    result, model = play(script, {"s": faulty()}, provider, **options)
    told = [event for event in events if event["type"] == "compaction"]
    assert told[0]["size_before"] > 5010
    assert result["success"]
    assert sum(map(is_for_a_summary, model.requests)) == 1


def test_the_schemas_of_tools_count_too() -> None:
    meter = Meter()
    tool = {"type": "function", "function": {"name": "s.t", "description": "x" * 4000}}
    assert meter.estimate(HEAD, [tool]) - meter.estimate(HEAD) == pytest.approx(1020, abs=20)


def test_what_was_added_is_estimated_and_what_was_left_out_counts_for_its_share() -> None:
    meter = Meter()
    usage = {"prompt_tokens": 900, "completion_tokens": 100}
    reply: Message = {"role": "assistant", "content": ""}
    meter.answered(400, reply, LLMResponse("", "m", usage=usage))
    assert [meter.tokens(size) for size in (400, 450, 200)] == [1000, 1050, 500]
    meter.answered(400, reply, LLMResponse("", "m"))
    assert meter.tokens(400) == 400  # no figures: all of it is estimated


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4.1", 1_047_576),
        ("openai/gpt-5-mini", 400_000),
        ("gpt-5.4", 1_050_000),
        ("gpt-5.4-mini", 400_000),
        ("o3-mini", 200_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("gemini-3.5-flash", 1_048_576),
        ("qwen3:8b", 128_000),
    ],
)
def test_the_window_of_a_model_is_known_by_its_name(model: str, window: int) -> None:
    assert limit_of(model, 1000) == window - 1000
    assert limit_of(model, None) == window - round(window * 0.2)


def test_a_run_that_paused_goes_on_with_the_summary_that_it_had() -> None:
    def script(request: ModelRequest) -> Reply:
        if number["calls"] == 8 and not is_for_a_summary(request):
            number["calls"] += 1
            return tool_reply([("s.die", {})])
        number["calls"] += not is_for_a_summary(request)
        return answer(request)

    answer, number = long_run(), {"calls": 0}
    options: dict[str, Any] = {"context_limit": 2250, "pause": True, "approve_when": ["s.die"]}
    with ModelServer(script, namespace="mcp_ghost") as model:
        paused = asyncio.run(ghost(model, {"s": faulty()}, **options))
    assert paused["pending"]
    assert any(map(is_for_a_summary, model.requests))
    with ModelServer(["Done."], namespace="mcp_ghost") as second:
        given: dict[str, Any] = {
            "server_config": {"mcpServers": {"s": faulty().model_dump(exclude_unset=True)}}
        }
        given |= {"provider": "openai", "api_key": KEY, "base_url": second.base_url}
        decisions = {entry["id"]: False for entry in paused["pending"]}
        result = asyncio.run(
            resume(json.loads(json.dumps(paused["state"])), decisions, **given, **options)
        )
    assert result["success"]
    assert len(second.requests) == 1
    assert SUMMARY in str(second.requests[0].messages)


def test_a_golden_of_a_long_run_replays(tmp_path: Path) -> None:
    golden = tmp_path / "long.json"
    with ModelServer(long_run(), namespace="mcp_ghost") as model:
        asyncio.run(
            record_golden(
                golden,
                server_config={"mcpServers": {"s": faulty().model_dump(exclude_unset=True)}},
                system_prompt="",
                provider="openai",
                api_key=KEY,
                user_prompt="Do it.",
                base_url=model.base_url,
                context_limit=2250,
            )
        )
        assert any(map(is_for_a_summary, model.requests))
    assert_matches_golden(asyncio.run(replay_golden(golden)), golden)


TOO_LONG = {
    "openai": "This model's maximum context length is 2000 tokens.",
    "responses": "Your input exceeds the context window of this model.",
    "anthropic": "prompt is too long: 3000 tokens > 2000 maximum",
    "gemini": "The input token count (3000) exceeds the maximum number of tokens allowed (2000).",
}


@every_provider
def test_a_model_with_a_smaller_context_gets_what_it_can_read(provider: WireName) -> None:  # B32
    def script(request: ModelRequest) -> Reply | str:
        if is_for_a_summary(request):
            return SUMMARY
        if size(request.messages) > 8000:
            return error_reply(400, TOO_LONG[provider])
        number = next(numbers)
        if number == 8:
            return "Done."
        return tool_reply([("s.huge", {"size": 2000 + number})], f"Step {number}.")

    numbers = count()
    result, model = play(script, {"s": faulty()}, provider)
    assert result["success"]
    assert len(result["tool_chain"]) == 8
    assert len(model.requests) > 9
    assert result["errors"] == []


def test_a_single_exchange_that_is_too_long_ends_the_run() -> None:
    script = [
        tool_reply([("s.huge", {"size": 9000})]),
        error_reply(400, TOO_LONG["openai"]),
    ]
    result, _ = play(script, {"s": faulty()})
    assert result["success"] is False
    assert "maximum context length" in result["summary"]


def test_a_summary_by_rule_keeps_what_the_user_asked_for_meanwhile() -> None:
    exchanges = [exchange(n, ["x" * 3000]) for n in range(12)]
    exchanges[2].append({"role": "user", "content": "Then count the lamps in the cellar."})
    assert "Then count the lamps in the cellar." in str(
        viewed(Compaction(3_200), conversation(exchanges))
    )
