"""The command `games`: which games are known by name, and which of their files are at hand."""

import argparse
import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import fill

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE
from mcp_ghost.text import counted, plain

_COLUMN = 15
"""Of the titles."""
_EPILOG = """\
The files are not part of the program: --json gives each file's SHA-256 and
where to get it. `main.py --story NAME` plays a game whose file is in the
folder that STORIES_DIR names, or in the cache folder.
"""


def parser() -> Parser:
    """Return the command line of ``games``."""
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

    from game_interface.catalogue import addresses, at_hand, known_games, story_folders

    given = [flags.stories] if flags.stories else []
    files = at_hand([*given, *story_folders(user_cache_path("zorkgpt"))])
    games = known_games().values()
    if flags.json:
        entries = [
            {
                **asdict(game),
                "path": str(files[game.name]) if game.name in files else None,
                "sources": addresses(game.file),
            }
            for game in games
        ]
        print(json.dumps(entries, indent=2, ensure_ascii=False))
        return DONE
    for game in games:
        points = "score unknown" if game.max_score is None else counted(game.max_score, "point")
        path = files.get(game.name)
        where = path or f"missing ({game.file})"
        line = plain(f"{game.name:<{_COLUMN}}{game.title} ({points}): {where}")
        if sys.stdout.isatty():  # in as many lines as it needs; the names keep their column
            room, further = shutil.get_terminal_size().columns, " " * _COLUMN
            line = fill(line, room, subsequent_indent=further, break_on_hyphens=False)
        print(line)
    print(f"You have the files of {len(files)} of {counted(len(games), 'game')}.", end=" ")
    print(f"You can get the others from {' or '.join(addresses())}.")
    return DONE
