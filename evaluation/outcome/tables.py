"""Tables before it is known where they go, and how figures look in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table as RichTable
from rich.text import Text

from evaluation.bootstrap import LEAST_SEEDS
from evaluation.figures import Figures
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

    def rich(self) -> RichTable:
        """For a terminal."""
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for number, name in enumerate(self.header):
            table.add_column(name, justify="right" if number else "left", no_wrap=not number)
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


def told(difference: Figures | None) -> str:
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
