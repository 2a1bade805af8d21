"""JSON schemas of answers in the forms that providers take."""

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from mcp_ghost.results import JSONObject

# What strict mode knows everywhere. The rest (default, title, format, pattern, bounds such as
# minLength or maximum) is refused by one provider or another, and checked when the answer is read.
_KEYWORDS = frozenset({"type", "description", "enum", "const"})


def response_format(name: str, schema: JSONObject, *, strict: bool = True) -> JSONObject:
    """What asks a provider for an answer in the form of ``schema``, as OpenAI spells it."""
    named = {"name": re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "answer", "strict": strict}
    return {"type": "json_schema", "json_schema": {**named, "schema": schema}}


def strict_schema(schema: JSONObject, name: str) -> JSONObject:
    """``schema`` as strict mode wants it, called ``name`` in messages.

    Objects are closed and all their properties required, so an optional value is one that may be
    null.

    Raises:
        ValueError: It has a part of a form that strict mode cannot express.
    """
    definitions = schema.get("$defs", {})
    root = definitions.get(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else None
    strict = _strict(root or schema, name)
    if definitions:
        strict["$defs"] = {each: _strict(definitions[each], each) for each in definitions}
    return strict


def is_recursive(schema: JSONObject) -> bool:
    """Whether a value of ``schema`` can hold another one like itself."""
    definitions = schema.get("$defs", {})
    try:
        TopologicalSorter({name: references(definitions[name]) for name in definitions}).prepare()
    except CycleError:
        return True
    return False


def references(schema: object) -> Iterator[str]:
    """The names of the definitions to which ``schema`` refers."""
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.rpartition("/")[2]
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def _strict(schema: JSONObject, where: str) -> JSONObject:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may stand beside a reference
    strict = {key: schema[key] for key in schema if key in _KEYWORDS}
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        strict["anyOf"] = [_strict(each, where) for each in alternatives]
    elif schema.get("type") == "object":
        if schema.get("additionalProperties"):
            raise ValueError(f"{where}: strict mode has no dicts with arbitrary keys.")
        properties = schema.get("properties", {})
        strict |= {
            "properties": {key: _strict(properties[key], f"{where}.{key}") for key in properties},
            "required": list(properties),
            "additionalProperties": False,
        }
    elif schema.get("type") == "array":
        if not isinstance(schema.get("items"), dict):
            raise ValueError(f"{where}: strict mode has no tuples, and lists need an item type.")
        strict["items"] = _strict(schema["items"], where)
    elif not strict.keys() & {"type", "enum", "const"}:
        raise ValueError(f"{where}: strict mode cannot express a value of any type.")
    return strict
