"""An agent of somebody else's plays one game that is made for it, and its result counts."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from game_server import visit
from game_server.visit import GuestError, play_with_guest
from orchestration.replay import replay
from scripts.evaluation.figures import EpisodeFigures
from session.configuration_file import ConfigurationError
from tests.scripts.evaluations import Evaluation
from tests.support import ROOT
from tests.support.episodes import configured, read_events

pytestmark = pytest.mark.mcp

VISITOR = shlex.join([sys.executable, str(ROOT / "tests/support/processes/visitor.py")])


def visited(folder: Path, command: str, **settings: Any) -> Path:  # noqa: ANN401  of any field
    config = configured(folder, "http://127.0.0.1:1", player_name="mcp", **settings)
    play_with_guest(command, config, "visited")
    return Path(config.workdir, "episodes", "visited")


def test_a_guest_that_leaves_has_played_to_its_end(tmp_path: Path) -> None:
    folder = visited(tmp_path, f"{VISITOR} 0 north north")
    figures = EpisodeFigures.read(folder)
    assert (figures.end_reason, figures.finished, figures.score) == ("left", True, 2)
    start = next(it for it in read_events(folder) if it["event_type"] == "episode_start")
    assert (start["player"], start["model"], start["seed"]) == ("mcp", "visitor", 7)
    assert replay(folder).turns == 2


def test_a_guest_that_goes_on_after_the_end_changes_nothing(tmp_path: Path) -> None:
    folder = visited(tmp_path, f"{VISITOR} 0 north north wait", max_turns_per_episode=2)
    assert EpisodeFigures.read(folder).end_reason == "max_turns"
    assert EpisodeFigures.read(folder).turns == 2


def test_a_guest_that_failed_is_continued_by_the_next_one(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match="exit code 3 before its game had ended"):
        visited(tmp_path, f"{VISITOR} 3 north")
    folder = visited(tmp_path, f"{VISITOR} 0 north")
    assert EpisodeFigures.read(folder).turns == 2


def test_whoever_does_not_play_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GuestError, match="has not begun its game"):
        visited(tmp_path, f"{VISITOR} 0")
    with pytest.raises(ConfigurationError, match="'no-such-agent' cannot be started"):
        visited(tmp_path, "no-such-agent {url}")
    monkeypatch.setattr(visit, "SILENCE_SECONDS", 0.2)
    with pytest.raises(GuestError, match="said nothing"):
        visited(tmp_path, "sleep 1000")


def test_guests_and_our_own_players_are_in_one_table(tmp_path: Path) -> None:
    evaluation = Evaluation(tmp_path, "http://127.0.0.1:1/v1")
    players = ["--player", f"mcp:{VISITOR} 0 north north wait", "--player", "first-exit"]
    done = evaluation.run("--seeds", "1", *players)
    assert done.returncode == 0, done.stderr
    results = evaluation.results
    assert [it["variant"] for it in results["variants"]] == ["mcp", "first-exit"]
    assert [it["finished"] for it in results["variants"]] == [1, 1]
    assert results["variants"][0]["score"]["3"]["median"] == 2
    assert results["settings"]["guests"] == {"mcp": f"{VISITOR} 0 north north wait"}
    assert evaluation.program.leftovers() == []
