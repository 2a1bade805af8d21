"""The parameters of a tool as the plain object that providers want, without losing any."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.schema import object_schema
from mcp_ghost.servers.tools import tool_schema
from tests.support.ghosts import PROVIDERS
from tests.support.provider_requests import request_for
from tests.support.work import steps

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
A = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
B = {"properties": {"b": NUMBER}, "required": ["b"]}
CIRCLE = {"properties": {"kind": {"const": "circle"}, "radius": NUMBER}, "required": ["kind"]}
SQUARE = {"properties": {"kind": {"const": "square"}, "side": NUMBER}, "required": ["kind"]}
DEFINED = {"$defs": {"A": A, "b/c d": B}}
BOTH = {"a": TEXT, "b": NUMBER}
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
    flat = object_schema(schema)
    assert flat["type"] == "object"
    assert flat["properties"] == properties
    assert required is None or flat["required"] == required
    assert not flat.keys() & {"$ref", "anyOf", "oneOf", "allOf"}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("schema", [{"anyOf": [A, B]}, {**A, **B, "type": ["object", "null"]}])
def test_every_model_is_told_what_the_tool_takes(provider: str, schema: dict[str, Any]) -> None:
    tool = tool_schema({"name": "find", "inputSchema": schema})
    request = request_for([{"role": "user", "content": "Find it."}], tools=[tool])
    sent = get_provider(provider).encode(request).payload["tools"][0]
    function = sent.get("function") or (sent.get("functionDeclarations") or [sent])[0]
    parameters = function.get("parameters") or function["input_schema"]
    assert [*parameters["properties"]] == [*object_schema(schema)["properties"]]


def test_definitions_that_all_use_each_other_are_read_once() -> None:
    def schema(size: int) -> dict[str, Any]:
        uses = [{"$ref": f"#/$defs/d{index}"} for index in range(size)]
        definitions = {f"d{index}": {"anyOf": uses, "allOf": uses} for index in range(size)}
        return {"allOf": uses, "$defs": definitions}

    few = steps(lambda: object_schema(schema(6)))
    assert steps(lambda: object_schema(schema(12))) < 20 * few
