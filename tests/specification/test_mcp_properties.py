"""Properties of the tool-calling loop: 1 to 3, 14, 16 to 25 and 28 of the specification."""

from __future__ import annotations

import json
import re
from string import ascii_letters, ascii_lowercase, digits
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_ghost.errors import LLMConnectionError, MCPServerDiedError, MCPToolCallError
from mcp_ghost.results import ToolCallResult
from tests.support.fakes import ACTION, THINK, FakeManager, Outcome, Turn, answer, batch, calls, ok

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse

hundred_times = settings(max_examples=100, deadline=None)

# By hand, since st.recursive and st.from_regex take twice the time.
plain_values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
lists = st.lists(plain_values, max_size=3)
json_values = (
    plain_values | lists | st.dictionaries(st.text(max_size=8), plain_values | lists, max_size=3)
)
arguments = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
names = st.builds(
    "{}{}.{}".format,
    st.sampled_from(ascii_lowercase),
    st.text(ascii_lowercase + digits + "_-", max_size=11),
    st.text(ascii_letters + digits + "_.-", min_size=1, max_size=20),
)
errors = st.sampled_from(
    [
        ToolCallResult(None, is_error=True, error_message="the lamp is broken"),
        MCPToolCallError("no such session"),
        RuntimeError("a bug in somebody's tool"),
        KeyError("thought"),
    ]
)
outcomes = st.just(ok) | errors
any_outcomes = outcomes | st.sampled_from([TimeoutError(), MCPServerDiedError("it is gone")])


def answered(turn: Turn, request: int = -1) -> list[tuple[str, Any]]:
    """The answers to calls in one request: (id, content as JSON)."""
    return [
        (message["tool_call_id"], json.loads(message["content"]))
        for message in turn.tool_messages(request)
    ]


# Property 1: Tool Schema Availability
@hundred_times
@given(tools=st.lists(names, min_size=1, max_size=8, unique=True))
def test_the_model_is_offered_every_tool_from_the_first_request_on(tools: list[str]) -> None:
    turn = Turn([batch(1), answer()], FakeManager(tools=[*tools, THINK]))
    turn.play()
    for request in turn.client.requests:
        offered = [tool["function"]["name"] for tool in request["tools"]]
        assert offered == [*tools, THINK]
        assert request["tool_choice"] == "auto"


FORBIDDEN = ("save", "restor", "restar", "quit", "script", "unscri", "verify")
commands = st.one_of(
    st.text(max_size=120),
    st.sampled_from(["look", "> open door", "`go north.`", '"take lamp"', "say \u201chello\u201d"]),
    st.builds(
        "{} {}{}".format,
        st.sampled_from(["", "n.", "take all,", "look then", "look and", "go north.  "]),
        st.sampled_from(["save", "SAVE", "restore", "restart", "quit", "q", "Q.", "script"]),
        st.sampled_from(["", " ", ".", "\n", " game"]),
    ),
)
contents = st.one_of(
    st.builds(lambda action: json.dumps({"thinking": "t", "action": action}), commands),
    st.builds(lambda action: f"Sure:\n```json\n{json.dumps({'action': action})}\n```", commands),
    st.text(max_size=40),
    json_values.map(json.dumps),
    st.sampled_from([None, "", "  \n", "{", "[]", '{"action": "look"}', ACTION]),
)
replies = st.one_of(
    st.integers(1, 3).map(batch),
    contents.map(answer),
    st.just(LLMConnectionError("nobody there")),
)


def is_a_game_command(action: str | None) -> bool:
    """The rule of the design, spelled again without the program's own guard."""
    if not action or len(action) > 100 or not action.isprintable() or action != action.strip():
        return False
    parts = [part.split() for part in re.split(r"[.,;]|\bthen\b|\band\b", action.lower())]
    return not any(
        part and (part[0] == "q" or part[0].startswith(FORBIDDEN) or part[-1] in ("q", "quit"))
        for part in parts
    )


# Property 2: Final Output is Always a Game Command
@settings(hundred_times, max_examples=150)
@given(
    script=st.lists(replies, min_size=1, max_size=6),
    results=st.lists(any_outcomes, max_size=8),
    with_tools=st.booleans(),
)
def test_whatever_models_and_tools_do_the_action_is_a_valid_command(
    script: list[LLMResponse | Exception], results: list[Outcome], *, with_tools: bool
) -> None:
    turn = Turn(script, FakeManager(results) if with_tools else None, mcp_max_tool_iterations=3)
    decision = turn.play()
    assert is_a_game_command(decision["action"])
    failed = turn.agent.last_decision is not None and turn.agent.last_decision.failure
    assert bool(failed) == bool(turn.of_type("agent_parse_error"))
    if failed:
        assert decision["action"] == "look"


