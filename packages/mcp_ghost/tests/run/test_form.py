"""Answers in the form of `output`: how they are asked for, checked and repaired."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_type

import pytest
from pydantic import BaseModel, Field

import mcp_ghost as mcp_ghost_module
from mcp_ghost import Ghost, GhostResult, MCPGhostError, mcp_ghost, run_ghost, run_sync
from mcp_ghost.golden import compare_golden, load_golden, record_golden, replay_golden
from mcp_ghost.run.form import Form, FormError
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Notes, play, said_to

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
WRITE = tool_reply([("notes.write", {"name": "a", "text": "milk"})])


class Item(BaseModel):
    name: str
    amount: int = Field(ge=1)
    until: date | None = None


class Order(BaseModel):
    items: list[Item]


class Branch(BaseModel):
    name: str
    branches: list[Branch] = []


GOOD = json.dumps({"items": [{"name": "milk", "amount": 2, "until": "2027-01-02"}]})
BAD = json.dumps({"items": [{"name": "milk", "amount": 0, "until": None}]})


def held(model: ModelServer) -> list[bool]:
    """Of each request, whether the provider was to see to the form."""
    return ["response_format" in request.chat for request in model.requests]


@pytest.mark.mcp
@every_provider
def test_beside_tools_the_words_are_free_and_the_answer_is_asked_for_in_its_form(
    tmp_path: Path, provider: WireName
) -> None:
    notes = Notes(tmp_path)
    script: list[Reply | str] = [WRITE, "I noted the milk.", GOOD]
    result, model = play(script, {"notes": notes.config}, provider, output=Order)
    assert result["final_result"] == json.loads(GOOD)
    assert Order.model_validate(result["final_result"]).items[0].until == date(2027, 1, 2)
    assert result["success"]
    assert result["errors"] == []
    assert held(model) == [False, False, True]
    assert model.requests[2].tool_names == []
    assert [call for call, _ in notes.calls] == ["write"]


@pytest.mark.mcp
def test_an_answer_beside_tools_that_has_the_form_already_takes_no_further_request(
    tmp_path: Path,
) -> None:
    script: list[Reply | str] = [WRITE, f"```json\n{GOOD}\n```"]
    result, model = play(script, {"notes": Notes(tmp_path).config}, output=Order)
    assert result["final_result"] == json.loads(GOOD)
    assert held(model) == [False, False]


@every_provider
def test_without_tools_the_first_request_asks_for_the_form_and_one_fault_is_repaired(
    provider: WireName,
) -> None:
    result, model = play([BAD, GOOD], {}, provider, output=Order)
    assert (result["final_result"], result["success"]) == (json.loads(GOOD), True)
    assert held(model) == [True, True]
    assert "items.0.amount: Input should be greater than or equal to 1" in said_to(model, 1)


@every_provider
def test_a_second_fault_ends_the_run_without_success(provider: WireName) -> None:
    result, _ = play([BAD, "Two bottles of milk."], {}, provider, output=Order)
    assert (result["final_result"], result["success"]) == (None, False)
    (error,) = result["errors"]
    assert "not have the form that was asked for: it is not a JSON object" in error["error"]
    assert result["conversation_history"][-1]["content"] == "Two bottles of milk."


@every_provider
@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (list[str], {"answer": ["a"]}, ["a"]),
        (int, {"answer": 3}, 3),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Branch, {"name": "a", "branches": [{"name": "b", "branches": []}]}, None),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1}),
        ({"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "integer"}}},
         {"answer": [1]}, [1]),
        ({"type": "object", "properties": {"a": {"minLength": 2}}}, {"a": "bc"}, {"a": "bc"}),
    ],
)  # fmt: skip
def test_types_and_schemas_of_every_kind_are_asked_for_in_a_way_that_no_provider_refuses(
    provider: WireName,
    output: Any,  # noqa: ANN401
    answer: dict[str, Any],
    value: object,
) -> None:
    result, _ = play([json.dumps(answer)], {}, provider, output=output)
    assert result["final_result"] == (answer if value is None else value)


def test_an_answer_that_a_json_schema_refuses_is_asked_for_again_with_the_reason() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    result, model = play(['{"a": "x"}', '{"a": 1}'], {}, output=schema)
    assert result["final_result"] == {"a": 1}
    assert "a: 'x' is not of type 'integer'" in str(model.requests[1])


def test_a_model_that_refuses_schemas_is_asked_without_and_its_answer_is_checked_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script: list[Reply | str] = [
        error_reply(400, "This response_format type is unavailable now"),
        BAD,
        GOOD,
    ]
    with caplog.at_level(logging.ERROR):
        result, model = play(script, {}, output=Order)
    assert result["final_result"] == json.loads(GOOD)
    assert held(model) == [True, False, False]


@pytest.mark.mcp
def test_at_the_iteration_limit_the_last_answer_has_the_form(tmp_path: Path) -> None:
    servers = {"notes": Notes(tmp_path).config}
    result, model = play([WRITE, GOOD], servers, output=Order, max_iterations=1)
    assert result["final_result"] == json.loads(GOOD)
    assert held(model) == [False, True]


def test_a_call_in_place_of_the_answer_leaves_the_conversation_well_formed() -> None:
    reply = tool_reply([("notes.write", {})])
    result, _ = play([BAD, reply], {}, output=Order)
    assert not result["success"]


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({"type": "nonsense"}, "output is not a JSON schema"),
        ("json", "output must be a pydantic model, another type or a JSON schema, not 'json'"),
        (object(), "output must be a pydantic model, another type or a JSON schema"),
        (type(lambda: None), "output"),
    ],
)
def test_what_is_no_form_is_refused_at_once(output: Any, why: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=why):
        asyncio.run(mcp_ghost({"mcpServers": {}}, "", "openai", "key", "Go.", output=output))


def test_of_many_problems_the_first_few_are_told() -> None:
    form = Form(list[int])
    with pytest.raises(FormError, match="and 2 more"):
        form.read(json.dumps({"answer": ["a"] * 7}))
    assert form.read('{"answer": [1]}') == ([1], [1])


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (list[int], "```json\n[1, 2]\n```", [1, 2]),
        (list[Item], '[{"name": "milk", "amount": 2}]', [Item(name="milk", amount=2)]),
        (list[Item], '{"answer": [{"name": "milk", "amount": 2}]}', [Item(name="milk", amount=2)]),
        (int, "42", 42),
        (int | None, "null", None),
        (str, "A lamp.", "A lamp."),
        (str, '"A lamp."', "A lamp."),
        (str, '{"answer": "A lamp."}', "A lamp."),
        (str, "42", "42"),
        (bool, "true", True),
        (date, "2027-01-02", date(2027, 1, 2)),
        (Literal["red", "blue"], "red", "red"),
        (Item | Order, '{"name": "milk", "amount": 2}', Item(name="milk", amount=2)),
        (Item, '{"name": "milk", "amount": 2}', Item(name="milk", amount=2)),
        ({"type": "array", "items": {"type": "integer"}}, "[1]", [1]),
    ],
)
def test_a_bare_value_that_has_the_form_is_taken(
    output: object, answer: str, value: object
) -> None:
    assert Form(output).read(answer).typed == value


@pytest.mark.parametrize("answer", ["One and two.", '["a"]', '{"answer": ["a"]}', "{}", "[1"])
def test_a_bare_value_that_has_not_the_form_is_not(answer: str) -> None:
    with pytest.raises(FormError):
        Form(list[int]).read(answer)


async def test_the_answer_comes_as_its_type() -> None:
    options: dict[str, Any] = {"provider": "openai", "api_key": KEY, "user_prompt": "Order."}
    with ModelServer([GOOD, GOOD, "No.", "No."]) as model:
        options["base_url"] = model.base_url
        result = await mcp_ghost_module.run({"mcpServers": {}}, output=Order, **options)
        assert_type(result.output, Order)
        assert result.output.items[0].until == date(2027, 1, 2)
        assert result.final_result == json.loads(GOOD)
        here = await asyncio.to_thread(lambda: run_sync({"mcpServers": {}}, **options))
        assert_type(here.output, Any)
        assert here.output == here.final_result == json.loads(GOOD)
        failed = await run_ghost({"mcpServers": {}}, output=list[int], **options)
        assert_type(failed, GhostResult[list[int]])
    assert not failed.success
    with pytest.raises(MCPGhostError, match="does not have the form"):
        _ = failed.output


async def test_one_request_of_a_conversation_may_have_a_form_of_its_own() -> None:
    options: dict[str, Any] = {"provider": "openai", "api_key": KEY}
    with ModelServer(["Hello.", GOOD, "Bye."]) as model:
        options |= {"server_config": {"mcpServers": {}}, "base_url": model.base_url}
        async with Ghost(**options) as ghost:
            assert (await ghost.run("Hello?"))["final_result"] == "Hello."
            result = await ghost.run("Order.", output=Order)
            assert_type(result, GhostResult[Order])
            assert result.output == Order.model_validate_json(GOOD)
            assert (await ghost.run("Bye."))["final_result"] == "Bye."
    assert held(model) == [False, True, False]
    heads = [json.dumps(request.messages[0]) for request in model.requests]
    assert heads[0] == heads[1] == heads[2]
    assert '"amount"' in model.requests[1].messages[-1]["content"]


def test_a_golden_keeps_the_form_as_a_schema_and_replays_it(tmp_path: Path) -> None:
    golden = tmp_path / "order.json"
    with ModelServer([content_reply(GOOD)]) as model:
        given: dict[str, Any] = {"server_config": {"mcpServers": {}}, "system_prompt": ""}
        given |= {"provider": "openai", "user_prompt": "Go.", "base_url": model.base_url}
        asyncio.run(record_golden(golden, **given, output=Order))
    assert load_golden(golden)["input"]["output"]["title"] == "Order"
    assert compare_golden(asyncio.run(replay_golden(golden)), golden) == []
