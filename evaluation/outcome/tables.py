"""The tables in which an evaluation, or a comparison of several, is shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from evaluation.bootstrap import CONFIDENCE, LEAST_SEEDS
from evaluation.figures import Figures, checkpoints
from mcp_ghost.text import counted, dollars
from session.game_state import ENDINGS

NONE = "-"
_BORDERS = 3
"""Columns of a terminal that a column of a table takes beside its text."""
HIGHER, LOWER = "higher", "lower"
TOO_FEW = ("too few seeds", "too few games")


@dataclass(frozen=True)
class Table:
    """A table before it is known where it goes."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    keys: int = 1
    """Columns that say what a row is about."""

    def markdown(self) -> str:
        """For pasting."""
        rows = [[cell.replace("|", "\\|") for cell in row] for row in self.rows]
        lines = [self.header, ["---", *["--:"] * (len(self.header) - 1)], *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{self.title}**\n\n{table}\n"

    def rich(self, width: int = 80) -> RenderableType:
        """For a terminal of that width; in a narrow one in parts, each with the keys."""
        keys, needed = range(self.keys), list[int]()
        for at, heading in enumerate(self.header):
            lines = [line for row in self.rows for line in _lines(row[at]).split("\n")]
            # Headings break between words, lists between their items.
            needed.append(max(map(cell_len, [*heading.split(), *lines]), default=1))
        needed[0] = min(needed[0], width // 2)
        parts: list[list[int]] = [[]]
        for at in range(self.keys, len(self.header)):
            together = (*keys, *parts[-1], at)
            if parts[-1] and 1 + sum(needed[it] + _BORDERS for it in together) > width:
                parts.append([])
            parts[-1].append(at)
        drawn = []
        for part in parts:
            title = self.title if part is parts[0] else f"{self.title} (continued)"
            table = RichTable(title=title, title_justify="left", title_style="bold")
            for at in (*keys, *part):
                side: JustifyMethod = "right" if at else "left"
                table.add_column(self.header[at], justify=side, width=needed[at], overflow="fold")
            for row in self.rows:
                cells = (_lines(row[at]) for at in (*keys, *part))
                table.add_row(*map(Text, cells))  # brackets are not markup
            drawn.append(table)
        return Group(*drawn)


def _lines(cell: str) -> str:
    """A list with a line for each item; intervals and all else as they are."""
    return cell if "[" in cell else cell.replace(", ", ",\n")


def named(figures: Figures) -> str:
    """The variant, with what has to stand beside every figure if a person helped the player."""
    hinted = figures.get("hinted")  # which earlier results do not tell
    helped = f" ({hinted} of {figures['episodes']} WITH HINTS)" if hinted else ""
    return f"{figures['variant']}{helped}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Such as ``a, b and c``; of many, the first and how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


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
    over_games = "games" in difference
    if difference["games" if over_games else "seeds"] < LEAST_SEEDS:
        return TOO_FEW[over_games]
    if difference["low"] is None:
        units = "game" if over_games else "seed"
        return "equal" if not difference["mean"] else f"the same for every {units}"
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


def endings(figures: Figures) -> str:
    """Such as ``4 Turn limit, 1 Victory``."""
    ended = figures["end_reasons"].items()
    return ", ".join(f"{count} {ENDINGS.get(reason, reason)}" for reason, count in ended)


def games(played: Sequence[Figures], overall: Sequence[Figures], turn: int) -> Table:
    """A row for each game of a suite and variant, and one for all games of each variant."""
    header = ["game", "variant", "maximum", "episodes", "score %", "maximum so far %"]
    rows = [
        [it["game"], named(it), str(it["max_score"] or NONE), *_over_game(it, it["mean"])]
        for it in played
    ]
    for it in overall:
        mean = it["mean"][str(turn)]
        rows.append([f"all {counted(it['games'], 'game')}", named(it), "", *_over_game(it, mean)])
    title = f"Games, after up to {counted(turn, 'turn')}, with {CONFIDENCE:.0%} intervals"
    return Table(title, [*header, "progress %", "ended"], rows, keys=2)


def _over_game(figures: Figures, mean: Figures) -> list[str]:
    shares = (estimated(mean.get(name)) for name in ("score", "best_score", "progress"))
    finished = f"{figures['finished']} of {figures['episodes']}"
    return [finished, *shares, endings(figures)]


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
    return Table("Score", header, rows, keys=2)


_MEANS = {
    "score": "Mean score",
    "best_score": "Mean of the maximum so far",
    "progress": "Mean progress, in percent of the achievements",
}


def means(variants: Sequence[Figures], turns: int, most: int | None, than: str) -> Iterator[Table]:
    """Means, and differences ``than`` what, where there is anything to compare with."""
    over_games = any("games" in it for it in variants)
    unfinished = any(it["finished"] < it.get("begun", 0) for it in variants)
    units = "games" if over_games else "seeds"
    pairs = "game, seed and episode" if over_games else "seed and episode"
    paired = f"; differences from {than}, paired by {pairs}" if than else ""
    for name, title in _MEANS.items():
        at_turns = [(it, turn) for it in variants for turn in map(str, checkpoints(turns))]
        if name == "progress" and not any(it["mean"][turn].get(name) for it, turn in at_turns):
            continue
        in_percent = over_games or name == "progress"
        header = ["variant", "turn", units, "mean"]
        header += [] if in_percent else [f"of {most}" if most else "of the maximum"]
        header += ["of those finished"] * unfinished
        header += ["difference", "verdict"] if than else []
        rows = []
        for figures, turn in at_turns:
            mean = figures["mean"][turn].get(name)
            difference = figures.get("difference", {}).get(turn, {}).get(name)
            count, paired_of = (it[units] if it else 0 for it in (mean, difference))
            of = str(count)
            if difference and paired_of != count:
                of += f" ({paired_of} paired)"
            row = [named(figures), turn, of, estimated(mean)]
            row += [] if in_percent else [share_of(mean, most)]
            if unfinished:
                row.append(estimated(figures.get("mean_finished", {}).get(turn, {}).get(name)))
            row += [estimated(difference, signed=True), verdict(difference)] if than else []
            rows.append(row)
        percent = " in percent of each game's maximum" if over_games and name != "progress" else ""
        title = f"{title}{percent}, with {CONFIDENCE:.0%} intervals{paired}"
        yield Table(title, header, rows, keys=2)


def _table(
    title: str, columns: Mapping[str, Callable[[Figures], str]], of: Sequence[Figures]
) -> Table:
    """Make a table with a row for each of ``of``; ``columns`` say how a cell is read from it."""
    rows = [[read(it) for read in columns.values()] for it in of]
    return Table(title, list(columns), rows)


def _middle_of(name: str, digits: int = 1) -> Callable[[Figures], str]:
    return lambda it: middle(it.get(name), digits)


def learning(points: Sequence[Figures], most: int | None) -> Table:
    """Means from episode to episode."""
    columns = {
        "variant": named,
        "episode": lambda it: str(it["episode"]),
        "seeds": lambda it: str(it["score"]["seeds"]) if it["score"] else "0",
        "score": lambda it: estimated(it["score"]),
        f"of {most}" if most else "of the maximum": lambda it: share_of(it["score"], most),
        "maximum so far": lambda it: estimated(it["best_score"]),
        "since the first": lambda it: estimated(it["since_the_first"], signed=True),
        "verdict": lambda it: verdict(it["since_the_first"]),
    }
    return _table(f"Mean final score by episode, with {CONFIDENCE:.0%} intervals", columns, points)


def play(variants: Sequence[Figures]) -> Table:
    """What happened in the episodes."""
    counted_things = (
        *("turns", "moves", "rooms", "deaths", "restarts", "reflections", "tool_calls"),
        *("refused_proposals", "failed_turns", "engine_refused"),
    )
    columns = {
        "variant": named,
        "episodes": lambda it: f"{it['finished']} of {it['episodes']}",
        **{name.replace("_", " "): _middle_of(name) for name in counted_things},
        "ended": endings,
    }
    return _table("Play per episode", columns, variants)


def cost(variants: Sequence[Figures], *, seconds: bool = True) -> Table:
    """What a turn took; the same play gives the same table without ``seconds``."""
    columns = {
        "variant": named,
        "requests": _middle_of("requests_per_turn", 2),
        "model calls": _middle_of("model_calls_per_turn", 2),
        "prompt tokens": _middle_of("prompt_tokens_per_turn"),
        "cached": lambda it: share(it.get("cached_share")),
        "completion tokens": _middle_of("completion_tokens_per_turn"),
        "cost": lambda it: dollars_of(it.get("cost_per_turn")),
        **({"seconds": _middle_of("seconds_per_turn", 2)} if seconds else {}),
    }
    return _table("Cost per turn", columns, variants)
