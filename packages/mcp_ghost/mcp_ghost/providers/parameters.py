"""The parameters of a tool as its provider takes them, whatever schema its server sent.

MCP servers send schemas of every draft, and broken ones; providers take a part of JSON Schema each,
and refuse the whole request for one schema outside it. What cannot be said is left out, so that the
model is told less, but never something wrong: servers check what they are called with.
"""

import functools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar, TypeVarTuple
from urllib.parse import unquote

from mcp_ghost.names import property_name
from mcp_ghost.providers.schema import references
from mcp_ghost.results import JSONObject

T = TypeVar("T")
More = TypeVarTuple("More")

_log = logging.getLogger(__name__)
_DEEPEST = 40
"""Schemas within each other; what is below them is left out."""
_MOST = 10_000
"""Schemas in one, and values in what is made of it; a tool has at most 65,536 characters."""
_CALLED = {
    **{it: it for it in ("string", "number", "integer", "boolean", "object", "array", "null")},
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("dict", "map"), "object"),
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    **dict.fromkeys(("none", "nil"), "null"),
    "bool": "boolean",
}
"""Types by what servers call them."""
TYPE_OF: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
TYPE_OF |= {list: "array", dict: "object", type(None): "null"}
_WORDS = ("title", "description", "format")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ALTERNATIVES = ("anyOf", "oneOf")
_NOT_AT_TOP_LEVEL = frozenset({"$ref", "enum", "const", *_ALTERNATIVES})
_REMARKS = frozenset({"title", "description", "default", "examples"})
"""Keywords that allow everything."""
_SAYS_WHAT = frozenset({"type", "$ref", "enum", "const", "properties", "items", *_ALTERNATIVES})
_WITH_OTHERS = frozenset(
    ("$defs", "definitions", "$schema", "$id", "id", "$comment", "nullable", "allOf", "required")
)
"""Keywords that are read elsewhere, or say nothing to a model."""
_NOTHING: Final[tuple[object, ...]] = (False, {"not": {}})
"""Schemas that nothing fits; the second is how zod-to-json-schema writes "undefined"."""
_SCALARS = ["string", "number", "boolean", "null"]
_OPEN: Final = {"properties": {}, "additionalProperties": True}
_ANY_ITEM: Final = {"type": [*_SCALARS, "object"], **_OPEN}
_ANYTHING: Final = {"type": [*_SCALARS, "object", "array"], "items": _ANY_ITEM, **_OPEN}
"""What stands for a schema that allows everything where each has to say what it is about."""


class Taken(NamedTuple):
    """What one provider takes of a tool's schema: a new one is one entry below."""

    wire: str
    names: re.Pattern[str]
    """Names of properties."""
    patterns: re.Pattern[str] = re.compile(r".*", re.DOTALL)
    """Regular expressions, all of which Python has to know, too."""
    longest: int = 2**31 - 1
    """The largest count, such as ``maxLength``."""
    is_typed: bool = False
    """Whether each schema has to say what it is about."""


# "Property keys should match pattern", https://github.com/n8n-io/n8n/issues/30590
_NAMES = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_WITHOUT_LOOKAROUND = re.compile(r"(?:(?!\(\?<?[=!]).)*", re.DOTALL)
_IN_GRAMMARS = re.compile(
    r'\^(?:\[\^?[^\\\[\]"]+\]|\\[\^$.\[\]()|{}*+?]|\((?!\?)|[^\\\[\]{}^$"?*+(]'
    r"|(?<![*+?}|(^])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\}))+\$"
)

