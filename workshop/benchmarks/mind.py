"""Figures of the player's mind: what its turns cost us, and the model, as the episode grows."""

import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from mcp_ghost.testing import ModelServer
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from workshop.benchmarks.model import served
from workshop.benchmarks.prompt_cost import prompt_cost
from workshop.scripted_model import ScriptedModel

_MEASURED = 21
"""Turns around each figure; an odd number, so that the median is one of them."""


def mind(
    console: Console,
    commands: Sequence[str],
    wander: Sequence[str],
    long: int,
    **settings: Any,  # noqa: ANN401  fields of the configuration
) -> None:
    """Play ``commands``, then most of them and ``wander`` up to turn ``long``."""
    console.print(_prompts(commands, settings))
    console.print(
        _growth([*commands[: len(commands) * 3 // 4], *[*wander] * long][:long], settings)
    )


def _prompts(commands: Sequence[str], settings: dict[str, Any]) -> Table:
    with tempfile.TemporaryDirectory() as folder, ModelServer(ScriptedModel(commands)) as server:
        config = _configuration(server.base_url, folder, len(commands), settings)
        with ZorkOrchestratorV2("walkthrough", config) as episode:
            score = episode.play_episode()
            cost = prompt_cost(server.requests, episode.game_state.turn_count)
    headings = ("calls a turn", "prompt tokens a turn", "as the request before", "at cache prices")
    table = Table("walkthrough", "score", *headings)
    figures = f"{cost.requests_per_turn:.2f}", f"{cost.tokens_per_turn:.0f}"
    shares = f"{cost.repeated_share:.0%}", f"{cost.cached_price_per_turn:.0f}"
    table.add_row(f"{cost.turns} turns", str(score), *figures, *shares)
    return table


def _growth(commands: Sequence[str], settings: dict[str, Any]) -> Table:
    """Our own time in the turns of a long episode: without the model and the game's engine."""
    table = Table("turn", f"own CPU ms (median of {_MEASURED})", "ratio to turn 10")
    times = _own_times(commands, settings)
    first = statistics.median(times[:_MEASURED])
    for turn in (10, 30, 100, 300, 1000):
        if turn <= len(times):
            begin = max(0, min(turn - 11, len(times) - _MEASURED))
            middle = statistics.median(times[begin:][:_MEASURED])
            table.add_row(str(turn), f"{middle * 1000:.2f}", f"{middle / first:.2f}")
    return table


def _own_times(commands: Sequence[str], settings: dict[str, Any]) -> list[float]:
    """Seconds of the processor that each turn took, reflections included."""
    times: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        served(ScriptedModel(commands)) as base_url,
        ZorkOrchestratorV2("long", _configuration(base_url, folder, len(commands), settings)) as it,
    ):
        engine_time = _time_engine(it)
        for _ in itertools.repeat(None, len(commands)):
            engine_time.clear()
            started = time.process_time()
            goes_on = it._process_turn()  # noqa: SLF001  a turn by itself is what is measured
            times.append(time.process_time() - started - sum(engine_time))
            if not goes_on:
                break
    return times


def _configuration(
    base_url: str, folder: str, turns: int, settings: dict[str, Any]
) -> GameConfiguration:
    fixed = {"client_base_url": base_url, "workdir": folder, "max_turns_per_episode": turns}
    return GameConfiguration(**{**fixed, "max_turns_stuck": turns + 1, **settings})


def _time_engine(episode: ZorkOrchestratorV2) -> list[float]:
    """Start the episode and note the seconds of each step of its game."""
    episode._start()  # noqa: SLF001  the game has to be there to be timed
    game = episode.game
    if game is None:
        raise RuntimeError("The game did not start.")
    times: list[float] = []
    step = game.step

    def timed(command: str) -> str:
        started = time.process_time()
        text = step(command)
        times.append(time.process_time() - started)
        return text

    game.step = timed  # type: ignore[method-assign]  # the one seam that every engine has
    return times
