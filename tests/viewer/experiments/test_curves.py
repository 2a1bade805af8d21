from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from evaluation.bootstrap import LEAST_SEEDS, Estimate
from mcp_ghost.results import JSONObject
from tests.support.viewing import log_of, recorded, write_log
from viewer.experiments.curves import LEAST_RESAMPLES, POINTS, curves, lines_of
from viewer.library import Library
from viewer.turns import encoded

ENDS = (2, 4, 6, 8, 10, 12)
"""The turn after which each seed's episode ends."""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Two models with the same seeds; one more episode was stopped."""
    events = log_of(recorded(tmp_path / "source"))
    for model in ("birch", "cedar"):
        for seed, last in enumerate(ENDS, 1):
            kept = changed(events, last, model=model, seed=seed)
            write_log(tmp_path / "work" / "episodes" / f"{model}-{seed}", kept)
    stopped = [it for it in events if it["event_type"] != "episode_end"]
    write_log(tmp_path / "work" / "episodes" / "stopped", stopped)
    return Library(tmp_path / "work")


def changed(events: list[dict[str, Any]], last: int, **start: object) -> list[dict[str, Any]]:
    kept = [it for it in events if it["turn"] <= last or it["event_type"] == "episode_end"]
    return [{**it, **start} if it["event_type"] == "episode_start" else it for it in kept]


def drawn(library: Library, by: str, figure: str) -> JSONObject:
    told: JSONObject = json.loads(encoded(curves(library.episodes(), by, figure)))
    return told


def test_a_curve_is_the_mean_over_seeds_with_the_interval_of_evaluations(library: Library) -> None:
    told = drawn(library, "model", "score")
    assert [it["name"] for it in told["groups"]] == ["birch", "cedar"]
    assert (told["left_out"], told["least_seeds"]) == (1, LEAST_SEEDS)
    group = told["groups"][0]
    assert (group["episodes"], group["seeds"], group["turns"]) == (len(ENDS), len(ENDS), 12)
    rows = [it.summary() for it in library.episodes() if it.id.startswith("birch")]
    estimate = Estimate.of([row["score"] for row in rows])
    assert estimate is not None
    assert estimate.interval is not None
    expected = [round(it, 6) for it in (estimate.mean, *estimate.interval)]
    assert group["curve"][-1] == [12, *expected]
    assert group["figures"]["score"] == expected
    assert group["curve"][0][1:] == [0, None, None]  # all equal: how others differ is not known


def test_bands_of_many_groups_draw_less_before_their_end(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = drawn(library, "model", "score")["groups"][0]
    monkeypatch.setattr("viewer.experiments.curves.MOST_DRAWN", 1)
    group = drawn(library, "model", "score")["groups"][0]
    assert group["figures"] == whole["figures"]
    assert group["curve"][-1] == whole["curve"][-1]
    assert [it[:2] for it in group["curve"]] == [it[:2] for it in whole["curve"]]
    rows = [it.summary() for it in library.episodes() if it.id.startswith("birch")]
    then = [[score for turn, score in row["scores"] if turn <= 10][-1] for row in rows]
    estimate = Estimate.of(then, LEAST_RESAMPLES)
    assert estimate is not None
    assert estimate.interval is not None
    assert group["curve"][10] == [10, *(round(it, 6) for it in (estimate.mean, *estimate.interval))]


def test_what_an_episode_used_holds_after_its_end_and_is_told_for_each_turn(
    library: Library,
) -> None:
    group = drawn(library, "model", "tokens")["groups"][0]
    episodes = [it for it in library.episodes() if it.id.startswith("birch")]
    used = [it.spent()[-1][1] for it in episodes]
    turns = [it.summary()["turns"] for it in episodes]
    assert group["curve"][-1][1] == pytest.approx(sum(used) / len(used))
    per_turn = [tokens / count for tokens, count in zip(used, turns, strict=True)]
    assert group["figures"]["tokens"][0] == pytest.approx(sum(per_turn) / len(per_turn))


def test_a_seed_is_one_observation_however_many_episodes_it_has(library: Library) -> None:
    told = drawn(library, "seed", "score")
    assert [(it["name"], it["episodes"], it["seeds"]) for it in told["groups"]] == [
        (f"seed {seed}", 2, 1) for seed in range(1, 7)
    ]
    assert all(it["figures"]["score"][1] is None for it in told["groups"])
    (group,) = drawn(library, "variant", "best_score")["groups"]
    assert (group["name"], group["episodes"], group["seeds"]) == ("all parts", 12, 6)


def test_curves_are_the_same_whether_a_log_was_read_or_its_summary_recalled(
    library: Library,
) -> None:
    first = drawn(library, "model", "seconds")
    again = Library(library.workdir)
    assert drawn(again, "model", "seconds") == first
    assert not any(it.is_read for it in again.episodes() if it.id != "stopped")


def test_long_curves_have_a_bounded_number_of_points_and_the_last_turn() -> None:
    class Long:
        def summary(self) -> JSONObject:
            return {
                "id": "long", "end_reason": "max_turns", "seed": 1, "title": "T", "story": "t",
                "model": "m", "turns": 1999, "scores": [(0, 0), (7, 5), (1999, 5)], "hints": 1,
            }  # fmt: skip

        def spent(self) -> list[tuple[int, int, float, float]]:
            return [(1000, 7, 0.5, 2.0), (1999, 9, 1.0, 3.0)]

    (group,) = curves([Long()], "model", "cost")["groups"]  # type: ignore[list-item]  # all of it that is needed
    assert len(group["curve"]) <= POINTS + 2
    assert group["curve"][-1] == [1999, 1.0, None, None]
    assert group["hinted"] == 1


def test_a_thousand_seeds_take_seconds_and_not_minutes() -> None:
    class Stub:
        def __init__(self, seed: int) -> None:
            self.dice = random.Random(seed)
            scores = [(turn, self.dice.randrange(5) + turn // 9) for turn in range(200)]
            self.row = {
                "id": f"e{seed}", "end_reason": "max_turns", "seed": seed, "title": "T",
                "story": "t", "model": "m", "turns": 199, "scores": scores, "hints": 0,
            }  # fmt: skip

        def summary(self) -> JSONObject:
            return self.row

        def spent(self) -> list[tuple[int, int, float, float]]:
            return [(turn, turn * 7, turn * 0.5, turn * 2.0) for turn in (50, 100, 199)]

    stubs: list[Any] = [Stub(seed) for seed in range(1000)]
    began = time.process_time()
    (group,) = curves(stubs, "model", "score")["groups"]
    assert time.process_time() - began < 10  # drawing took minutes
    assert group["seeds"] == 1000
    _, mean, low, high = group["curve"][-1]
    assert low < mean < high < low + 0.3


def test_the_best_score_never_falls() -> None:
    row = {"scores": [(0, 0), (3, 10), (4, 4), (9, 12)]}
    assert lines_of(row, [])["best_score"] == [(0, 0), (3, 10), (4, 10), (9, 12)]
