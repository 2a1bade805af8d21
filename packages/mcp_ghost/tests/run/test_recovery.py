"""What a run does about calls that fail, servers that die, and models that go round in circles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import ModelRequest, Reply, content_reply, error_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play, said_to, tools
from tests.support.servers import faulty, is_running, seen
from tests.support.wires import name_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
READ = ("notes.read", {"name": "a"})
WRITE = ("notes.write", {"name": "a", "text": "milk"})
ASKED = "asked the model for another way"


def links(result: dict[str, Any]) -> list[tuple[str, bool, int]]:
    """(tool, success, retry) of the chain."""
    keys = ("tool_name", "success", "retry_attempt")
    return [tuple(entry[key] for key in keys) for entry in result["tool_chain"]]


# --- a failed call is told, and another way wanted --------------------------------------------


@every_provider
def test_a_failed_call_is_told_to_the_model_which_finds_another_way(  # B11, B15, B25
    provider: WireName, notes: Notes
) -> None:
    script: list[Reply | str] = [
        tool_reply([READ], "Let me see."),
        tool_reply([WRITE], "Then I write it."),
        tool_reply([READ]),
        "Milk.",
    ]
    result, model = play(script, {"notes": notes.config}, provider)
    assert result["success"]
    assert links(result) == [
        ("notes.read", False, 0),
        ("notes.write", True, 0),
        ("notes.read", True, 0),
    ]
    assert result["tool_chain"][0]["error"] == "there is no note 'a'"
    assert result["tool_chain"][0]["reasoning"] == "Let me see."
    told = result["conversation_history"][3]["content"]
    assert "Tool mcp_ghost_notes_read failed: there is no note 'a'." in told
    assert "Please try a different approach" in told
    assert "there is no note 'a'" in said_to(model, 1)
    assert result["errors"] == [
        {
            "iteration": 1,
            "tool_name": "notes.read",
            "error": "there is no note 'a'",
            "recovery_action": ASKED,
        }
    ]
    assert result["execution_metadata"]["backtrack_count"] == 1
    assert result["execution_metadata"]["success_rate"] == pytest.approx(2 / 3)


@every_provider
def test_without_backtracking_the_first_failure_ends_the_run(  # B14, B26
    provider: WireName, notes: Notes
) -> None:
    script: list[Reply | str] = [tool_reply([("notes.count", {}), READ, WRITE])]
    result, model = play(script, {"notes": notes.config}, provider, enable_backtracking=False)
    assert result["success"] is False
    assert result["final_result"] is None
    assert len(model.requests) == 1
    assert [name for name, _ in notes.calls] == ["count", "read"]
    assert links(result) == [("notes.count", True, 0), ("notes.read", False, 0)]
    assert result["errors"][0]["recovery_action"] is None
    assert result["execution_metadata"]["backtrack_count"] == 0
    history = result["conversation_history"]
    assert [message["role"] for message in history[-3:]] == ["tool"] * 3
    assert history[-1]["content"] == "Skipped: mcp_ghost_notes_read failed before it."
    assert "backtracking is off" in result["summary"]


@every_provider
def test_of_one_batch_some_may_fail_and_others_succeed(provider: WireName, notes: Notes) -> None:
    # B28
    result, model = play([tool_reply([READ, WRITE]), "Ok."], {"notes": notes.config}, provider)
    assert result["success"]
    assert links(result) == [("notes.read", False, 0), ("notes.write", True, 0)]
    assert result["execution_metadata"]["success_rate"] == 0.5
    assert notes.file("a") == "milk"
    assert "wrote a" in said_to(model, 1)


@pytest.mark.parametrize("arguments", ['{"name": "a"', "[1, 2]", '"a"', '{"a": NaN}'])
def test_malformed_arguments_are_a_failed_call(arguments: str, notes: Notes) -> None:  # B23
    script: list[Reply | str] = [
        tool_reply([("notes.read", arguments)]),
        tool_reply([WRITE]),
        "Ok.",
    ]
    result, model = play(script, {"notes": notes.config})
    assert result["success"]
    assert [name for name, _ in notes.calls] == ["write"]
    failed = result["tool_chain"][0]
    assert failed["success"] is False
    assert failed["arguments"] == {"invalid_arguments": arguments}
    assert "the arguments cannot be read" in failed["error"]
    assert "the arguments cannot be read" in said_to(model, 1)


@every_provider
def test_an_unknown_tool_is_a_failed_call_that_lists_the_tools(  # B24
    provider: WireName, notes: Notes
) -> None:
    result, model = play(
        [tool_reply([("notes.raed", {})]), "Ok."], {"notes": notes.config}, provider
    )
    assert result["success"]
    assert notes.calls == []
    assert links(result)[0][1] is False
    assert "Unknown tool" in said_to(model, 1)
    assert "Available tools: mcp_ghost_notes_" in said_to(model, 1)  # as it is to call them
    assert "Available tools: notes." in result["errors"][0]["error"]


def test_a_tool_that_takes_too_long_is_told_and_not_tried_again(notes: Notes) -> None:  # B20
    script: list[Reply | str] = [
        tool_reply([("s.hang", {})]),
        tool_reply([WRITE, ("s.echo", {"text": "here"})]),
        "Ok.",
    ]
    log = notes.log.with_name("s.log")
    servers = {"s": faulty(SERVER_LOG=str(log)), "notes": notes.config}
    result, model = play(script, servers, timeout=2)
    assert result["success"]
    assert links(result) == [
        ("s.hang", False, 0),
        ("notes.write", True, 0),
        ("s.echo", True, 0),
    ]
    assert result["tool_chain"][0]["execution_time"] >= 2
    assert "did not answer 'hang' within 2 s" in result["errors"][0]["error"]
    assert "It may have taken effect nonetheless" in said_to(model, 1)
    called = [e["params"]["name"] for e in seen(log) if e.get("method") == "tools/call"]
    assert called == ["hang", "echo"]


# --- transient failures are tried again -------------------------------------------------------


def test_a_server_that_dies_is_started_again_and_the_call_repeated(notes: Notes) -> None:
    # B9, B27
    script: list[Reply | str] = [
        tool_reply([("notes.die_at_first", {})]),
        tool_reply([WRITE]),
        "Ok.",
    ]
    result, model = play(script, {"notes": notes.config})
    assert result["success"]
    assert links(result) == [
        ("notes.die_at_first", False, 0),
        ("notes.die_at_first", True, 1),
        ("notes.write", True, 0),
    ]
    assert [entry["iteration"] for entry in result["tool_chain"]] == [1, 1, 2]
    assert len(notes.pids) == 2
    assert not any(map(is_running, notes.pids))
    (error,) = result["errors"]
    assert "is gone: it exited with status 9" in error["error"]
    assert error["recovery_action"] == "restarted the server and tried again"
    assert result["execution_metadata"]["backtrack_count"] == 0
    assert model.requests[1].last["content"] == "survived"


def test_a_server_that_dies_twice_is_told_and_comes_back_for_the_next_call(notes: Notes) -> None:
    script: list[Reply | str] = [
        tool_reply([("notes.die_at_first", {"times": 2})]),
        tool_reply([WRITE]),
        "Ok.",
    ]
    result, model = play(script, {"notes": notes.config})
    assert result["success"]
    assert links(result) == [
        ("notes.die_at_first", False, 0),
        ("notes.die_at_first", False, 1),
        ("notes.write", False, 0),
        ("notes.write", True, 1),
    ]
    assert "Please try a different approach" in said_to(model, 1)
    assert notes.file("a") == "milk"
    assert len(notes.pids) == 3


def test_a_repeated_call_is_not_backtracking(notes: Notes) -> None:
    script: list[Reply | str] = [tool_reply([("notes.die_at_first", {})]), "Ok."]
    result, _ = play(script, {"notes": notes.config}, enable_backtracking=False)
    assert result["success"]
    assert links(result) == [("notes.die_at_first", False, 0), ("notes.die_at_first", True, 1)]


def test_a_server_that_cannot_be_started_again_is_given_up(notes: Notes, tmp_path: Path) -> None:
    counter = str(tmp_path / "starts")
    dying = faulty(START_COUNTER=counter, FAILING_STARTS="2,3,4")
    script: list[Reply | str] = [
        tool_reply([("s.die", {})]),
        tool_reply([("s.echo", {"text": "?"}), WRITE]),
        content_reply("Without it."),
    ]
    result, model = play(script, {"s": dying, "notes": notes.config})
    assert result["success"]
    assert Path(counter).stat().st_size == 2
    assert links(result) == [("s.die", False, 0), ("s.echo", False, 0), ("notes.write", True, 0)]
    assert "start 2 fails as told" in said_to(model, 1)
    died, not_started = result["errors"][:2]
    assert died["recovery_action"] == "tried to restart the server, which failed"
    assert "start 2 fails as told" in not_started["error"]
    assert not any("_s_" in name for name in model.requests[1].tool_names)


def test_a_tool_that_fails_three_times_in_a_row_is_switched_off(notes: Notes) -> None:  # B29
    reads = [tool_reply([("notes.read", {"name": str(number)})]) for number in range(5)]
    result, model = play([*reads, tool_reply([WRITE]), "Ok."], {"notes": notes.config})
    assert result["success"]
    assert [name for name, _ in notes.calls] == ["read", "read", "read", "write"]
    assert [success for _, success, _ in links(result)] == [False] * 5 + [True]
    assert "circuit breaker open" in result["tool_chain"][3]["error"]
    assert result["tool_chain"][3]["execution_time"] == 0
    assert "circuit breaker open" in said_to(model, 4)
    assert "circuit breaker open" not in said_to(model, 3)


def test_a_success_closes_the_count_of_failures(notes: Notes) -> None:  # B29
    failing, working = ("notes.read", {"name": "b"}), READ
    order = [failing, failing, working, failing, failing, working, failing]
    script: list[Reply | str] = [
        tool_reply([WRITE]),
        *(tool_reply([call]) for call in order),
        "Ok.",
    ]
    result, _ = play(script, {"notes": notes.config})
    assert len(notes.calls) == 8
    assert "breaker" not in str(result["errors"])


# --- loops ------------------------------------------------------------------------------------


def test_the_same_call_with_the_same_result_is_not_executed_a_third_time(notes: Notes) -> None:
    # B47
    script: list[Reply | str] = [tool_reply([WRITE]), *[tool_reply([READ])] * 4, "Milk."]
    result, model = play(script, {"notes": notes.config})
    assert result["success"]
    assert [name for name, _ in notes.calls] == ["write", "read", "read"]
    third = result["tool_chain"][3]
    assert (third["success"], third["result"]) == (False, "milk")
    assert "not executed again" in third["error"]
    told = model.requests[4].last["content"]
    assert "not executed again" in told
    assert "milk" in told
    assert "Please try a different approach" in told


def test_the_same_call_with_other_results_is_not_a_loop(notes: Notes) -> None:  # B47
    script: list[Reply | str] = [*[tool_reply([("notes.tick", {})])] * 5, "Five."]
    result, _ = play(script, {"notes": notes.config})
    assert [entry["result"] for entry in result["tool_chain"]] == [f"tick {n}" for n in range(1, 6)]


# --- the limit, and models that fail ----------------------------------------------------------


@every_provider
def test_at_the_limit_the_model_gives_a_last_answer_without_tools(  # B30
    provider: WireName, notes: Notes
) -> None:
    script: list[Reply | str] = [tool_reply([WRITE]), tool_reply([READ]), "Milk, I think."]
    result, model = play(script, {"notes": notes.config}, provider, max_iterations=2)
    assert result["success"]
    assert result["final_result"] == "Milk, I think."
    assert len(result["tool_chain"]) == 2
    assert result["execution_metadata"]["total_iterations"] == 3
    assert model.requests[2].tool_names == []
    assert "The limit of 2 iterations was reached" in said_to(model, 2)
    assert "limit of 2 iterations" in result["summary"]


@pytest.mark.parametrize("last", [tool_reply([READ]), content_reply("")])
def test_without_an_answer_at_the_limit_the_run_fails_with_what_it_has(  # B14, B30
    last: Reply, notes: Notes
) -> None:
    script: list[Reply | str] = [tool_reply([WRITE]), last, last]
    result, _ = play(script, {"notes": notes.config}, max_iterations=1)
    assert result["success"] is False
    assert result["final_result"] is None
    assert len(notes.calls) == 1
    assert "Ended without an answer: the limit of 1 iterations was reached" in result["summary"]
    assert "notes.write" in result["summary"]


def test_a_model_that_says_nothing_is_asked_for_its_answer(notes: Notes) -> None:
    def script(request: ModelRequest) -> Reply | str:
        asked_again = "last reply was empty" in str(request.last["content"])
        return "Sorry: four." if asked_again else content_reply("")

    result, _ = play(script, {"notes": notes.config})
    assert result["final_result"] == "Sorry: four."


@every_provider
def test_a_model_that_cannot_be_asked_leaves_a_partial_account(  # B14
    provider: WireName, notes: Notes
) -> None:
    script: list[Reply | str] = [
        tool_reply([WRITE], "First this."),
        error_reply(401, "no such key"),
    ]
    result, _ = play(script, {"notes": notes.config}, provider)
    assert result["success"] is False
    assert tools(result) == ["notes.write"]
    assert "no such key" in result["summary"]
    (error,) = result["errors"]
    assert (error["tool_name"], error["iteration"]) == (name_of(provider), 1)
    assert "no such key" in error["error"]
    assert not is_running(notes.pids[0])


def test_an_answer_that_was_cut_off_says_so() -> None:
    result, _ = play([content_reply("Once upon a", finish_reason="length")], {})
    assert result["success"]
    assert "cut off" in result["errors"][0]["error"]
    assert "cut off" in result["summary"]


# --- side by side -----------------------------------------------------------------------------


def meeting(folder: Path) -> tuple[list[Reply | str], dict[str, Any]]:
    """A batch of two calls that both fail unless they run at the same time."""
    folder.mkdir()
    together = {"folder": str(folder), "size": 2}
    script: list[Reply | str] = [
        tool_reply([("left.meet", together), ("right.meet", together)]),
        "Ok.",
    ]
    return script, {"left": faulty(), "right": faulty()}


def test_calls_of_one_batch_run_side_by_side_where_their_servers_differ(tmp_path: Path) -> None:
    script, servers = meeting(tmp_path / "place")
    result, _ = play(script, servers)
    assert links(result) == [("left.meet", True, 0), ("right.meet", True, 0)]


def test_the_chain_keeps_the_order_of_the_calls_whoever_ends_first(tmp_path: Path) -> None:
    slow, fast = Notes(tmp_path, "slow"), Notes(tmp_path, "fast")
    calls = [("slow.sleep", {"seconds": 0.3}), ("fast.count", {}), ("slow.count", {})]
    result, _ = play([tool_reply(calls), "Ok."], {"slow": slow.config, "fast": fast.config})
    assert tools(result) == ["slow.sleep", "fast.count", "slow.count"]
    answers = [m["content"] for m in result["conversation_history"] if m["role"] == "tool"]
    assert answers[0] == "awake"
    assert [name for name, _ in slow.calls] == ["sleep", "count"]
