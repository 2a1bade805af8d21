"""Writes ``docs/api.md``: what other programs may import, by its docstrings.

uv run python workshop/documentation/api.py
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel

from mcp_ghost.cli.arguments import Parser

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
MODULES = {
    **dict.fromkeys(("mcp_ghost", "mcp_ghost.golden"), ()),
    "mcp_ghost.pytest_plugin": ("GoldenRun",),
    **dict.fromkeys(("mcp_ghost.testing", "movie_generator"), ()),
    "session.record.event_log": ("read", "EpisodeDamagedError"),
    "session.record.fold": ("EpisodeFold",),
    "game_server.environment": ("TextGame",),
    "evaluation.figures": ("EpisodeFigures",),
    "evaluation.bootstrap": ("Estimate",),
}
"""Module -> its public names; without any, those that it lists itself."""
_HEAD = """\
# The API

Generated from the docstrings by `workshop/documentation/api.py`. Other pages say more about
[mcp_ghost's options](../packages/mcp_ghost/docs/reference.md),
[scripts](../packages/movie_generator/README.md), [the log's events](event-log.md),
[environments](doors.md#the-games-as-gymnasium-environments) and [evaluations](evaluation.md).
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for name in MODULES for line in _module(name))])


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"## {name}\n"
    for public in MODULES[name] or module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value):
            yield from _class(public, value)
        elif inspect.isroutine(value):
            yield from _described("###", public, value)


def _class(name: str, value: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"### class {name}{f'({bases})' if bases else ''}\n"
    yield f"{_text(value)}\n"
    if issubclass(value, BaseModel):
        yield f"```python\n{name}{_signature(value)}\n```\n"
    elif "__init__" in vars(value):
        yield from _described("####", name, vars(value)["__init__"])
    for attribute, member in vars(value).items():
        if attribute.startswith("_") and attribute != "__call__":
            continue
        if isinstance(member, property):
            yield f"#### {name}.{attribute}\n"
            yield f"{_text(member)}\n"
        elif inspect.isfunction(member):
            yield from _described("####", f"{name}.{attribute}", member)


def _described(level: str, name: str, function: Callable[..., object]) -> Iterator[str]:
    keyword = "async def" if inspect.iscoroutinefunction(function) else "def"
    short = name.rpartition(".")[2]
    yield f"{level} {name}\n\n```python\n{keyword} {short}{_signature(function)}\n```\n"
    if text := _text(function):
        yield f"{text}\n"


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    parameters = [_as_written(it) for it in signature.parameters.values() if it.name != "self"]
    returned = _annotation(signature.return_annotation)
    text = str(signature.replace(parameters=parameters, return_annotation=returned))
    if len(text) < 100:
        return text
    lines = [str(it) for it in parameters]
    names = [it.name for it in parameters if it.kind is inspect.Parameter.KEYWORD_ONLY]
    if names and "*args" not in text:
        lines.insert(next(i for i, it in enumerate(parameters) if it.name == names[0]), "*")
    return (
        "(\n"
        + "".join(f"    {line},\n" for line in lines)
        + f") -> {inspect.formatannotation(returned)}"
    )


def _as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """``parameter`` with its annotation unquoted, and dots for a default that says too much."""
    shown = repr(parameter.default)
    is_long = len(shown) > 40 or shown.startswith("<factory")
    default = _Written("...") if is_long else parameter.default
    if parameter.default is inspect.Parameter.empty:
        default = parameter.default
    return parameter.replace(annotation=_annotation(parameter.annotation), default=default)


def _annotation(annotation: object) -> object:
    if annotation is inspect.Signature.empty:
        return annotation
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Written(re.sub(r"\b(?:[a-z_]\w*\.)+", "", written))


class _Written:
    """A text that shows itself as it is, without quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _text(value: object) -> str:
    """A docstring in Markdown."""
    text = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`").replace("::\n", ":\n")
    before, *sections = re.split(r"^(Args|Raises|Returns):\n", text, flags=re.MULTILINE)
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        items = re.sub(r"^    (\w[^:\n]*): ", r"- `\1`: ", section, flags=re.MULTILINE)
        before += f"**{title}**\n\n" + re.sub(r"^        ", "  ", items, flags=re.MULTILINE)
    return before.strip()


if __name__ == "__main__":
    Parser(prog="workshop/documentation/api.py", description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
