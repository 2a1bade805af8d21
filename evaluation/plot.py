"""The scores of an evaluation as pictures: over its turns, and from episode to episode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.figures import Figures, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
_FIRST, _OTHER = "#000000", "#D55E00"
_COLUMNS = 3
_MARKERS = "osD^vP*X"
_BESIDE = 0.04
"""Between lines of intervals, which would hide each other."""


def plot_scores(
    bands: Mapping[str, Sequence[Spread]], title: str, max_score: int | None, out: Path
) -> list[Path]:
    """Write ``scores.png`` and ``scores.svg`` below ``out``; nothing without a curve.

    Raises:
        ConfigurationError: matplotlib, an extra, is not installed.
    """
    curves = {name: band for name, band in bands.items() if band}
    if not curves:
        return []
    from viewer.drawing import new_figure

    # One panel for each variant beside the first one: many bands over each other show nothing.
    first, *others = curves
    columns = min(max(len(others), 1), _COLUMNS)
    rows = math.ceil(max(len(others), 1) / columns)
    size = (3.2 * columns + 1.5, 2.6 * rows + 1.0) if others else (8, 4.5)
    figure = new_figure(*size)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for axes, name in zip_longest(panels, others):
        if name is None and axes is not panels[0]:
            axes.set_axis_off()
            continue
        _add(axes, first, curves[first], _FIRST, "-")
        if name is not None:
            _add(axes, name, curves[name], _OTHER, "--")
        axes.set_xlim(0, len(curves[first]) - 1)
        axes.tick_params(labelbottom=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(f"{title}: median score, with quartiles")
    figure.supxlabel("turn")
    figure.supylabel(f"score (of {max_score})" if max_score else "score")
    return _saved(figure, out, "scores")


def plot_learning(
    learning: Sequence[Figures], title: str, max_score: int | None, out: Path
) -> list[Path]:
    """Write ``learning.png`` and ``learning.svg`` below ``out``; nothing without a curve.

    Raises:
        ConfigurationError: matplotlib, an extra, is not installed.
    """
    curves: dict[str, list[Figures]] = {}
    for point in learning:
        if point["score"]:
            curves.setdefault(point["variant"], []).append(point)
    if not curves:
        return []
    from viewer.drawing import new_figure

    figure = new_figure(8, 4.5)
    axes = figure.subplots()
    for number, (name, points) in enumerate(curves.items()):
        beside = (number - (len(curves) - 1) / 2) * _BESIDE
        numbers = [point["episode"] + beside for point in points]
        means = [point["score"]["mean"] for point in points]
        style = f"{_MARKERS[number % len(_MARKERS)]}-"
        helped = ", WITH HINTS" if any(point["hinted"] for point in points) else ""
        (line,) = axes.plot(numbers, means, style, label=f"{name}{helped}")
        for at, point in zip(numbers, points, strict=True):
            if point["score"]["low"] is not None:
                axes.vlines(at, point["score"]["low"], point["score"]["high"], line.get_color())
    axes.set_xticks(sorted({point["episode"] for points in curves.values() for point in points}))
    axes.set_xlabel("episode")
    axes.set_ylabel(f"score (of {max_score})" if max_score else "score")
    axes.set_title(f"{title}: mean final score, with intervals")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return _saved(figure, out, "learning")


def _saved(figure: Figure, out: Path, name: str) -> list[Path]:
    from viewer.drawing import save_figure

    written = [out / f"{name}.png", out / f"{name}.svg"]
    for path in written:
        save_figure(figure, path)
    return written


def _add(axes: Axes, name: str, band: Sequence[Spread], colour: str, style: str) -> None:
    """A score holds until the next turn changes it: steps, no slopes."""
    turns = range(len(band))
    low, high = [spread.q1 for spread in band], [spread.q3 for spread in band]
    axes.fill_between(turns, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    medians = [spread.median for spread in band]
    axes.plot(turns, medians, style, drawstyle="steps-post", color=colour, label=name)
