"""The JSON in a model's answer: the schema that is asked for, and the object among other words."""

import json
import re
from typing import Any

from mcp_ghost.config import plain_json


def json_object(answer: str, key: str) -> dict[str, Any] | None:
    """The first object that has something under ``key``, else the first with it, else None.

    Words with braces before it, a fence around it, an object about it, JSON inside of a text of
    JSON, comments or trailing commas do no harm.
    """
    return _object(answer, key) or _object(plain_json(answer), key)


def _object(answer: str, key: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder(strict=False)  # small models forget to escape the ends of lines
    known: dict[str, Any] | None = None
    for start in (it.start() for it in re.finditer(r'\{|"(?=\s*\{)', answer)):
        try:
            found, _ = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, str):
            found = json_object(found, key)
        if found and key in found:
            known = known or found
            if found[key]:
                return dict(found)
    return known


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
