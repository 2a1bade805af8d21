"""Learn the profiles of all known games anew, from their files and Jericho's walkthroughs.

    uv run --extra jericho python workshop/story/learn_games.py DIR

A game whose file is not in DIR keeps the profile that it has.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from pydantic import TypeAdapter

from game_interface.catalogue import at_hand
from game_interface.errors import StoryFormatError
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, Errors, program
from mcp_ghost.files import write_whole
from stories.profile import GAMES_FILE, STORIES, Profile
from workshop.story.learned_profile import learned_profile


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the list and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the story files are")
    folder = parser.parse_args(arguments).folder
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program("learn_games.py", lambda: _learn(folder), lambda: errors)


def _learn(folder: Path) -> int:
    path = STORIES / GAMES_FILE
    document = json.loads(path.read_bytes())
    files = at_hand([folder])
    for game in document["games"]:
        if file := files.get(game["name"]):
            game["profile"] = _plain(learned_profile(file, game["title"]))
            print(f"{game['name']}: learned from {file}")
    write_whole(path, as_text(document))
    return DONE


def _plain(profile: Profile) -> dict[str, Any]:
    """What differs from a profile that says nothing."""
    dumped: dict[str, Any] = TypeAdapter(Profile).dump_python(
        profile, mode="json", exclude_defaults=True
    )
    return dumped


def as_text(document: dict[str, list[dict[str, Any]]]) -> str:
    """The list with a line for each game."""
    parts = (
        f'"{name}": [\n' + ",\n".join(json.dumps(it, ensure_ascii=False) for it in entries) + "\n]"
        for name, entries in document.items()
    )
    return "{" + ", ".join(parts) + "}\n"


if __name__ == "__main__":
    sys.exit(main())
