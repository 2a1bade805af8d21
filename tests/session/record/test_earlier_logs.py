"""Logs that version 0.1.0 wrote are read, shown, stored and replayed as they were then.

Beside each log, ``told.json`` holds what that version made of it.
"""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evaluation.figures import EpisodeFigures
from mcp_ghost.cli.screen import Screen
from orchestration.recorded import DivergenceError
from orchestration.replay import replay
from session.configuration_file import ConfigurationError
from session.record.event_log import EVENTS_FILE
from storage.episode_knowledge import read_episode
from tests.support import ROOT
from tests.support.episodes import played
from viewer.episode import Episode
from viewer.show import show_episode
from workshop.scripted_model import ScriptedModel

LOGS = ROOT / "tests" / "data" / "episodes"
EPISODES = sorted(folder.name for folder in LOGS.iterdir())
TURNS = {"ended": 8, "tools": 3, "resumed": 4, "embedded": 3}


def told(folder: Path) -> dict[str, Any]:
    """What viewer, storage and evaluation make of a log, but for the map."""
    episode = Episode(folder.name, folder)
    episode.refresh()
    page = episode.json()
    page.pop("map")
    account = read_episode(folder)
    assert account is not None
    return {
        "page": page,
        "turns": episode.turns(1, 99),
        "account": {
            "episode": dataclasses.asdict(account.episode),
            "edits": account.edits.model_dump(mode="json"),
            "reflections": [it.model_dump(mode="json") for it in account.reflections],
            "passages": [it.model_dump(mode="json") for it in account.passages],
        },
        "figures": EpisodeFigures.read(folder).summary(),
    }


def _leave_out_what_is_new(kept: dict[str, Any], now: dict[str, Any]) -> None:
    for key in now.keys() - kept.keys():
        del now[key]
    for key, value in kept.items():
        new = now.get(key)
        pairs = zip(value, new, strict=False) if isinstance(value, list) and new else [(value, new)]
        for one, other in pairs:
            if isinstance(one, dict) and isinstance(other, dict):
                _leave_out_what_is_new(one, other)


def copied(name: str, workdir: Path) -> Path:
    folder = workdir / "episodes" / name
    shutil.copytree(LOGS / name, folder)
    return folder


@pytest.mark.parametrize("name", EPISODES)
def test_an_earlier_log_tells_what_it_told(name: str) -> None:
    expected = json.loads((LOGS / name / "told.json").read_text(encoding="utf-8"))
    now = json.loads(json.dumps(told(LOGS / name)))
    _leave_out_what_is_new(expected, now)
    assert now == expected


@pytest.mark.parametrize("name", EPISODES)
def test_an_earlier_log_is_shown(name: str) -> None:
    output = io.StringIO()
    show_episode(Screen(Console(file=output, width=80), live=False), LOGS / name)
    shown = output.getvalue()
    assert all(f"Turn {turn} · " in shown for turn in range(1, TURNS[name] + 1))
    assert "The Weatherworks (engine fernz, seed 7)" in shown
    assert "of the log is damaged" not in shown
    assert "cannot be shown" not in shown


@pytest.mark.parametrize("name", EPISODES)
def test_an_earlier_log_is_not_resumed_and_one_line_says_why(name: str, tmp_path: Path) -> None:
    copied(name, tmp_path / "game_files")
    before = (tmp_path / "game_files" / "episodes" / name / EVENTS_FILE).read_bytes()
    with pytest.raises(ConfigurationError, match=r"played by fernz, .* but not continued\.$"):
        played(tmp_path, ScriptedModel(["wait"]), episode=name, resume=True)
    assert (tmp_path / "game_files" / "episodes" / name / EVENTS_FILE).read_bytes() == before


def test_an_earlier_log_is_replayed_from_its_record(tmp_path: Path) -> None:
    log = (ROOT / "tests" / "data" / "replayed" / "walkthrough" / EVENTS_FILE).read_text()
    folder = tmp_path / "walkthrough"
    folder.mkdir()
    (folder / EVENTS_FILE).write_text(log)
    assert replay(folder, "bundled").turns == 6
    (folder / EVENTS_FILE).write_text(log.replace('"command": "north"', '"command": "south"', 1))
    with pytest.raises(DivergenceError, match="Turn 2: the command is 'north'"):
        replay(folder, "bundled")
