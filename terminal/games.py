"""The command `games`: which games are known by name, and which of their files are at hand."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE
from mcp_ghost.text import counted, plain

if TYPE_CHECKING:
    from game_interface.catalogue import KnownGame

_COLUMN = 15
"""Of the titles."""
_EPILOG = """\
The files are not part of the program: --json gives each file's SHA-256 and
where to get it. `main.py --story NAME` plays a game whose file is in the
folder that STORIES_DIR names, or in the cache folder.
"""


def parser() -> Parser:
    """The command line of ``games``."""
    it = Parser(
        prog="main.py games",
        description="List the games known by name, and which of their files you have.",
        epilog=_EPILOG,
    )
    it.add_argument("--stories", metavar="DIR", type=Path, help="look in this folder, too")
    it.add_argument("--json", action="store_true", help="as JSON, with hashes and addresses")
    return it


def show(flags: argparse.Namespace) -> int:
    """Print the list; returns the exit code."""
    from platformdirs import user_cache_path

    from game_interface.catalogue import at_hand, known_games, story_folders

    given = [flags.stories] if flags.stories else []
    files = at_hand([*given, *story_folders(user_cache_path("zorkgpt"))])
    games = known_games().values()
    if flags.json:
        print(json.dumps([_entry(game, files) for game in games], indent=2, ensure_ascii=False))
        return DONE
    for game in games:
        points = "score unknown" if game.max_score is None else counted(game.max_score, "point")
        path = files.get(game.name)
        where = path or f"not at hand ({game.file})"
        line = plain(f"{game.name:<{_COLUMN}}{game.title} ({points}): {where}")
        print(_broken(line) if sys.stdout.isatty() else line)
    print(f"{len(files)} of {counted(len(games), 'game')} at hand.", end=" ")
    print(f"You can get the files from {_sources()}.")
    return DONE


def _broken(line: str) -> str:
    """A line of the list, in as many as the terminal needs; the names keep their column."""
    room, further = shutil.get_terminal_size().columns, " " * _COLUMN
    return fill(line, room, subsequent_indent=further, break_on_hyphens=False)


def _entry(game: KnownGame, files: Mapping[str, Path]) -> dict[str, object]:
    from game_interface.catalogue import sources

    path = files.get(game.name)
    return {
        **asdict(game),
        "path": str(path) if path else None,
        "sources": [source.address(game.file) for source in sources()],
    }


def _sources() -> str:
    from game_interface.catalogue import sources

    return " or ".join(f"https://github.com/{it.repository} ({it.folder})" for it in sources())
