"""Evaluations beside each other, with known scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.evaluate import main
from tests.evaluation.made_up import evaluation

Capture = pytest.CaptureFixture[str]
OLD = {seed: [10 * seed] for seed in range(1, 7)}
NEW = {seed: [10 * seed + 3 + seed % 2] for seed in range(1, 7)}


def compare(capsys: Capture, *words: object) -> dict[str, Any]:
    assert main(["compare", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_two_models_are_compared_seed_by_seed(tmp_path: Path, capsys: Capture) -> None:
    old = evaluation(tmp_path / "old", {"whole": OLD}, model="old-model")
    new = evaluation(tmp_path / "new", {"whole": NEW}, model="new-model")
    found = compare(capsys, old, new)
    first, second = found["variants"]
    assert "difference" not in first
    difference = second["difference"]["1"]["score"]
    assert (difference["mean"], difference["seeds"]) == (3.5, 6)
    assert (difference["low"], difference["high"]) == (3, 4)
    (sentence,) = found["findings"]
    assert sentence == (
        "At turn 1, the score of new is higher than that of old: "
        "+3.5 [+3, +4] (95% interval, 6 seeds)."
    )
    assert found["differing"] == {"model": {"old": ["old-model"], "new": ["new-model"]}}


def test_what_differs_is_listed_and_nothing_else(tmp_path: Path, capsys: Capture) -> None:
    old = evaluation(tmp_path / "old", {"whole": OLD})
    prompts = {"agent": "e" * 64}
    settings = {"max_turns_stuck": 9}
    new = evaluation(tmp_path / "new", {"whole": NEW}, prompts=prompts, configuration=settings)
    assert compare(capsys, old, new)["differing"] == {
        "max_turns_stuck": {"old": 40, "new": 9},
        "prompt agent": {"old": "d" * 64, "new": "e" * 64},
    }
    assert main(["compare", str(old), str(new), "--to", str(tmp_path / "report")]) == 0
    text = (tmp_path / "report" / "comparison.md").read_text()
    assert "|  | old | new |" in text
    assert f"| prompt agent | {'d' * 12} | {'e' * 12} |" in text
    assert "| new | 1 | 6 | 38.5 [" in text
    assert "| +3.5 [+3, +4] | higher |" in text
    assert json.loads((tmp_path / "report" / "comparison.json").read_text())["turn"] == 1


def test_without_a_difference_in_the_settings_no_table_is_empty(
    tmp_path: Path, capsys: Capture
) -> None:
    old = evaluation(tmp_path / "old", {"random": OLD})
    new = evaluation(tmp_path / "new", {"first-exit": NEW})
    assert main(["compare", str(old), str(new)]) == 0
    shown = capsys.readouterr().out
    assert "What differs" not in shown
    assert "is higher than that of old" in shown


def test_variants_are_compared_with_those_of_the_same_name(tmp_path: Path, capsys: Capture) -> None:
    old = evaluation(tmp_path / "old", {"whole": OLD, "bare": NEW})
    new = evaluation(tmp_path / "new", {"bare": NEW, "other": OLD})
    variants = {it["variant"]: it for it in compare(capsys, old, new)["variants"]}
    assert list(variants) == ["old: whole", "old: bare", "new: bare", "new: other"]
    assert variants["new: bare"]["difference"]["1"]["score"]["mean"] == 0
    assert "difference" not in variants["new: other"]


def test_single_variants_are_compared_whatever_their_names(tmp_path: Path, capsys: Capture) -> None:
    chat = evaluation(tmp_path / "a", {"chat": OLD})
    model = evaluation(tmp_path / "b", {"model": NEW})
    assert compare(capsys, chat, model)["variants"][1]["difference"]["1"]["score"]["mean"] == 3.5


def test_only_seeds_of_both_are_paired(tmp_path: Path, capsys: Capture) -> None:
    old = evaluation(tmp_path / "old", {"whole": OLD})
    new = evaluation(tmp_path / "new", {"whole": {5: [0], 6: [1], 7: [99]}})
    found = compare(capsys, old, new)
    assert found["variants"][1]["difference"]["1"]["score"]["seeds"] == 2
    assert found["findings"][0].startswith(
        "2 seeds are too few to tell whether new is better or worse"
    )


def test_evaluations_of_one_name_are_told_apart_by_their_folders(
    tmp_path: Path, capsys: Capture
) -> None:
    folders = [evaluation(tmp_path / name, {"whole": OLD}, name="same") for name in "ab"]
    assert compare(capsys, *folders)["evaluations"] == [str(folder) for folder in folders]


def test_fewer_turns_can_be_compared_where_the_numbers_differ(
    tmp_path: Path, capsys: Capture
) -> None:
    one = evaluation(tmp_path / "one", {"whole": OLD})
    other = evaluation(tmp_path / "other", {"whole": NEW}, turns=9)
    assert main(["compare", str(one), str(other)]) == 2
    assert "1 in one, 9 in other" in (said := capsys.readouterr().err)
    assert "add --turns 1" in said
    assert compare(capsys, one, other, "--turns", 1)["turn"] == 1
    assert main(["compare", str(one), str(other), "--turns", "2"]) == 2
    assert "--turns 2 is more than they all have" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"story": {"title": "Another", "sha256": "f" * 64}}, "different stories"),
        ({"protocol": {"name": "strict", "sha256": "f" * 64}}, "add --across-protocols"),
    ],
)
def test_what_is_not_comparable_is_refused(
    tmp_path: Path, capsys: Capture, changes: dict[str, Any], said: str
) -> None:
    one = evaluation(tmp_path / "one", {"whole": OLD})
    other = evaluation(tmp_path / "other", {"whole": OLD}, **changes)
    assert main(["compare", str(one), str(other)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_protocols_can_be_compared_by_somebody_who_means_it(
    tmp_path: Path, capsys: Capture
) -> None:
    one = evaluation(tmp_path / "one", {"whole": OLD})
    strict = {"name": "strict", "sha256": "f" * 64}
    other = evaluation(tmp_path / "other", {"whole": OLD}, protocol=strict)
    found = compare(capsys, one, other, "--across-protocols")
    assert found["differing"] == {"protocol": {"one": None, "other": strict}}
    assert main(["compare", str(one), str(other), "--across-protocols"]) == 0
    assert f"strict {'f' * 12}" in capsys.readouterr().out


def test_wrong_folders_are_said_to_be_wrong(tmp_path: Path, capsys: Capture) -> None:
    one = evaluation(tmp_path / "one", {"whole": OLD})
    assert main(["compare", str(one), str(tmp_path)]) == 2
    assert f"There is no evaluation in {tmp_path}" in capsys.readouterr().err
    assert main(["compare", str(one), str(one)]) == 2
    assert "named twice" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["compare", str(one)])
