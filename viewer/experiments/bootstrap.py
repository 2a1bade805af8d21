"""How sure a mean over seeds is: a bootstrap interval, or the reason why there is none.

The interval is Hesterberg's expanded percentile interval ("What Teachers Should Know About the
Bootstrap", 2015). A plain percentile interval of few values is too narrow: of five, it holds the
true mean 83 times in 100 instead of 95. So the percentiles are moved outwards, as far as Student's
t lies beyond the normal distribution and a sample's spread falls short of the population's.
"""

import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

CONFIDENCE = 0.95
POWER = 0.8
"""How likely a difference should show where it is said how many seeds would show it."""
RESAMPLES = 10_000
METHOD = (
    "expanded percentile bootstrap (Hesterberg 2015) of the mean over seeds, each seed with the "
    f"mean of its episodes; {RESAMPLES:,} resamples, the same ones each time"
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

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate | None":
        """Of one value for each seed; None of nothing."""
        if not values:
            return None
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), len(values), spread, interval_of(values))

    @property
    def all_equal(self) -> bool:
        """Whether every seed gave the same, which tells nothing of how others would differ."""
        return not self.spread

    def seeds_needed(self) -> int | None:
        """About how many seeds would show that the mean is not 0, if it is what it seems."""
        if not self.mean or self.all_equal:
            return None
        reach = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2) + _NORMAL.inv_cdf(POWER)
        return max(LEAST_SEEDS, math.ceil((reach * self.spread / self.mean) ** 2) + 2)

    def figures(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        low, high = self.interval or (None, None)
        rounded = {"mean": self.mean, "low": low, "high": high, "spread": self.spread}
        return {
            **{name: None if it is None else round(it, 6) for name, it in rounded.items()},
            "seeds": self.seeds,
        }


def interval_of(values: Sequence[float]) -> tuple[float, float] | None:
    """The interval for their mean; None where they are too few, or all equal."""
    if len(values) < LEAST_SEEDS or len(set(values)) == 1:
        return None
    ordered = sorted(values)  # the order of seeds must not matter
    means = sorted(
        (statistics.fmean([ordered[at] for at in drawn]), times)
        for drawn, times in _resamples(len(ordered), RESAMPLES)
    )
    outside = math.ceil(_tail(len(values)) * RESAMPLES)
    return _from_outside(means, outside), _from_outside(means[::-1], outside)


@lru_cache(maxsize=4)
def _resamples(count: int, resamples: int) -> list[tuple[tuple[int, ...], int]]:
    """The places drawn, and how often: few seeds have few different resamples."""
    draw = random.Random(1)  # noqa: S311  the same resamples each time
    drawn = Counter(tuple(sorted(draw.choices(range(count), k=count))) for _ in range(resamples))
    return list(drawn.items())


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


def _least_seeds() -> int:
    """The fewest values of which some resample lies that far outside.

    The outermost one, which is one value again and again, has a share of ``count ** -count``.
    """
    return next(count for count in range(2, 100) if _tail(count) >= count**-count)


LEAST_SEEDS = _least_seeds()
"""Fewer have no interval: even their outermost resample is not rare enough to be left outside."""
