"""Figures over the turns of several episodes: their mean over seeds, and how sure it is.

As in evaluations, only episodes that were played to their end count, one that ended before a turn
counts there with what it ended with, and episodes of one seed are one observation, their mean.
Scores of different stories are never averaged.
"""

import bisect
import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from evaluation.bootstrap import (
    CONFIDENCE,
    LEAST_SEEDS,
    MOST_RESAMPLED,
    RESAMPLES,
    Estimate,
)
from mcp_ghost.results import JSONObject
from session.game_state import EndReason
from viewer.episode import Episode

GROUPINGS = ("model", "variant", "seed")
FIGURES = ("score", "best_score", "tokens", "cost", "seconds")
POINTS = 60
"""Turns of a curve at most for which a mean is taken."""
MOST_DRAWN = 200
"""Seeds of all groups that draw resamples; if there are more, bands draw fewer before their end."""
LEAST_RESAMPLES = 1000
_SPENT = {"tokens": 1, "cost": 2, "seconds": 3}
"""Where what was used stands in a point of `Episode.spent`."""
Line: TypeAlias = Sequence[tuple[int, float]]
"""(turn, value), where each value holds until the next."""
_Group: TypeAlias = dict[object, list[tuple[JSONObject, Line, Mapping[str, float]]]]
"""Seed -> its episodes, each with the figure's line and what each figure ended with."""


def curves(episodes: Iterable[Episode], by: str, figure: str) -> JSONObject:
    """One figure over turns for each group of episodes, and how their last values are spread."""
    groups: dict[tuple[str, str], _Group] = defaultdict(lambda: defaultdict(list))
    left_out = 0
    for episode in episodes:
        row = episode.summary()
        if not row["end_reason"] or not EndReason(row["end_reason"]).is_finished:
            left_out += 1
            continue
        seed = row["id"] if row["seed"] is None else row["seed"]
        name = (str(row["title"] or row["story"]), _name(row, by))
        lines = lines_of(row, episode.spent())
        ends = {each: line[-1][1] for each, line in lines.items() if line}
        groups[name][seed].append((row, lines[figure], ends))
    drawing = sum(len(it) for it in groups.values() if LEAST_SEEDS <= len(it) <= MOST_RESAMPLED)
    fewer = RESAMPLES * MOST_DRAWN // max(drawing, MOST_DRAWN)
    resamples = max(fewer, LEAST_RESAMPLES)
    return {
        "by": by,
        "figure": figure,
        "confidence": CONFIDENCE,
        "least_seeds": LEAST_SEEDS,
        "left_out": left_out,
        "groups": [
            {"story": story, "name": name, **_group_json(group, figure, resamples)}
            for (story, name), group in sorted(groups.items())
        ],
    }


def lines_of(row: JSONObject, spent: Sequence[Sequence[float]]) -> dict[str, Line]:
    """Every figure of an episode over its turns, from its row of the index and what it used."""
    best = itertools.accumulate(row["scores"], lambda one, other: (other[0], max(one[1], other[1])))
    used = {
        name: [(0, 0.0), *((int(it[0]), it[at]) for it in spent)] for name, at in _SPENT.items()
    }
    return {"score": row["scores"], "best_score": list(best), **used}


def _name(row: JSONObject, by: str) -> str:
    played_by = str(row["model"] or row["player"])
    if by == "variant":
        off = ", ".join(row["parts_off"])
        whole = "all parts" if row["asks_a_model"] else played_by
        return row["group"] or (f"without {off}" if off else whole)
    return f"seed {row['seed']}" if by == "seed" else played_by


def _group_json(group: _Group, figure: str, resamples: int) -> JSONObject:
    several = [each for one_seed in group.values() for each in one_seed]
    last = max(row["turns"] for row, *_ in several)
    turns = range(0, last + 1, max(1, math.ceil(last / POINTS)))
    points = (
        (turn, _estimate(group, turn, RESAMPLES if turn == last else resamples))
        for turn in dict.fromkeys([*turns, last])
    )
    return {
        "episodes": len(several),
        "seeds": len(group),
        "hinted": sum(row["hints"] > 0 for row, *_ in several),
        "turns": last,
        "curve": [[turn, *_shown(it)] for turn, it in points if it],
        "figures": {name: _last(group, name) for name in FIGURES},
    }


def _last(group: _Group, figure: str) -> list[float | None] | None:
    """The estimate at the end; of what is used, for each turn played."""
    by_seed = (
        [
            ends[figure] / (row["turns"] or 1 if figure in _SPENT else 1)
            for row, _, ends in one_seed
            if figure in ends
        ]
        for one_seed in group.values()
    )
    estimate = _estimated(by_seed, RESAMPLES)
    return _shown(estimate) if estimate else None


def _estimate(group: _Group, turn: int, resamples: int) -> Estimate | None:
    by_seed = (
        [value for _, line, _ in one_seed if (value := _at(line, turn)) is not None]
        for one_seed in group.values()
    )
    return _estimated(by_seed, resamples)


def _estimated(by_seed: Iterable[Sequence[float]], resamples: int) -> Estimate | None:
    values = sorted(statistics.fmean(it) for it in by_seed if it)
    if len(values) > MOST_RESAMPLED:
        return Estimate.of(values)
    return _drawn(tuple(values), resamples)


@lru_cache(maxsize=4096)
def _drawn(values: tuple[float, ...], resamples: int) -> Estimate | None:
    """Kept, for scores hold for many turns."""
    return Estimate.of(values, resamples)


def _at(line: Line, turn: int) -> float | None:
    before = bisect.bisect_right(line, turn, key=lambda point: point[0])
    return line[before - 1][1] if before else None


def _shown(estimate: Estimate) -> list[float | None]:
    low, high = estimate.interval or (None, None)
    return [None if it is None else round(it, 6) for it in (estimate.mean, low, high)]
