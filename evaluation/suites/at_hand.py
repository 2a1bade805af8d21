"""The stories of a suite that are at hand, and what stands beside them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from evaluation.achievements.achievement import SUFFIX, Achievements
from evaluation.outcome.stored import achievements_kept
from evaluation.plan import Plan
from evaluation.suites.suite import Suite
from game_interface import StoryInfo
from game_interface.catalogue import STORIES_VARIABLE, story_folders
from mcp_ghost.files import write_whole
from mcp_ghost.text import counted, reason
from players.walkthrough import WalkthroughPlayer, read_walkthrough
from session.configuration_file import ConfigurationError


def stories_of(suite: Suite, *, at_hand: bool) -> dict[str, StoryInfo]:
    """The stories of the suite, by name.

    Raises:
        ConfigurationError: Some are not at hand, or none is.
    """
    cache = user_cache_path("zorkgpt")
    folders = (*story_folders(cache), cache / "stories")
    found, missing = suite.find(folders)
    if missing and not (at_hand and found):
        listed = "\n".join(f"  {line}" for line in missing)
        raise ConfigurationError(
            f"{len(missing)} of the {counted(len(suite.games), 'game')} of the suite {suite.name} "
            f"cannot be played:\n{listed}\nPut their files into {folders[0]} or a folder that "
            f"{STORIES_VARIABLE} names, under any name"
            + (", or add --at-hand to play the others." if found else ".")
        )
    if missing:
        names = ", ".join(line.partition(":")[0] for line in missing)
        print(f"Left out, because their files are missing: {names}", file=sys.stderr)
    return found


def walkthroughs_of(folder: Path, games: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the commands for each game that has some.

    Raises:
        ConfigurationError: None has, or some are wrong.
    """
    files = {game: folder / f"{game}.txt" for game in games}
    found = {game: read_walkthrough(it) for game, it in files.items() if it.is_file()}
    for commands in found.values():
        WalkthroughPlayer(commands)  # which says what is wrong with them
    if not found:
        raise ConfigurationError(
            f"{folder} holds no walkthrough of these games: name a folder with files "
            f"such as {games[0]}.txt."
        )
    return found


def hints_of(place: Path | None, games: Sequence[str]) -> dict[str, str]:
    """Read what players are told beforehand: of one file, or of a folder with GAME.txt for some.

    Raises:
        ConfigurationError: There is none, or it cannot be read.
    """
    if place is None:
        return {}
    files = {game: place / f"{game}.txt" if place.is_dir() else place for game in games}
    try:
        found = {game: it.read_text(encoding="utf-8") for game, it in files.items() if it.is_file()}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The hints {place} cannot be read: {reason(error)}") from error
    if not any(map(str.strip, found.values())):
        raise ConfigurationError(f"There are no hints for these games in {place}.")
    return found


def keep_achievements(plan: Plan) -> None:
    """Copy what was beside the stories, so that the figures need nothing else.

    Raises:
        ConfigurationError: One of the files is wrong.
    """
    for game, story in plan.stories.items():
        beside = story.path.with_name(f"{story.path.stem}{SUFFIX}")
        if beside.is_file():
            Achievements.read(beside)
            write_whole(achievements_kept(plan.out, game), beside.read_bytes())
