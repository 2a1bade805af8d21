"""Writes the tables of ``docs/settings.md``: every setting, its default, and what it means.

uv run python workshop/documentation/settings.py

The meanings are the docstrings under the fields of ``GameConfiguration``.
"""

import ast
import inspect
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import EnumType
from pathlib import Path
from typing import Literal, get_args, get_origin

from mcp_ghost.cli.arguments import Parser
from session.configuration_file import ROLE_KEYS, sections
from session.game_configuration import GameConfiguration
from session.playing import MindSettings, PlayingSettings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
BEGIN = "<!-- Written by workshop/documentation/settings.py: begin -->\n"
END = "<!-- Written by workshop/documentation/settings.py: end -->\n"
ROLES = ("agent", "reflection", "critic")
_HEADER = "| key | default | meaning |\n|---|---|---|"
_FIELDS = GameConfiguration.model_fields


def with_tables(text: str) -> str:
    """The page with the tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def tables() -> str:
    """A table for each section of the file, and one for the sampling of all roles."""
    said = meanings(PlayingSettings, MindSettings, GameConfiguration)
    parts: list[str] = []
    for section, keys in sections(_FIELDS).items():
        if section.endswith("_sampling"):
            parts += _sampling(said) if section == "agent_sampling" else ()
            continue
        parts += [f"### `[tool.zorkgpt.{section}]`\n", _HEADER]
        parts += [
            f"| `{key}` | {_default(field)} | {_choices(field)}{said[field]} |"
            for key, field in keys.items()
        ]
        parts.append("")
    return "\n".join(parts)


def _sampling(said: Mapping[str, str]) -> Iterator[str]:
    yield f"### {', '.join(f'`[tool.zorkgpt.{role}_sampling]`' for role in ROLES)}\n"
    yield "| key | agent | reflection | critic | meaning |\n|---|---|---|---|---|"
    for key in ROLE_KEYS:
        defaults = " | ".join(_default(f"{role}_{key}") for role in ROLES)
        yield f"| `{key}` | {defaults} | {_choices(f'agent_{key}')}{said[f'agent_{key}']} |"
    yield ""


def meanings(*models: type) -> dict[str, str]:
    """Field -> the text under it, in the source of ``models``."""
    found: dict[str, str] = {}
    for model in models:
        (node,) = ast.parse(inspect.getsource(model)).body
        for field, under in itertools.pairwise(getattr(node, "body", ())):
            match field, under:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = " ".join(text.replace("``", "`").split()).rstrip(".")
    return found


def _default(field: str) -> str:
    value = _FIELDS[field].get_default()
    return "unset" if value is None else f"`{json.dumps(value)}`"


def _choices(field: str) -> str:
    annotation = _FIELDS[field].annotation
    for kind in (annotation, *get_args(annotation)):
        if get_origin(kind) is Literal:
            return _one_of(get_args(kind))
        if isinstance(kind, EnumType):
            return _one_of([member.value for member in kind])  # type: ignore[var-annotated]
    return ""


def _one_of(values: Iterable[object]) -> str:
    return f"One of {', '.join(f'`{json.dumps(it)}`' for it in values)}. "


if __name__ == "__main__":
    Parser(prog="workshop/documentation/settings.py", description=__doc__).parse_args()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
