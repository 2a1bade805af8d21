"""How sure a mean over seeds is: a bootstrap interval, or the reason why there is none.

The interval is Hesterberg's expanded percentile interval ("What Teachers Should Know About the
Bootstrap", 2015). A plain percentile interval of few values is too narrow: of five, it holds the
true mean 83 times in 100 instead of 95. So the percentiles are moved outwards, as far as Student's
t lies beyond the normal distribution and a sample's spread falls short of the population's.

Of many seeds, nothing is drawn: what the percentiles of all resamples would be follows from the
spread of the values, their skewness and their kurtosis, by Cornish and Fisher's expansion. It
differs from what drawing finds about as much as one drawing does from another; where one seed
alone makes the mean, it is a little wider.

Over the games of a suite, games are drawn first, then the seeds of each. The games' means already
differ because of their seeds, which must not count twice (Davison and Hinkley, "Bootstrap Methods
and Their Application", 1997, 3.8): so the seeds add only what the spread of the means lacks.
"""

import itertools
import math
import operator
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

CONFIDENCE = 0.95
POWER = 0.8
"""How likely a difference should show where it is said how many seeds would show it."""
RESAMPLES = 10_000
_OF_A_GAME = 200
"""Resamples of the seeds of one game, of which those of all games are drawn."""
MOST_RESAMPLED = 50
"""Seeds at most that resamples are drawn of; of more, the percentiles are calculated."""
METHOD = (
    "expanded percentile bootstrap (Hesterberg 2015) of the mean over seeds, each seed with the "
    f"mean of its episodes; {RESAMPLES:,} resamples, the same ones each time, or, for more than "
    f"{MOST_RESAMPLED} seeds, the percentiles by the Cornish-Fisher expansion"
)
OVER_GAMES = (
    "macro-average: each game counts once, with the mean of its seeds; expanded hierarchical "
    "bootstrap, games first, then seeds by what the spread of the games' means lacks; "
    f"{RESAMPLES:,} resamples"
)
_NORMAL = statistics.NormalDist()


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and where the true one lies."""

    mean: float
    seeds: int
    spread: float
    """The standard deviation over seeds; 0 for a single one."""
    interval: tuple[float, float] | None
    """None where the values cannot tell."""
    games: int | None = None
    """Of how many games, where it is a mean over games; then ``spread`` is that over them."""

    @classmethod
    def of(cls, values: Sequence[float], resamples: int | None = None) -> "Estimate | None":
        """Estimate from one value for each seed; None of nothing."""
        if not values:
            return None
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        interval = interval_of(values, resamples)
        return cls(statistics.fmean(values), len(values), spread, interval)

    @classmethod
    def over_seeds(
        cls, values: Iterable[tuple[object, float]], resamples: int | None = None
    ) -> "Estimate | None":
        """Estimate from episodes, each with its seed; those of one seed count once, as their mean.

        They share the game's dice and, where knowledge is carried over, what was learned.
        """
        means = _seed_means(values)
        if len(means) > MOST_RESAMPLED:
            return cls.of(means)
        return _resampled(tuple(means), resamples or RESAMPLES)

    @classmethod
    def over_games(
        cls, values: Iterable[tuple[str, object, float]], resamples: int | None = None
    ) -> "Estimate | None":
        """Estimate from episodes of several games, each with its game and seed."""
        by_game: defaultdict[str, list[tuple[object, float]]] = defaultdict(list)
        for game, seed, value in values:
            by_game[game].append((seed, value))
        games = tuple(sorted(tuple(_seed_means(each)) for each in by_game.values()))
        return _resampled_games(games, resamples or RESAMPLES) if games else None

    @property
    def all_equal(self) -> bool:
        """Whether every seed, or game, gave the same, which says nothing about the spread."""
        return not self.spread

    def seeds_needed(self) -> int | None:
        """Estimate how many seeds would show that the mean is not 0, if it is what it seems."""
        if not self.mean or self.all_equal:
            return None
        reach = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2) + _NORMAL.inv_cdf(POWER)
        return max(LEAST_SEEDS, math.ceil((reach * self.spread / self.mean) ** 2) + 2)

    def figures(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        low, high = self.interval or (None, None)
        rounded = {"mean": self.mean, "low": low, "high": high, "spread": self.spread}
        return {
            **{name: None if it is None else round(it, 6) for name, it in rounded.items()},
            "seeds": self.seeds,
            **({} if self.games is None else {"games": self.games}),
        }


def _seed_means(values: Iterable[tuple[object, float]]) -> list[float]:
    """The mean of each seed, in order of size."""
    by_seed: defaultdict[object, list[float]] = defaultdict(list)
    for seed, value in values:
        by_seed[seed].append(value)
    return sorted(map(statistics.fmean, by_seed.values()))


@lru_cache(maxsize=4096)
def _resampled_games(games: tuple[tuple[float, ...], ...], resamples: int) -> Estimate:
    """The estimate of the mean over games, of which each has the means of its seeds.

    A drawn game with its drawn seeds is one draw from all games with all resamples of their seeds,
    so that a resample is as many such draws as there are games.
    """
    means, count = [statistics.fmean(seeds) for seeds in games], len(games)
    spread = statistics.stdev(means) if count > 1 else 0.0
    found = Estimate(statistics.fmean(means), sum(map(len, games)), spread, None, count)
    if count < LEAST_SEEDS or len(set(means)) == 1:
        return found
    within = statistics.fmean(
        statistics.variance(seeds) / len(seeds) if len(seeds) > 1 else 0.0 for seeds in games
    )
    between = statistics.variance(means)
    added = math.sqrt(max(0.0, within - between) / within) if within else 0.0
    dice = random.Random(1)  # noqa: S311  the same resamples each time
    draws: list[float] = []
    for seeds, mean in zip(games, means, strict=True):
        wider = added * math.sqrt(len(seeds) / max(1, len(seeds) - 1))
        for _ in range(_OF_A_GAME if added else 1):
            drawn = math.fsum(dice.choices(seeds, k=len(seeds))) / len(seeds)
            draws.append(mean + wider * (drawn - mean))
    drawn_means = sorted(math.fsum(dice.choices(draws, k=count)) / count for _ in range(resamples))
    freedom = sum(len(seeds) - 1 for seeds in games) if added else count - 1
    tail = _NORMAL.cdf(-math.sqrt(count / (count - 1)) * _student(freedom))
    beyond = max(1, math.ceil(tail * resamples))
    return replace(found, interval=(drawn_means[beyond - 1], drawn_means[-beyond]))


@lru_cache(maxsize=4096)
def _resampled(values: tuple[float, ...], resamples: int) -> Estimate | None:
    """The estimate, kept: scores hold for many turns."""
    return Estimate.of(values, resamples)


def interval_of(
    values: Sequence[float], resamples: int | None = None
) -> tuple[float, float] | None:
    """The interval for their mean; None where they are too few, or all equal."""
    resamples = resamples or RESAMPLES
    if len(values) < LEAST_SEEDS or len(set(values)) == 1:
        return None
    ordered = sorted(values)  # the order of seeds must not matter
    if len(ordered) > MOST_RESAMPLED:
        return _calculated(ordered)
    means = sorted(
        (math.fsum(drawn(ordered)) / len(ordered), times)
        for drawn, times in _resamples(len(ordered), resamples)
    )
    outside = math.ceil(_tail(len(values)) * resamples)
    return _from_outside(means, outside), _from_outside(means[::-1], outside)


@lru_cache(maxsize=2)
def _resamples(
    count: int, resamples: int
) -> list[tuple[Callable[[Sequence[float]], tuple[float, ...]], int]]:
    """What takes the drawn ones of all, and how often: few seeds have few different resamples."""
    draw = random.Random(1)  # noqa: S311  the same resamples each time
    drawn = Counter(tuple(sorted(draw.choices(range(count), k=count))) for _ in range(resamples))
    return [(operator.itemgetter(*places), times) for places, times in drawn.items()]


def _calculated(ordered: Sequence[float]) -> tuple[float, float]:
    """The same percentiles, of all resamples there are, from the shape of the values."""
    count, mean = len(ordered), statistics.fmean(ordered)
    second, third, fourth = (
        math.fsum((it - mean) ** power for it in ordered) / count for power in (2, 3, 4)
    )
    skewness = third / second**1.5 / math.sqrt(count)
    kurtosis = (fourth / second**2 - 3) / count
    far = -_NORMAL.inv_cdf(_tail(count))
    level = far + (far**3 - 3 * far) / 24 * kurtosis - (2 * far**3 - 5 * far) / 36 * skewness**2
    shift, error = (far**2 - 1) / 6 * skewness, math.sqrt(second / count)
    low, high = mean + (shift - level) * error, mean + (shift + level) * error
    return max(low, ordered[0]), min(high, ordered[-1])


def _from_outside(means: Sequence[tuple[float, int]], outside: int) -> float:
    """The mean with that rank, where each counts as often as it was drawn."""
    ranks = itertools.accumulate(times for _, times in means)
    return next(mean for (mean, _), rank in zip(means, ranks, strict=True) if rank >= outside)


def _tail(count: int) -> float:
    """What share of the resamples of ``count`` values lies beyond each end of the interval."""
    factor = math.sqrt(count / (count - 1))
    return _NORMAL.cdf(-factor * _student(count - 1))


def _student(freedom: int) -> float:
    """The quantile of Student's t, by Fisher and Cornish's expansion: from 4 on, to 0.001."""
    z = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


LEAST_SEEDS = next(count for count in range(2, 100) if _tail(count) >= count**-count)
"""Fewer have no interval: their outermost resample, which is one value again and again and has a
share of ``count ** -count``, is not rare enough to be left outside."""
