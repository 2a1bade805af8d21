"""Rules of what a provider refuses: the rows of a table, and how a request is held against them.

A table is a JSON file of rows, each with these keys:

- ``where``: the place, or several, such as ``messages.*[role=user].content``. ``*`` stands for each
  element, ``[key=value]`` for objects with that value, ``**`` for a schema and all schemas in it,
  a name with ``!`` for what must be there, and ``-1`` for the last element.
- ``accepts``: a JSON schema of what is accepted there. Instead: ``fields``, the only ones that an
  object has; ``without``, fields that it lacks; ``unique`` or ``alternates``, with places below,
  the values at which differ, altogether or from one to the next; ``most``, with places below of
  which there are at most four; ``apart``, with a place below and two values, the second of which
  never follows the first there; ``among``, with a place below, the values at which also stand at a
  second one; ``image``, with the places of its type and data, or of its address; ``sealed``, with
  the places of a signature and of what it signs; ``unanswered`` or ``unasked``, with the places of
  the ids of calls and of answers, in each message or in the whole; or ``check``, with the name of a
  function.
- ``says``: the refusal. ``{at}`` is the place, ``{value}`` what is wrong there, ``{request}`` all.
- ``source``: a page of documentation, or the type of the provider's SDK that says so.
- ``dialects``: where the rule holds, if not everywhere.
"""

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mcp_ghost.results import JSONObject

Place: TypeAlias = tuple[str | int, ...]
Check: TypeAlias = Callable[[Any], object]
"""What is wrong with a value, or whether anything is."""
Exchange: TypeAlias = tuple[list[str], list[str]]
"""The ids of the calls of one message, and of the answers right behind it."""

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not")
_MAX_BREAKPOINTS = 4
_MAX_IMAGE = 5 * 2**20
_IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF",
}
"""What all of them take, with the bytes that it begins with."""
_MARK = b"loopback:"
_MISSING = object()
"""In the place of what must be there."""
_GOOD = object()
"""In the place of an element in which nothing was wrong before."""
_LISTS = frozenset({"messages", "contents", "input", "tools"})
"""Fields that requests of one conversation repeat."""
_good: dict[tuple[int, str], set[str]] = {}
"""Such elements as text, by table and dialect."""
_MOST_GOOD = 10_000


class Rule(NamedTuple):
    """One row of a table."""

    where: tuple[str, ...]
    check: Check
    says: str
    source: str
    dialects: tuple[str, ...]

    def objections(self, body: object, fresh: object = None) -> Iterator[str]:
        """What the provider says of each place in ``body`` that breaks the rule.

        ``fresh`` is ``body`` for rules of single elements of a list, some of which it may lack.
        """
        for where in self.where:
            name, _, rest = where.partition(".")
            looked_at = fresh if fresh and name in _LISTS and rest.startswith("*") else body
            for at, value in _found(looked_at, where.split(".") if where else []):
                if fault := "missing" if value is _MISSING else self.check(value):
                    path = "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in at)
                    yield self.says.format(at=path.lstrip("."), value=fault, request=body)


def rules_of(provider: str, checks: Mapping[str, Check]) -> tuple[Rule, ...]:
    """The table of a provider, whose functions are ``checks``."""
    table = Path(__file__).with_name(f"refusals_{provider}.json").read_text(encoding="utf-8")
    return tuple(
        Rule(
            (row["where"],) if isinstance(row["where"], str) else tuple(row["where"]),
            _check_of(row, checks),
            row["says"],
            row["source"],
            tuple(row.get("dialects", ())),
        )
        for row in json.loads(table)
    )