# Property 3: Tool Results Appear in Message History
@hundred_times
@given(contents=st.lists(json_values, min_size=1, max_size=4))
def test_results_are_in_the_history_of_the_next_request(contents: list[Any]) -> None:
    turn = Turn(
        [batch(len(contents)), answer()], FakeManager([ToolCallResult(c) for c in contents])
    )
    turn.play()
    assert [content for _, content in answered(turn, 1)] == [{"content": c} for c in contents]
    assert turn.tool_messages(0) == []


# Property 14: Response Format Disabled During Loop
@hundred_times
@given(batches=st.lists(st.integers(1, 2), max_size=5), limit=st.integers(1, 4))
def test_no_answer_format_goes_out_while_tools_are_offered(batches: list[int], limit: int) -> None:
    script = [*map(batch, batches), answer()]
    turn = Turn(script, FakeManager(), mcp_max_tool_iterations=limit)
    turn.play()
    *in_loop, last = turn.client.requests
    assert all(request["response_format"] is None for request in in_loop)
    assert all(request["tools"] for request in in_loop)
    if len(batches) < limit:
        assert last["tools"]
        assert last["response_format"] is None
    else:
        assert (last["tools"], last["tool_choice"]) == (None, None)
        assert last["response_format"]["json_schema"]["name"] == "AgentResponse"
        assert last["messages"][-1]["role"] == "user"
        assert "final action" in last["messages"][-1]["content"]


batches_of_calls = st.lists(
    st.lists(st.tuples(names, arguments), min_size=1, max_size=3), min_size=1, max_size=3
)


# Property 16: Tool Execution via MCPManager
# Property 28: Tool Call Logging
@hundred_times
@given(wanted=batches_of_calls)
def test_every_call_is_made_once_in_order_through_the_manager_and_logged_with_its_arguments(
    wanted: list[list[tuple[str, dict[str, Any]]]],
) -> None:
    script = [calls(*((name, json.dumps(given)) for name, given in each)) for each in wanted]
    manager = FakeManager()
    turn = Turn([*script, answer()], manager)
    turn.play()
    assert manager.called == [call for each in wanted for call in each]
    logged = [
        (event["iteration"], event["tool_name"], event["arguments"], event["server_name"])
        for event in turn.of_type("mcp_tool_call")
    ]
    assert logged == [
        (iteration, name, given, name.split(".")[0])
        for iteration, each in enumerate(wanted, start=1)
        for name, given in each
    ]
    iterations = [event["iteration"] for event in turn.of_type("mcp_iteration_start")]
    assert iterations == list(range(1, len(wanted) + 2))


# Property 17: Sequential Tool Execution
@hundred_times
@given(results=st.lists(outcomes, min_size=2, max_size=6))
def test_the_calls_of_a_batch_run_one_after_the_other(results: list[Outcome]) -> None:
    manager = FakeManager(results)
    Turn([batch(len(results)), answer()], manager).play()
    assert manager.at_once == 1
    assert manager.log == ["connect", *["call", "done"] * len(results), "disconnect"]
    assert [given["position"] for _, given in manager.called] == list(range(len(results)))


def is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


not_objects = (json_values.map(json.dumps) | st.text(min_size=1, max_size=30)).filter(
    lambda text: text.strip() != "" and not is_json_object(text)
)


# Property 18: Tool Arguments JSON Parsing
@hundred_times
@given(good=arguments, bad=not_objects, indent=st.none() | st.integers(0, 3))
def test_arguments_are_parsed_and_those_that_are_not_objects_are_answered_with_an_error(
    good: dict[str, Any], bad: str, indent: int | None
) -> None:
    manager = FakeManager()
    turn = Turn([calls((THINK, bad), (THINK, json.dumps(good, indent=indent))), answer()], manager)
    turn.play()
    assert manager.called == [(THINK, good)]
    (_, first), (_, second) = answered(turn)
    assert first["error"].startswith("Tool call failed: ")
    assert second == {"content": ok.content}
    assert [event["tool_name"] for event in turn.of_type("mcp_tool_error")] == [THINK]


