"""Look for the seeds with which Jericho's walkthroughs do best on the default engine.

    uv run --extra jericho python workshop/story/find_seeds.py DIR --most 100

DIR holds the story files. What is found is written into `stories/games.json`; a game whose
walkthrough succeeds with the seed that it has keeps it.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface.catalogue import at_hand, known_games
from game_interface.errors import StoryFormatError
from mcp_ghost.cli.arguments import Parser, whole_number
from mcp_ghost.cli.program import DONE, Errors, program
from mcp_ghost.files import write_whole
from stories.profile import GAMES_FILE, STORIES
from workshop.story.learn_games import as_text
from workshop.story.learned_profile import Rehearsal
from workshop.story.verify_games import best_score


def main(arguments: Sequence[str] | None = None) -> int:
    """Try seeds, rewrite the list and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the story files are")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this known game")
    parser.add_argument(
        "--most", type=whole_number(), default=100, metavar="N", help="seeds to try"
    )
    flags = parser.parse_args(arguments)
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program(
        "find_seeds.py", lambda: _find(flags.folder, flags.only, flags.most), lambda: errors
    )


def _find(folder: Path, only: Sequence[str] | None, most: int) -> int:
    path = STORIES / GAMES_FILE
    files = at_hand([folder])
    for name in [it for it in files if it in (only or files)]:
        game, reference = known_games()[name], Rehearsal(files[name])
        commands = (*game.intro, *reference.commands)
        wanted = max(it.score for it in reference.steps)
        best: dict[int, int] = {}
        for seed in (game.seed, *range(1, most + 1)):
            best[seed] = best_score(files[name], commands, seed)
            if best[seed] >= wanted:
                break
        found = max(best, key=lambda it: best[it])
        print(f"{name}: {best[found]} of {wanted} with seed {found}, {len(best)} tried", flush=True)
        if found != game.seed:
            document = json.loads(path.read_bytes())
            next(it for it in document["games"] if it["name"] == name)["bocfel_seed"] = found
            write_whole(path, as_text(document))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
