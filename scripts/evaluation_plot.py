"""The scores of an evaluation over its turns: median lines in quartile bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scripts.evaluation_figures import Spread

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; the line
# styles do the same for print without colours.
_COLOURS = (
    *("#000000", "#0072B2", "#D55E00", "#009E73"),
    *("#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#7F7F7F"),
)
_STYLES = ("-", "--", "-.", ":")


def plot_scores(
    bands: Mapping[str, Sequence[Spread]], title: str, max_score: int | None, out: Path
) -> list[Path]:
    """Write ``scores.png`` and ``scores.svg`` below ``out``; nothing without a curve."""
    curves = {name: band for name, band in bands.items() if band}
    if not curves:
        return []
    import matplotlib as mpl

    written = []
    # Fixed ids and no date: the same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "scores", "font.family": "DejaVu Sans"}):
        figure = _draw(curves, title, max_score)
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = out / f"scores.{suffix}"
            figure.savefig(path, metadata=metadata, dpi=150)
            written.append(path)
    return written


def _draw(curves: Mapping[str, Sequence[Spread]], title: str, max_score: int | None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    FigureCanvasAgg(figure)  # no window system, and nothing that is shared
    axes = figure.add_subplot()
    for number, (name, band) in enumerate(curves.items()):
        colour, turns = _COLOURS[number % len(_COLOURS)], range(len(band))
        axes.fill_between(
            turns,
            [spread.q1 for spread in band],
            [spread.q3 for spread in band],
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
        axes.plot(
            turns,
            [spread.median for spread in band],
            _STYLES[number % len(_STYLES)],
            color=colour,
            label=name,
            linewidth=2,
        )
    axes.set_xlabel("turn")
    axes.set_ylabel(f"score (of {max_score})" if max_score else "score")
    axes.set_title(title)
    axes.set_xlim(0, max(len(band) for band in curves.values()) - 1)
    axes.grid(alpha=0.3)
    axes.legend(title="median, with quartiles", frameon=False)
    return figure
