"""An agent of somebody else's plays one game that is made for it, and its result counts."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evaluation.commands.export import EpisodeRow
from evaluation.commands.export import _Episode as ExportedEpisode
from evaluation.figures import EpisodeFigures, variant_figures
from evaluation.outcome.tables import NONE, cost
from evaluation.plan import variants_of
from game_server import visit
from game_server.visit import GuestError, play_with_guest
from orchestration.replay import replay
from scripts.evaluate import parser_of
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from tests.evaluation.evaluations import Evaluation
from tests.support import ROOT
from tests.support.episodes import configured, read_events
from tests.support.servers import eventually

pytestmark = pytest.mark.mcp

VISITOR = shlex.join([sys.executable, str(ROOT / "tests/support/processes/visitor.py")])


def visited(folder: Path, command: str, **settings: Any) -> Path:  # noqa: ANN401  of any field
    config = configured(folder, "http://127.0.0.1:1", player_name="mcp", **settings)
    play_with_guest(command, config, "visited")
    return Path(config.workdir, "episodes", "visited")


def running(word: str) -> bool:
    """Whether there is a process with that word in its command line."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has gone
            if word.encode() in line.read_bytes():
                return True
    return False


def test_a_guest_that_leaves_has_played_to_its_end(tmp_path: Path) -> None:
    folder = visited(tmp_path, f"{VISITOR} 0 north north")
    figures = EpisodeFigures.read(folder)
    assert (figures.end_reason, figures.finished, figures.score) == ("left", True, 2)
    start = next(it for it in read_events(folder) if it["event_type"] == "episode_start")
    assert (start["player"], start["model"], start["seed"]) == ("mcp", "visitor 1", 7)
    assert replay(folder).turns == 2
    unknown = {"tool_calls", "model_calls", "prompt_tokens", "cached_tokens", "cost"}
    assert {name for name in unknown if figures.summary()[name] is None} == unknown
    variant = {"variant": "mcp", **variant_figures([figures], 2)}
    (row,) = cost([variant]).rows
    assert set(row[1:-1]) == {NONE}
    exported = ExportedEpisode.read(folder)
    columns = exported.row(dict.fromkeys(EpisodeRow._fields))
    assert (columns.model, columns.guest) == (None, "visitor 1")
    (_, *turns) = exported.played
    assert turns[0]["score"] == 2
    assert {name for name in unknown if turns[0][name] is None} == unknown


def test_a_guest_that_goes_on_after_the_end_changes_nothing(tmp_path: Path) -> None:
    folder = visited(tmp_path, f"{VISITOR} 0 north north wait", max_turns_per_episode=2)
    assert EpisodeFigures.read(folder).end_reason == "max_turns"
    assert EpisodeFigures.read(folder).turns == 2


def test_a_guest_that_failed_is_continued_by_the_next_one(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match="exit code 3 before its game was over"):
        visited(tmp_path, f"{VISITOR} 3 north")
    folder = visited(tmp_path, f"{VISITOR} 0 north")
    assert EpisodeFigures.read(folder).turns == 2


def test_whoever_does_not_play_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GuestError, match="without starting its game"):
        visited(tmp_path, f"{VISITOR} 0")
    with pytest.raises(ConfigurationError, match="'no-such-agent' cannot be started"):
        visited(tmp_path, "no-such-agent {url}")
    monkeypatch.setattr(visit, "SILENCE_SECONDS", 0.2)
    nap = f"1000.{os.getpid()}"
    with pytest.raises(GuestError, match="made no call"):
        visited(tmp_path, f"sh -c 'sleep {nap} & wait'")
    assert eventually(lambda: not running(nap))


def test_an_evaluation_starts_a_guest_and_has_it_in_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = Evaluation(tmp_path, "http://127.0.0.1:1/v1")
    flags = ["--story", "bundled", "--seeds", "1", "--turns", "3"]
    player = f"{VISITOR} 0 north north wait"
    assert evaluation.run_here(monkeypatch, *flags, "--player", f"mcp:{player}") == 0
    (variant,) = evaluation.results["variants"]
    assert (variant["variant"], variant["finished"]) == ("mcp", 1)
    assert variant["score"]["3"]["median"] == 2
    assert evaluation.results["settings"]["guests"] == {"mcp": player}


def test_guests_are_counted_among_the_players() -> None:
    players = ["mcp:one {url}", "first-exit", "mcp:two"]
    variants = variants_of(GameConfiguration(), (), each=False, players=players)
    assert [(it.name, it.player, it.command) for it in variants] == [
        ("mcp", "mcp", "one {url}"),
        ("first-exit", "first-exit", ""),
        ("mcp-2", "mcp", "two"),
    ]


def test_a_command_with_an_open_quotation_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parser_of("play").parse_args(["--player", "mcp:sh -c 'play"])
    assert "'mcp:sh -c 'play' is not a command: No closing quotation" in capsys.readouterr().err