# Property 19: Loop Continuation After Tool Results
@hundred_times
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4), results=st.lists(outcomes))
def test_after_each_batch_the_model_is_asked_again_with_all_that_was_said(
    sizes: list[int], results: list[Outcome]
) -> None:
    turn = Turn([*map(batch, sizes), answer()], FakeManager(results))
    turn.play()
    assert len(turn.client.requests) == len(sizes) + 1
    for request in range(len(sizes)):
        before, after = turn.client.messages(request), turn.client.messages(request + 1)
        assert after[: len(before)] == before
        assert [m["role"] for m in after[len(before) :]] == ["assistant"] + ["tool"] * sizes[
            request
        ]


# Property 20: Loop Exit on Content
@hundred_times
@given(before=st.integers(0, 3), after=st.lists(replies, max_size=3))
def test_an_answer_ends_the_loop_whatever_would_come_after_it(
    before: int, after: list[LLMResponse | Exception]
) -> None:
    manager = FakeManager()
    turn = Turn([*[batch(1)] * before, answer(), *after], manager)
    assert turn.play()["action"] == "open door"
    assert len(turn.client.requests) == before + 1
    assert len(manager.called) == before


# Property 21: Error Logging and History
@hundred_times
@given(error=errors, position=st.integers(0, 2))
def test_a_failed_call_is_logged_and_told_to_the_model(error: Outcome, position: int) -> None:
    turn = Turn([batch(3), answer()], FakeManager([*[ok] * position, error]))
    turn.play()
    (event,) = turn.of_type("mcp_tool_error")
    told = answered(turn)[position][1]["error"]
    assert event["error"] in told
    assert event["error"]
    assert event["tool_name"] == THINK
    assert event["iteration"] == 1


# Property 22: Batch Error Handling
@hundred_times
@given(results=st.lists(any_outcomes, min_size=1, max_size=6))
def test_every_call_of_a_batch_gets_exactly_one_answer_in_order(results: list[Outcome]) -> None:
    reply = batch(len(results))
    turn = Turn([reply, answer()], FakeManager(results))
    turn.play()
    assert [id_ for id_, _ in answered(turn)] == [call.id for call in reply.tool_calls or ()]
    roles = [message["role"] for message in turn.client.messages(1)]
    assert roles[:3] == ["system", "user", "assistant"]
    assert roles[3 : 3 + len(results)] == ["tool"] * len(results)


# Property 23: Non-Timeout Error Recovery
@hundred_times
@given(results=st.lists(outcomes, min_size=1, max_size=6))
def test_errors_that_are_not_timeouts_do_not_stop_a_batch(results: list[Outcome]) -> None:
    manager = FakeManager(results)
    turn = Turn([batch(len(results)), answer()], manager)
    turn.play()
    assert len(manager.called) == len(results)
    succeeded = ["error" not in content for _, content in answered(turn)]
    assert succeeded == [result is ok for result in results]


# Property 24: Timeout Batch Abort
@hundred_times
@given(before=st.lists(outcomes, max_size=3), left=st.integers(0, 4))
def test_a_timeout_leaves_out_the_rest_of_its_batch_only(before: list[Outcome], left: int) -> None:
    manager = FakeManager([*before, TimeoutError()])
    turn = Turn([batch(len(before) + 1 + left), batch(1), answer()], manager)
    turn.play()
    assert len(manager.called) == len(before) + 1 + 1  # the second batch is executed
    skipped = answered(turn, 1)[len(before) + 1 :]
    assert len(skipped) == left
    assert all("timed out" in content["error"] for _, content in skipped)
    assert all("kipped" in content["error"] for _, content in skipped)
    assert turn.client.requests[1]["tools"]


# Property 25: Timeout Message in History
@hundred_times
@given(position=st.integers(0, 3))
def test_a_timeout_is_told_and_the_model_decides_how_to_go_on(position: int) -> None:
    turn = Turn([batch(4), answer()], FakeManager([*[ok] * position, TimeoutError()]))
    assert turn.play()["action"] == "open door"
    assert re.match(r"Tool call timed out after [\d.e-]+s", answered(turn)[position][1]["error"])
    (event,) = turn.of_type("mcp_tool_timeout")
    assert (event["tool_name"], event["iteration"]) == (THINK, 1)
    assert len(turn.client.requests) == 2
