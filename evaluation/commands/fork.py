"""`evaluate.py --fork EPISODE@TURN`: branches of an episode, which has decided most of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from evaluation.plan import Fork
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.playing import GUEST, PlayerName
from session.record.branch import shared_lines
from session.record.event_log import read
from session.record.schema import EpisodeStart
from terminal.resume import find_episode

_DECIDED = ("story", "seeds", "player", "protocol", "carry_over")


class Trunk(NamedTuple):
    """The episode that is branched off, and how it began."""

    fork: Fork
    start: EpisodeStart

    @property
    def seeds(self) -> tuple[int, ...]:
        """The only one."""
        return (self.start.seed or 0,)

    @property
    def players(self) -> tuple[PlayerName, ...]:
        """Who goes on; none stands for our own player, as when a guest has left."""
        return () if self.start.player in ("model", GUEST) else (self.start.player,)

    def settings(self, config: GameConfiguration) -> GameConfiguration:
        """The settings of the branches."""
        path = self.start.story_path
        story = path if Path(path).is_file() else self.start.story
        named = {"story": story, "observation_level": self.start.level}
        if config.max_turns_per_episode <= self.fork.turn:
            raise ConfigurationError(
                f"No turn would be played: --turns counts from the beginning, and turn "
                f"{self.fork.turn} is where the branches begin."
            )
        return config.model_copy(update=named)


def trunk_of(flags: argparse.Namespace, workdir: str) -> Trunk | None:
    """What ``--fork`` names; None without it.

    Raises:
        ConfigurationError: There is no such turn, or another flag contradicts.
    """
    if not flags.fork:
        return None
    for name in _DECIDED:
        if getattr(flags, name):
            flag = name.replace("_", "-")
            raise ConfigurationError(f"--{flag} is for new games: a branch keeps its trunk's.")
    wanted, turn = flags.fork
    place = find_episode(wanted, workdir)
    folder = Path(place.workdir, "episodes", place.name)
    list(shared_lines(folder, turn, ""))  # which says what is wrong
    starts = (it.event for it in read(folder) if isinstance(it.event, EpisodeStart))
    start = next(starts)
    return Trunk(Fork(folder, turn, start.uid), start)