def first_objection(rules: tuple[Rule, ...], body: object, dialect: str = "") -> str | None:
    """What the provider says of the first rule that ``body`` breaks.

    Requests repeat what was said before: an element in which nothing was wrong is not looked at
    again.
    """
    good = _good.setdefault((id(rules), dialect), set())
    fresh, found = dict(body) if isinstance(body, dict) else None, list[str]()
    for name in _LISTS.intersection(fresh or ()):
        if fresh and isinstance(given := fresh[name], list):
            texts = [f"{name}: {json.dumps(it)}" for it in given]
            found += texts
            fresh[name] = [
                _GOOD if text in good else it for text, it in zip(texts, given, strict=True)
            ]
    held = (it for it in rules if not it.dialects or dialect in it.dialects)
    objection = next((words for rule in held for words in rule.objections(body, fresh)), None)
    if objection is None:
        if len(good) > _MOST_GOOD:
            good.clear()
        good.update(found)
    return objection


def _check_of(row: JSONObject, checks: Mapping[str, Check]) -> Check:
    if "accepts" in row:
        return _schema_check(row["accepts"])
    if "check" in row:
        return {"invalid": _invalid, "recursive": _recursive, **checks}[row["check"]]
    key = next(it for it in row if it in _KINDS)
    return lambda value: _KINDS[key](value, row[key])


def _schema_check(schema: JSONObject) -> Check:
    from jsonschema import Draft202012Validator  # few import this module to refuse something

    validator = Draft202012Validator(schema)
    # Each of its functions alone: iter_errors() takes ten times as long, for ids and references.
    known = Draft202012Validator.VALIDATORS
    keywords = [(known[it], argument) for it, argument in schema.items() if it in known]

    def fault(value: object) -> str | None:
        for broken, argument in keywords:
            for _ in broken(validator, argument, value, schema) or ():
                return str(next(validator.iter_errors(value)).instance) or "empty"
        return None

    return fault


def _values(value: object, *places: str) -> list[str]:
    return [str(each) for place in places for _, each in _found(value, place.split("."))]


def repeated(values: Iterable[str]) -> str | None:
    """The first of ``values`` that follows itself."""
    return next((one for one, other in itertools.pairwise(values) if one == other), None)


def _found(value: object, steps: list[str], at: Place = ()) -> Iterator[tuple[Place, Any]]:
    if not steps:
        yield at, value
        return
    name, _, wanted = steps[0].rstrip("]").partition("[")
    key, _, like = wanted.partition("=")
    for place, child in _schemas(value) if name == "**" else _children(value, name):
        if not key or (isinstance(child, dict) and str(child.get(key)) == like):
            yield from _found(child, steps[1:], (*at, *place))


def _children(value: object, name: str) -> Iterator[tuple[Place, object]]:
    if isinstance(value, list) and name == "*":
        yield from (((index,), each) for index, each in enumerate(value) if each is not _GOOD)
    elif isinstance(value, list) and name == "-1":
        yield from (((len(value) - 1,), each) for each in value[-1:])
    elif name.endswith("!"):
        inner = value.get(name[:-1], _MISSING) if isinstance(value, dict) else _MISSING
        yield (name[:-1],), inner
    elif isinstance(value, dict) and name in value:
        yield (name,), value[name]


def _schemas(schema: object, at: Place = ()) -> Iterator[tuple[Place, object]]:
    yield at, schema
    for keyword, inner in schema.items() if isinstance(schema, dict) else ():
        if keyword in _NAMED and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _schemas(each, (*at, keyword, name))
        elif keyword in _LISTED and isinstance(inner, list):
            for index, each in enumerate(inner):
                yield from _schemas(each, (*at, keyword, index))
        elif keyword in _SINGLE and not isinstance(inner, bool):
            yield from _schemas(inner, (*at, keyword))


def _too_many(value: object, places: list[str]) -> int | None:
    marks = len(_values(value, *places))
    return marks if marks > _MAX_BREAKPOINTS else None


def _unknown(value: object, places: list[str]) -> str:
    given, known = ({*_values(value, place)} for place in places)
    return ", ".join(sorted(given - known))