FOR_ANTHROPIC: Final = Taken("Anthropic", _NAMES)
# "regex lookaround is not supported", https://github.com/cline/cline/pull/14019; other servers that
# speak this format hand names on to Claude (OpenRouter, LiteLLM).
FOR_OPENAI: Final = Taken("OpenAI", _NAMES, _WITHOUT_LOOKAROUND)
# llama.cpp makes a grammar of the schemas (common/json-schema-to-grammar.cpp): it wants anchors,
# and knows neither lookaround nor classes such as \d. A rule is repeated less than 2,000 times
# (src/llama-grammar.cpp). An empty schema is an object there.
FOR_GRAMMARS: Final = Taken("llama.cpp", _NAMES, _IN_GRAMMARS, 500, is_typed=True)
# google.genai.types.FunctionDeclaration.parameters
FOR_GEMINI: Final = Taken("Gemini", re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"))


def by_content(read: Callable[[object, *More], T]) -> Callable[[object, *More], T]:
    """``read``, which remembers what came of each schema: every request repeats them all."""
    remembered = functools.lru_cache(4096)(lambda text, *more: read(json.loads(text), *more))

    def reading(schema: object, *more: *More) -> T:
        try:
            text = json.dumps(schema)
        except (TypeError, ValueError, RecursionError):  # made in this process, not read from JSON
            return read(schema, *more)
        return remembered(text, *more)

    return reading


@by_content
def parameters(schema: object, taken: Taken, tool: str) -> JSONObject:
    """``schema`` of ``tool`` as an object that the provider takes, with nothing beside properties.

    What stands in alternatives at its top is offered together, and only what all of them require is
    required. What it loses is logged.
    """
    reader = _Reader(schema if isinstance(schema, Mapping) else {}, taken)
    whole = reader.top()
    if reader.lost:
        lost = ", ".join(sorted(reader.lost))
        _log.debug("%s does not get the whole schema of %s: %s", taken.wire, tool, lost)
    return whole


@by_content
def odd_names(schema: object) -> tuple[str, ...]:
    """The names in ``schema`` that some provider does not take for a property."""
    names = {str(name) for each in _objects_in(schema) for name in each}
    return tuple(sorted(name for name in names if not FOR_GEMINI.names.fullmatch(name)))


class _Reader:
    """Reads the schemas of one root; ``lost`` are the keywords of which something is left out.

    What is read consists of valid keywords. It is rounded off where it stands for itself: as a part
    of another schema, or at the top, it would say too much then.
    """

    def __init__(self, root: Mapping[str, Any], taken: Taken) -> None:
        self.lost: set[str] = set()
        self._root = root
        self._taken = taken
        self._left = _MOST
        self._definitions: dict[str, JSONObject] = {}
        self._names: dict[str, str] = {}
        """Of the definitions, by the references that lead to them."""
        self._unread: list[tuple[str, object]] = []
        self._inlined: dict[str, JSONObject] = {}

    def top(self) -> JSONObject:
        """The root as an object without references and alternatives at its top."""
        flat = self._flat(self._read(self._root, 0), {})
        self._define()
        properties = flat.get("properties", {})
        whole = _with_required({**flat, "type": "object", "properties": properties})
        used: dict[str, JSONObject] = {}
        left, weight, known = [whole], 0, dict[int, int]()
        while left:
            each = left.pop()
            weight += _weight(each, known)
            if weight > _MOST:  # its parts hold each other many times over
                self.lost.add("almost everything")
                bare = dict.fromkeys(properties, self._rounded({}))
                return {**_OPEN, "type": "object", "properties": bare}
            for name in references(each):
                if name in self._definitions and name not in used:
                    used[name] = self._rounded(self._definitions[name])
                    left.append(used[name])
        return {**whole, "$defs": used} if used else whole

    def _define(self) -> None:
        """Read what references lead to, one after the other, however long their chain is."""
        while self._unread:
            name, target = self._unread.pop()
            self._definitions[name] = self._read(target, 1)

    def _flat(self, read: JSONObject, known: dict[str, JSONObject]) -> JSONObject:
        """``read`` without references and alternatives; ``known``: what is behind them."""
        own = {key: value for key, value in read.items() if key not in _NOT_AT_TOP_LEVEL}
        pieces = []
        if name := read.get("$ref", "").rpartition("/")[2]:
            if name not in known:
                known[name] = {}  # one that leads back into itself adds nothing
                self._define()
                known[name] = self._flat(self._definitions[name], known)
            pieces.append(known[name])
        for key in _ALTERNATIVES:
            given = read.get(key, ())
            objects = [each for each in given if "object" in _list_of(each.get("type", "object"))]
            pieces.append(_any_of([self._flat(each, known) for each in objects]))
        return merged([*pieces, own])

    def _read(self, given: object, depth: int) -> JSONObject:
        self._left -= 1
        if isinstance(given, str) and given.lower() in _CALLED:
            given = {"type": given}
        if not isinstance(given, Mapping) or depth > _DEEPEST or self._left < 0:
            self.lost |= set() if given is True else {"a schema"}
            return {}
        match given.get("allOf"):
            case [{"$ref": _, **others} as only] if not others and "$ref" not in given:
                given = {**given, **only, "allOf": None}  # as older pydantic writes it
        read: JSONObject = {}
        for key, value in given.items():
            found = self._keyword(str(key), value, depth + 1)
            read |= found
            if not found and key not in _WITH_OTHERS:
                self.lost.add(str(key))
        self._mend(read, given)
        if isinstance(pieces := given.get("allOf"), list):
            read = merged([*(self._piece(each, depth + 1) for each in pieces), read])
        return _agreeing(read, is_nullable=given.get("nullable") is True)

    def _keyword(self, key: str, value: object, depth: int) -> JSONObject:
        """What ``key`` says, in what may be another keyword; nothing where it cannot be used."""
        if key in _WORDS and isinstance(value, str) and value:
            return {key: _plain(value)}
        if key in _COUNTS and _is_number(value) and 0 <= value <= self._taken.longest:
            return {key: int(value)} if value == int(value) else {}
        if key in _NUMBERS and _is_number(value) and (key != "multipleOf" or value > 0):
            return {key: value}
        if key in ("default", "const", "enum") or (key == "examples" and isinstance(value, list)):
            return _values(key, value)
        if key == "uniqueItems" and isinstance(value, bool):
            return {key: value}
        if key == "pattern" and isinstance(value, str) and self._takes(value):
            return {key: value}
        if key == "type":
            named = [_CALLED.get(it.lower()) for it in _list_of(value) if isinstance(it, str)]
            types = list(dict.fromkeys(filter(None, named)))
            return {key: _typed(types)} if types else {}
        if key == "$ref" and isinstance(value, str) and (target := self._target(value)) is not None:
            if value not in self._names:
                name = re.sub(r"[^A-Za-z0-9_]", "_", value.rpartition("/")[2]) or "root"
                while name in self._definitions:
                    name += "_"
                self._names[value] = name
                self._definitions[name] = {}
                self._unread.append((name, target))
            return {key: f"#/$defs/{self._names[value]}"}
        if key in _ALTERNATIVES and isinstance(value, list):
            each = [self._read(it, depth) for it in value if it not in _NOTHING]
            return {key: each} if each else {}
        if key == "properties" and isinstance(value, Mapping):
            them = {str(name): it for name, it in value.items() if it is not False}
            return {key: {self._name(it): self._property(it, them[it], depth) for it in them}}
        if key == "additionalProperties" and isinstance(value, bool | Mapping):
            inner = {} if isinstance(value, bool) else self._read(value, depth)
            return {key: self._rounded(inner) if inner else value is not False}
        if key == "prefixItems" or (key == "items" and isinstance(value, list)):
            # A tuple; that its places differ is more than some providers take.
            several = [self._child(it, depth) for it in _list_of(value)]
            distinct = [it for index, it in enumerate(several) if it not in several[:index]]
            return {"items": _one_of(distinct)} if distinct else {}
        if key == "items" and isinstance(value, Mapping | str):
            return {key: self._child(value, depth)}
        return {}

    def _child(self, given: object, depth: int) -> JSONObject:
        return self._rounded(self._read(given, depth))

    def _property(self, name: str, given: object, depth: int) -> JSONObject:
        schema = self._child(given, depth)
        return schema if self._name(name) == name else {"title": _plain(name), **schema}

    def _name(self, name: str) -> str:
        return name if self._taken.names.fullmatch(name) else property_name(name)

    def _mend(self, read: JSONObject, given: Mapping[str, Any]) -> None:
        """Say otherwise what ``given`` says as older drafts do, or in what is left out."""
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if given.get(exclusive) is True and limit in read:  # draft 4
                read[exclusive] = read.pop(limit)
        tuple_ = given.get("prefixItems", given.get("items"))
        if isinstance(tuple_, list) and False in (given.get("items"), given.get("additionalItems")):
            read.setdefault("maxItems", len(tuple_))
        if given.get("patternProperties"):
            read["additionalProperties"] = True
        pattern = given.get("pattern")
        if isinstance(pattern, str) and "pattern" not in read:
            words = f"Pattern: {_plain(pattern)}"
            told = read.get("description")
            read["description"] = f"{told} {words}" if told else words
        names = [it for it in _list_of(given.get("required")) if isinstance(it, str)]
        if isinstance(properties := given.get("properties"), Mapping):  # drafts 3 and 4
            them = {str(name): it for name, it in properties.items() if isinstance(it, Mapping)}
            names += [name for name, it in them.items() if it.get("required") is True]
        if names:
            read["required"] = list(dict.fromkeys(map(self._name, names)))

    def _takes(self, pattern: str) -> bool:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
        return self._taken.patterns.fullmatch(pattern) is not None

    def _piece(self, given: object, depth: int) -> JSONObject:
        """One of ``allOf``, with what it refers to."""
        match given:
            case {"$ref": str(reference), **rest}:
                if reference not in self._inlined:
                    self._inlined[reference] = {}  # one that leads back into itself adds nothing
                    self._inlined[reference] = self._read(self._target(reference) or {}, depth)
                return merged([self._inlined[reference], self._read(rest, depth)])
        return self._read(given, depth)

    def _target(self, reference: str) -> Mapping[str, Any] | None:
        first = found = _pointed_at(reference, self._root)
        seen = {reference}
        while isinstance(found, Mapping) and isinstance(further := found.get("$ref"), str):
            if further in seen:
                return None
            seen.add(further)
            found = _pointed_at(further, self._root)
        return first if isinstance(first, Mapping) else None

    def _rounded(self, read: JSONObject) -> JSONObject:
        """``read`` with all that a schema which stands for itself has to have."""
        whole = self._closed(read)
        return self._about_something(whole) if self._taken.is_typed else whole

    def _about_something(self, closed: JSONObject) -> JSONObject:
        there = closed.keys() & _ALTERNATIVES
        inner = {key: [self._about_something(it) for it in closed[key]] for key in there}
        return {**({} if closed.keys() & _SAYS_WHAT else _ANYTHING), **closed, **inner}

    def _closed(self, read: JSONObject) -> JSONObject:
        whole = {**read}
        for key in _ALTERNATIVES:
            each = [self._closed(it) for it in whole.pop(key, ())]
            if len(each) == 1:
                whole = merged([each[0], whole])
            elif each and all(it.keys() - _REMARKS for it in each):  # else all is allowed
                whole[key] = each
        whole = _with_required(whole)
        types = _list_of(whole.get("type"))
        if "array" in types and "items" not in whole:
            whole["items"] = self._rounded({})
        if "object" in types and "properties" not in whole:
            whole = {**_OPEN, **whole}
        return whole


def merged(schemas: Iterable[JSONObject]) -> JSONObject:
    """All of ``schemas`` in one: properties and requirements add up, else the last one counts."""
    whole: JSONObject = {}
    for schema in schemas:
        properties = {**whole.get("properties", {}), **schema.get("properties", {})}
        required = [*whole.get("required", ()), *schema.get("required", ())]
        whole |= schema
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": list(dict.fromkeys(required))} if required else {}
    return whole


def _any_of(schemas: list[JSONObject]) -> JSONObject:
    """What fits at least one of ``schemas``, as far as an object without alternatives can say."""
    offered: dict[str, list[JSONObject]] = {}
    for schema in schemas:
        for name, value in schema.get("properties", {}).items():
            for each in value["anyOf"] if value.keys() == {"anyOf"} else [value]:
                if each not in offered.setdefault(name, []):
                    offered[name].append(each)
    first, *others = [schema.get("required", []) for schema in schemas] or [[]]
    required = [name for name in first if all(name in each for each in others)]
    properties = {name: _one_of(values) for name, values in offered.items()}
    return {"properties": properties} | ({"required": required} if required else {})


def _one_of(schemas: list[JSONObject]) -> JSONObject:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _weight(value: object, known: dict[int, int]) -> int:
    """How many values the text of ``value`` has; what is used twice has two there."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inner and id(value) not in known:
        known[id(value)] = 1 + sum(_weight(each, known) for each in inner)
    return known.get(id(value), 1)


def _with_required(schema: JSONObject) -> JSONObject:
    """``schema`` that requires nothing but what it has."""
    known = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in known]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "required": required} if required else rest


def _agreeing(read: JSONObject, *, is_nullable: bool) -> JSONObject:
    """``read`` with types that its values have."""
    types, values = _list_of(read.get("type")), read.get("enum", [])
    found = list(dict.fromkeys(TYPE_OF[type(it)] for it in values))
    if values and types == ["array"] and "array" not in found:  # meant are its items
        rest = {key: value for key, value in read.items() if key != "enum"}
        read = {**rest, "items": {"enum": values}}
    elif types and not all(it in types or (it == "integer" and "number" in types) for it in found):
        types = found
    if is_nullable and types and "null" not in types:
        types = [*types, "null"]
        read |= {"enum": [*values, None]} if "enum" in read and None not in values else {}
    if is_nullable and "anyOf" in read and {"type": "null"} not in read["anyOf"]:
        read["anyOf"] = [*read["anyOf"], {"type": "null"}]
    return {**read, "type": _typed(types)} if types else read


def _typed(types: list[str]) -> str | list[str]:
    return types[0] if len(types) == 1 else types


def _pointed_at(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference within ``root`` leads to, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    steps = [it.replace("~1", "/").replace("~0", "~") for it in unquote(reference).split("/")[1:]]
    for step in steps:
        if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    if found is not None or steps[:1] not in (["$defs"], ["definitions"]):
        return found
    # Some servers put the definitions beside what uses them.
    beside = (each.get(steps[0]) for each in _objects_in(root))
    return next(
        (it[steps[-1]] for it in beside if isinstance(it, Mapping) and steps[-1] in it), None
    )


def _objects_in(value: object) -> Iterator[Mapping[Any, Any]]:
    """All objects within some JSON, itself included."""
    left, seen = [value], 0
    while left and seen < _MOST:
        each = left.pop()
        seen += 1
        if isinstance(each, Mapping):
            yield each
            left += each.values()
        elif isinstance(each, list):
            left += each


def _values(key: str, given: object) -> JSONObject:
    try:
        if key == "enum":
            several = [] if isinstance(given, Mapping) else _list_of(given)
            given = [*{json.dumps(it): it for it in several}.values()]
        text = json.dumps(given, allow_nan=False, ensure_ascii=False)
        value = json.loads(text.encode(errors="replace"))
    except (TypeError, ValueError, RecursionError):
        return {}
    return {key: value} if value != [] or key in ("default", "const") else {}


def _plain(text: str) -> str:
    """``text`` without halves of characters, which cannot be sent."""
    return text.encode(errors="replace").decode()


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**63  # which neither infinity nor what is not a number is


def _list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
