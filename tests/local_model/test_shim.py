"""The tool shim and the schema it is built on: pure functions, so tables and properties."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_model.shim import (
    EngineRequest,
    JSONObject,
    RequestError,
    plan_request,
    read_answer,
    render_messages,
)

USER: JSONObject = {"role": "user", "content": "You are in a cellar. What now?"}
THINK_PARAMETERS = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "thoughtNumber": {"type": "integer", "minimum": 1},
        "branchId": {"type": "string"},
    },
    "required": ["thought", "thoughtNumber"],
}
THINK = {
    "type": "function",
    "function": {
        "name": "thoughtbox_think",
        "description": "Think a step further.",
        "parameters": THINK_PARAMETERS,
    },
}
LOOK = {"type": "function", "function": {"name": "map_look"}}
ACTION = {
    "type": "object",
    "properties": {"action": {"type": "string", "maxLength": 20}},
    "required": ["action"],
}


def request(**fields: object) -> JSONObject:
    return {"messages": [USER], **fields}


def schema_of(plan: EngineRequest) -> JSONObject:
    """The schema that the engine's decoder will enforce."""
    loaded: JSONObject = json.loads(plan.payload["grammar"].split("%json ", 1)[1])
    return loaded


def branches_of(plan: EngineRequest) -> list[str]:
    """What the model may choose from, by tool name or "reply"."""
    schema = schema_of(plan)
    branches = schema.get("anyOf", [schema])
    return [b["properties"].get("tool", {}).get("const", "reply") for b in branches]


def engine_answer(text: str, finish: str = "stop") -> JSONObject:
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 9,
        "total_tokens": 49,
        "prompt_tokens_details": {"cached_tokens": 31},
    }
    choice = {"finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return {"id": "chatcmpl-1", "created": 1, "choices": [choice], "usage": usage}


def answered(fields: JSONObject, text: str, finish: str = "stop") -> JSONObject:
    """The OpenAI choice that comes of a request when the engine writes `text`."""
    answer = read_answer(plan_request(request(**fields)), engine_answer(text, finish), model="m")
    choice: JSONObject = answer["choices"][0]
    return choice


# --- What the model may choose from ---------------------------------------------------------------

TOOL_RESULT: list[JSONObject] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "map_look", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "A door leads north."},
]
NAMED = {"type": "function", "function": {"name": "map_look"}}


@pytest.mark.parametrize(
    ("choice", "history", "expected"),
    [
        (None, [USER], ["thoughtbox_think", "map_look", "reply"]),
        ("auto", [USER], ["thoughtbox_think", "map_look", "reply"]),
        ("required", [USER], ["thoughtbox_think", "map_look"]),
        (NAMED, [USER], ["map_look"]),
        ("auto", [USER, *TOOL_RESULT], ["reply"]),
        ("required", [USER, *TOOL_RESULT], ["thoughtbox_think", "map_look"]),
        (NAMED, [USER, *TOOL_RESULT], ["map_look"]),
        ("auto", [USER, *TOOL_RESULT, USER], ["thoughtbox_think", "map_look", "reply"]),
    ],
)
def test_the_choice_follows_tool_choice_and_allows_one_call_per_question(
    choice: object, history: list[JSONObject], expected: list[str]
) -> None:
    plan = plan_request({"messages": history, "tools": [THINK, LOOK], "tool_choice": choice})
    assert branches_of(plan) == expected


@pytest.mark.parametrize("extra", [{}, {"tools": [THINK], "tool_choice": "none"}, {"tools": []}])
def test_without_tools_the_model_writes_freely_and_hears_of_no_tool(extra: JSONObject) -> None:
    plan = plan_request(request(**extra))
    assert "grammar" not in plan.payload
    assert plan.payload["messages"] == [USER]


def test_response_format_alone_is_enforced() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": ACTION}}
    plan = plan_request(request(response_format=wanted))
    assert schema_of(plan)["properties"]["action"]["maxLength"] == 20
    assert schema_of(plan)["additionalProperties"] is False


@pytest.mark.parametrize(
    "field",
    [
        {"guided_json": ACTION},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": ACTION}}},
    ],
)
def test_the_reply_beside_tools_has_the_schema_asked_for_and_comes_back_as_its_json(
    field: JSONObject,
) -> None:
    fields = {"tools": [THINK], **field}
    reply = schema_of(plan_request(request(**fields)))["anyOf"][-1]["properties"]["reply"]
    assert list(reply["properties"]) == ["action"]
    choice = answered(fields, '{"reply": {"action": "öffne Tür"}}')
    assert json.loads(choice["message"]["content"]) == {"action": "öffne Tür"}
    assert choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"]


def test_a_reply_beside_tools_is_plain_text_without_a_schema() -> None:
    choice = answered({"tools": [THINK]}, '{"reply": "I go north."}')
    assert choice["message"] == {"role": "assistant", "content": "I go north."}


def test_a_tool_call_comes_back_in_openais_shape() -> None:
    text = '{"tool": "thoughtbox_think", "arguments": {"thought": "Hm.", "thoughtNumber": 1}}'
    first, second = (answered({"tools": [THINK]}, text) for _ in range(2))
    (call,) = first["message"]["tool_calls"]
    assert first["message"]["content"] is None
    assert first["finish_reason"] == "tool_calls"
    assert call["type"] == "function"
    assert call["function"]["name"] == "thoughtbox_think"
    assert json.loads(call["function"]["arguments"]) == {"thought": "Hm.", "thoughtNumber": 1}
    assert call["id"] != second["message"]["tool_calls"][0]["id"]


