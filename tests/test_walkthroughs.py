"""Perfect play through the whole program wins, with every safeguard on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from tests.support import ROOT
from tests.support.episodes import read_events
from tests.support.games import (
    BUNDLED_COMMANDS,
    ZORK1,
    ZORK1_SEED,
    needs_jericho,
    needs_zork1,
    zork1_solution,
    zork1_walkthrough,
)
from tests.support.warm import run
from workshop.benchmarks.prompt_cost import PromptCost, prompt_cost
from workshop.scripted_model import ScriptedModel


def play(
    folder: Path, commands: Sequence[str], *flags: str
) -> tuple[dict[str, object], PromptCost]:
    """The event that ends the episode, and what it took; reflections are made as by default."""
    with ModelServer(ScriptedModel(commands, think_every=10)) as model:
        run(
            [
                sys.executable,
                str(ROOT / "main.py"),
                "--trust",
                "--base-url",
                model.base_url,
                *flags,
            ],
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


@pytest.mark.slow
def test_the_bundled_story_is_won(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.zorkgpt.mcp]\nenabled = true\n")
    (tmp_path / "mcp_config.json").write_bytes((ROOT / "mcp_config.json").read_bytes())
    end, cost = play(tmp_path, BUNDLED_COMMANDS, "--story", "bundled")
    assert (end["reason"], end["score"], end["turns"]) == ("victory", 100, len(BUNDLED_COMMANDS))
    assert end["tool_calls"] == len(BUNDLED_COMMANDS) // 10
    assert_is_cheap(cost)


@pytest.mark.slow
@pytest.mark.timeout(400)
@needs_zork1
def test_zork_i_is_won_with_every_point(tmp_path: Path) -> None:
    end, cost = play(tmp_path, zork1_solution(), "--story", ZORK1, "--seed", str(ZORK1_SEED))
    assert (end["reason"], end["score"]) == ("victory", 350)
    assert_is_cheap(cost)


@pytest.mark.slow
@pytest.mark.timeout(400)
@needs_zork1
@needs_jericho
def test_zork_i_is_won_by_the_walkthrough_of_jericho_with_its_dice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORKGPT_ENGINE", "jericho")
    end, _cost = play(tmp_path, zork1_walkthrough(), "--story", ZORK1, "--seed", "12")
    assert (end["reason"], end["score"]) == ("victory", 350)
