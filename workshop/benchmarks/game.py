"""What a command of a game costs, with its facts and its snapshot, as players give it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from game_interface import open_game
from game_interface.errors import GameError

_STARTS = 5


def game(console: Console, stories: Sequence[str | Path], commands: Sequence[str]) -> None:
    """Print how long a game takes to start, and how long a command takes, in milliseconds."""
    table = Table("game, ms", "start", "command", "p99", "longest")
    for story in stories:
        starts, times = _timed(story, commands)
        ordered = sorted(times)
        figures = (
            statistics.median(starts),
            statistics.median(ordered),
            ordered[len(ordered) * 99 // 100],
            ordered[-1],
        )
        table.add_row(str(story), *(f"{1000 * figure:.1f}" for figure in figures))
    console.print(table)


def _timed(story: str | Path, commands: Sequence[str]) -> tuple[list[float], list[float]]:
    """Seconds of each start but the first, which loads modules, and of each command."""
    starts, times = [], []
    for _ in range(_STARTS + 1):
        began = time.perf_counter()
        played = open_game(story, seed=12)
        played.start()
        starts.append(time.perf_counter() - began)
        if len(starts) <= _STARTS:
            played.close()
    with played:
        for command in commands:
            if played.is_over:
                break
            began = time.perf_counter()
            try:
                played.step(command)
                played.facts()
                played.snapshot()
            except GameError:  # another game's command, or one that the engine cannot do
                continue
            times.append(time.perf_counter() - began)
    return starts[1:], times
