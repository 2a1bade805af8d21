"""JSON schemas in the forms that providers take: for a tool's parameters, and for an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

# What strict mode knows everywhere. The rest (default, title, format, pattern, bounds such as
# minLength or maximum) is refused by one provider or another, and checked when the answer is read.
_KEYWORDS = frozenset({"type", "description", "enum", "const"})
_NOT_AT_TOP_LEVEL = frozenset({"$ref", "anyOf", "oneOf", "allOf", "enum", "not"})


def object_schema(schema: object) -> JSONObject:
    """``schema`` as the plain object that providers want at the top level.

    What stands in alternatives there is offered together, and only what all of them require is
    required.
    """
    given = schema if isinstance(schema, dict) else {}
    flat = _flat(given, given, {})
    return {**flat, "type": "object", "properties": flat.get("properties", {})}


def merged(schemas: Iterable[JSONObject]) -> JSONObject:
    """All of ``schemas`` in one: properties and requirements add up, else the last one counts."""
    whole: JSONObject = {}
    for schema in schemas:
        properties = {**whole.get("properties", {}), **schema.get("properties", {})}
        required = [*whole.get("required", ()), *schema.get("required", ())]
        pieces = [*whole.get("allOf", ()), *schema.get("allOf", ())]
        whole |= schema
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": list(dict.fromkeys(required))} if required else {}
        whole |= {"allOf": pieces} if pieces else {}
    return whole


def pointed_at(reference: str, root: JSONObject) -> object:
    """What a reference within ``root`` leads to, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: object = root
    for step in unquote(reference).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _flat(schema: JSONObject, root: JSONObject, known: dict[str, JSONObject]) -> JSONObject:
    """``schema`` without references and alternatives at its top; ``known``: what is behind them."""
    own = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP_LEVEL}
    if not isinstance(own.get("properties", {}), dict):
        del own["properties"]
    if not isinstance(own.get("required", []), list):
        del own["required"]
    pieces = [_flat(each, root, known) for each in _objects_in(schema.get("allOf"))]
    if "$ref" in schema:
        reference = str(schema["$ref"])
        if reference not in known:
            known[reference] = {}  # one that leads back into itself adds nothing
            target = pointed_at(reference, root)
            known[reference] = _flat(target if isinstance(target, dict) else {}, root, known)
        pieces.append(known[reference])
    alternatives = [_objects_in(schema.get(key)) for key in ("anyOf", "oneOf")]
    pieces += [_any_of([_flat(each, root, known) for each in one]) for one in alternatives]
    return merged([*pieces, own])


def _objects_in(schemas: object) -> list[JSONObject]:
    listed = schemas if isinstance(schemas, list) else []
    known = [each for each in listed if isinstance(each, dict)]
    return [each for each in known if "object" in _list_of(each.get("type", "object"))]


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _any_of(schemas: list[JSONObject]) -> JSONObject:
    """What fits at least one of ``schemas``, as far as an object without alternatives can say."""
    offered: dict[str, list[object]] = {}
    for schema in schemas:
        for name, value in schema.get("properties", {}).items():
            is_several = isinstance(value, dict) and value.keys() == {"anyOf"}
            for each in _list_of(value["anyOf"]) if is_several else [value]:
                if each not in offered.setdefault(name, []):
                    offered[name].append(each)
    first, *others = [schema.get("required", []) for schema in schemas] or [[]]
    required = [name for name in first if all(name in each for each in others)]
    properties = {
        name: values[0] if len(values) == 1 else {"anyOf": values}
        for name, values in offered.items()
    }
    return {"properties": properties} | ({"required": required} if required else {})


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
    root = definitions.get(_name_in(schema["$ref"])) if "$ref" in schema else None
    strict = _strict(root or schema, name)
    if definitions:
        strict["$defs"] = {each: _strict(definitions[each], each) for each in definitions}
    return strict


def is_recursive(schema: JSONObject) -> bool:
    """Whether a value of ``schema`` can hold another one like itself."""
    definitions = schema.get("$defs", {})
    used = {name: set(_references(definitions[name])) for name in definitions}
    reached = {name: set(used[name]) for name in used}
    for _ in used:
        for names in reached.values():
            names |= {further for name in [*names] for further in used.get(name, ())}
    return any(name in names for name, names in reached.items())


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield _name_in(reference)
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _name_in(reference: str) -> str:
    return reference.rpartition("/")[2]


def _strict(schema: JSONObject, where: str) -> JSONObject:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may stand beside a reference
    strict = {key: schema[key] for key in schema if key in _KEYWORDS}
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        strict["anyOf"] = [_strict(each, where) for each in alternatives]
    elif schema.get("type") == "object":
        strict |= _strict_object(schema, where)
    elif schema.get("type") == "array":
        if not isinstance(schema.get("items"), dict):
            raise ValueError(f"{where}: strict mode has no tuples, and lists need an item type.")
        strict["items"] = _strict(schema["items"], where)
    elif not strict.keys() & {"type", "enum", "const"}:
        raise ValueError(f"{where}: strict mode cannot express a value of any type.")
    return strict


def _strict_object(schema: JSONObject, where: str) -> JSONObject:
    if schema.get("additionalProperties"):
        raise ValueError(f"{where}: strict mode has no dicts with arbitrary keys.")
    properties = schema.get("properties", {})
    return {
        "properties": {key: _strict(properties[key], f"{where}.{key}") for key in properties},
        "required": list(properties),
        "additionalProperties": False,
    }
