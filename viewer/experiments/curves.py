"""Figures over the turns of several episodes: their mean over seeds, and how sure it is.

As in evaluations, only episodes that were played to their end count, one that ended before a turn
counts there with what it ended with, and episodes of one seed are one observation, their mean.
Scores of different stories are never averaged.
"""

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS, MOST_RESAMPLED, RESAMPLES, Estimate
from mcp_ghost.results import JSONObject
from session.game_state import EndReason
from viewer.episode import Episode

GROUPINGS = ("model", "variant", "seed")
FIGURES = ("score", "share", "progress", "best_score", "tokens", "cost", "seconds")
POINTS = 60
"""Turns of a curve at most for which a mean is taken."""
MOST_DRAWN = 200
"""Seeds of all groups that draw resamples; if there are more, bands draw fewer before their end."""
LEAST_RESAMPLES = 1000
_SPENT = {"tokens": 1, "cost": 2, "seconds": 3}
"""Where what was used stands in a point of `Episode.spent`."""
Line: TypeAlias = Sequence[tuple[int, float]]
"""(turn, value), where each value holds until the next."""


class _Played(NamedTuple):
    """An episode that was played to its end."""

    seed: object
    row: JSONObject
    line: Line
    """Of the figure that is drawn."""
    ends: Mapping[str, float]
    """What each figure ended with."""


def curves(episodes: Iterable[Episode], by: str, figure: str) -> JSONObject:
    """One figure over turns for each group of episodes, and how their last values are spread."""
    groups: dict[tuple[str, str], list[_Played]] = defaultdict(list)
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
        groups[name].append(_Played(seed, row, lines[figure], ends))
    seeds = [len({it.seed for it in group}) for group in groups.values()]
    drawing = sum(count for count in seeds if LEAST_SEEDS <= count <= MOST_RESAMPLED)
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
    most = row.get("max_score")
    share = [(turn, 100 * score / most) for turn, score in row["scores"]] if most else []
    lines = {"score": row["scores"], "share": share, "progress": row.get("progress", [])}
    return {**lines, "best_score": list(best), **used}


def _name(row: JSONObject, by: str) -> str:
    played_by = str(row["model"] or row["player"])
    if by == "variant":
        off = ", ".join(row["parts_off"])
        whole = "all parts" if row["asks_a_model"] else played_by
        return row["group"] or (f"without {off}" if off else whole)
    return f"seed {row['seed']}" if by == "seed" else played_by


def _group_json(group: Sequence[_Played], figure: str, resamples: int) -> JSONObject:
    last = max(it.row["turns"] for it in group)
    turns = range(0, last + 1, max(1, math.ceil(last / POINTS)))
    points = (
        (turn, _at(group, turn, RESAMPLES if turn == last else resamples))
        for turn in dict.fromkeys([*turns, last])
    )
    return {
        "episodes": len(group),
        "seeds": len({it.seed for it in group}),
        "hinted": sum(it.row["hints"] > 0 for it in group),
        "turns": last,
        "curve": [[turn, *it] for turn, it in points if it],
        "figures": {name: _last(group, name) for name in FIGURES},
    }


def _last(group: Sequence[_Played], figure: str) -> list[float | None] | None:
    """The mean at the end, and its interval; of what is used, for each turn played."""
    shared = ((it, it.row["turns"] or 1 if figure in _SPENT else 1) for it in group)
    values = ((it.seed, it.ends[figure] / by) for it, by in shared if figure in it.ends)
    return _estimated(values, RESAMPLES)


def _at(group: Sequence[_Played], turn: int, resamples: int) -> list[float | None] | None:
    """The mean after ``turn``, and its interval."""
    befores = ((it, bisect.bisect_right(it.line, turn, key=lambda point: point[0])) for it in group)
    values = ((it.seed, it.line[before - 1][1]) for it, before in befores if before)
    return _estimated(values, resamples)


def _estimated(values: Iterable[tuple[object, float]], resamples: int) -> list[float | None] | None:
    estimate = Estimate.over_seeds(values, resamples)
    figures = estimate.figures() if estimate else {}
    return [figures[name] for name in ("mean", "low", "high")] if figures else None
