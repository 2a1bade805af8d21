"""The tables in which an evaluation, or a comparison of several, is shown."""

from collections.abc import Iterator, Sequence

from evaluation.bootstrap import CONFIDENCE
from evaluation.figures import Figures, checkpoints
from evaluation.outcome.tables import (
    Table,
    dollars_of,
    estimated,
    highest,
    middle,
    named,
    share,
    share_of,
    told,
)


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
    return [*shown, estimated(difference, signed=True), told(difference)]


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
            told(it["since_the_first"]),
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
