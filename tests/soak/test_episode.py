"""One process plays an episode of thousands of turns with tools, and grows in nothing."""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import astuple, dataclass
from itertools import cycle, islice
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from workshop.benchmarks.model import served
from workshop.scripted_model import ScriptedModel

TURNS = int(os.environ.get("SOAK_TURNS", "2000"))
EVERY = max(1, TURNS // 40) * 2
"""Turns from one look at the process to the next; even, as every second turn has a tool call."""
WARM_UP = TURNS // 4
"""Turns after which everything is imported, every cache has its size, and the map is whole."""
COMMANDS = ("north", "look", "examine me", "south", "inventory", "east", "wait", "west")
MOST_GROWTH_A_TURN = 8192
"""Bytes: the record of a turn is kept as long as the episode is played."""

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


@dataclass(frozen=True)
class Look:
    """The process at some turn."""

    turn: int
    resident: int
    """KiB."""
    files: int
    threads: int
    children: int
    milliseconds: float
    """That a turn took since the last look."""


def test_an_episode_of_thousands_of_turns_grows_in_nothing(tmp_path: Path) -> None:
    looks: list[Look] = []
    commands = [*islice(cycle(COMMANDS), TURNS)]
    with (
        served(ScriptedModel(commands, think_every=2)) as base_url,
        ZorkOrchestratorV2("soak", configuration(base_url, tmp_path)) as episode,
    ):
        started = time.perf_counter()
        while episode._process_turn():
            if (turn := episode.game_state.turn_count) % EVERY == 0:
                seconds = time.perf_counter() - started
                looks.append(look(turn, 1000 * seconds / EVERY))
                started = time.perf_counter()
        assert episode.game_state.turn_count == TURNS
    show(looks)
    warm = [it for it in looks if it.turn >= WARM_UP]
    growth = 1024 * (warm[-1].resident - warm[0].resident) / (warm[-1].turn - warm[0].turn)
    assert growth <= MOST_GROWTH_A_TURN
    for counted in ("files", "threads", "children"):
        numbers = [getattr(it, counted) for it in warm]
        early, late = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        assert statistics.median(late) <= statistics.median(early), counted
        assert max(late) <= max(early) + 1, counted  # a server of the last turn may still end


def configuration(base_url: str, folder: Path) -> GameConfiguration:
    return GameConfiguration.from_toml(
        Path(__file__).parents[2] / "pyproject.toml",
        client_base_url=base_url,
        workdir=str(folder),
        story="bundled",
        max_turns_per_episode=TURNS,
        max_turns_stuck=TURNS + 1,
        reflection_enabled=True,
    )


def look(turn: int, milliseconds: float) -> Look:
    process = Path("/proc/self")
    pages = int((process / "statm").read_text().split()[1])
    children = [it.read_text().split() for it in process.glob("task/*/children")]
    return Look(
        turn,
        pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        len([*(process / "fd").iterdir()]),
        len([*(process / "task").iterdir()]),
        sum(map(len, children)),
        milliseconds,
    )


def show(looks: list[Look]) -> None:
    table = Table("turn", "MiB", "files", "threads", "children", "ms a turn", "")
    most = max(it.resident for it in looks)
    for it in looks:
        turn, resident, files, threads, children, milliseconds = astuple(it)
        figures = (f"{resident / 1024:.1f}", files, threads, children, f"{milliseconds:.1f}")
        table.add_row(str(turn), *map(str, figures), "█" * round(30 * resident / most))
    Console(width=100).print(table)
