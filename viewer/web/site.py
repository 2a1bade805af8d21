"""Everything that can be fetched, by path: the same whether served or exported."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from viewer.episode import Episode
from viewer.experiments.curves import curves
from viewer.library import Library
from viewer.turns import SHOWN_CHARACTERS, encoded

HERE = Path(__file__).parents[1]
STATIC = HERE / "static"
_CHUNK = re.compile(r"turns/(\d{1,9})\.json", re.ASCII)
_CALLS = re.compile(r"calls/(\d{1,9})\.json", re.ASCII)
_TOOL = re.compile(r"tools/(\d{1,9})-(\d{1,6})\.json", re.ASCII)
_IMPORT = re.compile(r'^import .+ from "(\.[^"]+)";$', re.MULTILINE)


@cache
def page(mode: Literal["live", "static"]) -> bytes:
    """Return the one page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from session.version import version

    loader = FileSystemLoader(HERE / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    template = environment.get_template("index.html")
    return template.render(mode=mode, version=version(), modules=modules()).encode()


def modules(first: str = "main.js") -> list[str]:
    """List what ``first`` imports, at any depth: browsers are to ask for all of it at once."""
    found = [first]
    for module in found:  # grows meanwhile
        text = (STATIC / module).read_text(encoding="utf-8")
        paths = (os.path.normpath(f"{module}/../{it}") for it in _IMPORT.findall(text))
        found += [it for it in dict.fromkeys(paths) if it not in found]
    return found[1:]


def index_data(
    library: Library, episodes: Iterable[Episode] | None = None, seconds: float | None = None
) -> bytes:
    """``data/episodes.json``, of the given episodes, or all, or those known after ``seconds``."""
    return encoded(library.index(episodes, seconds))


def curves_data(episodes: Iterable[Episode], by: str, figure: str) -> bytes:
    """``curves/<by>/<figure>.json``, of the given episodes."""
    return encoded(curves(episodes, by, figure))


def episode_data(episode: Episode, path: str) -> bytes | None:
    """Return what stands at ``path`` below ``data/<id>/``; None where there is nothing."""
    if path == "episode.json":
        return encoded(episode.json())
    if path == "notes.json":
        return encoded(episode.notes.json())
    if path == "spent.json":
        return encoded(episode.spent_by_turn())
    if path == "took.json":
        return encoded(episode.took_by_turn())
    if found := _CHUNK.fullmatch(path):
        turns = episode.chunk(int(found[1]))
        return encoded(turns) if turns else None
    if found := _CALLS.fullmatch(path):
        return encoded(episode.model_calls(int(found[1])))
    if found := _TOOL.fullmatch(path):
        result = episode.tool_result(int(found[1]), int(found[2]))
        return None if result is None else encoded({"result": result})
    return None


def episode_paths(episode: Episode, *, prompts: bool) -> Iterator[str]:
    """Yield every path below ``data/<id>/`` that the page may ask for, with prompts if wanted."""
    yield from ("episode.json", "notes.json", "spent.json", "took.json")
    for number in episode.chunks():
        yield f"turns/{number}.json"
        for turn in episode.chunk(number):
            if prompts:
                yield f"calls/{turn['turn']}.json"
            for at, tool in enumerate(turn["tools"]):
                if tool["length"] > SHOWN_CHARACTERS:
                    yield f"tools/{turn['turn']}-{at}.json"
