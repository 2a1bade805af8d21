"""The parameters of a tool as each provider takes them, whatever its server says, without loss."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcp_ghost.names import property_name
from mcp_ghost.providers.gemini_schema import gemini_parameters
from mcp_ghost.providers.parameters import (
    FOR_ANTHROPIC,
    FOR_GEMINI,
    FOR_GRAMMARS,
    FOR_OPENAI,
    parameters,
)
from mcp_ghost.servers.tools import tool_schema
from mcp_ghost.testing import anthropic as refusals_anthropic
from mcp_ghost.testing import gemini as refusals_gemini
from mcp_ghost.testing import refusals
from tests.support.garbled import garbled
from tests.support.ghosts import PROVIDERS
from tests.support.provider_requests import request_for
from tests.support.refused import anthropic, gemini, openai
from tests.support.wires import chosen, provider_of
from tests.support.work import steps

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
A = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
B = {"properties": {"b": NUMBER}, "required": ["b"]}
CIRCLE = {"properties": {"kind": {"const": "circle"}, "radius": NUMBER}, "required": ["kind"]}
SQUARE = {"properties": {"kind": {"const": "square"}, "side": NUMBER}, "required": ["kind"]}
DEFINED = {"$defs": {"A": A, "b/c d": B}}
BOTH = {"a": TEXT, "b": NUMBER}
BOTH_OPTIONAL = {"type": "object", "properties": BOTH}
KINDS = {"anyOf": [{"const": "circle"}, {"const": "square"}]}


@pytest.mark.parametrize(
    ("schema", "properties", "required"),
    [
        ({"anyOf": [A, B]}, BOTH, None),
        ({"allOf": [A, B]}, BOTH, ["a", "b"]),
        ({"anyOf": [A, {"type": "null"}]}, {"a": TEXT}, ["a"]),
        (
            {"oneOf": [CIRCLE, SQUARE]},
            {"kind": KINDS, "radius": NUMBER, "side": NUMBER},
            ["kind"],
        ),
        ({**A, "oneOf": [B, {"properties": {"c": TEXT}}]}, {**BOTH, "c": TEXT}, ["a"]),
        ({**A, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": TEXT}, ["a"]),
        ({"$ref": "#/$defs/A", **DEFINED}, {"a": TEXT}, ["a"]),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/b~1c%20d"}], **DEFINED}, BOTH, None),
        ({**A, "allOf": [{"$ref": "#"}, {"$ref": "#nowhere"}]}, {"a": TEXT}, ["a"]),
        ({**A, "type": ["object", "null"]}, {"a": TEXT}, ["a"]),
        ({"anyOf": [True, {"type": "string"}], "properties": [], "required": 3}, {}, None),
    ],
)
def test_what_a_tool_takes_is_on_offer_wherever_its_schema_says_so(
    schema: dict[str, Any], properties: dict[str, Any], required: list[str] | None
) -> None:
    flat = parameters(schema, FOR_ANTHROPIC, "t")
    assert flat["type"] == "object"
    assert flat["properties"] == properties
    assert required is None or flat["required"] == required
    assert not flat.keys() & {"$ref", "anyOf", "oneOf", "allOf"}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("schema", [{"anyOf": [A, B]}, {**A, **B, "type": ["object", "null"]}])
def test_every_model_is_told_what_the_tool_takes(provider: str, schema: dict[str, Any]) -> None:
    tool = tool_schema({"name": "find", "inputSchema": schema})
    request = request_for(
        [{"role": "user", "content": "Find it."}], tools=[tool], **chosen(provider)
    )
    sent = provider_of(provider).encode(request).payload["tools"][0]
    function = sent.get("function") or (sent.get("functionDeclarations") or [sent])[0]
    told = function.get("parameters") or function["input_schema"]
    assert [*told["properties"]] == [*parameters(schema, FOR_ANTHROPIC, "t")["properties"]]


def test_definitions_that_all_use_each_other_are_read_once() -> None:
    def schema(size: int) -> dict[str, Any]:
        uses = [{"$ref": f"#/$defs/d{index}"} for index in range(size)]
        definitions = {f"d{index}": {"anyOf": uses, "allOf": uses} for index in range(size)}
        return {"allOf": uses, "$defs": definitions}

    few = steps(lambda: parameters(schema(6), FOR_ANTHROPIC, "t"))
    assert steps(lambda: parameters(schema(12), FOR_ANTHROPIC, "t")) < 20 * few


OPEN = {"type": "object", "properties": {}, "additionalProperties": True}
ANYTHING = {
    **OPEN,
    "type": ["string", "number", "boolean", "null", "object", "array"],
    "items": {**OPEN, "type": ["string", "number", "boolean", "null", "object"]},
}


@pytest.mark.parametrize(
    ("garbled_schema", "sent"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"type": "array", "items": None}, {"type": "array", "items": {}}),
        ({"type": "integer", "minimum": 10**400, "maximum": 9}, {"type": "integer", "maximum": 9}),
        ({"type": "string", "maxLength": 10**400}, TEXT),
        ({"type": "array", "items": "string"}, {"type": "array", "items": TEXT}),
        (
            {"type": "array", "items": TEXT, "uniqueItems": True},
            {"type": "array", "items": TEXT, "uniqueItems": True},
        ),
        (
            {"type": "array", "items": [TEXT, NUMBER], "additionalItems": False},
            {
                "type": "array",
                "items": {"anyOf": [TEXT, NUMBER]},
                "maxItems": 2,
            },
        ),
        ({"type": "array", "enum": ["a"]}, {"type": "array", "items": {"enum": ["a"]}}),
        ({"type": "object"}, OPEN),
        ({"type": "object", "properties": None, "required": None}, OPEN),
        ({"type": "object", "properties": {"x": False}}, {"type": "object", "properties": {}}),
        ({"anyOf": [{"not": {}}, TEXT]}, TEXT),
        (
            {"type": "object", "patternProperties": {"^x": TEXT}, "additionalProperties": False},
            OPEN,
        ),
        ({**A, "required": ["a", "a", "b", 3]}, A),
        (
            {"properties": {"a": {**TEXT, "required": True}}},
            {"properties": {"a": TEXT}, "required": ["a"]},
        ),
        ({"properties": {"a": "string"}, "required": True}, {"properties": {"a": TEXT}}),
        ({"type": "any"}, {}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": ["string", "any", "string"]}, TEXT),
        ({"type": {"a": 1}, "description": None, "title": 3}, {}),
        ("number", NUMBER),
        (True, {}),
        (None, {}),
        ([TEXT], {}),
        ({"type": "string", "enum": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "enum": None}, TEXT),
        ({"type": "string", "enum": []}, TEXT),
        ({"type": "string", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        (
            {"type": "string", "enum": ["a", None]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": False},
            {"type": "integer", "minimum": 1},
        ),
        ({"type": "integer", "maximum": float("nan"), "minimum": "1"}, {"type": "integer"}),
        ({"type": "string", "minLength": -1, "maxLength": 3.0}, {"type": "string", "maxLength": 3}),
        (
            {"type": "string", "pattern": r"^\p{L}$"},
            {"type": "string", "description": r"Pattern: ^\p{L}$"},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"anyOf": [TEXT], "nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], **BOTH_OPTIONAL}, BOTH_OPTIONAL),
        ({"anyOf": [TEXT, {}]}, {}),
        ({"anyOf": {"type": "string"}}, {}),
        ({"allOf": [A, {"properties": None, "required": None}]}, A),
        ({"allOf": [TEXT, {"minLength": 1}]}, {"type": "string", "minLength": 1}),
        ({"$ref": "#/$defs/none", "description": "x"}, {"description": "x"}),
        ({"$ref": "https://example.org/a.json"}, {}),
        ({"$ref": 3}, {}),
        ({"$ref": "#/properties/p"}, {}),
        ({"not": {}}, {}),
        ({"default": float("inf"), "const": None}, {"const": None}),
        ({"description": "half \ud83d"}, {"description": "half ?"}),
    ],
)
def test_what_is_broken_is_mended_or_left_out(garbled_schema: object, sent: object) -> None:
    given = {"type": "object", "properties": {"p": garbled_schema}}
    for taken in (FOR_ANTHROPIC, FOR_OPENAI):
        assert parameters(given, taken, "t")["properties"]["p"] == sent
    for wire in REFUSAL:
        assert refusal_of(wire, given) is None


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({}, ANYTHING),
        ({"description": "x"}, {**ANYTHING, "description": "x"}),
        ({"type": "array"}, {"type": "array", "items": ANYTHING}),
        (
            {"anyOf": [TEXT, {"oneOf": [NUMBER, {"maxItems": 1}]}]},
            {"anyOf": [TEXT, {"oneOf": [NUMBER, {**ANYTHING, "maxItems": 1}]}]},
        ),
        ({"type": "string", "pattern": "^[a-z]{1,3}(-[0-9]+)?$"}, None),
        (
            {"type": "string", "pattern": "[a-z]"},
            {"type": "string", "description": "Pattern: [a-z]"},
        ),
        (
            {"type": "string", "pattern": r"^\d$", "description": "A digit."},
            {"type": "string", "description": r"A digit. Pattern: ^\d$"},
        ),
        ({"type": "string", "maxLength": 5000}, TEXT),
        ({"type": "object", "additionalProperties": {}}, OPEN),
    ],
)
def test_a_grammar_can_be_made_of_it(schema: object, sent: object) -> None:
    given = {"type": "object", "properties": {"p": schema}}
    assert parameters(given, FOR_GRAMMARS, "t")["properties"]["p"] == (sent or schema)
    assert refusal_of("llamacpp", given) is None


def test_references_lead_to_definitions_wherever_they_led_before() -> None:
    city = {"type": "object", "properties": {"near": {"$ref": "#/definitions/City"}, "$id": TEXT}}
    given = {
        "properties": {
            "a": {"$ref": "#/definitions/City"},
            "b": {"$ref": "#/properties/a"},
            "c": {"type": "array", "items": [{"$ref": "#/$defs/Hidden"}]},
            "d": {"allOf": [{"$ref": "#/definitions/City"}], "description": "Where."},
        },
        "definitions": {"City": city, "Unused": city, "Deep": {"$defs": {"Hidden": TEXT}}},
    }
    sent = parameters(given, FOR_ANTHROPIC, "t")
    near = {"$ref": "#/$defs/City"}
    assert sent["properties"]["a"] == near
    assert sent["$defs"] == {
        "City": {
            "type": "object",
            "properties": {"near": near, property_name("$id"): {**TEXT, "title": "$id"}},
        },
        "a": near,
        "Hidden": TEXT,
    }
    assert sent["properties"]["d"] == {**near, "description": "Where."}


def test_definitions_of_one_name_stay_apart_and_places_in_lists_are_found() -> None:
    given = {
        "properties": {
            "a": {"$ref": "#/$defs/It"},
            "b": {"$ref": "#/definitions/It"},
            "c": {"$ref": "#/properties/d/anyOf/1"},
            "d": {"anyOf": [TEXT, NUMBER]},
        },
        "$defs": {"It": TEXT},
        "definitions": {"It": NUMBER},
    }
    sent = parameters(given, FOR_ANTHROPIC, "t")
    assert sent["$defs"] == {"It": TEXT, "It_": NUMBER, "1": NUMBER}
    references = {name: each.get("$ref") for name, each in sent["properties"].items()}
    assert references == {"a": "#/$defs/It", "b": "#/$defs/It_", "c": "#/$defs/1", "d": None}


def test_what_nests_without_end_is_cut() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"x": {"type": "array", "items": deep}}}
    itself: dict[str, Any] = {"type": "object"}
    itself["properties"] = {"a": itself, "b": {"anyOf": [itself, TEXT]}}
    for wire in REFUSAL:
        assert refusal_of(wire, deep) is None
        parameters(itself, FOR_OPENAI, "t")


@pytest.mark.parametrize(
    "grow",
    [
        lambda inner: {"type": "object", "anyOf": [{"anyOf": [inner, TEXT]}, NUMBER]},
        lambda inner: {"properties": {"x": inner}, "anyOf": [A, {"properties": {"c": TEXT}}]},
        lambda inner: {"type": "array", "prefixItems": [inner, TEXT]},
        lambda inner: {"allOf": [{"properties": {"x": inner}}, A]},
    ],
)
def test_schemas_within_each_other_cost_no_more_than_their_length(grow: Any) -> None:  # noqa: ANN401
    schema: dict[str, Any] = TEXT
    for _ in range(30):
        schema = grow(schema)
    chain = {
        f"d{index}": {"properties": {name: _both(index + 1) for name in "ab"}}
        for index in range(30)
    }
    for each in ({"properties": {"p": schema}}, {**_both(0), "$defs": chain}):
        for taken in (FOR_ANTHROPIC, FOR_GRAMMARS):
            assert len(json.dumps(parameters(each, taken, "t"))) < 300_000
        assert len(json.dumps(gemini_parameters(each, "t"))) < 300_000


def _both(index: int) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/$defs/d{index}"}, {"description": "x"}]}


def test_what_is_lost_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"properties": {"once": {"type": "string", "pattern": "(", "not": {}}}}
    with caplog.at_level(logging.DEBUG, logger="mcp_ghost"):
        for _ in range(2):
            parameters(schema, FOR_OPENAI, "s.t")
    assert [record.getMessage() for record in caplog.records] == [
        "OpenAI does not get the whole schema of s.t: not, pattern"
    ]


def to_anthropic(given: object) -> str | None:
    sent = parameters(given, FOR_ANTHROPIC, "t")
    Draft202012Validator.check_schema(sent)
    tool = {"name": "f", "input_schema": sent}
    return refusals_anthropic.refusal(anthropic.body(tools=[tool]), {"anthropic-version": "1"})


def to_openai(given: object) -> str | None:
    sent = parameters(given, FOR_OPENAI, "t")
    return refusals.refusal(openai.body(tools=[openai.tool(parameters=sent)]), "openai")


def to_llama(given: object) -> str | None:
    sent = parameters(given, FOR_GRAMMARS, "t")
    Draft202012Validator.check_schema(sent)
    body = openai.body(tools=[openai.tool(parameters=sent)])
    # An address that is not known may lead to either.
    return refusals.refusal(body, "llamacpp") or refusals.refusal(body, "openai")


def to_gemini(given: object) -> str | None:
    sent = gemini_parameters(given, "t")
    Draft202012Validator.check_schema(_in_small_letters(sent or {}))
    return refusals_gemini.refusal(gemini.body(**gemini.declared(sent)), gemini.NEW, {})


def _in_small_letters(schema: Any) -> Any:  # noqa: ANN401  any JSON
    """Gemini's schema as JSON Schema, whose types have small letters."""
    if isinstance(schema, list):
        return [_in_small_letters(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    typed = {"type": schema["type"].lower()} if isinstance(schema.get("type"), str) else {}
    return {key: _in_small_letters(value) for key, value in schema.items()} | typed


REFUSAL = {
    "anthropic": to_anthropic,
    "openai": to_openai,
    "llamacpp": to_llama,
    "gemini": to_gemini,
}


def refusal_of(wire: str, given: object) -> str | None:
    """What the strict server of a wire says to a tool with these parameters."""
    return REFUSAL[wire](given)


@pytest.mark.fuzz
@pytest.mark.parametrize("wire", REFUSAL)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**64))
def test_no_garbled_schema_is_refused(wire: str, seed: int) -> None:
    random_ = random.Random(seed)
    schema = garbled(random_)
    root = {"properties": {"p": schema, "a": garbled(random_)}, "$defs": {"a": garbled(random_)}}
    for each in (schema, root):
        assert refusal_of(wire, each) is None, json.dumps(each)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_gets_its_own_names_of_properties_at_every_depth(provider: str) -> None:
    odd = {"$top": NUMBER, "uids[]": {"type": "array", "items": TEXT}, "城市": TEXT}
    inner = {"type": "object", "properties": odd, "required": ["$top"]}
    schema = {
        "type": "object",
        "properties": {
            "fine": TEXT,
            "filter[status]": {"anyOf": [inner, {"type": "null"}]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
            "more": {"type": "object", "additionalProperties": inner},
        },
        "required": ["filter[status]"],
        "$defs": {"inner": inner},
    }
    tool = tool_schema({"name": "s.find", "inputSchema": schema})
    values = {"$top": 5, "uids[]": ["$top"], "城市": "x"}
    arguments = {"fine": "$top", "filter[status]": values, "list": [values], "more": {"k": values}}
    call = {"name": "s.find", "arguments": json.dumps(arguments)}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]
    request = request_for(history, tools=[tool])
    sent = json.dumps(provider_of(provider).encode(request).payload["tools"])
    assert not [name for name in (*odd, "filter[status]") if f'"{name}":' in sent]
    wired = request.names.encode_arguments(arguments, FOR_GEMINI.names)
    assert [*wired] == ["fine", property_name("filter[status]"), "list", "more"]
    assert json.loads(request.names.decode_arguments(json.dumps(wired))) == arguments
