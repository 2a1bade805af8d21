"""What tools say of their effects decides which calls are repeated, stopped, or run together."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from mcp_ghost.testing import Reply, tool_reply
from tests.support.ghosts import Bank, play, said_to

pytestmark = pytest.mark.mcp
Call: TypeAlias = tuple[str, dict[str, Any]]
MAY_HAVE_ACTED = "It may have taken effect nonetheless"


def attempts(result: dict[str, Any]) -> list[tuple[str, bool, int]]:
    keys = ("tool_name", "success", "retry_attempt")
    return [tuple(entry[key] for key in keys) for entry in result["tool_chain"]]


# --- repeated: only what does no harm twice ---------------------------------------------------


@pytest.mark.parametrize("tool", ["transfer", "insert"])
def test_a_tool_that_may_write_is_not_called_again_after_a_death_in_the_call(
    tool: str, bank: Bank
) -> None:
    pay = (f"bank.{tool}", {"name": "pay", "deaths": 1})
    look = ("bank.balance", {"name": "look"})
    script: list[Reply | str] = [tool_reply([pay]), tool_reply([look]), "Paid once, I think."]
    result, model = play(script, {"bank": bank.config})
    assert bank.book == ["pay", "look", "end of look"]
    assert attempts(result) == [
        (f"bank.{tool}", False, 0),
        ("bank.balance", False, 0),
        ("bank.balance", True, 1),  # it was never sent to the dead server
    ]
    assert MAY_HAVE_ACTED in said_to(model, 1)
    assert "bank.py" not in result["tool_chain"][0]["error"]


@pytest.mark.parametrize("tool", ["balance", "put"])
def test_a_tool_that_does_no_harm_twice_is_called_again_after_a_death(
    tool: str, bank: Bank
) -> None:
    script: list[Reply | str] = [tool_reply([(f"bank.{tool}", {"name": "a", "deaths": 1})]), "Ok."]
    result, model = play(script, {"bank": bank.config})
    assert bank.book == ["a", "a", "end of a"]
    assert attempts(result) == [(f"bank.{tool}", False, 0), (f"bank.{tool}", True, 1)]
    assert MAY_HAVE_ACTED not in said_to(model, 1)


def test_a_tool_that_may_write_is_called_on_a_server_that_died_before(bank: Bank) -> None:
    script: list[Reply | str] = [
        tool_reply([("bank.insert", {"name": "a", "deaths": 1}), ("bank.insert", {"name": "b"})]),
        "Ok.",
    ]
    result, _ = play(script, {"bank": bank.config})
    assert bank.book == ["a", "b", "end of b"]
    assert [success for _, success, _ in attempts(result)] == [False, False, True]


@pytest.mark.parametrize(("tool", "is_told"), [("insert", True), ("balance", False)])
def test_after_a_timeout_the_model_is_told_where_the_tool_may_have_acted(
    tool: str, is_told: bool, bank: Bank
) -> None:
    slow = (f"bank.{tool}", {"name": "slow", "seconds": 1000})
    script: list[Reply | str] = [tool_reply([slow]), "Ok."]
    _, model = play(script, {"bank": bank.config}, timeout=3)
    assert bank.book == ["slow"]
    assert (MAY_HAVE_ACTED in said_to(model, 1)) is is_told


# --- stopped: only what reads -----------------------------------------------------------------


@pytest.mark.parametrize("tool", ["transfer", "insert", "put"])
def test_equal_calls_of_a_tool_that_may_write_are_all_executed(tool: str, bank: Bank) -> None:
    script: list[Reply | str] = [*[tool_reply([(f"bank.{tool}", {"name": "row"})])] * 4, "Ok."]
    result, _ = play(script, {"bank": bank.config})
    assert bank.book.count("row") == 4
    assert all(success for _, success, _ in attempts(result))


@pytest.mark.parametrize(
    ("options", "executed"),
    [({}, 2), ({"loop_limit": 1}, 1), ({"loop_limit": 3}, 3), ({"loop_limit": None}, 4)],
)
def test_how_often_a_read_only_tool_may_give_the_same_result_can_be_set(
    options: dict[str, Any], executed: int, bank: Bank
) -> None:
    script: list[Reply | str] = [*[tool_reply([("bank.balance", {})])] * 4, "Ok."]
    result, _ = play(script, {"bank": bank.config}, **options)
    assert bank.book.count("it") == executed
    stopped = [entry["error"] for entry in result["tool_chain"] if not entry["success"]]
    assert len(stopped) == 4 - executed
    assert all("not executed again" in error for error in stopped)


READ: Call = ("bank.balance", {})
OTHER: Call = ("bank.balance", {"name": "other"})


@pytest.mark.parametrize("between", [("bank.insert", {}), OTHER])
def test_what_comes_between_ends_a_row_of_equal_calls(between: Call, bank: Bank) -> None:
    script: list[Reply | str] = [
        *[tool_reply([READ])] * 2,
        tool_reply([between]),
        *[tool_reply([READ])] * 2,
        "Ok.",
    ]
    result, _ = play(script, {"bank": bank.config})
    assert all(success for _, success, _ in attempts(result))


def test_a_batch_that_is_asked_for_again_and_again_is_stopped(bank: Bank) -> None:
    script: list[Reply | str] = [*[tool_reply([READ, OTHER])] * 3, "Ok."]
    result, _ = play(script, {"bank": bank.config})
    assert [success for _, success, _ in attempts(result)] == [True] * 4 + [False] * 2


# --- side by side: what only reads ------------------------------------------------------------


def told(result: dict[str, Any]) -> list[str]:
    return [each["content"] for each in result["conversation_history"] if each["role"] == "tool"]


def test_calls_that_only_read_run_side_by_side_on_one_server(bank: Bank) -> None:
    together = [("bank.meet", {"size": 3})] * 3
    result, _ = play([tool_reply(together), "Ok."], {"bank": bank.config})
    assert told(result) == ["3 met"] * 3


def test_calls_that_may_write_wait_for_those_before_and_hold_up_those_after(bank: Bank) -> None:
    names = [("balance", "a"), ("insert", "b"), ("transfer", "c"), ("balance", "d")]
    calls = [(f"bank.{tool}", {"name": name, "seconds": 0.05}) for tool, name in names]
    result, _ = play([tool_reply(calls), "Ok."], {"bank": bank.config})
    assert bank.book == [line for _, name in names for line in (name, f"end of {name}")]
    assert told(result) == [f"done: {name}" for _, name in names]


def test_the_answers_keep_the_order_of_the_calls_whoever_ends_first(bank: Bank) -> None:
    calls = [("bank.balance", {"name": str(n), "seconds": (3 - n) / 10}) for n in range(4)]
    result, _ = play([tool_reply(calls), "Ok."], {"bank": bank.config})
    assert told(result) == [f"done: {n}" for n in range(4)]
    assert [entry["arguments"]["name"] for entry in result["tool_chain"]] == list("0123")


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_calls_run_at_a_time_than_are_allowed(most: int, bank: Bank) -> None:
    calls: list[Call] = [("bank.crowd", {})] * 5
    play([tool_reply(calls), "Ok."], {"bank": bank.config}, max_parallel_calls=most)
    assert max(bank.book) == f"{most} here"


def test_without_backtracking_calls_go_one_after_the_other(bank: Bank) -> None:
    calls: list[Call] = [("bank.crowd", {})] * 3
    play([tool_reply(calls), "Ok."], {"bank": bank.config}, enable_backtracking=False)
    assert max(bank.book) == "1 here"


def test_calls_that_were_under_way_when_the_server_died_are_all_repeated(bank: Bank) -> None:
    calls = [
        ("bank.balance", {"name": "a", "deaths": 1, "once": ["b", "c"]}),
        ("bank.balance", {"name": "b", "seconds": 0.5}),
        ("bank.balance", {"name": "c", "seconds": 0.5}),
    ]
    result, _ = play([tool_reply(calls), "Ok."], {"bank": bank.config})
    assert told(result) == ["done: a", "done: b", "done: c"]
    assert attempts(result)[:2] == [("bank.balance", False, 0), ("bank.balance", True, 1)]
