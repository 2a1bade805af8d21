"""What several machines played, as one evaluation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evaluation.outcome.stored import StoredEvaluation
from evaluation.plan import PLAN_FILE
from game_interface import open_game
from mcp_ghost.files import write_whole
from mcp_ghost.testing import ModelServer
from scripts.evaluate import main
from session.record.event_log import EVENTS_FILE
from tests.evaluation.evaluations import Evaluation, Model
from tests.evaluation.made_up import evaluation

Capture = pytest.CaptureFixture[str]


def merge(out: Path, *parts: Path) -> int:
    return main(["merge", str(out), *map(str, parts)])


def contents(folder: Path) -> dict[str, bytes]:
    logs = folder.rglob(EVENTS_FILE)
    return {str(log.relative_to(folder)): log.read_bytes() for log in logs}


@pytest.mark.mcp
@pytest.mark.soak
def test_what_two_machines_played_goes_on_on_a_third(
    tmp_path: Path, model: Model, server: ModelServer
) -> None:
    with open_game("bundled") as game:
        story = game.story.path
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for machine, seed in ((one, "1"), (two, "2")):
        machine.mkdir()
        shutil.copy(story, machine / "story.z5")
        if seed == "2":
            model.fail_from(3)
        played = Evaluation(machine, server.base_url)
        code = played.run("--story", str(machine / "story.z5"), "--seeds", seed).returncode
        assert code == int(seed == "2")
        (machine / "story.z5").unlink()
    three.mkdir()
    shutil.copy(story, three / "elsewhere.z5")
    merged = Evaluation(three, server.base_url)
    joined = merged.program.run("merge", "out", str(one / "out"), str(two / "out"))
    assert joined.returncode == 0, joined.stderr
    assert "Merged: 2 episodes, 2 of them copied now." in joined.stdout
    assert list(merged.turns().values()) == [[1, 2, 3], [1, 2]]
    assert merged.results["variants"][0]["finished"] == 1
    model.go_on()
    assert merged.run("--story", str(three / "elsewhere.z5"), "--seeds", "1,2").returncode == 0
    assert list(merged.turns().values()) == [[1, 2, 3]] * 2
    assert merged.results["variants"][0]["finished"] == 2
    exported = merged.program.run("export", "out")
    assert exported.returncode == 0
    assert len((merged.out / "turns.csv").read_text().splitlines()) > 6


def test_seeds_variants_and_episodes_of_all_parts_are_in_the_result(tmp_path: Path) -> None:
    a = evaluation(tmp_path / "a", {"whole": {3: [5], 1: [6]}, "bare": {1: [7]}})
    b = evaluation(tmp_path / "b", {"bare": {2: [8, 9]}})
    assert merge(tmp_path / "out", a, b) == 0
    merged = StoredEvaluation.read(tmp_path / "out")
    assert merged.variants == ["whole", "bare"]
    assert (merged.agreed["seeds"], merged.agreed["episodes"]) == ([1, 2, 3], 2)
    assert merged.agreed["name"] == "out"
    assert contents(merged.folder) == contents(a) | contents(b)
    assert {str(key): it.curve[-1] for key, it in merged.episodes.items() if it.finished} == {
        "whole, seed 1, episode 1": 6,
        "whole, seed 3, episode 1": 5,
        "bare, seed 1, episode 1": 7,
        "bare, seed 2, episode 1": 8,
        "bare, seed 2, episode 2": 9,
    }
    assert json.loads((merged.folder / "results.json").read_text())["episodes"]


def test_equal_logs_are_one_and_different_ones_are_named(tmp_path: Path, capsys: Capture) -> None:
    a = evaluation(tmp_path / "a", {"whole": {1: [5], 2: [5]}})
    b = evaluation(tmp_path / "b", {"whole": {3: [5]}})
    assert merge(b, a) == 0  # into an evaluation that is there
    assert merge(tmp_path / "out", a, b, a) == 0
    assert len(contents(tmp_path / "out")) == 3
    other = evaluation(tmp_path / "other", {"whole": {2: [5]}})
    before = contents(tmp_path / "out")
    assert merge(tmp_path / "out", other) == 2
    assert "two different logs of whole, seed 2, episode 1: " in capsys.readouterr().err
    assert contents(tmp_path / "out") == before


def test_parts_that_were_played_under_other_rules_are_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    a = evaluation(tmp_path / "a", {"whole": {1: [5]}})
    b = evaluation(tmp_path / "b", {"whole": {2: [5]}}, model="another", turns=9)
    assert merge(tmp_path / "out", a, b) == 2
    error = capsys.readouterr().err
    assert f"{b} was not played under the same rules as {a}: " in error
    assert 'model was "m" and is "another"; turns was 1 and is 9' in error
    assert not (tmp_path / "out").exists()


def test_an_interrupted_merge_is_no_evaluation_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    a = evaluation(tmp_path / "a", {"whole": {1: [5], 2: [5]}})
    b = evaluation(tmp_path / "b", {"whole": {3: [5]}})
    out = tmp_path / "out"
    written: list[Path] = []

    def full_disk(path: Path, content: bytes | str, mode: int | None = None) -> bool:
        if len(written) == 2:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        return write_whole(path, content, mode=mode)

    monkeypatch.setattr("evaluation.commands.merge.write_whole", full_disk)
    assert merge(out, a, b) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert len(contents(out)) == 2
    assert not (out / PLAN_FILE).exists()
    monkeypatch.undo()
    assert merge(out, a, b) == 0
    assert "Merged: 3 episodes, 1 of them copied now." in capsys.readouterr().out
    assert contents(out) == contents(a) | contents(b)


def test_episodes_that_learned_from_each_other_stay_together(
    tmp_path: Path, capsys: Capture
) -> None:
    a = evaluation(tmp_path / "a", {"whole": {1: [5, 6]}}, knowledge_carried_over=True)
    b = evaluation(tmp_path / "b", {"whole": {2: [5, 6]}}, knowledge_carried_over=True)
    assert merge(tmp_path / "out", a, b) == 0
    for seed in (1, 2):
        assert (tmp_path / "out" / "whole" / f"seed-{seed}" / "knowledge.db").is_file()
    shutil.copytree(a, tmp_path / "split")
    shutil.rmtree(tmp_path / "split" / "whole" / "seed-1" / "episodes" / "episode-1")
    shutil.rmtree(a / "whole" / "seed-1" / "episodes" / "episode-2")
    assert merge(tmp_path / "other", a, tmp_path / "split") == 2
    assert "only some of the episodes of whole, seed 1" in capsys.readouterr().err


def test_a_folder_without_an_evaluation_is_refused_and_not_made(
    tmp_path: Path, capsys: Capture
) -> None:
    a = evaluation(tmp_path / "a", {"whole": {1: [5]}})
    assert merge(tmp_path / "out", a, tmp_path / "nowhere") == 2
    assert f"There is no evaluation in {tmp_path / 'nowhere'}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