def test_usage_model_and_identity_are_passed_on() -> None:
    answer = read_answer(plan_request(request()), engine_answer("North."), model="tiny")
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "tiny"
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 31


def test_a_text_cut_off_by_max_tokens_is_handed_over_as_it_is() -> None:
    choice = answered({"tools": [THINK]}, '{"tool": "thoughtbox_th', finish="length")
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"] == '{"tool": "thoughtbox_th'


def test_text_that_escaped_the_schema_is_an_error_and_no_answer() -> None:
    plan = plan_request(request(tools=[THINK]))
    with pytest.raises(RequestError, match="does not fit the schema") as caught:
        read_answer(plan, engine_answer("Sure! Here is"), model="m")
    assert caught.value.status == 502


def test_sampling_settings_are_passed_on_and_none_is_left_out() -> None:
    plan = plan_request(request(temperature=0.2, top_k=None, seed=7, max_completion_tokens=50))
    assert plan.payload["temperature"] == 0.2
    assert plan.payload["seed"] == 7
    assert plan.payload["max_tokens"] == 50
    assert "top_k" not in plan.payload


# --- What the model reads -------------------------------------------------------------------------


def test_a_tool_call_and_its_result_are_told_in_words() -> None:
    rendered = render_messages([USER, *TOOL_RESULT])
    assert rendered == [
        USER,
        {"role": "assistant", "content": '{"tool": "map_look", "arguments": {}}'},
        {"role": "user", "content": "Result of map_look: A door leads north."},
    ]


def test_text_parts_are_joined_and_unknown_keys_left_out() -> None:
    parts: list[Any] = [
        {"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}},
        "Two.",
    ]
    message: JSONObject = {"role": "user", "content": parts, "cache_control": {"type": "ephemeral"}}
    assert render_messages([message]) == [{"role": "user", "content": "One.\nTwo."}]


def test_the_tools_stand_behind_the_system_text_so_that_the_prefix_stays_the_same() -> None:
    system = {"role": "system", "content": "You play a game."}
    first = plan_request({"messages": [system, USER], "tools": [THINK, LOOK]})
    later = plan_request({"messages": [system, USER, *TOOL_RESULT], "tools": [THINK, LOOK]})
    text = first.payload["messages"][0]["content"]
    assert text.startswith("You play a game.\n\n")
    assert "thoughtbox_think: Think a step further." in text
    assert "map_look" in text
    assert later.payload["messages"][0] == first.payload["messages"][0]
    assert first.payload["messages"][1]["content"].startswith(
        later.payload["messages"][1]["content"]
    )


def test_long_tool_descriptions_are_cut_at_a_word() -> None:
    tool = {"function": {"name": "long", "description": "word " * 500}}
    text = plan_request(request(tools=[tool])).payload["messages"][0]["content"]
    assert "word..." in text
    assert len(text) < 300


roles = st.sampled_from(["system", "developer", "user", "assistant"])


@given(st.lists(st.tuples(roles, st.text()), min_size=1))
def test_neighbours_never_share_a_role_and_no_text_is_lost(pairs: list[tuple[str, str]]) -> None:
    rendered = render_messages([{"role": role, "content": text} for role, text in pairs])
    assert all(a["role"] != b["role"] for a, b in pairwise(rendered))
    assert "\n\n".join(m["content"] for m in rendered) == "\n\n".join(text for _, text in pairs)


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "messages must be a list"),
        ({"messages": []}, "messages must be a list"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "needs a role"),
        ({"messages": ["hello"]}, "needs a role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "reads text only"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "lacks its id"),
        (request(stream=True), "leave out stream"),
        (request(n=2), "leave out stream"),
        (request(max_tokens=-1), "max_tokens"),
        (request(max_tokens="many"), "max_tokens"),
        (request(tools=[{"name": "x"}]), "Every tool must look like"),
        (request(tool_choice="required"), "no tools are given"),
        (request(tools=[THINK], tool_choice=NAMED), "'map_look'"),
        (request(response_format={"type": "json_object"}), "needs a schema"),
        (request(response_format={"type": "json_schema"}), "must be a JSON object"),
        (request(guided_json={"$ref": "#/$defs/gone"}), "refers to nothing"),
        (request(guided_json={"type": "sword"}), "is not a JSON type"),
    ],
)
def test_a_request_that_cannot_be_served_is_refused_with_the_reason(
    body: JSONObject, message: str
) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        plan_request(body)
    assert caught.value.status == 400
    assert caught.value.body()["error"]["type"] == "invalid_request_error"


def test_a_prompt_beyond_the_context_is_named_as_such() -> None:
    refusal = {"type": "exceed_context_size_error", "n_ctx": 4096, "n_prompt_tokens": 6031}
    with pytest.raises(RequestError, match=r"4096 .* 6031") as caught:
        read_answer(plan_request(request()), {"error": {**refusal, "code": 400}}, model="m")
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.status == 400


def test_another_model_is_refused_as_openai_does_it() -> None:
    asked = {**request(), "model": "gpt-5"}
    with pytest.raises(RequestError, match="no model gpt-5 on this machine, only tiny") as refused:
        plan_request(asked, "tiny")
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")
    assert plan_request({**asked, "model": "tiny"}, "tiny") == plan_request(request())
