"""What a tool makes of arguments that are nearly in the form that it wants."""

import json
from typing import Any

import pytest

from mcp_ghost.toolset import Tool

LIST, TEXT = {"type": "array", "items": {"type": "string"}}, {"type": "string"}
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("schema", "given", "sent"),
    [
        (LIST, '["x"]', ["x"]),
        (LIST, "[1]", "[1]"),
        (LIST, "x, y", "x, y"),
        ({"anyOf": [LIST, {"type": "null"}]}, ' ["x"]', ["x"]),
        ({"anyOf": [LIST, TEXT]}, '["x"]', '["x"]'),
        ({"type": ["array", "null"]}, "[]", []),
        (OBJECT, '{"n": 1}', {"n": 1}),
        (OBJECT, '{"n": "a"}', '{"n": "a"}'),
        ({"$ref": "#/$defs/object"}, '{"n": 1}', {"n": 1}),
        ({"$ref": "https://example.invalid/schema"}, '{"n": 1}', '{"n": 1}'),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.5", "5.5"),
        ({"type": "number"}, "-1.5", -1.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "True", "True"),
        ({"enum": [1, 2]}, "1", 1),
        (TEXT, '["x"]', '["x"]'),
        (TEXT, "5", "5"),
        ({}, "5", "5"),
        (True, "5", "5"),
        (None, "5", "5"),
        ({"type": 5}, "[]", "[]"),
        ({"type": "integer"}, 5, 5),
        ({"type": "integer"}, "1" * 5000, "1" * 5000),
        (LIST, "[" * 10_000, "[" * 10_000),
        ({"pattern": "^(a+)+$", "type": "integer"}, "1" + "a" * 50, "1" + "a" * 50),
    ],
)
def test_a_text_is_read_where_only_what_it_says_fits(
    schema: object, given: object, sent: object
) -> None:
    parameters = {"properties": {"a": schema}, "$defs": {"object": OBJECT}}
    tool = Tool("s.t", {"type": "function", "function": {"name": "s.t", "parameters": parameters}})
    arguments: dict[str, Any] = {"a": given, "other": "[1]"}
    fitted = tool.fitted(arguments)
    assert json.dumps(fitted) == json.dumps({"a": sent, "other": "[1]"})