def _image_fault(value: object, places: list[str]) -> str | None:
    given = [next(iter(_values(value, place)), "None") for place in places]
    if len(given) == 1:
        inline = re.fullmatch(r"data:([^;,]*);base64,(.*)", given[0], re.DOTALL)
        if inline is None:
            return None if given[0].startswith("https://") else "expected a data URL or an address"
        given = [*inline.groups()]
    kind, data = given
    if kind not in _IMAGES:
        return f"unsupported image type {kind}"
    try:
        start = base64.b64decode(data, validate=True)[:12]
    except ValueError:
        return "invalid base64 data"
    if len(data) > _MAX_IMAGE:
        return f"image exceeds 5 MB maximum: {len(data)} bytes > {_MAX_IMAGE} bytes"
    return None if start.startswith(_IMAGES[kind]) else f"the image does not look like {kind}"


def _unsealed(value: object, places: list[str]) -> str | None:
    seals, texts = (_values(value, place) for place in places)
    return next((it[:4] for it in seals if not is_untouched(it, "".join(texts))), None)


def _exchanges(value: object, places: list[str]) -> list[Exchange]:
    if not isinstance(value, list):  # one message, or a whole with answers anywhere in it
        calls, answers = (_values(value, place) for place in places)
        return [(calls, answers)]
    found: list[Exchange] = [([], [])]
    for message in value:
        ((calls, answers),) = _exchanges(message, places)
        found[-1][1].extend(answers)
        if not answers:
            found.append((calls, []))
    return found


def _unanswered(value: object, places: list[str]) -> str | None:
    """The first calls without an answer."""
    exchanges = _exchanges(value, places)
    left = ([it for it in asked if it not in answered] for asked, answered in exchanges)
    return next((", ".join(each) for each in left if each), None)


def _unasked(value: object, places: list[str]) -> str | None:
    """An answer to nothing, or the second to one call."""
    # Behind a call without any answer, that is what is wrong.
    whole = itertools.takewhile(lambda it: it[1] or not it[0], _exchanges(value, places))
    wrong = (
        [it for it in answered if it not in asked or answered.count(it) > 1]
        for asked, answered in whole
    )
    return next((each[0] for each in wrong if each), None)


_KINDS: Mapping[str, Callable[[Any, Any], object]] = {
    "fields": lambda value, known: next((it for it in value if it not in known), None),
    "without": lambda value, names: next((it for it in names if it in value), None),
    "unique": lambda value, places: repeated(sorted(_values(value, *places))),
    "alternates": lambda value, places: repeated(_values(value, *places)),
    "most": _too_many,
    "apart": lambda value, row: (row[1], row[2]) in itertools.pairwise(_values(value, row[0])),
    "among": _unknown,
    "image": _image_fault,
    "sealed": _unsealed,
    "unanswered": _unanswered,
    "unasked": _unasked,
}
"""By key of a row: what is wrong with a value, or whether anything is, given what stands there."""


def _invalid(schema: JSONObject) -> str | None:
    """What makes ``schema`` none of draft 2020-12."""
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return None


def _recursive(schema: JSONObject) -> bool:
    """Whether a definition leads back to itself."""
    known = schema.get("$defs") or {}

    def leads_back(part: object, inside: tuple[str, ...]) -> bool:
        if isinstance(part, list):
            return any(leads_back(each, inside) for each in part)
        if not isinstance(part, dict):
            return False
        name = str(part.get("$ref", "")).rpartition("/")[2]
        if name in inside or (name and leads_back(known.get(name), (*inside, name))):
            return True
        return leads_back([value for key, value in part.items() if key != "$defs"], inside)

    return leads_back(schema, ())


def signature(text: str) -> str:
    """What the model server signs thinking or a call with, which must come back as they were."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return base64.b64encode(_MARK + digest.encode()).decode()


def is_untouched(given: str, text: str) -> bool:
    """Whether ``given`` can be a signature of ``text``; those of others are not known here."""
    try:
        ours = base64.b64decode(given).startswith(_MARK)
    except ValueError:
        return False
    return given == signature(text) if ours else bool(given)
