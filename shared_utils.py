"""Small helpers around a model's answers: their schema, the JSON in them, the wait for them."""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Json = dict[str, Any]

# What strict mode knows everywhere. The rest (default, title, format, pattern, bounds such as
# minLength or maximum) is refused by one provider or another, and checked when the answer is read.
_STRICT_KEYWORDS = frozenset({"type", "description", "enum", "const"})


def create_json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The ``response_format`` that makes a provider answer in the form of ``model``.

    Strict as OpenAI wants it: objects are closed and all their properties required, so an
    optional value is one that may be null.

    Raises:
        ValueError: ``model`` has a field of a form that strict mode cannot express.
    """
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    root = definitions.get(model.__name__, schema) if "$ref" in schema else schema
    strict = _strict(root, model.__name__)
    if definitions:
        strict["$defs"] = {name: _strict(definitions[name], name) for name in definitions}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", model.__name__)[:64]
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": strict},
    }


def _strict(schema: _Json, where: str) -> _Json:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may stand beside a reference
    strict = {key: schema[key] for key in schema if key in _STRICT_KEYWORDS}
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        strict["anyOf"] = [_strict(each, where) for each in alternatives]
    elif schema.get("type") == "object":
        strict |= _strict_object(schema, where)
    elif schema.get("type") == "array":
        if not isinstance(schema.get("items"), dict):
            raise ValueError(f"{where}: strict mode has no list of just anything, nor tuples.")
        strict["items"] = _strict(schema["items"], where)
    elif not strict.keys() & {"type", "enum", "const"}:
        raise ValueError(f"{where}: strict mode has no value of just any type.")
    return strict


def _strict_object(schema: _Json, where: str) -> _Json:
    if schema.get("additionalProperties"):
        raise ValueError(f"{where}: strict mode has no dict with free keys.")
    properties = schema.get("properties", {})
    return {
        "properties": {key: _strict(properties[key], f"{where}.{key}") for key in properties},
        "required": list(properties),
        "additionalProperties": False,
    }


def extract_json(text: str) -> dict[str, Any] | None:
    """The JSON object in ``text``, which may have a fence or prose around it.

    Where there are several, the last one that is not empty.
    """
    decoder = json.JSONDecoder(strict=False)  # models write line breaks into strings
    found: dict[str, Any] | None = None
    start = text.find("{")
    while start >= 0:
        end = start + 1
        with suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, start)
            found = value or found or {}
        start = text.find("{", end)
    return found


async def run_in_daemon_thread(
    function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> _T:
    """``asyncio.to_thread`` for a call that must not hold up the end of the program.

    Cancelled, it lets the thread finish on its own and forgets the result.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not future.done():
            set_outcome(outcome)

    def work() -> None:
        set_outcome: Callable[[Any], None] = future.set_result
        outcome: object
        try:
            outcome = context.run(function, *args, **kwargs)
        except BaseException as exc:  # noqa: BLE001  handed on to whoever awaits
            set_outcome, outcome = future.set_exception, exc
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, set_outcome, outcome)

    threading.Thread(target=work, name=f"waits-for-{function.__name__}", daemon=True).start()
    return await future
