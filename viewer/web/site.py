"""Everything that can be fetched, by path, and a static site of it: files for any web host."""

import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from mcp_ghost.files import write_whole
from session.game_configuration import ConfigurationError
from viewer.episode import Episode
from viewer.experiments.alignment import aligned
from viewer.experiments.curves import FIGURES, GROUPINGS, curves
from viewer.library import Library
from viewer.turns import SHOWN_CHARACTERS, encoded

HERE = Path(__file__).parents[1]
STATIC = HERE / "static"
MOST_ALIGNED = 12
"""Episodes of an export that are compared turn by turn, each with each."""
_WHOLE: dict[str, Callable[[Episode], object]] = {
    "episode.json": Episode.json,
    "notes.json": lambda it: it.notes.json(),
    "settings.json": Episode.settings_json,
    "spent.json": Episode.spent_by_turn,
    "took.json": Episode.took_by_turn,
}
"""What there is of an episode as a whole, by its path; the settings only once it has begun."""
_CHUNK = re.compile(r"turns/(\d{1,9})\.json", re.ASCII)
_CALLS = re.compile(r"calls/(\d{1,9})\.json", re.ASCII)
_TOOL = re.compile(r"tools/(\d{1,9})-(\d{1,6})\.json", re.ASCII)
_PAGE = "index.html"
_OURS = b'name="zorkgpt-mode"'
"""What tells our page from others."""
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


def episode_data(episode: Episode, path: str) -> bytes | None:
    """Return what stands at ``path`` below ``data/<id>/``; None where there is nothing."""
    value: object = None
    if path in _WHOLE:
        value = _WHOLE[path](episode)
    elif found := _CHUNK.fullmatch(path):
        value = episode.chunk(int(found[1])) or None
    elif found := _CALLS.fullmatch(path):
        value = episode.model_calls(int(found[1]))
    elif found := _TOOL.fullmatch(path):
        result = episode.tool_result(int(found[1]), int(found[2]))
        value = None if result is None else {"result": result}
    return None if value is None else encoded(value)


def episode_paths(episode: Episode, *, prompts: bool) -> Iterator[str]:
    """Yield every path below ``data/<id>/`` that the page may ask for, with prompts if wanted."""
    yield from _WHOLE
    for number in episode.chunks():
        yield f"turns/{number}.json"
        for turn in episode.chunk(number):
            if prompts:
                yield f"calls/{turn['turn']}.json"
            for at, tool in enumerate(turn["tools"]):
                if tool["length"] > SHOWN_CHARACTERS:
                    yield f"tools/{turn['turn']}-{at}.json"


def export_site(
    library: Library,
    episodes: Sequence[Episode],
    folder: Path,
    *,
    force: bool = False,
    prompts: bool = False,
) -> int:
    """Write the site into ``folder`` and nowhere else; the number of files.

    With ``prompts``, what models were asked and what they answered is there, too.

    Raises:
        ConfigurationError: The folder holds something else.
        OSError: A file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder.")
    index = folder / _PAGE
    if index.is_file() and _OURS in index.read_bytes():  # an earlier export
        # Episodes that are left out now must not stay there.
        for name in ("data", "static", "curves", "aligned"):
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
    elif not force and not all(it.name.startswith(f".{_PAGE}.") for it in folder.glob("*")):
        # Such a name has an unfinished page, of an export that was killed.
        raise ConfigurationError(
            f"{folder} is neither empty nor an earlier export: name an empty folder, or add "
            "--force to write there anyway."
        )
    count = 0
    for path, data in _files(library, episodes, prompts=prompts):
        file = folder / path
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ConfigurationError(
                f"{file} is a link that leads outside {folder}: remove it and export again."
            )
        if path == _PAGE:
            write_whole(file, data)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        count += 1
    return count


def _files(
    library: Library, episodes: Sequence[Episode], *, prompts: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield paths and contents; the page comes first, to mark an unfinished export as ours."""
    yield _PAGE, page("static")
    for file in sorted(STATIC.rglob("*")):
        if file.is_file():
            yield f"static/{file.relative_to(STATIC).as_posix()}", file.read_bytes()
    for episode in episodes:
        episode.refresh()  # of some, only the summary may be known
        for path in episode_paths(episode, prompts=prompts):
            data = episode_data(episode, path)
            if data is not None:
                yield f"data/{episode.id}/{path}", data
    for by, figure in itertools.product(GROUPINGS, FIGURES):
        yield f"curves/{by}/{figure}.json", encoded(curves(episodes, by, figure))
    for one, other in itertools.permutations(episodes[:MOST_ALIGNED], 2):
        yield f"aligned/{one.id}/{other.id}.json", encoded(aligned(one, other))
    yield "data/episodes.json", encoded(library.index(episodes))
