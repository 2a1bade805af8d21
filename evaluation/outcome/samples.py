"""What is averaged: one value for each seed, and differences of episodes that belong together.

Episodes of one seed share the game's dice and, where knowledge is carried over, what was learned;
so they count as one observation, their mean. Only episodes that were played to their end count.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from evaluation.bootstrap import Estimate
from evaluation.figures import EpisodeFigures
from evaluation.outcome.played import Key

Figure: TypeAlias = Callable[[EpisodeFigures], float | None]
"""Reads one figure of an episode; None where it is not known."""
Sample: TypeAlias = Mapping[Key, EpisodeFigures]


def score_at(turn: int) -> Figure:
    """The score after ``turn``."""
    return lambda episode: episode.score_at(turn)


def best_at(turn: int) -> Figure:
    """The highest score until then."""
    return lambda episode: episode.best_at(turn)


def mean(sample: Sample, figure: Figure) -> Estimate | None:
    """A figure's mean over the seeds."""
    known = _known(sample, figure)
    return _over_seeds((key.seed, value) for key, value in known.items())


def difference(sample: Sample, base: Sample, figure: Figure) -> Estimate | None:
    """By how much it is higher than in ``base``, for the same seed and number of the episode."""
    before = {key[1:]: value for key, value in _known(base, figure).items()}
    return _over_seeds(
        (key.seed, value - before[key[1:]])
        for key, value in _known(sample, figure).items()
        if key[1:] in before
    )


def numbered(sample: Sample, number: int) -> dict[Key, EpisodeFigures]:
    """The episodes with this number, which all are numbered 1 then."""
    return {key._replace(number=1): it for key, it in sample.items() if key.number == number}


def _known(sample: Sample, figure: Figure) -> dict[Key, float]:
    found = {key: figure(episode) for key, episode in sample.items() if episode.finished}
    return {key: value for key, value in found.items() if value is not None}


def _over_seeds(values: Iterable[tuple[int, float]]) -> Estimate | None:
    by_seed: defaultdict[int, list[float]] = defaultdict(list)
    for seed, value in values:
        by_seed[seed].append(value)
    return Estimate.of([statistics.fmean(several) for several in by_seed.values()])
