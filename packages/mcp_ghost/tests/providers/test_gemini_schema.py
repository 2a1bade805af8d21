from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_ghost.providers import gemini_schema
from mcp_ghost.testing.gemini import refusal
from tests.support.work import steps

ANY = {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}]}


def gemini_parameters(schema: object) -> dict[str, Any] | None:
    return gemini_schema.gemini_parameters(schema, "a tool")


def declared(parameters: dict[str, Any] | None) -> str | None:
    """What the strict server says to a function with ``parameters``."""
    function = {"name": "f", **({"parameters": parameters} if parameters else {})}
    contents = [{"parts": [{"text": "x"}]}]
    return refusal({"contents": contents, "tools": [{"functionDeclarations": [function]}]}, "m", {})


def converted(schema: object, **root: object) -> dict[str, Any]:
    """``schema`` as that of one property."""
    parameters = gemini_parameters({"properties": {"p": schema}, **root})
    assert parameters is not None
    assert declared(parameters) is None
    found: dict[str, Any] = parameters["properties"]["p"]
    return found


@pytest.mark.parametrize("empty", [None, {}, {"type": "object", "properties": {}}, True, {"a": 1}])
def test_no_parameters_are_none(empty: object) -> None:
    assert gemini_parameters(empty) is None


@pytest.mark.parametrize(
    ("given_schema", "sent"),
    [
        ({"type": "string", "minLength": 1}, {"type": "STRING", "minLength": 1}),
        ({"type": "string", "format": "uri"}, {"type": "STRING"}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        ({"type": "integer", "maximum": 3, "multipleOf": 2}, {"type": "INTEGER", "maximum": 3}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"type": "string", "nullable": True}, {"type": "STRING", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A name."},
            {"type": "STRING", "nullable": True, "description": "A name."},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
            {"anyOf": [{"type": "STRING", "nullable": True}, {"type": "NUMBER", "nullable": True}]},
        ),
        (
            {"anyOf": [{"type": "null"}, {"type": "null"}], "description": "Nothing."},
            {"anyOf": [{**it, "description": "Nothing.", "nullable": True} for it in ANY["anyOf"]]},
        ),
        ({"enum": ["a", "b"]}, {"type": "STRING", "format": "enum", "enum": ["a", "b"]}),
        ({"const": "a"}, {"type": "STRING", "format": "enum", "enum": ["a"]}),
        (
            {"enum": [1, 2], "description": "How many."},
            {"type": "INTEGER", "description": "How many. One of: 1, 2."},
        ),
        ({"type": "string", "enum": [""]}, {"type": "STRING", "description": 'One of: "".'}),
        ({"type": "array"}, {"type": "ARRAY", "items": ANY}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
        ),
        ({"items": {"type": "string"}}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        ({"type": "object", "additionalProperties": True}, {"type": "OBJECT"}),
        ({}, ANY),
        (True, ANY),
        ({"$ref": {"not": "a text"}}, ANY),
        ({"allOf": [{"$ref": 3}, {"type": "string"}]}, {"type": "STRING"}),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]},
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        ),
    ],
)
def test_what_gemini_does_not_know_is_said_in_what_it_knows(
    given_schema: object, sent: dict[str, Any]
) -> None:
    assert converted(given_schema) == sent


def test_references_are_inlined() -> None:
    definitions = {
        "City": {"type": "object", "properties": {"name": {"$ref": "#/definitions/Name"}}}
    }
    name = {"type": "string", "description": "A name."}
    sent = converted(
        {"$ref": "#/$defs/City", "description": "Where."},
        **{"$defs": definitions, "definitions": {"Name": name}},
    )
    assert sent == {
        "type": "OBJECT",
        "description": "Where.",
        "properties": {"name": {"type": "STRING", "description": "A name."}},
    }


def test_references_into_pieces_of_a_schema_are_found() -> None:
    root = {"$defs": {"a/b~c": {"properties": {"x": {"type": "integer"}}}}}
    assert converted({"$ref": "#/$defs/a~1b~0c/properties/x"}, **root) == {"type": "INTEGER"}
    merged = converted({"allOf": [{"$ref": "#/$defs/a~1b~0c"}]}, **root)
    assert merged == {"type": "OBJECT", "properties": {"x": {"type": "INTEGER"}}}


def test_what_leads_back_into_itself_is_cut() -> None:
    tree = {
        "type": "object",
        "description": "A tree.",
        "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
    }
    sent = converted({"$ref": "#/$defs/Tree"}, **{"$defs": {"Tree": tree}})
    assert sent["properties"]["children"]["items"] == {"type": "OBJECT", "description": "A tree."}
    assert declared(gemini_parameters({"properties": {"p": {"$ref": "#"}}})) is None


def test_references_to_nowhere_allow_everything() -> None:
    for name in ("#/$defs/No", "https://example.org/schema", "other.json#/x"):
        assert converted({"$ref": name}) == ANY


def test_definitions_that_all_use_each_other_cost_no_more_than_others() -> None:
    def schema(size: int) -> dict[str, Any]:
        uses = {f"d{index}": {"$ref": f"#/$defs/d{index}"} for index in range(size)}
        definitions = {name: {"type": "object", "properties": uses} for name in uses}
        return {"properties": uses, "$defs": definitions}

    assert declared(gemini_parameters(schema(12))) is None
    few = steps(lambda: gemini_parameters(schema(6)))
    assert steps(lambda: gemini_parameters(schema(12))) < 20 * few


_leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array"]),
        "description": st.text(max_size=5),
        "format": st.sampled_from(["uri", "date-time", "int32"]),
        "enum": st.lists(st.one_of(st.text(max_size=3), st.integers(), st.none()), min_size=1),
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/none"]),
        "minimum": st.integers(),
        "default": st.integers(),
        "title": st.text(max_size=3),
    },
)
_schemas = st.recursive(
    st.one_of(_leaves, st.booleans()),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", ["object", "null"], ["array", "string"]]),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abcd"), unique=True),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "additionalProperties": inner,
            "$defs": st.dictionaries(st.just("a"), inner),
        },
    ),
    max_leaves=8,
)


@given(schema=_schemas, definition=_schemas)
@example(schema={"anyOf": [False], "properties": {"a": {"$ref": "#"}}}, definition={})
def test_no_schema_is_refused(schema: object, definition: object) -> None:
    parameters = {"type": "object", "properties": {"p": schema}, "$defs": {"a": definition}}
    assert declared(gemini_parameters(parameters)) is None
