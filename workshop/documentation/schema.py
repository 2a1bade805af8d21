"""Writes the tables of ``docs/event-log.md``: every event of an episode's log and its fields.

uv run python workshop/documentation/schema.py

They are made from the types that the log is written and read with.
"""

import builtins
import inspect
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from mcp_ghost.cli.arguments import Parser
from session.game_state import ThingSeen
from session.record.schema import KINDS
from workshop.documentation.settings import BEGIN, END, meanings

PAGE = Path(__file__).parents[2] / "docs" / "event-log.md"
_JSON = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    ThingSeen: "string",
}
_BEGIN, _END = (it.replace("settings.py", "schema.py") for it in (BEGIN, END))


def with_tables(text: str) -> str:
    """The page with the tables as they should be."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables()}\n{_END}{after}"


def tables() -> str:
    """A table for each event, and one for each type that their fields have."""
    named = {kind: f"`{name}`" for name, kind in KINDS.items()}
    for event in KINDS.values():
        _add_types(event, named)
    parts = {kind: list(_table(kind, title)) for kind, title in named.items()}
    events = [line for kind in KINDS.values() for line in parts.pop(kind)]
    rest = [line for lines in parts.values() for line in lines]
    return "\n".join(["## Events\n", *events, "## Types of fields\n", *rest])


def _add_types(kind: type, named: dict[type, str]) -> None:
    """Add the types of fields, at any depth."""
    for hint in _hints(kind).values():
        for inner in _within(hint):
            if inner not in named:
                named[inner] = inner.__name__.lstrip("_")
                _add_types(inner, named)


def _within(hint: Any) -> Iterator[type]:  # noqa: ANN401  any annotation
    if inspect.isclass(hint) and (issubclass(hint, BaseModel) or is_dataclass(hint)):
        yield hint
    for inner in get_args(hint):
        yield from _within(inner)


def _hints(kind: type) -> dict[str, Any]:
    names = kind.model_fields if issubclass(kind, BaseModel) else [it.name for it in fields(kind)]  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


def _table(kind: type, title: str) -> Iterator[str]:
    about = " ".join(inspect.cleandoc(kind.__doc__ or "").split()).replace("``", "`")
    yield f"### {title}\n\n{about}\n\n| field | type | meaning |\n|---|---|---|"
    ours = (it for it in reversed(kind.__mro__) if it.__module__.startswith(("session", "mcp_")))
    said = meanings(*ours)
    for name, hint in _hints(kind).items():
        yield f"| `{name}` | {_written(hint)} | {_in_json(said.get(name, ''))} |"
    yield ""


def _written(hint: Any) -> str:  # noqa: ANN401  any annotation
    """An annotation in the words of JSON."""
    inner = get_args(hint)
    if hint in _JSON:
        return _JSON[hint]
    match get_origin(hint):
        case typing.Literal:
            return ", ".join(f"`{it}`" for it in inner)
        case typing.Union | types.UnionType:
            return " or ".join(_written(it) for it in inner)
        case builtins.tuple | builtins.list if inner[-1] is not Ellipsis and len(inner) > 1:
            return f"[{', '.join(map(_written, inner))}]"
        case builtins.tuple | builtins.list:
            return f"list of {_written(inner[0])}"
        case builtins.dict:
            return "object"
    if isinstance(hint, EnumType):
        return ", ".join(f"`{member.value}`" for member in cast("type[Enum]", hint))
    return str(hint.__name__).lstrip("_")


def _in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text)


if __name__ == "__main__":
    Parser(prog="workshop/documentation/schema.py", description=__doc__).parse_args()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
