"""What of a long run the model is shown, and that the result keeps the whole of it."""

from __future__ import annotations

from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.messages import Message, tool_message
from mcp_ghost.run.memory.context import Compaction, LatestExchange
from mcp_ghost.testing import ModelRequest, Reply, error_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, said_to
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
    return [memory.view(conversation(exchanges[:n])) for n in range(len(exchanges) + 1)]


# --- the views --------------------------------------------------------------------------------


def test_a_short_conversation_is_shown_as_it_is() -> None:  # B32
    messages = conversation([exchange(n, ["short"]) for n in range(20)])
    assert Compaction(10_000).view(messages) == messages


def test_older_results_are_shortened_first_and_recent_exchanges_stay_whole() -> None:  # B32
    exchanges = [exchange(n, ["x" * 3000], f"Step {n}.") for n in range(6)]
    view = Compaction(14_000).view(conversation(exchanges))
    assert len(view) == len(conversation(exchanges))
    assert view[-6:] == [message for each in exchanges[-3:] for message in each]
    assert view[3]["content"] == f"{'x' * 500} [shortened: 2500 more characters]"
    assert [message["role"] for message in view[:2]] == ["system", "user"]


def test_when_that_is_not_enough_older_exchanges_become_one_summary() -> None:  # B32
    exchanges = [exchange(n, ["x" * 3000], f"Step {n} is critical.") for n in range(12)]
    view = Compaction(12_000).view(conversation(exchanges))
    assert size(view) <= 12_000
    assert view[:2] == HEAD
    summary = view[2]
    assert summary["role"] == "user"
    assert "Summary of the" in summary["content"]
    assert "Step 0 is critical." in summary["content"]
    assert 'notes.read({"name": "0"}) returned: xxx' in summary["content"]
    assert view[-6:] == [message for each in exchanges[-3:] for message in each]


def test_recent_exchanges_shrink_only_when_nothing_else_helps() -> None:
    exchanges = [exchange(n, ["x" * 5000]) for n in range(4)]
    view = Compaction(6_000).view(conversation(exchanges))
    assert view[-1]["content"] == "x" * 5000
    assert size(view) <= 6_500


def test_the_same_conversation_always_gives_the_same_view() -> None:  # B32
    exchanges = [exchange(n, ["y" * 2000]) for n in range(15)]
    assert growing(Compaction(9000), exchanges) == growing(Compaction(9000), exchanges)


def test_the_head_stays_the_same_for_several_replies_so_that_it_can_be_cached() -> None:
    exchanges = [exchange(n, ["y" * 2000]) for n in range(40)]
    views = growing(Compaction(40_000), exchanges)
    changed = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(views))
    assert changed <= 4


def test_compaction_is_reported() -> None:
    told: list[dict[str, Any]] = []
    memory = Compaction(9000, told.append)
    growing(memory, [exchange(n, ["y" * 2000]) for n in range(6)])
    assert told
    assert told[0]["size_before"] > 9000 > told[0]["size_after"]


@given(
    st.lists(st.lists(st.integers(0, 4000), min_size=1, max_size=3), max_size=12),
    st.integers(500, 20_000),
)
def test_no_view_ever_parts_a_call_from_its_result(sizes: list[list[int]], limit: int) -> None:
    # B32
    exchanges = [
        exchange(n, ["z" * each_size for each_size in each]) for n, each in enumerate(sizes)
    ]
    for memory in (Compaction(limit), LatestExchange()):
        for length in range(len(exchanges) + 1):
            view = memory.view(conversation(exchanges[:length]))
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


@every_provider
def test_a_long_run_is_compacted_for_the_model_but_not_in_the_result(  # B32
    provider: WireName,
) -> None:
    script: list[Reply | str] = [
        *[tool_reply([("s.huge", {"size": 2000 + n})], f"Step {n}.") for n in range(8)],
        "Done.",
    ]
    events: list[dict[str, Any]] = []
    result, model = play(
        script, {"s": faulty()}, provider, context_limit=9000, on_event=events.append
    )
    assert result["success"]
    assert [m["role"] for m in result["conversation_history"]].count("tool") == 8
    assert [len(entry["result"]) for entry in result["tool_chain"]] == [2000 + n for n in range(8)]
    sent = [size(request.messages) for request in model.requests]
    assert max(sent) <= 9000
    assert "Summary of the" in said_to(model, 8)
    assert "Step 0." in said_to(model, 8)
    assert [event for event in events if event["type"] == "compaction"]


TOO_LONG = {
    "openai": "This model's maximum context length is 2000 tokens.",
    "anthropic": "prompt is too long: 3000 tokens > 2000 maximum",
    "gemini": "The input token count (3000) exceeds the maximum number of tokens allowed (2000).",
}


@every_provider
def test_a_model_with_a_smaller_context_gets_what_it_can_read(provider: WireName) -> None:  # B32
    def script(request: ModelRequest) -> Reply | str:
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
