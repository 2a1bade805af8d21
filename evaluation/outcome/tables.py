"""The tables in which an evaluation, or a comparison of several, is shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS
from evaluation.figures import Figures, checkpoints
from mcp_ghost.text import dollars

NONE = "-"
HIGHER, LOWER, TOO_FEW = "higher", "lower", "too few seeds"


@dataclass(frozen=True)
class Table:
    """A table before it is known where it goes."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """For pasting."""
        rows = [[cell.replace("|", "\\|") for cell in row] for row in self.rows]
        lines = [self.header, ["---", *["--:"] * (len(self.header) - 1)], *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{self.title}**\n\n{table}\n"

    def rich(self, width: int = 80) -> RenderableType:
        """For a terminal; where that is too narrow, rows become columns, in as many tables."""
        if self._width <= width:
            return self._drawn()
        parts, rows = [], list(self.rows)
        while rows:
            for many in range(len(rows), 0, -1):
                header, *lines = zip(self.header, *rows[:many], strict=True)
                part = Table(self.title, header, lines)
                if part._width <= width:
                    break
            parts.append(part._drawn())
            rows = rows[many:]
        return Group(*parts)

    @property
    def _width(self) -> int:
        columns = zip(self.header, *self.rows, strict=True)
        return sum(max(map(cell_len, column)) + 3 for column in columns) + 1

    def _drawn(self) -> RichTable:
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for number, name in enumerate(self.header):
            table.add_column(name, justify="right" if number else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row))  # brackets are not markup
        return table


def named(figures: Figures) -> str:
    """The variant, with what has to stand beside every figure if a person helped the player."""
    hinted = figures.get("hinted")  # which earlier results do not tell
    helped = f" ({hinted} of {figures['episodes']} WITH HINTS)" if hinted else ""
    return f"{figures['variant']}{helped}"


def middle(spread: Figures | None, digits: int = 1) -> str:
    """Such as ``10 [5, 12.5]``; the quartiles only where they differ."""
    if spread is None:
        return NONE
    median, q1, q3 = (number(spread[name], digits) for name in ("median", "q1", "q3"))
    return median if median == q1 == q3 else f"{median} [{q1}, {q3}]"


def highest(spread: Figures | None) -> str:
    """The highest of several."""
    return NONE if spread is None else number(spread["highest"])


def estimated(estimate: Figures | None, *, signed: bool = False) -> str:
    """Such as ``7.5 [5, 10]``; the mean alone where there is no interval."""
    if estimate is None:
        return NONE
    sign = "+" if signed else ""
    mean = number(estimate["mean"], sign=sign)
    if estimate["low"] is None:
        return mean
    return f"{mean} [{number(estimate['low'], sign=sign)}, {number(estimate['high'], sign=sign)}]"


def share_of(estimate: Figures | None, most: float | None) -> str:
    """The mean as a share of the most that there is."""
    return NONE if estimate is None or not most else share(estimate["mean"] / most)


def verdict(difference: Figures | None) -> str:
    """What a difference says, in a word or two."""
    if difference is None:
        return NONE
    if difference["seeds"] < LEAST_SEEDS:
        return TOO_FEW
    if difference["low"] is None:
        return "equal" if not difference["mean"] else "the same for every seed"
    if difference["low"] > 0:
        return HIGHER
    return LOWER if difference["high"] < 0 else "unclear"


def share(value: float | None) -> str:
    """As a percentage."""
    return NONE if value is None else f"{value:.0%}"


def dollars_of(spread: Figures | None) -> str:
    """What the provider reported; nothing is not the same as free."""
    return NONE if spread is None or not spread["highest"] else dollars(spread["median"])


def number(value: float, digits: int = 1, sign: str = "") -> str:
    """Without digits that say nothing; ``sign`` may be a plus."""
    text = f"{value:{sign},.{digits if abs(value) < 100 else 0}f}"  # no tenths of a token
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", "+0"} else text


def scores(variants: Sequence[Figures], turns: int) -> Table:
    """Medians and quartiles, at the turns that are compared."""
    rows = []
    for figures in variants:
        for turn in map(str, checkpoints(turns)):
            at = figures.get("score", {}).get(turn)
            best = figures.get("best_score", {}).get(turn)
            rows.append(
                [named(figures), turn, middle(at), highest(at), middle(best), highest(best)]
            )
    header = ["variant", "turn", "score", "best", "maximum so far", "best maximum"]
    return Table("Score", header, rows)


def means(variants: Sequence[Figures], turns: int, most: int | None, than: str) -> Iterator[Table]:
    """Means, and differences ``than`` what, where there is anything to compare with."""
    compared = ("difference", "verdict") if than else ()
    header = ["variant", "turn", "seeds", "mean", f"of {most}" if most else "of the maximum"]
    paired = f"; differences from {than}, paired by seed and episode" if than else ""
    for name, title in (("score", "Mean score"), ("best_score", "Mean of the maximum so far")):
        rows = [
            [
                *(named(figures), turn, _seeds(figures, turn)),
                *_estimates(figures, turn, name, most)[: 2 + len(compared)],
            ]
            for figures in variants
            for turn in map(str, checkpoints(turns))
        ]
        title = f"{title}, with {CONFIDENCE:.0%} intervals{paired}"
        yield Table(title, [*header, *compared], rows)


def _estimates(figures: Figures, turn: str, name: str, most: int | None) -> list[str]:
    mean = figures["mean"][turn][name]
    difference = figures.get("difference", {}).get(turn, {}).get(name)
    shown = [estimated(mean), share_of(mean, most)]
    return [*shown, estimated(difference, signed=True), verdict(difference)]


def _seeds(figures: Figures, turn: str) -> str:
    """How many; and how many of them are paired, where that is another number."""
    mean = figures["mean"][turn]["score"]
    paired = figures.get("difference", {}).get(turn, {}).get("score")
    count, pairs = (it["seeds"] if it else 0 for it in (mean, paired))
    return f"{count} ({pairs} paired)" if paired and pairs != count else str(count)


def learning(points: Sequence[Figures], most: int | None) -> Table:
    """Means from episode to episode."""
    rows = [
        [
            named(it),
            str(it["episode"]),
            str(it["score"]["seeds"]) if it["score"] else "0",
            estimated(it["score"]),
            share_of(it["score"], most),
            estimated(it["best_score"]),
            estimated(it["since_the_first"], signed=True),
            verdict(it["since_the_first"]),
        ]
        for it in points
    ]
    of_most = f"of {most}" if most else "of the maximum"
    header = [
        *("variant", "episode", "seeds", "score", of_most, "maximum so far"),
        *("since the first", "verdict"),
    ]
    return Table(f"Mean final score by episode, with {CONFIDENCE:.0%} intervals", header, rows)


def play(variants: Sequence[Figures]) -> Table:
    """What happened in the episodes."""
    columns = (
        *("turns", "moves", "rooms", "deaths", "restarts", "reflections", "tool_calls"),
        *("refused_proposals", "failed_turns", "engine_refused"),
    )
    rows = [
        [
            named(figures),
            f"{figures['finished']} of {figures['episodes']}",
            *(middle(figures.get(column)) for column in columns),
            ", ".join(f"{count} {reason}" for reason, count in figures["end_reasons"].items()),
        ]
        for figures in variants
    ]
    names = (column.replace("_", " ") for column in columns)
    return Table("Play per episode", ["variant", "episodes", *names, "ended"], rows)


def cost(variants: Sequence[Figures]) -> Table:
    """What a turn took."""
    rows = [
        [
            named(figures),
            middle(figures.get("requests_per_turn"), 2),
            middle(figures.get("model_calls_per_turn"), 2),
            middle(figures.get("prompt_tokens_per_turn")),
            share(figures.get("cached_share")),
            middle(figures.get("completion_tokens_per_turn")),
            dollars_of(figures.get("cost_per_turn")),
            middle(figures.get("seconds_per_turn"), 2),
        ]
        for figures in variants
    ]
    header = [
        "requests",
        "model calls",
        "prompt tokens",
        "cached",
        "completion tokens",
        "cost",
        "seconds",
    ]
    return Table("Cost per turn", ["variant", *header], rows)
