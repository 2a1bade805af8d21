"""Maps and scores as pictures, for papers and pages.

Importing it raises ConfigurationError where matplotlib, an extra, is not installed.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import fill

from mcp_ghost.files import write_whole
from mcp_ghost.results import JSONObject
from mcp_ghost.text import counted, one_line
from session.game_configuration import ConfigurationError

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.text import Text
except ModuleNotFoundError as error:
    raise ConfigurationError(
        "Drawing needs matplotlib, which is not installed. Install it with: uv sync --extra plot"
    ) from error

# Of Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")
_LINE, _BOX, _FIRST, _SHEET = "#6a6a6a", "#f4f0e6", "#ffe08a", "#fbf9f4"
_COLUMN_INCHES, _ROW_INCHES = 0.95, 0.52
_UNSEEN_IN_A_PLAN = ("up", "down", "in", "out")
_KEY = "an arrow: one way so far; dotted: at random; ▲ ▼: to another level"


def draw_map(drawn: JSONObject, title: str, path: Path) -> None:
    """Draw the rooms and passages of an episode's map.

    Raises:
        OSError: The file cannot be written.
    """
    spots = {room["id"]: (room["x"], -room["y"]) for room in drawn["rooms"]}
    across, up = ([spot[axis] for spot in spots.values()] or [0] for axis in (0, 1))
    sides = [max(side) - min(side) + 1.6 for side in (across, up)]
    figure = new_figure(sides[0] * _COLUMN_INCHES, sides[1] * _ROW_INCHES + 0.4)
    axes = figure.subplots()
    axes.set_xlim(min(across) - 0.7, max(across) + 0.7)
    axes.set_ylim(min(up) - 0.7, max(up) + 1.2)
    axes.set_axis_off()
    axes.set_title(_plain(title), fontsize=9)
    figure.supxlabel(_KEY, fontsize=6, color=_LINE)
    for level in sorted({room["level"] for room in drawn["rooms"]}):
        sheet = [spots[room["id"]] for room in drawn["rooms"] if room["level"] == level]
        _draw_sheet(axes, sheet, f"Level {level}")
    rooms = {room["id"]: room for room in drawn["rooms"]}
    away: dict[int, list[str]] = {room: [] for room in rooms}
    flat = []
    for passage in drawn["passages"]:
        start, end = rooms[passage["from"]], rooms[passage["to"]]
        rise = end["level"] - start["level"]
        if rise:
            away[start["id"]].append(f"{'▲' if rise > 0 else '▼'} {_plain(end['name'])}")
        elif start is not end:
            flat.append(passage)
    boxes = {}
    for number, room in enumerate(drawn["rooms"]):
        box = {"boxstyle": "round", "facecolor": _BOX if number else _FIRST, "edgecolor": _LINE}
        name = "\n".join([fill(_plain(room["name"]), 14), *dict.fromkeys(away[room["id"]])])
        boxes[room["id"]] = axes.text(
            *spots[room["id"]], name, fontsize=6, ha="center", va="center", bbox=box
        )
    for passage in flat:
        _draw_passage(axes, boxes, passage)
    save_figure(figure, path)


def draw_scores(episodes: Sequence[JSONObject], path: Path) -> None:
    """Draw the score of each episode (of the form of ``episode.json``) over its turns.

    Raises:
        ConfigurationError: None of their scores is known.
        OSError: The file cannot be written.
    """
    known = [episode for episode in episodes if episode["scores"]]
    if not known:
        raise ConfigurationError(
            "There is no score to draw: it cannot be read from the memory of these stories."
        )
    figure = new_figure(8, 4.5)
    axes = figure.subplots()
    for number, episode in enumerate(known):
        colour = _COLOURS[number % len(_COLOURS)]
        style = _STYLES[number // len(_COLOURS) % len(_STYLES)]
        turns, scores = zip(*episode["scores"], strict=True)
        summary = episode["summary"]
        helped = f", {counted(summary['hints'], 'hint')}" if summary["hints"] else ""
        played_by = summary["model"] or summary["player"]
        label = _plain(f"{summary['id']} ({played_by}{helped})")
        axes.step(turns, scores, where="post", color=colour, linestyle=style, label=label)
        deaths = [mark["turn"] for mark in episode["marks"] if mark["kind"] == "death"]
        heights = [max(point for point in episode["scores"] if point[0] <= at)[1] for at in deaths]
        axes.plot(deaths, heights, "x", color=colour)
    axes.set_xlabel("turn (x: a death)")
    axes.set_ylabel("score")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=7, loc="upper left")
    save_figure(figure, path)


def _draw_sheet(axes: Axes, spots: Sequence[tuple[float, float]], name: str) -> None:
    """Draw a ground below the rooms of a level, and its title above them."""
    across, up = zip(*spots, strict=True)
    left, right = min(across) - 0.6, max(across) + 0.6
    low, high = min(up) - 0.6, max(up) + 0.6
    ground = Rectangle((left, low), right - left, high - low, facecolor=_SHEET, edgecolor="none")
    axes.add_patch(ground).set_zorder(0)
    axes.text(left, high + 0.1, name, fontsize=7, fontweight="bold", color=_LINE, va="bottom")


def _draw_passage(axes: Axes, boxes: dict[int, Text], passage: JSONObject) -> None:
    ends = boxes[passage["from"]], boxes[passage["to"]]
    start, end = (box.get_position() for box in ends)
    arrow = {
        "arrowstyle": "-|>" if passage["one_way"] else "-",
        "linestyle": ":" if passage["random"] else "-",
        "color": _LINE,
        "patchA": ends[0].get_bbox_patch(),
        "patchB": ends[1].get_bbox_patch(),
        "shrinkA": 0,
        "shrinkB": 1,
    }
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
    if passage["direction"] in _UNSEEN_IN_A_PLAN:
        x, y = (0.58 * here + 0.42 * there for here, there in zip(start, end, strict=True))
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        # Above the line back, which is drawn later.
        label = axes.text(x, y, passage["direction"], fontsize=5, color=_LINE, bbox=ground)
        label.set(ha="center", va="center", zorder=4)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that many inches, without a window system and sharing nothing."""
    figure = Figure(figsize=(max(width, 3), max(height, 2)), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write it as the ending of ``path`` says: PNG, SVG or PDF."""
    # Fixed ids and no date: the same figures give the same file.
    dates: dict[str, dict[str, str | None]] = {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    kind, drawn = path.suffix.lower(), BytesIO()
    with mpl.rc_context({"svg.hashsalt": "zorkgpt", "font.family": "DejaVu Sans"}):
        figure.savefig(drawn, format=kind[1:], metadata=dates[kind], dpi=150)
    write_whole(path, drawn.getvalue())


def _plain(text: object) -> str:
    """Escape what matplotlib would take for mathematics."""
    return one_line(text, 80).replace("$", r"\$")
