"""Perfect play through the whole program wins, with every safeguard on."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from scripts.benchmarks.prompt_cost import PromptCost, prompt_cost
from scripts.scripted_model import ScriptedModel, read_commands
from tests.support import ROOT
from tests.support.episodes import read_events
from tests.support.warm import run

BUNDLED = read_commands(ROOT / "tests" / "data" / "weatherworks_walkthrough.txt")
ZORK1 = os.environ.get("ZORK1_STORY", "")
ZORK1_WALKTHROUGH = os.environ.get("ZORK1_WALKTHROUGH", "")
ZORK1_SEED = "12"
"""The dice that the known walkthrough of Zork I was made for."""


def play(folder: Path, commands: list[str], *flags: str) -> tuple[dict[str, object], PromptCost]:
    """The event that ends the episode, and what it took; reflections are made as by default."""
    with ModelServer(ScriptedModel(commands, think_every=10)) as model:
        run(
            [sys.executable, str(ROOT / "main.py"), "--base-url", model.base_url, *flags],
            cwd=folder,
            env={**os.environ, "ZORKGPT_REFLECTION_ENABLED": "true"},
            patience=300,
        ).check_returncode()
        assert [request.refusal for request in model.requests if request.refusal] == []
        requests = list(model.requests)
    (episode,) = (folder / "game_files" / "episodes").iterdir()
    *_, end = read_events(episode)
    assert end["event_type"] == "episode_end"
    return end, prompt_cost(requests, int(str(end["turns"])))


def assert_is_cheap(cost: PromptCost) -> None:
    """The limits agreed for a whole game, its reflections included."""
    assert 1.0 < cost.requests_per_turn <= 1.4
    assert cost.repeated_share >= 0.85
    assert cost.cached_price_per_turn <= 2_000


def zork1_commands() -> list[str]:
    if ZORK1_WALKTHROUGH:
        return read_commands(Path(ZORK1_WALKTHROUGH))
    if find_spec("jericho"):
        from jericho.game_info import zork1

        return str(zork1["walkthrough"]).split("/")
    pytest.skip("no walkthrough of Zork I: install jericho or set ZORK1_WALKTHROUGH")


@pytest.mark.slow
def test_the_bundled_story_is_won(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.zorkgpt.mcp]\nenabled = true\n")
    (tmp_path / "mcp_config.json").write_bytes((ROOT / "mcp_config.json").read_bytes())
    end, cost = play(tmp_path, BUNDLED, "--story", "bundled")
    assert (end["reason"], end["score"], end["turns"]) == ("victory", 100, len(BUNDLED))
    assert end["tool_calls"] == len(BUNDLED) // 10
    assert_is_cheap(cost)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(not ZORK1, reason="ZORK1_STORY names no copy of Zork I")
def test_zork_i_is_won_with_every_point(tmp_path: Path) -> None:
    commands = zork1_commands()
    end, cost = play(tmp_path, commands, "--story", ZORK1, "--seed", ZORK1_SEED)
    assert (end["reason"], end["score"]) == ("victory", 350)
    assert_is_cheap(cost)
