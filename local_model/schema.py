"""A JSON schema cut down to what a very small model can fill in: closed, finite, no references.

Every value of the cut-down schema is a value of the original one, as long as the original keeps to
the supported subset: object, array, string, integer, number, boolean, null, enum, const, anyOf,
oneOf (as anyOf), allOf (merged), local $ref, and the length, range and item bounds. `pattern`,
`format`, `multipleOf`, `not`, `if` and the like are left out: the engine silently drops a whole
schema when it cannot compile one such keyword.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

JsonSchema: TypeAlias = dict[str, Any]

MAX_STRING = 160
MAX_ITEMS = 4
MAX_SPAN = 99
"""How far an integer without an upper bound may rise: small models write 1000000000000000."""


class SchemaError(ValueError):
    """Raised when no finite value fits a schema, or a $ref in it leads nowhere."""


def bounded_schema(schema: JsonSchema) -> JsonSchema:
    """Return the closed, finite form of `schema`.

    Raises:
        SchemaError: the schema is recursive without end, contradicts itself or refers to nothing.
    """
    return _Bounder(schema).visit(schema, frozenset({"#"}))


def closed(properties: dict[str, JsonSchema]) -> JsonSchema:
    """Return the schema of objects that have these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class _Bounder:
    """One walk over one schema; `seen` holds the references on the way down."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root

    def visit(self, schema: JsonSchema | bool, seen: frozenset[str]) -> JsonSchema:
        schema, seen = self._resolved(_as_object(schema), seen)
        if "const" in schema:
            return {"const": schema["const"]}
        if "enum" in schema:
            if not schema["enum"]:
                raise SchemaError("an empty enum allows no value")
            return {"enum": schema["enum"]}
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                rest = {key: value for key, value in schema.items() if key != keyword}
                return self._any_of(rest, schema[keyword], seen)
        implied = "array" if "items" in schema else "string"
        implied = "object" if {"properties", "required"} & schema.keys() else implied
        kind = schema.get("type") or implied
        if isinstance(kind, list):
            return self._any_of(schema, ({"type": each} for each in kind), seen)
        match kind:
            case "object":
                return self._object(schema, seen)
            case "array":
                return self._array(schema, seen)
            case "string":
                low, high = _sizes(schema, "Length", MAX_STRING)
                return {"type": "string", "minLength": low, "maxLength": high}
            case "integer" | "number":
                return _number(schema, kind)
            case "boolean" | "null":
                return {"type": kind}
        raise SchemaError(f"{kind!r} is not a JSON type")

    def _resolved(
        self, schema: JsonSchema, seen: frozenset[str]
    ) -> tuple[JsonSchema, frozenset[str]]:
        """Follow $ref and merge allOf, so that neither is left at the top."""
        flat = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = list(schema.get("allOf", ()))
        if "$ref" in schema:
            reference = str(schema["$ref"])
            if reference in seen:
                raise SchemaError(f"{reference} refers to itself endlessly")
            seen |= {reference}
            node: Any = self._root
            path = reference.removeprefix("#").strip("/")
            for step in path.split("/") if reference != "#" else ():
                step = step.replace("~1", "/").replace("~0", "~")
                if not isinstance(node, dict) or step not in node:
                    raise SchemaError(f"{reference} refers to nothing in the schema")
                node = node[step]
            parts.append(dict(node))
        for part in parts:
            resolved, behind = self._resolved(_as_object(part), seen)
            flat, seen = _merged(resolved, flat), seen | behind
        return flat, seen

    def _any_of(
        self, rest: JsonSchema, alternatives: Iterable[JsonSchema], seen: frozenset[str]
    ) -> JsonSchema:
        """Keep the branches that can be filled; a recursive one may go when another ends."""
        branches: list[JsonSchema] = []
        failure: SchemaError | None = None
        for branch in alternatives:
            try:
                branches.append(self.visit(_merged(rest, _as_object(branch)), seen))
            except SchemaError as error:
                failure = error
        if not branches:
            raise failure or SchemaError("anyOf without branches allows no value")
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def _object(self, schema: JsonSchema, seen: frozenset[str]) -> JsonSchema:
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        names = [name for name in properties if name in required]
        names += [name for name in schema.get("required", ()) if name not in properties]
        return closed({name: self.visit(properties.get(name, True), seen) for name in names})

    def _array(self, schema: JsonSchema, seen: frozenset[str]) -> JsonSchema:
        low, high = _sizes(schema, "Items", MAX_ITEMS)
        try:
            items = self.visit(schema.get("items", True), seen)
        except SchemaError:
            if low:
                raise
            return {"type": "array", "maxItems": 0}
        return {"type": "array", "items": items, "minItems": low, "maxItems": high}


def _as_object(schema: JsonSchema | bool) -> JsonSchema:
    """Turn the schemas true and false into equivalent objects; leave others as they are."""
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a schema must be an object, not {type(schema).__name__}")
    if isinstance(schema, bool):
        return {} if schema else {"enum": []}
    return schema


def _merged(base: JsonSchema, extra: JsonSchema) -> JsonSchema:
    """Combine two schemas: properties are added, limits become tighter."""
    merged = {**base, **extra}
    for keyword in base.keys() & extra.keys() & COMBINED.keys():
        merged[keyword] = COMBINED[keyword](base[keyword], extra[keyword])
    return merged


COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "properties": lambda a, b: {**a, **b},
    "required": lambda a, b: list(dict.fromkeys([*a, *b])),
    **dict.fromkeys(("minLength", "minItems", "minimum", "exclusiveMinimum"), max),
    **dict.fromkeys(("maxLength", "maxItems", "maximum", "exclusiveMaximum"), min),
}


def _sizes(schema: JsonSchema, of: str, most: int) -> tuple[int, int]:
    """Return the limits of a string's length, or of the number of items in an array."""
    low = int(schema.get(f"min{of}", 0))
    if low > schema.get(f"max{of}", low):
        raise SchemaError(f"min{of} is greater than max{of}")
    return low, max(low, min(int(schema.get(f"max{of}", most)), most))


def _number(schema: JsonSchema, kind: str) -> JsonSchema:
    """Return the numbers between two limits, of which a missing one is made up.

    They have two decimals at most: without a step a small model writes digits for ever.
    """
    is_whole = kind == "integer"
    step = 1 if is_whole else 0.01  # what an exclusive limit moves by
    lows = (("minimum", 0), ("exclusiveMinimum", step))
    highs = (("maximum", 0), ("exclusiveMaximum", -step))
    low = max((schema[key] + shift for key, shift in lows if key in schema), default=None)
    high = min((schema[key] + shift for key, shift in highs if key in schema), default=None)
    if is_whole:
        low = None if low is None else math.ceil(low)
        high = None if high is None else math.floor(high)
    if low is None:
        low = 0 if high is None or high >= 0 else high - MAX_SPAN
    if high is None:
        high = low + MAX_SPAN
    if low > high:
        raise SchemaError(f"no {kind} lies between minimum and maximum")
    limits = {"type": kind, "minimum": low, "maximum": high}
    return limits if is_whole else {**limits, "multipleOf": step}
