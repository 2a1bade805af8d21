"""JSON Schema as the part of it that Gemini's function declarations take.

Gemini knows a subset of OpenAPI 3.0: no references, no unions of types, no open maps, enumerations
of strings only. What cannot be said in it is said in the description or left out, so that the
model is told less, but never something wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_ghost.providers.schema import merged, object_schema, pointed_at

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

_MAX_REFERENCES = 200
"""Inlining definitions that use each other grows without bounds; what is beyond is cut."""
_FORMATS = {
    "STRING": {"date-time", "enum"},
    "INTEGER": {"int32", "int64"},
    "NUMBER": {"float", "double"},
}
_KEPT = {
    "STRING": ("minLength", "maxLength", "pattern"),
    "INTEGER": ("minimum", "maximum"),
    "NUMBER": ("minimum", "maximum"),
    "ARRAY": ("minItems", "maxItems"),
    "OBJECT": ("minProperties", "maxProperties"),
}
_ANYTHING = ("STRING", "NUMBER", "BOOLEAN")
"""What stands for a schema that allows everything, which needs a type here."""


def gemini_parameters(schema: object) -> JSONObject | None:
    """The parameters of a function, or None where it has none: empty objects are refused."""
    root = schema if isinstance(schema, dict) else {}
    converted = _Converter(root).convert(object_schema(root))
    return converted if converted.get("properties") else None


class _Converter:
    """Converts the schemas of one root; ``open`` are the references being inlined."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._left = _MAX_REFERENCES

    def convert(self, schema: object, open_: frozenset[str] = frozenset()) -> JSONObject:
        if not isinstance(schema, dict):  # true and false are schemas, too
            schema = {}
        if "$ref" in schema:
            return self._reference(schema, open_)
        if schema.get("allOf"):
            return self._all_of(schema, open_)
        if alternatives := schema.get("anyOf") or schema.get("oneOf"):
            return self._alternatives(schema, alternatives, open_)
        types = [str(each).upper() for each in _types(schema)]
        nullable = "NULL" in types or schema.get("nullable") is True
        wanted = [each for each in types if each != "NULL"] or _ANYTHING
        converted = [self._typed(each, schema, open_) for each in wanted]
        return _one_or_any(converted, nullable=nullable)

    def _reference(self, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        """The definition in the reference's place; one that leads back into itself is cut."""
        name = str(schema["$ref"])
        target = pointed_at(name, self._root)
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        self._left -= 1
        if not isinstance(target, dict) or name in open_ or self._left < 0:
            kind = target.get("type", "object") if isinstance(target, dict) else "object"
            return self.convert({"type": kind, **_described(target), **_described(rest)})
        return self.convert(merged([target, rest]), open_ | {name})

    def _all_of(self, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        """All pieces in one; those that lead back into what is being read add nothing new."""
        pieces = [{key: value for key, value in schema.items() if key != "allOf"}]
        for piece in schema["allOf"]:
            name = piece.get("$ref") if isinstance(piece, dict) else None
            if name is not None:
                self._left -= 1
                piece = (
                    None if name in open_ or self._left < 0 else pointed_at(str(name), self._root)
                )
                open_ |= {name}
            pieces += [piece] if isinstance(piece, dict) else []
        return self.convert(merged(pieces), open_)

    def _alternatives(self, schema: JSONObject, given: object, open_: frozenset[str]) -> JSONObject:
        outer = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        listed = given if isinstance(given, list) else []
        others = [each for each in listed if each != {"type": "null"}]
        # Beside anyOf nothing else may stand, so what applies to all goes into each.
        shared = _described(outer)
        shared |= {key: outer[key] for key in ("type", "properties", "required") if key in outer}
        converted = [
            self.convert(merged([shared, each]), open_) for each in others if isinstance(each, dict)
        ]
        nullable = len(others) < len(listed)
        if not converted:
            return self.convert(outer, open_)
        return _one_or_any(converted, nullable=nullable)

    def _typed(self, kind: str, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        converted: JSONObject = {"type": kind, **_described(schema)}
        converted |= {key: schema[key] for key in _KEPT.get(kind, ()) if key in schema}
        if schema.get("format") in _FORMATS.get(kind, ()):
            converted["format"] = schema["format"]
        if allowed := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
            converted |= _enumeration(kind, allowed, converted.get("description"))
        if kind == "ARRAY":
            converted["items"] = self._items(schema, open_)
        if kind == "OBJECT":
            converted |= self._members(schema, open_)
        return converted

    def _items(self, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        items = schema.get("items")
        listed = schema.get("prefixItems") or (items if isinstance(items, list) else None)
        if listed:
            return _one_or_any([self.convert(each, open_) for each in listed])
        return self.convert(items, open_)

    def _members(self, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        given = schema.get("properties")
        if not isinstance(given, dict) or not given:
            return {}
        required = [name for name in schema.get("required") or () if name in given]
        members: JSONObject = {
            "properties": {name: self.convert(each, open_) for name, each in given.items()}
        }
        return members | ({"required": required} if required else {})


def _types(schema: JSONObject) -> list[str]:
    kind = schema.get("type")
    if kind:
        return list(kind) if isinstance(kind, list) else [kind]
    if "properties" in schema:
        return ["object"]
    if "items" in schema or "prefixItems" in schema:
        return ["array"]
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return list(dict.fromkeys(_TYPE_OF.get(type(value), "object") for value in values))


_TYPE_OF = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    type(None): "null",
}


def _described(schema: object) -> JSONObject:
    given = schema if isinstance(schema, Mapping) else {}
    return {
        key: given[key]
        for key in ("title", "description")
        if isinstance(given.get(key), str) and given[key]
    }


def _enumeration(kind: str, allowed: list[object], description: object) -> JSONObject:
    """The allowed values: as an enumeration of strings, else in words."""
    if kind == "STRING" and all(isinstance(each, str) and each for each in allowed):
        return {"format": "enum", "enum": list(dict.fromkeys(allowed))}
    words = f"One of: {', '.join(json.dumps(each, ensure_ascii=False) for each in allowed)}."
    return {"description": f"{description} {words}" if description else words}


def _one_or_any(converted: list[JSONObject], *, nullable: bool = False) -> JSONObject:
    flat = [each for one in converted for each in one.get("anyOf") or [one]]
    if nullable:
        flat = [{**each, "nullable": True} for each in flat]
    distinct = [each for index, each in enumerate(flat) if each not in flat[:index]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
