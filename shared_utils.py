"""What several parts need: reading a model's answers, and the address of the embedded model."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.schema import response_format, strict_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

EMBEDDED_HOST = "embedded.invalid"  # RFC 2606: no such host can exist
EMBEDDED_BASE_URL = f"http://{EMBEDDED_HOST}/v1"
EMBEDDED_MODEL_NAME = "smollm2-135m-instruct"


@cache  # it takes longer than all else that we do for a request
def create_json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the ``response_format`` that makes a provider answer in the form of ``model``.

    Strict as OpenAI wants it: objects are closed and all their properties required, so an
    optional value is one that may be null. Every caller gets the same dict: do not change it.

    Raises:
        ValueError: ``model`` has a field of a form that strict mode cannot express.
    """
    schema = strict_schema(model.model_json_schema(), model.__name__)
    return response_format(model.__name__, schema)


def extract_json(text: str) -> dict[str, Any] | None:
    """Return the JSON object in ``text``, which may have a fence or prose around it.

    Where there are several, the last one that is not empty. The time it takes grows with the length
    of ``text``, whatever is in it.
    """
    decoder = json.JSONDecoder(strict=False)  # models write line breaks into strings
    found: dict[str, Any] | None = None
    hopeless: set[int] = set()
    start = text.find("{")
    while start >= 0:
        end = _end_of_object(text, start, hopeless)
        if end is not None:
            with suppress(ValueError, RecursionError):  # a number too long, too many brackets
                found = decoder.decode(text[start:end]) or found or {}
        start = text.find("{", end or start + 1)
    return found


_SPACE = r"[ \t\n\r]*+"
_STRING = r'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_SCALAR = re.compile(rf"{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity")
_KEY = rf"{_STRING}{_SPACE}:{_SPACE}"
_FIRST = {
    "{": re.compile(rf"{_SPACE}(?:{_KEY}|(?P<end>}}))"),
    "[": re.compile(rf"{_SPACE}(?P<end>\])?"),
}
_NEXT = {
    "{": re.compile(rf"{_SPACE}(?:,{_SPACE}{_KEY}|(?P<end>}}))"),
    "[": re.compile(rf"{_SPACE}(?:,{_SPACE}|(?P<end>\]))"),
}
"""What follows a bracket or a value up to the next value, by the bracket that is open."""


def _end_of_object(text: str, start: int, hopeless: set[int]) -> int | None:
    """Tell where the JSON object that begins at ``start`` ends, if it does.

    If not, neither do the objects that are open where it breaks off: all of them are put into
    ``hopeless``, so that nothing is read again for each bracket around it.
    """
    unclosed: list[int] = []
    at = start
    while True:
        if text[at : at + 1] in _FIRST and at not in hopeless:
            unclosed.append(at)
            step = _FIRST[text[at]].match(text, at + 1)
        elif scalar := _SCALAR.match(text, at):
            step = _NEXT[text[unclosed[-1]]].match(text, scalar.end())
        else:
            step = None
        while step and step["end"]:
            unclosed.pop()
            if not unclosed:
                return step.end()
            step = _NEXT[text[unclosed[-1]]].match(text, step.end())
        if step is None:
            hopeless.update(unclosed)
            return None
        at = step.end()
