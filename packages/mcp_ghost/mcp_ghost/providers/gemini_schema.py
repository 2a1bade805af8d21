"""JSON Schema as the part of it that Gemini's function declarations take.

Gemini knows a subset of OpenAPI 3.0: no references, no unions of types, no open maps, enumerations
of strings only. What cannot be said in it is said in the description or left out, so that the
model is told less, but never something wrong.
"""

import json

from mcp_ghost.providers.parameters import FOR_GEMINI, TYPE_OF, by_content, merged, parameters
from mcp_ghost.results import JSONObject

_MAX_REFERENCES = 200
"""Inlining definitions that use each other grows without bounds; what is beyond is cut."""
_MAX_SCHEMAS = 2_000
"""Alternatives within each other, each with what applies to all of them, grow likewise."""
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
_SHARED = ("title", "description", "type", "properties", "required")
"""What applies to all alternatives goes into each, since Gemini takes nothing beside them."""
_ANYTHING = ("STRING", "NUMBER", "BOOLEAN")
"""What stands for a schema that allows everything, which needs a type here."""


@by_content
def gemini_parameters(schema: object, tool: str) -> JSONObject | None:
    """The parameters of a function, or None where it has none: empty objects are refused."""
    whole = parameters(schema, FOR_GEMINI, tool)
    converted = _Converter(whole.get("$defs", {})).convert(whole)
    return converted if converted.get("properties") else None


class _Converter:
    """Converts schemas that use ``definitions``; ``open_`` are those being inlined."""

    def __init__(self, definitions: JSONObject) -> None:
        self._definitions = definitions
        self._left = _MAX_REFERENCES
        self._steps = _MAX_SCHEMAS

    def convert(self, schema: JSONObject, open_: frozenset[str] = frozenset()) -> JSONObject:
        """``schema``, which :func:`parameters` has read."""
        self._steps -= 1
        if self._steps < 0:
            return {"type": "STRING", **_described(schema)}
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            target = self._definitions[name]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            self._left -= 1
            if name in open_ or self._left < 0:  # one that leads back into itself is cut
                kind = target.get("type", "object")
                return self.convert({"type": kind, **_described(target), **_described(rest)})
            return self.convert(merged([target, rest]), open_ | {name})
        if listed := schema.get("anyOf") or schema.get("oneOf"):
            others = [each for each in listed if each != {"type": "null"}] or [{}]
            shared = {key: schema[key] for key in _SHARED if key in schema}
            converted = [self.convert(merged([shared, each]), open_) for each in others]
            return _one_or_any(converted, nullable=len(others) < len(listed))
        types = [each.upper() for each in _types(schema)]
        wanted = [each for each in types if each != "NULL"] or _ANYTHING
        converted = [self._typed(each, schema, open_) for each in wanted]
        return _one_or_any(converted, nullable="NULL" in types)

    def _typed(self, kind: str, schema: JSONObject, open_: frozenset[str]) -> JSONObject:
        converted: JSONObject = {"type": kind, **_described(schema)}
        converted |= {key: schema[key] for key in _KEPT.get(kind, ()) if key in schema}
        if schema.get("format") in _FORMATS.get(kind, ()):
            converted["format"] = schema["format"]
        if allowed := _values(schema):
            if kind == "STRING" and all(isinstance(each, str) and each for each in allowed):
                converted |= {"format": "enum", "enum": list(dict.fromkeys(allowed))}
            else:
                listed = ", ".join(json.dumps(each, ensure_ascii=False) for each in allowed)
                words = [converted.get("description"), f"One of: {listed}."]
                converted["description"] = " ".join(filter(None, words))
        if kind == "ARRAY":
            converted["items"] = self.convert(schema.get("items", {}), open_)
        if kind == "OBJECT":
            given = schema.get("properties") or {}
            members = {name: self.convert(each, open_) for name, each in given.items()}
            converted |= {"properties": members} if members else {}
            required = schema.get("required")
            converted |= {"required": required} if members and required else {}
        return converted


def _types(schema: JSONObject) -> list[str]:
    if kind := schema.get("type"):
        return list(kind) if isinstance(kind, list) else [kind]
    if "properties" in schema:
        return ["object"]
    if "items" in schema:
        return ["array"]
    return list(dict.fromkeys(TYPE_OF.get(type(value), "object") for value in _values(schema)))


def _values(schema: JSONObject) -> list[object]:
    return schema.get("enum") or ([schema["const"]] if "const" in schema else [])


def _described(schema: JSONObject) -> JSONObject:
    return {key: schema[key] for key in ("title", "description") if schema.get(key)}


def _one_or_any(converted: list[JSONObject], *, nullable: bool) -> JSONObject:
    flat = [each for one in converted for each in one.get("anyOf") or [one]]
    if nullable:
        flat = [{**each, "nullable": True} for each in flat]
    distinct = [each for index, each in enumerate(flat) if each not in flat[:index]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
