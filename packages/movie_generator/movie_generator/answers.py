"""The JSON in a model's answer: the schema that is asked for, and the object among other words."""

import json
import re
from contextlib import suppress
from typing import Any

from mcp_ghost.config import plain_json
from movie_generator.settings import read_yaml

_ODD = re.compile(
    r'("(?:[^"\\]|\\.)*+")'
    r"|[“„”](.{0,2000}?)[”“](?=\s*(?:[]}:]|(?:,\s*)+(?:[\"“„”[{\d-]|true|false|null)))"
    r"|,(?:\s*,)+",
    re.DOTALL,
)
"""A text between straight quotation marks, one between curly ones, or several commas in a row."""


def json_object(answer: str, key: str) -> dict[str, Any] | None:
    """The first object that has something under ``key``, else the first with it, else None.

    Words with braces before it, a fence around it, an object about it, JSON inside of a text of
    JSON do no harm, and where there is no JSON, neither do comments, further commas, curly or
    single quotation marks or none.
    """
    if found := _object(answer, key):
        return found
    alike = answer[answer.find("{") : answer.rfind("}") + 1]
    for text in (alike, _ODD.sub(_regular, alike)):
        with suppress(ValueError, TypeError):  # the latter of keys that are lists
            lenient = read_yaml(plain_json(text).replace("\t", " "))
            if found := _object(json.dumps(lenient, default=str), key):
                return found
    return None


def lenient_json(text: str) -> Any:  # noqa: ANN401  whatever it holds
    """What ``text`` is the JSON of, which may have comments, further commas and open lines.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return json.loads(plain_json(_ODD.sub(_regular, text)), strict=False)


def _regular(odd: re.Match[str]) -> str:
    """Text between straight quotation marks, or one comma."""
    if odd[2] is None:
        return odd[1] or ","
    return '"' + re.sub(r'(?<!\\)"', r"\"", odd[2]) + '"'


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
