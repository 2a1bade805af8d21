"""Intervals against samples whose true mean is known."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

import pytest

from evaluation import bootstrap
from evaluation.bootstrap import LEAST_SEEDS, Estimate, interval_of

SCORES = (0, 0, 0, 5, 5, 5, 10, 10, 15, 25)
"""A skewed game."""


def normal(dice: random.Random) -> float:
    return dice.gauss(0, 1)


def skewed(dice: random.Random) -> float:
    return dice.choice(SCORES) - statistics.fmean(SCORES)


def paired(dice: random.Random) -> float:
    return dice.choice(SCORES) - dice.choice(SCORES)


@pytest.mark.parametrize("count", [5, 8, 15])
@pytest.mark.parametrize("draw", [normal, skewed, paired])
def test_an_interval_holds_the_true_mean_about_as_often_as_it_says(
    count: int, draw: Callable[[random.Random], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "RESAMPLES", 2000)
    dice = random.Random(count)
    held = []
    for _ in range(300):
        values = [draw(dice) for _ in range(count)]
        low, high = interval_of(values) or (values[0], values[0])
        held.append(low <= 1e-9 and high >= -1e-9)
    # Plain percentiles hold that of five normal values 83 times in 100, and fail here.
    assert 0.88 <= statistics.fmean(held) <= 0.99


def test_the_interval_of_many_values_is_that_of_the_normal_distribution() -> None:
    values = list(range(100))
    low, high = interval_of(values) or (0, 0)
    half = 1.984 * statistics.stdev(values) / 10
    assert low == pytest.approx(49.5 - half, abs=0.5)
    assert high == pytest.approx(49.5 + half, abs=0.5)


@pytest.mark.parametrize("count", [60, 150])
@pytest.mark.parametrize("draw", [normal, skewed, lambda dice: dice.lognormvariate(0, 1)])
def test_of_many_values_the_interval_is_calculated_and_about_the_one_drawn(
    count: int, draw: Callable[[random.Random], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(count)
    values = [draw(dice) for _ in range(count)]
    drawings = bootstrap._resamples.cache_info()
    calculated = interval_of(values)
    assert bootstrap._resamples.cache_info() == drawings
    monkeypatch.setattr(bootstrap, "RESAMPLES", 4000)
    monkeypatch.setattr(bootstrap, "MOST_RESAMPLED", count)
    error = statistics.stdev(values) / count**0.5
    assert calculated == pytest.approx(interval_of(values), abs=0.12 * error)


def test_of_fifty_values_it_is_still_the_one_drawn() -> None:
    assert interval_of([it * it for it in range(20)]) == (72.6, 179.35)
    assert interval_of([it * it for it in range(50)]) == (604.46, 1021.78)


def test_where_one_of_many_makes_the_mean_the_interval_stays_within_what_was_seen() -> None:
    low, high = interval_of([0] * 99 + [1]) or (-1, -1)
    assert low == 0
    assert 0.02 <= high <= 0.05


def test_the_interval_of_five_values_is_that_counted_by_hand() -> None:
    # Of 5 ** 5 resamples one is 10 five times, and five are 10 four times and 15: 11 on average.
    # Beyond each end of the interval lies a share of 0.00096, or three of them: inside those five.
    assert interval_of([10, 15, 20, 25, 30]) == (11, 29)


def test_the_same_values_in_another_order_have_the_same_interval() -> None:
    assert interval_of([5, 0, 10, 2, 7, 1]) == interval_of([0, 1, 2, 5, 7, 10])


def test_an_interval_stays_within_what_was_seen() -> None:
    low, high = interval_of([0, 0, 0, 0, 10]) or (-1, -1)
    assert 0 <= low < 2 < high <= 10


def test_fewer_than_five_values_have_no_interval() -> None:
    assert LEAST_SEEDS == 5
    assert interval_of([0, 5, 10, 40]) is None
    assert interval_of([0, 5, 10, 40, 5]) is not None


def test_equal_values_tell_nothing_of_others() -> None:
    estimate = Estimate.of([10] * 9)
    assert estimate is not None
    assert (estimate.mean, estimate.interval, estimate.all_equal) == (10, None, True)
    assert estimate.seeds_needed() is None


def test_nothing_has_no_mean() -> None:
    assert Estimate.of([]) is None


def test_the_seeds_that_would_show_a_difference_show_it_four_times_in_five(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bootstrap, "RESAMPLES", 1000)
    estimate = Estimate(mean=1.0, seeds=5, spread=2.0, interval=None)
    needed = estimate.seeds_needed()
    assert needed == 34
    dice = random.Random(1)
    shown = []
    for _ in range(200):
        low, _ = interval_of([dice.gauss(1, 2) for _ in range(needed)]) or (0, 0)
        shown.append(low > 0)
    assert 0.7 < statistics.fmean(shown) < 0.9
