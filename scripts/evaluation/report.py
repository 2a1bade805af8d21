"""The outcome of an evaluation: as JSON, as tables for people, and what was measured in words."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from mcp_ghost.text import counted, dollars
from scripts.evaluation.agreement import short
from scripts.evaluation.figures import EpisodeFigures, Figures, checkpoints, variant_figures
from scripts.evaluation.plan import Cell, Plan
from scripts.evaluation.provenance import provenance_of, said_of

QUARTILES = "statistics.quantiles(n=4, method='inclusive') of Python's standard library"
_NONE = "-"


@dataclass(frozen=True)
class Table:
    """A table before it is known where it goes."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """For pasting."""
        lines = [self.header, ["---", *["--:"] * (len(self.header) - 1)], *self.rows]
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


def results_of(plan: Plan, played: Mapping[Cell, EpisodeFigures], jobs: int) -> dict[str, Any]:
    """Settings and figures, as they are written to ``results.json``."""
    provenance = provenance_of({str(cell): it.provenance for cell, it in played.items()})
    return {
        "statement": statement(plan, provenance),
        "date": max((figures.last_time for figures in played.values()), default=""),
        "versions": {
            "zorkgpt": provenance["versions"],
            "engine": provenance["engines"],
            "python": platform.python_version(),
        },
        "provenance": provenance,
        "settings": {**plan.agreement(), "jobs": jobs},
        "quartiles": QUARTILES,
        "variants": [
            {
                "variant": variant.name,
                "parts_off": list(variant.off),
                **variant_figures(
                    [it for cell, it in played.items() if cell.variant == variant], plan.turns
                ),
            }
            for variant in plan.variants
        ],
        "episodes": [
            {
                "variant": cell.variant.name,
                "seed": cell.seed,
                "episode": cell.number,
                **figures.summary(),
            }
            for cell, figures in played.items()
        ],
    }


def statement(plan: Plan, provenance: dict[str, Any]) -> str:
    """What was measured, in sentences that belong beside the tables."""
    agreed = plan.agreement()
    seeds = ", ".join(map(str, plan.seeds))
    knowledge = (
        "Knowledge was carried over: the episodes of one variant and seed ran one after the other, "
        "each with what those before it learned, and the first with nothing."
        if plan.carry_over
        else "Knowledge was not carried over: each episode began with nothing learned."
    )
    where = "on" if agreed["endpoint"] == "this machine" else "at"
    played_by = ", ".join(provenance["models_asked"]) or agreed["model"]
    return (
        f"{plan.story.title} (SHA-256 {plan.story.sha256[:12]}), played by {played_by} "
        f"{where} {agreed['endpoint']}, up to {counted(plan.turns, 'turn')} an episode, "
        f"{counted(plan.episodes, 'episode')} for each variant and seed ({seeds}). {knowledge} "
        f"MCP tools were {'on offer' if agreed['tools'] else 'off'}. "
        f"{said_of(provenance)} "
        "A seed fixes the game's dice; it does not make a sampling model repeatable. "
        "Medians, with quartiles in brackets where they differ, are over the episodes played to "
        "their end; an episode that ended early keeps its score from there on."
    )


def tables_of(results: dict[str, Any], turns: int) -> list[Table]:
    """Scores, the play they come from, and what it cost."""
    variants: list[Figures] = results["variants"]
    return [_scores(variants, turns), _play(variants), _cost(variants)]


def markdown_of(results: dict[str, Any], turns: int) -> str:
    """Statement and tables, to be pasted into a page."""
    tables = "\n".join(table.markdown() for table in tables_of(results, turns))
    versions = results["versions"]
    program = ", ".join(versions["zorkgpt"]) or _NONE
    engine = ", ".join(versions["engine"]) or _NONE
    code = ", ".join(map(short, results["provenance"]["code"])) or _NONE
    made = (
        f"ZorkGPT {program} (code {code}), engine {engine}, "
        f"last turn on {results['date'][:10] or _NONE}."
    )
    return f"{results['statement']} {made}\n\n{tables}"


def _scores(variants: Sequence[Figures], turns: int) -> Table:
    rows = []
    for figures in variants:
        for turn in map(str, checkpoints(turns)):
            at = figures.get("score", {}).get(turn)
            best = figures.get("best_score", {}).get(turn)
            rows.append(
                [figures["variant"], turn, _middle(at), _highest(at), _middle(best), _highest(best)]
            )
    header = ["variant", "turn", "score", "best", "maximum so far", "best maximum"]
    return Table("Score", header, rows)


def _play(variants: Sequence[Figures]) -> Table:
    columns = (
        *("turns", "moves", "rooms", "deaths", "reflections", "tool_calls"),
        *("refused_proposals", "failed_turns"),
    )
    rows = [
        [
            figures["variant"],
            f"{figures['finished']} of {figures['episodes']}",
            *(_middle(figures.get(column)) for column in columns),
            ", ".join(f"{count} {reason}" for reason, count in figures["end_reasons"].items()),
        ]
        for figures in variants
    ]
    names = (column.replace("_", " ") for column in columns)
    return Table("Play per episode", ["variant", "episodes", *names, "ended"], rows)


def _cost(variants: Sequence[Figures]) -> Table:
    rows = [
        [
            figures["variant"],
            _middle(figures.get("requests_per_turn"), 2),
            _middle(figures.get("model_calls_per_turn"), 2),
            _middle(figures.get("prompt_tokens_per_turn")),
            _share(figures.get("cached_share")),
            _middle(figures.get("completion_tokens_per_turn")),
            _dollars(figures.get("cost_per_turn")),
            _middle(figures.get("seconds_per_turn"), 2),
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


def _middle(spread: Figures | None, digits: int = 1) -> str:
    """Such as ``10 [5, 12.5]``; the quartiles only where they differ."""
    if spread is None:
        return _NONE
    median, q1, q3 = (_number(spread[name], digits) for name in ("median", "q1", "q3"))
    return median if median == q1 == q3 else f"{median} [{q1}, {q3}]"


def _highest(spread: Figures | None) -> str:
    return _NONE if spread is None else _number(spread["highest"])


def _share(share: float | None) -> str:
    return _NONE if share is None else f"{share:.0%}"


def _dollars(spread: Figures | None) -> str:
    """What the provider reported; nothing is not the same as free."""
    return _NONE if spread is None or not spread["highest"] else dollars(spread["median"])


def _number(value: float, digits: int = 1) -> str:
    text = f"{value:,.{digits if abs(value) < 100 else 0}f}"  # no tenths of a token
    return text.rstrip("0").rstrip(".") if "." in text else text
