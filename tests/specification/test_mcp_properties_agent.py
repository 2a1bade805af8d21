"""Properties of what is logged and traced, of the event loop and of the answer: 29 to 32, 39 to
44 and 46 to 48 of the specification."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.mcp_manager import MCPManager, ToolCallResult
from mcp_ghost.errors import LLMConnectionError
from mcp_ghost.text import seen
from session.game_configuration import GameConfiguration
from tests.specification.test_mcp_properties import (
    any_outcomes,
    arguments,
    hundred_times,
    json_values,
    outcomes,
    replies,
)
from tests.support import PATIENCE
from tests.support.fakes import FakeManager, Outcome, RecordingLangfuse, Turn, answer, batch, calls
from tests.support.journal import NAME, Journal
from zork_agent import AgentResponse

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse

pytestmark = pytest.mark.mcp

T = TypeVar("T")

words = st.sampled_from(["take", "lamp", "all", "open", "door", "go", "north", "x", "the", "with"])
commands = st.lists(words, min_size=1, max_size=5).map(" ".join)
responses = st.builds(
    AgentResponse,
    thinking=st.text(),
    action=commands,
    new_objective=st.none() | st.text(min_size=1),
)


def test_a_server_whose_name_holds_dots_is_logged_by_its_whole_name() -> None:
    manager = FakeManager(tools=["my.own.think"])
    vars(manager)["server_names"] = ("my.own",)
    turn = Turn([calls(("my.own.think", "{}")), answer()], manager)
    turn.play()
    assert [event["server_name"] for event in turn.of_type("mcp_tool_call")] == ["my.own"]


# Property 29: Tool Result Logging
@hundred_times
@given(contents=st.lists(json_values, min_size=1, max_size=4), failed=st.booleans())
def test_every_result_is_logged_with_type_length_and_duration(
    contents: list[Any], *, failed: bool
) -> None:
    message = "the lamp is broken" if failed else None
    results = [ToolCallResult(content, failed, message) for content in contents]
    turn = Turn([batch(len(contents)), answer()], FakeManager(results))
    turn.play()
    events = turn.of_type("mcp_tool_result")
    assert [(e["result_type"], e["result_length"], e["is_error"]) for e in events] == [
        (type(content).__name__, len(str(content)), failed) for content in contents
    ]
    assert all(event["duration_ms"] >= 0 and event["iteration"] == 1 for event in events)


# Property 30: Session Summary Logging
@hundred_times
@given(wanted=st.lists(st.lists(any_outcomes, min_size=1, max_size=3), max_size=3))
def test_the_summary_counts_iterations_and_names_the_tools(wanted: list[list[Outcome]]) -> None:
    script = [batch(len(each)) for each in wanted]
    manager = FakeManager([outcome for each in wanted for outcome in each])
    turn = Turn([*script, answer()], manager)
    decision = turn.play()
    (event,) = turn.of_type("mcp_session_complete")
    assert event["tool_calls_count"] == len(manager.called)
    assert event["tools_used"] == sorted({name for name, _ in manager.called})
    assert event["iterations"] == len(turn.of_type("mcp_iteration_start"))
    assert event["final_action"] == decision["action"]


@hundred_times
@given(script=st.lists(replies, min_size=1, max_size=4), results=st.lists(any_outcomes, max_size=4))
def test_every_event_of_a_turn_names_its_episode_and_turn(
    script: list[LLMResponse | Exception], results: list[Outcome]
) -> None:
    turn = Turn(script, FakeManager(results))
    for number in (1, 2):
        turn.events.clear()
        turn.play()
        assert {(e["episode_id"], e["turn"]) for e in turn.events} == {("fake", number)}


@pytest.fixture(scope="module")
def run_in_one_loop() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """Runs coroutines, from several tests too, in one event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def traced(
    run_in_one_loop: Callable[[Coroutine[Any, Any, None]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[MCPManager]:
    """A manager that is connected to a real server, with a Langfuse that records."""
    config = _configuration(Journal(tmp_path_factory.mktemp("traced")).config_file)
    manager = MCPManager(config, logging.getLogger("traced"), RecordingLangfuse())
    run_in_one_loop(manager.connect_session())
    yield manager
    run_in_one_loop(manager.disconnect_session())


def _configuration(config_file: Path) -> GameConfiguration:
    return GameConfiguration(
        client_base_url="http://127.0.0.1:9/v1", mcp_enabled=True, mcp_config_file=str(config_file)
    )


# Property 31: Langfuse Tool Call Spans
@hundred_times
@given(tool=st.sampled_from(["echo", "fail", "refuse", "invented"]), given=arguments)
def test_every_call_is_a_span_of_its_own(
    traced: MCPManager,
    run_in_one_loop: Callable[[Coroutine[Any, Any, ToolCallResult]], ToolCallResult],
    tool: str,
    given: dict[str, Any],
) -> None:
    given = {key: value for key, value in given.items() if key != "text"}
    traced.langfuse_client.spans.clear()
    result = run_in_one_loop(traced.call_tool(f"{NAME}.{tool}", given, timeout_seconds=7))
    (span,) = traced.langfuse_client.spans
    assert (span["name"], span["as_type"]) == (f"mcp-tool-{NAME}.{tool}", "tool")
    assert span["input"] == given
    assert span["output"] == result.to_dict()
    metadata = span["metadata"]
    assert (metadata["tool_name"], metadata["server_name"]) == (f"{NAME}.{tool}", NAME)
    assert metadata["timeout_seconds"] == 7
    assert metadata["is_error"] == result.is_error == (tool != "echo")
    assert metadata["duration_ms"] >= 0
    assert not span["open"]


# Property 41: ToolCallResult Success Format
# Property 42: ToolCallResult Error Format
@hundred_times
@given(text=st.text(max_size=60), tool=st.sampled_from(["echo", "fail", "refuse", "invented"]))
def test_every_call_comes_back_as_a_result_with_content_or_an_error_message(
    traced: MCPManager,
    run_in_one_loop: Callable[[Coroutine[Any, Any, ToolCallResult]], ToolCallResult],
    text: str,
    tool: str,
) -> None:
    # A text that is JSON comes back as its value.
    text = f"say {text}"
    result = run_in_one_loop(traced.call_tool(f"{NAME}.{tool}", {"text": text}))
    assert isinstance(result, ToolCallResult)
    if tool == "echo":
        assert (result.content, result.is_error, result.error_message) == (seen(text), False, None)
    else:
        assert (result.content, result.is_error) == (None, True)
        assert result.error_message


anything = st.one_of(
    json_values,
    st.floats(),
    st.binary(max_size=9),
    st.sets(st.integers(), max_size=3),
    st.dictionaries(st.integers(), st.tuples(st.text(max_size=5))),
    st.text(st.characters(exclude_categories=()), max_size=5),  # lone surrogates, too
    st.builds(object),
)


# Property 43: ToolCallResult Serialization
# Property 44: ToolCallResult JSON in History
@hundred_times
@given(content=anything, failed=st.booleans())
def test_whatever_a_tool_gives_the_history_holds_it_as_strict_json(
    content: object, *, failed: bool
) -> None:
    result = ToolCallResult(content, failed, "the lamp is broken" if failed else None)
    turn = Turn([batch(1), answer()], FakeManager([result]))
    turn.play()
    (message,) = turn.tool_messages()

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    told = json.loads(message["content"].encode("utf-8"), parse_constant=refuse)
    assert told == json.loads(json.dumps(result.to_dict()))
    assert told.keys() == ({"error", "content"} if failed else {"content"})


# Property 32: Langfuse Session Span
@hundred_times
@given(script=st.lists(replies, min_size=1, max_size=4), results=st.lists(outcomes, max_size=4))
def test_every_session_is_one_span_that_tells_how_it_went(
    script: list[LLMResponse | Exception], results: list[Outcome]
) -> None:
    langfuse = RecordingLangfuse()
    manager = FakeManager(results, langfuse_client=langfuse)
    turn = Turn(script, manager, mcp_max_tool_iterations=3)
    decision = turn.play()
    (span,) = langfuse.spans
    assert span["name"] == "agent-tool-calling-session"
    assert not span["open"]
    assert span["metadata"] == {
        "mcp_enabled": True,
        "max_iterations": 3,
        "iterations_used": len(turn.of_type("mcp_iteration_start")),
        "tools_called": len(manager.called),
        "final_action": decision["action"],
    }


# Property 39: Single Asyncio.run Boundary
@hundred_times
@given(script=st.lists(replies, min_size=1, max_size=4), with_tools=st.booleans())
def test_a_decision_runs_exactly_one_event_loop(
    script: list[LLMResponse | Exception], *, with_tools: bool
) -> None:
    turn = Turn(script, FakeManager() if with_tools else None, mcp_max_tool_iterations=3)
    with patch.object(asyncio.Runner, "run", autospec=True, side_effect=asyncio.Runner.run) as run:
        turn.play()
    assert run.call_count == 1


# Property 40: No Nested Event Loops
@hundred_times
@given(script=st.lists(replies, min_size=1, max_size=4), results=st.lists(any_outcomes, max_size=4))
def test_afterwards_no_event_loop_is_left(
    script: list[LLMResponse | Exception], results: list[Outcome]
) -> None:
    made: list[asyncio.AbstractEventLoop] = []

    def making() -> asyncio.AbstractEventLoop:
        made.append(make())
        return made[-1]

    make = asyncio.events.new_event_loop
    with patch("asyncio.events.new_event_loop", making):
        Turn(script, FakeManager(results)).play()
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    (loop,) = made
    assert loop.is_closed()


@hundred_times
@given(with_tools=st.booleans())
async def test_inside_a_running_event_loop_the_agent_refuses_and_starts_nothing(
    *, with_tools: bool
) -> None:
    manager = FakeManager()
    turn = Turn([answer()], manager if with_tools else None)
    with pytest.raises(RuntimeError, match=r"asyncio\.to_thread"):
        turn.play()
    decision = await asyncio.to_thread(turn.play)
    assert decision["action"] == "open door"
    assert len(turn.client.requests) == 1
    assert manager.log.count("connect") == with_tools


# Property 46: AgentResponse Parsing
# Property 47: AgentResponse Field Presence
@hundred_times
@given(
    response=responses,
    form=st.sampled_from(["{}", "```json\n{}\n```", "I think so.\n{}", " {} \n"]),
    rounds=st.integers(0, 2),
)
def test_the_final_answer_is_read_as_an_agent_response(
    response: AgentResponse, form: str, rounds: int
) -> None:
    content = form.replace("{}", response.model_dump_json())
    decision = Turn([*map(batch, [1] * rounds), answer(content)], FakeManager()).play()
    assert decision == {
        "action": response.action,
        "reasoning": response.thinking,
        "new_objective": response.new_objective,
    }


# Property 48: AgentResponse Backward Compatibility
@hundred_times
@given(response=responses)
def test_without_mcp_the_schema_is_on_the_ordinary_call_and_the_answer_is_the_same(
    response: AgentResponse,
) -> None:
    content = answer(response.model_dump_json())
    plain, with_tools = Turn([content]), Turn([content], FakeManager())
    assert plain.play() == with_tools.play()
    (request,) = plain.client.requests
    assert (request["tools"], request["tool_choice"]) == (None, None)
    schema = request["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == set(AgentResponse.model_fields)
    assert not [event for event in plain.events if event["event_type"].startswith("mcp_")]


@pytest.mark.parametrize(
    ("given_action", "expected"),
    [
        ("`open door`", "open door"),
        ("> open door", "open door"),
        ('"open door."', "open door"),
        ("'look'", "look"),
        ('say "hello"', 'say "hello"'),
        ("take lamp. go north.", "take lamp. go north"),
        ("say \u201chello\u201d", 'say "hello"'),
    ],
)
def test_what_models_wrap_around_a_command_is_taken_off_and_nothing_else(
    given_action: str, expected: str
) -> None:
    content = json.dumps({"thinking": "t", "action": given_action})
    assert Turn([answer(content)]).play()["action"] == expected


def test_three_failed_turns_are_three_safe_commands_each_with_its_reason() -> None:
    turn = Turn([LLMConnectionError("nobody there"), answer("no idea"), answer(None)])
    assert [turn.play()["action"] for _ in range(3)] == ["look"] * 3
    reasons = [event["error"] for event in turn.of_type("agent_parse_error")]
    assert "nobody there" in reasons[0]
    assert [event["raw_response"] for event in turn.of_type("agent_parse_error")][1] == "no idea"
    assert all(event["level"] == logging.ERROR for event in turn.of_type("agent_parse_error"))
