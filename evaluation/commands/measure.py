"""What one recorded episode achieved, whenever it was played."""

import argparse
from pathlib import Path

from evaluation.achievements.achievement import Achievements, at_hand
from evaluation.commands.report import show
from evaluation.figures import EpisodeFigures
from evaluation.outcome.tables import NONE, Table
from mcp_ghost.cli.arguments import Parser, add_flags, add_trust
from mcp_ghost.cli.program import DONE
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from terminal.resume import recorded_episode

DESCRIPTION = "Show which achievements an episode earned, and when. Plays nothing."
EPILOG = """\
exit code: 0 measured; 2 wrong usage, no such episode, or no achievements for
  its story
"""
_FLAGS = """\
--achievements FILE  file of achievements (default: the one beside the story, or the program's own)
"""


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py measure``."""
    it.add_argument("episode", metavar="EPISODE", help="its name, its folder, or 'latest'")
    add_flags(it, _FLAGS, achievements={"type": Path})
    add_trust(it)


def run(flags: argparse.Namespace) -> int:
    """Show what an episode earned; returns the exit code."""
    folder = recorded_episode(flags.episode, GameConfiguration.at_hand(None).workdir)
    start = EpisodeFigures.read(folder).start
    file: Path | None = flags.achievements
    if start and not file:
        file = at_hand(start.story_sha256, Path(start.story_path))
    if file is None:
        raise ConfigurationError(
            f"There are no achievements for the story of {folder.name}: make some with "
            "scripts/story/make_achievements.py, or name a file with --achievements."
        )
    figures = EpisodeFigures.read(folder, Achievements.read(file))
    earned = figures.earned
    rows = [[it.name, str(earned.get(it.name, NONE))] for it in figures.achievements]
    show(
        [Table(f"Achievements in {folder.name}", ["achievement", "turn"], rows)],
        f"{len(earned)} of {len(rows)} earned in {figures.turns} turns "
        f"({figures.progress_at(figures.turns) or 0:.0f}%), by {file}.",
    )
    return DONE
