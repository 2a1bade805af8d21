"""The evaluation as its user has it: a program that plays a matrix in processes of its own."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from evaluation.run import taken
from mcp_ghost.testing import ModelServer
from scripts.evaluate import main
from session.game_configuration import ConfigurationError
from tests.evaluation.evaluations import KEY, Evaluation, Model
from tests.support import PATIENCE

pytestmark = pytest.mark.mcp

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


def test_a_matrix_is_played_and_its_figures_are_written(
    evaluation: Evaluation, server: ModelServer
) -> None:
    played = evaluation.run("--seeds", "1,2", "--without", "memories")
    assert played.returncode == 0
    assert sorted(evaluation.episodes()) == [
        f"{variant}/seed-{seed}/episodes/episode-1"
        for variant in ("whole", "without-memories")
        for seed in (1, 2)
    ]
    results = evaluation.results
    assert [figures["variant"] for figures in results["variants"]] == ["whole", "without-memories"]
    for figures in results["variants"]:
        assert figures["end_reasons"] == {"max_turns": 2}
        assert figures["score"]["3"]["median"] == 2  # for the walk north, as the game has it
        assert figures["rooms"]["median"] == 3
    settings = results["settings"]
    assert (settings["turns"], settings["seeds"], settings["tools"]) == (3, [1, 2], False)
    assert settings["knowledge_carried_over"] is False
    assert settings["model"] == "scripted"
    for words in (
        "played with scripted_model.py (asked for as scripted) at http://127.0.0.1",
        "not carried over",
        "(seeds: 1, 2)",
        "tools were off",
    ):
        assert words in results["statement"]
        assert words in " ".join(played.stdout.split())
    assert "| without-memories | 3 | 2 | 2 | 2 | 2 |" in (evaluation.out / "results.md").read_text()
    assert (evaluation.out / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert "without-memories" in (evaluation.out / "scores.svg").read_text()
    assert evaluation.program.leftovers() == []
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    files = [path for path in evaluation.out.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in played.stdout + played.stderr


@pytest.mark.soak
def test_each_variant_plays_without_its_part(evaluation: Evaluation) -> None:
    evaluation.program.serve_tools()
    assert evaluation.run("--seeds", "7", "--mcp", "--without", "tools").returncode == 0
    whole, without = evaluation.results["variants"]
    assert (whole["tool_calls"]["median"], without["tool_calls"]["median"]) == (1, 0)
    assert {*without["parts_off"]} - {*whole["parts_off"]} == {"tools"}
    assert "tools were on" in evaluation.results["statement"]


@pytest.mark.soak
def test_what_was_played_stays_when_the_matrix_grows_and_nothing_else_may_change(
    evaluation: Evaluation,
) -> None:
    assert evaluation.run("--seeds", "1").returncode == 0
    first = evaluation.episodes()
    assert evaluation.run("--seeds", "1,2").returncode == 0
    assert len(evaluation.episodes()) == 2
    assert first.items() <= evaluation.episodes().items()
    refused = evaluation.run("--seeds", "2", "--turns", "9")
    assert refused.returncode == 2
    for words in ("seeds was [1, 2] and is [2]", "turns was 3 and is 9", "another --out"):
        assert words in refused.stderr
    evaluation.program.env["ZORKGPT_REFLECTION_INTERVAL_TURNS"] = "5"
    refused = evaluation.run("--seeds", "1,2")
    assert refused.returncode == 2
    assert "reflection_interval_turns was 8 and is 5" in refused.stderr


@pytest.mark.soak
@pytest.mark.slow
def test_episodes_that_hand_on_knowledge_are_played_one_after_the_other(
    evaluation: Evaluation,
) -> None:
    assert evaluation.run("--seeds", "1", "--episodes", "2", "--carry-over").returncode == 0
    logs = list(evaluation.episodes().values())
    assert len(logs) == 2
    for before, after in itertools.pairwise(logs):
        assert before[-1]["time"] <= after[0]["time"]
    results = evaluation.results
    assert "Knowledge was carried over" in results["statement"]
    assert [(it["episode"], it["score"]["mean"]) for it in results["learning"]] == [(1, 2), (2, 2)]
    assert "mean final score" in (evaluation.out / "learning.svg").read_text()


@pytest.mark.soak
def test_a_model_that_fails_is_an_end_reason_and_can_be_made_good(
    evaluation: Evaluation, model: Model
) -> None:
    model.failing = True
    failed = evaluation.run("--seeds", "1,2")
    assert failed.returncode == 1
    assert evaluation.results["variants"][0]["end_reasons"] == {"llm_unavailable": 2}
    assert "2 No usable answer" in (evaluation.out / "results.md").read_text()
    model.failing = False
    assert evaluation.run("--seeds", "1,2", "--turns", "3").returncode == 0
    (whole,) = evaluation.results["variants"]
    assert whole["finished"] == 2
    assert set(map(tuple, evaluation.turns().values())) == {(1, 2, 3)}


@linux_only
@pytest.mark.slow
def test_after_the_program_is_killed_no_episode_plays_on_and_all_can_go_on(
    evaluation: Evaluation, model: Model
) -> None:
    model.wait_from(3)
    process = evaluation.start("--seeds", "1,2")
    assert model.waiting.wait(PATIENCE)
    process.kill()
    process.communicate()
    assert evaluation.program.leftovers() == []
    before = evaluation.turns()
    assert 0 < sum(map(len, before.values())) < 6
    model.go_on()
    assert evaluation.run("--seeds", "1,2").returncode == 0
    assert list(evaluation.turns().values()) == [[1, 2, 3]] * 2
    kinds = Counter(
        event["event_type"] for events in evaluation.episodes().values() for event in events
    )
    assert kinds["episode_start"] == 2
    assert kinds["episode_resumed"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)]
)
def test_an_interruption_ends_all_episodes_and_says_how_to_go_on(
    evaluation: Evaluation, model: Model, number: signal.Signals
) -> None:
    model.wait_from(2)
    process = evaluation.start("--seeds", "1,2,3")
    assert model.waiting.wait(PATIENCE)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert evaluation.program.leftovers() == []
    assert "scripts/evaluate.py --story bundled" in errors
    assert "--seeds 1,2,3" in errors
    assert "Traceback" not in errors


@linux_only
@pytest.mark.soak
def test_an_episode_that_is_killed_spoils_no_other(evaluation: Evaluation, model: Model) -> None:
    model.wait_from(2)
    process = evaluation.start("--seeds", "1,2", "--jobs", "1")
    assert model.waiting.wait(PATIENCE)
    (child,) = evaluation.children()
    model.go_on()
    os.kill(child, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "whole, seed 1, episode 1: killed by SIGKILL" in errors
    assert evaluation.results["variants"][0]["finished"] == 1
    assert evaluation.run("--seeds", "1,2").returncode == 0
    assert list(evaluation.turns().values()) == [[1, 2, 3]] * 2


def test_an_episode_that_cannot_begin_says_why_and_keeps_the_traceback(
    evaluation: Evaluation,
) -> None:
    evaluation.program.serve_tools(command="no-such-server")
    failed = evaluation.run("--seeds", "1", "--mcp")
    assert failed.returncode == 1
    assert "no-such-server" in failed.stderr
    kept = evaluation.out / "whole" / "seed-1" / "episode-1.err"
    assert str(kept.relative_to(evaluation.program.folder)) in failed.stderr
    assert "Traceback" in kept.read_text()


def test_a_folder_that_cannot_be_made_is_said_in_a_line(evaluation: Evaluation) -> None:
    evaluation.out.mkdir()
    (evaluation.out / "whole").touch()
    failed = evaluation.run("--seeds", "1")
    assert failed.returncode == 1
    assert "evaluate.py: error: " in failed.stderr
    assert "What was played is kept" in failed.stderr


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--without", "wings"], "choose from"),
        (["--seeds", "1,-1"], "from 0 to 2147483647"),
        (["--seeds", "one"], "such as 1,2,3"),
        (["--episodes", "0"], "must be 1 or more"),
        (["--base-url", "localhost:1"], "http://"),
        (["--name", "a/b"], "cannot name a folder"),
    ],
)
def test_a_wrong_flag_ends_with_2_and_a_line_that_says_why(
    flags: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(flags)
    assert f"evaluate.py: error: argument {flags[0]}: " in (said := capsys.readouterr().err)
    assert hint in said


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--without", "tools"], "add --mcp"),
        (["--story", "missing.z5"], "missing.z5"),
        (["--mcp"], "mcp_config.json"),
        (["--out", "/dev/null/out"], "another --out"),
    ],
)
def test_what_cannot_be_evaluated_ends_with_2_before_anything_is_played(
    evaluation: Evaluation, flags: list[str], hint: str
) -> None:
    refused = evaluation.run(*flags)
    assert refused.returncode == 2
    assert "evaluate.py: error:" in refused.stderr
    assert hint in refused.stderr
    assert not evaluation.out.exists()


def test_two_evaluations_cannot_play_into_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.run._LOCK_WAIT", 0)
    with (
        taken(tmp_path),
        pytest.raises(ConfigurationError, match="Another evaluation"),
        taken(tmp_path),
    ):
        pass
    with taken(tmp_path):
        pass


def test_a_command_that_does_not_exist_is_said_to_be_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["exprot", "somewhere"])
    assert "'exprot' is not a command (did you mean 'export'?)" in capsys.readouterr().err
