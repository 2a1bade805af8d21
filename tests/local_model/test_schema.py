"""What the model may fill in: schemas closed, bounded and without references."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_model.schema import SchemaError, bounded_schema
from local_model.shim import JSONObject, plan_request, read_answer
from tests.local_model.test_shim import engine_answer, request, schema_of

NODE = {
    "type": "object",
    "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
    "required": ["next"],
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string", "minLength": 0, "maxLength": 160}),
        (
            {"type": "string", "maxLength": 9, "pattern": "(?=x)"},
            {"type": "string", "minLength": 0, "maxLength": 9},
        ),
        ({"type": "integer"}, {"type": "integer", "minimum": 0, "maximum": 99}),
        (
            {"type": "integer", "exclusiveMinimum": 0},
            {"type": "integer", "minimum": 1, "maximum": 100},
        ),
        ({"type": "integer", "maximum": -5}, {"type": "integer", "minimum": -104, "maximum": -5}),
        (
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.01},
        ),
        ({"type": ["boolean", "null"]}, {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ({"oneOf": [{"const": 1}, False]}, {"const": 1}),
        (
            {"allOf": [{"type": "string", "maxLength": 4}], "maxLength": 9, "minLength": 2},
            {"type": "string", "minLength": 2, "maxLength": 4},
        ),
        ({"enum": ["a", None]}, {"enum": ["a", None]}),
        ({"type": "array", "items": {"$ref": "#"}}, {"type": "array", "maxItems": 0}),
        (True, {"type": "string", "minLength": 0, "maxLength": 160}),
    ],
)
def test_schemas_are_closed_and_bounded(schema: JSONObject, expected: JSONObject) -> None:
    assert bounded_schema(schema) == expected


def test_references_are_inlined_and_optional_properties_left_out() -> None:
    schema = {
        "$defs": {"name": {"type": "string", "maxLength": 5}},
        "properties": {"a": {"$ref": "#/$defs/name"}, "b": {"type": "null"}},
        "required": ["a", "c"],
    }
    assert bounded_schema(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 0, "maxLength": 5},
            "c": {"type": "string", "minLength": 0, "maxLength": 160},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }


def test_every_part_of_an_all_of_counts() -> None:
    schema = {
        "$defs": {
            "a": {"properties": {"a": {"type": "null"}}, "required": ["a"]},
            "b": {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
        },
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
    }
    assert set(bounded_schema(schema)["required"]) == {"a", "b"}


def test_recursion_ends_where_the_schema_lets_it() -> None:
    assert bounded_schema(NODE)["properties"]["next"] == {"type": "null"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"next": {"$ref": "#"}}, "required": ["next"]},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"anyOf": []},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
    ],
)
def test_a_schema_without_a_finite_value_is_refused(schema: JSONObject) -> None:
    with pytest.raises(SchemaError):
        bounded_schema(schema)


def leaf_schemas() -> st.SearchStrategy[JSONObject]:
    low, span = st.integers(-50, 50), st.integers(0, 500)
    return st.one_of(
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        st.builds(lambda n: {"type": "string", "maxLength": n}, st.integers(0, 300)),
        st.builds(lambda n: {"type": "string", "minLength": n}, st.integers(0, 9)),
        st.builds(lambda a, b: {"type": "integer", "minimum": a, "maximum": a + b}, low, span),
        st.builds(lambda a: {"type": "integer", "exclusiveMaximum": a}, low),
        st.builds(lambda a, b: {"type": "number", "minimum": a, "maximum": a + b}, low, span),
        st.builds(lambda a: {"type": ["integer", "null"], "minimum": a}, low),
        st.builds(lambda v: {"enum": v}, st.lists(st.text(max_size=5), min_size=1, unique=True)),
        st.builds(lambda v: {"const": v}, st.text(max_size=5)),
        st.just({"$ref": "#/$defs/shared"}),
    )


def nested_schemas(inner: st.SearchStrategy[JSONObject]) -> st.SearchStrategy[JSONObject]:
    names = st.text(min_size=1, max_size=8)
    objects = st.builds(
        lambda properties, keep: {
            "type": "object",
            "properties": properties,
            "required": [name for i, name in enumerate(properties) if keep >> i & 1],
        },
        st.dictionaries(names, inner, max_size=4),
        st.integers(0, 15),
    )
    arrays = st.builds(
        lambda items, low: {"type": "array", "items": items, "minItems": low},
        inner,
        st.integers(0, 5),
    )
    unions = st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3))
    both = st.builds(lambda part: {"allOf": [part], "description": "x"}, objects)
    return st.one_of(objects, arrays, unions, both)


schemas = st.recursive(leaf_schemas(), nested_schemas, max_leaves=8)
shared = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def values(schema: JSONObject) -> st.SearchStrategy[Any]:
    """Everything that a decoder bound to a cut-down schema can write."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([values(branch) for branch in schema["anyOf"]])
    low, high = schema.get("minimum"), schema.get("maximum")
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({k: values(v) for k, v in schema["properties"].items()})
        case "array":
            items = values(schema["items"]) if schema["maxItems"] else st.nothing()
            return st.lists(items, min_size=schema.get("minItems", 0), max_size=schema["maxItems"])
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=schema["maxLength"])
        case "integer":
            return st.integers(low, high)
        case "number":
            return st.floats(low, high)
        case "boolean":
            return st.booleans()
        case _:
            return st.none()


@given(st.data(), schemas)
def test_any_call_that_the_decoder_can_write_comes_back_as_the_same_valid_call(
    data: st.DataObject, schema: JSONObject
) -> None:
    parameters = {
        "type": "object",
        "properties": {"it": schema, "optional": {"type": "string"}},
        "required": ["it"],
        "$defs": {"shared": shared},
    }
    tool = {"type": "function", "function": {"name": "t", "parameters": parameters}}
    plan = plan_request(request(tools=[tool], tool_choice="required"))
    value = data.draw(values(schema_of(plan)))
    answer = read_answer(plan, engine_answer(json.dumps(value)), model="m")
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    arguments = json.loads(call["function"]["arguments"])
    assert call["function"]["name"] == "t"
    assert arguments == value["arguments"]
    jsonschema.validate(arguments, parameters)


@given(st.data(), schemas)
def test_any_reply_that_the_decoder_can_write_fits_the_schema_that_was_asked_for(
    data: st.DataObject, schema: JSONObject
) -> None:
    guided = {**schema, "$defs": {"shared": shared}}
    plan = plan_request(request(guided_json=guided))
    value = data.draw(values(schema_of(plan)))
    answer = read_answer(plan, engine_answer(json.dumps(value)), model="m")
    assert json.loads(answer["choices"][0]["message"]["content"]) == value
    jsonschema.validate(value, guided)


@given(schemas)
def test_cutting_down_twice_changes_nothing(schema: JSONObject) -> None:
    once = bounded_schema({**schema, "$defs": {"shared": shared}})
    assert bounded_schema(once) == once
