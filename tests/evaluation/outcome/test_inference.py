"""What an evaluation says of its variants, from scores with known answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.figures import EpisodeFigures
from evaluation.outcome import inference
from evaluation.outcome.comparison import comparison_of
from evaluation.outcome.comparison import tables_of as comparison_tables
from evaluation.outcome.inference import finished, mean
from evaluation.plan import Cell
from evaluation.plot import plot_learning
from evaluation.report import markdown_of, results_of, tables_of
from tests.evaluation.made_up import episode, played

FINAL = (EpisodeFigures.score_at, 1)


def scores(*values: int) -> dict[int, list[int]]:
    return {seed: [value] for seed, value in enumerate(values, 1)}


def results(**by_variant: dict[int, list[int]]) -> dict[str, Any]:
    return results_of(played(by_variant))


def test_episodes_of_one_seed_count_as_one() -> None:
    once = played({"whole": {seed: [seed] for seed in range(1, 7)}})
    often = played({"whole": {seed: [seed] * 10 for seed in range(1, 7)}})
    assert mean(once.episodes, *FINAL) == mean(often.episodes, *FINAL)
    uneven = played({"whole": {1: [0, 0, 0], 2: [10]}})
    assert (it := mean(uneven.episodes, *FINAL))
    assert (it.mean, it.seeds) == (5, 2)


def test_differences_are_between_equal_seeds_and_episodes() -> None:
    both = played({"whole": {1: [1, 2], 2: [9]}, "bare": {1: [4, 6], 3: [40], 2: [9, 50]}})
    assert (it := mean(both.of("bare"), *FINAL, both.of("whole")))
    assert (it.mean, it.seeds) == (((3 + 4) / 2 + 0) / 2, 2)


def test_an_episode_that_failed_counts_as_far_as_it_was_played_and_not_among_the_finished() -> None:
    both = played({"whole": scores(1, 2), "bare": scores(3, 4)})
    whole = dict(both.of("whole"))
    first = next(iter(whole))
    whole[first] = episode([0], "llm_unavailable")
    assert (it := mean(both.of("bare"), *FINAL, whole))
    assert (it.mean, it.seeds) == (2.5, 2)
    assert (it := mean(both.of("bare"), *FINAL, finished(whole)))
    assert (it.mean, it.seeds) == (2, 1)


def test_pairing_shows_what_the_spread_of_the_seeds_would_hide() -> None:
    whole, better = (0, 10, 20, 30, 40, 50), (2, 13, 22, 33, 43, 52)
    figures = results(whole=scores(*whole), better=scores(*better))
    (at,) = figures["variants"][1]["difference"].values()
    assert at["score"]["mean"] == 2.5
    assert at["score"]["low"] == 2
    (sentence,) = figures["findings"]
    assert (
        "the score of better is higher than that of whole: +2.5 [+2, +3] (95% interval, 6 seeds)"
        in sentence
    )
    means = [figures["variants"][number]["mean"]["1"]["score"] for number in (0, 1)]
    assert means[0]["high"] > means[1]["low"]  # apart from each other they overlap


def test_what_cannot_be_told_is_said_with_the_seeds_that_it_would_take() -> None:
    found = results(whole=scores(0, 5, 10, 0, 5), other=scores(5, 0, 10, 5, 2))["findings"]
    assert len(found) == 1
    assert "It is unclear whether other is better or worse than whole" in found[0]
    assert "seeds would show it" in found[0]


def test_few_seeds_are_said_to_be_too_few() -> None:
    figures = results(whole=scores(0, 5, 10), other=scores(9, 9, 19), third=scores(1, 1, 1))
    (sentence,) = figures["findings"]
    assert sentence == (
        "3 seeds are too few to tell whether other and third are better or worse than whole: "
        "an interval needs at least 5."
    )
    assert "| other | 1 | 3 | 12.3 | 25% | +7.3 | too few seeds |" in markdown_of(figures, 1)


def test_a_difference_that_never_varies_is_told_as_such() -> None:
    figures = results(whole=scores(*[5] * 6), same=scores(*[5] * 6), more=scores(*[8] * 6))
    assert [row[6] for row in tables_of(figures, 1)[1].rows] == [
        "-",
        "equal",
        "the same for every seed",
    ]
    assert "same scores the same as whole with every seed, so these" in figures["findings"][0]
    assert "more differs from whole by +3 with every seed, so these" in figures["findings"][1]


def test_many_comparisons_come_with_a_warning() -> None:
    figures = results(
        whole=scores(0, 5, 10, 0, 5), a=scores(5, 0, 10, 5, 2), b=scores(9, 9, 19, 8, 9)
    )
    assert (
        "Each of the 2 intervals has a chance of about 5% of missing the true difference"
        in figures["findings"][-1]
    )


def test_scores_are_also_shares_of_the_maximum() -> None:
    text = markdown_of(results(whole=scores(10, 20, 30, 25, 15)), 1)
    assert "| variant | turn | seeds | mean | of 50 |\n" in text
    assert text.count("| whole | 1 | 5 | 20 [11, 29] | 40% |\n") == 2


def test_what_is_learned_shows_from_episode_to_episode() -> None:
    rising = {seed: [seed, seed + 5, seed + 9 + seed % 2] for seed in range(1, 7)}
    learned = inference.learning(played({"whole": rising}))
    assert [it["episode"] for it in learned] == [1, 2, 3]
    assert [it["score"]["mean"] for it in learned] == [3.5, 8.5, 13]
    assert learned[0]["since_the_first"] is None
    assert learned[1]["since_the_first"]["mean"] == 5
    assert (learned[2]["since_the_first"]["mean"], learned[2]["score"]["seeds"]) == (9.5, 6)
    assert learned[2]["since_the_first"]["low"] == 9
    text = markdown_of(results_of(played({"whole": rising})), 1)
    assert "| whole | 2 | 6 | 8.5 [" in text
    assert "| +5 | the same for every seed |" in text


def test_one_episode_of_each_seed_is_no_learning_curve() -> None:
    assert inference.learning(played({"whole": scores(1, 2)})) == []
    assert "by episode" not in markdown_of(results(whole=scores(1, 2)), 1)


def test_a_score_that_nobody_knows_is_in_no_figure_and_is_said() -> None:
    known = played({"whole": scores(1, 2, 3)})
    for figures in known.episodes.values():
        figures.scores = [(turn, None) for turn, _ in figures.scores]
    found = results_of(known)
    whole = found["variants"][0]
    assert whole["score"] == whole["best_score"] == {"1": None}
    assert whole["mean"]["1"] == {"score": None, "best_score": None}
    assert "THE SCORE IS UNKNOWN in 3 episodes" in found["statement"]
    assert "| whole | 1 | 0 | - | - |" in markdown_of(found, 1)


@pytest.mark.parametrize(("carried", "hinted"), [(False, [0, 1, 0]), (True, [0, 1, 1])])
def test_who_knows_what_an_episode_with_hints_learned_is_marked_too(
    *, carried: bool, hinted: list[int]
) -> None:
    learned = played({"whole": {1: [0, 5, 9], 2: [1, 2, 3]}})
    learned = replace(learned, agreed={**learned.agreed, "knowledge_carried_over": carried})
    learned.episodes[Cell("whole", 1, 2)].hints = 1
    assert [it["hinted"] for it in inference.learning(learned)] == hinted


@pytest.mark.slow
def test_wherever_a_person_helped_the_variant_is_marked(tmp_path: Path) -> None:
    rising = {seed: [seed, seed + 5] for seed in range(1, 7)}
    both = played({"whole": rising, "bare": rising})
    for key, figures in both.episodes.items():
        figures.hints = 2 * (key == Cell("bare", 3, 2))
    found = results_of(both)
    marks = {row[0] for table in tables_of(found, 1) for row in table.rows if "bare" in row[0]}
    assert marks == {
        "bare (1 of 12 WITH HINTS)",
        "bare (1 of 6 WITH HINTS)",  # of the second episodes
        "bare",  # the first ones
    }
    assert [it["hinted"] for it in found["learning"]] == [0, 0, 0, 1]
    assert found["findings"][0].startswith("bare (1 of 12 WITH HINTS) scores the same as whole")
    compared = comparison_of({"alone": played({"bare": rising}), "both": both}, 1)
    for table in comparison_tables(compared)[1:]:
        names = {row[0] for row in table.rows}
        assert names == {"alone", "both: whole", "both: bare (1 of 12 WITH HINTS)"}
    _, svg = plot_learning(found["learning"], "A made-up game", 50, tmp_path)
    assert "<!-- bare, WITH HINTS" in svg.read_text()
