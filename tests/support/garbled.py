"""Schemas as MCP servers should not send them, but do."""

from __future__ import annotations

import random
from typing import Any

_NAMES = ["a", "b", "$top", "uids[]", "filter[x]", "page.size", "x" * 70, "城市", "1st", "", "@id"]
_TYPES: list[Any] = ["string", "integer", "number", "boolean", "object", "array", "null", "any"]
_TYPES += ["String", "int", "file", None, 3, [], ["string", "null"], ["array", "any"], {"a": 1}]
_JUNK: list[Any] = [None, True, False, 0, -1, 2.5, 10**400, float("nan"), float("inf"), "x", "", []]
_JUNK += [{}, [None], {"a": None}, "\ud800", ["a", "a"], [1, "a", None], "object"]
_REFERENCES: list[Any] = ["#", "#/$defs/a", "#/definitions/b", "#/$defs/none", "#/properties/a"]
_REFERENCES += [
    "#/properties/a/items/0",
    "https://example.org/a.json",
    "other.json#/a",
    "",
    None,
    3,
]
_PATTERNS = ["^[a-z]+$", "[a-z]", "^(?!a)b$", r"^\d{4}$", r"^\p{L}$", "(", "^a{1,3}$", '^"$', "^$"]
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_INNER = ("items", "additionalProperties", "not", "if", "then", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def garbled(random_: random.Random, depth: int = 0) -> Any:  # noqa: ANN401  any JSON, and not only that
    """Something in the place of a schema: mostly one, with faults of all kinds."""
    if random_.random() < 0.1:
        return random_.choice(_JUNK)
    schema: dict[str, Any] = {}
    if random_.random() < 0.7:
        schema["type"] = random_.choice(_TYPES)
    for _ in range(random_.randrange(4)):
        key, value = _keyword(random_, depth)
        schema[key] = value if random_.random() < 0.85 else random_.choice(_JUNK)
    return schema


def _keyword(random_: random.Random, depth: int) -> tuple[str, Any]:
    kind = random_.randrange(10 if depth < 4 else 6)
    if kind == 0:
        return random_.choice(("title", "description", "format", "x-y")), random_.choice(_NAMES)
    if kind == 1:
        return random_.choice(_COUNTS), random_.choice([0, 1, 5, 2000, 2**40, 3.0, -1])
    if kind == 2:
        return random_.choice(_NUMBERS), random_.choice([0, 1, 2.5, -3, 1e308, True])
    if kind == 3:
        values = random_.choice([_NAMES[:3], [1, 2], ["a", None], [1, "a", {}], [2.5], [[1]]])
        return random_.choice(("enum", "const", "default", "examples")), values
    if kind == 4:
        return "pattern", random_.choice(_PATTERNS)
    if kind == 5:
        return "$ref", random_.choice(_REFERENCES)
    inner = depth + 1
    if kind == 6:
        return random_.choice(_INNER), garbled(random_, inner)
    if kind == 7:
        return random_.choice(_LISTS), [
            garbled(random_, inner) for _ in range(random_.randrange(4))
        ]
    if kind == 8:
        return "required", random_.choice([["a"], ["a", "a", 3], _NAMES[:4], True, "a", {"a": 1}])
    names = random_.sample(_NAMES, random_.randrange(5)) + random_.choice([[], ["a"], ["b"]])
    return random_.choice(_MAPS), {name: garbled(random_, inner) for name in names}
