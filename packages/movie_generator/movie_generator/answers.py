"""The JSON in a model's answer: the schema that is asked for, and the object among other words."""

import json
from typing import Any


def json_object(answer: str, key: str) -> dict[str, Any] | None:
    """The first object that has ``key``; None if there is none.

    Words with braces before it, a fence around it or an object about it do no harm.
    """
    decoder = json.JSONDecoder(strict=False)  # small models forget to escape the ends of lines
    start = answer.find("{")
    while start >= 0:
        try:
            found, _ = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            found = {}
        if key in found:
            return dict(found)
        start = answer.find("{", start + 1)
    return None


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """Describe an object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def list_schema(items: dict[str, Any]) -> dict[str, Any]:
    """Describe a list of these."""
    return {"type": "array", "items": items}
