"""The JSON in a model's answer: the schema that is asked for, and the object among other words."""

import json
import re
from typing import Any

from mcp_ghost.config import plain_json
from movie_generator.settings import read_yaml


def json_object(answer: str, key: str) -> dict[str, Any] | None:
    """The first object that has something under ``key``, else the first with it, else None.

    Words with braces before it, a fence around it, an object about it, JSON inside of a text of
    JSON do no harm, and where there is no JSON, neither do comments, trailing commas, single
    quotation marks or none.
    """
    if found := _object(answer, key):
        return found
    alike = plain_json(answer[answer.find("{") : answer.rfind("}") + 1]).replace("\t", " ")
    try:
        return _object(json.dumps(read_yaml(alike), default=str), key)
    except (ValueError, TypeError):  # the latter of keys that are lists
        return None


def lenient_json(text: str) -> Any:  # noqa: ANN401  whatever it holds
    """What ``text`` is the JSON of, which may have comments, trailing commas and open lines.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return json.loads(plain_json(text), strict=False)


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
