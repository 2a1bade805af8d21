"""The figures of an evaluation, from its logs alone."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from evaluation.figures import EpisodeFigures, band, suite_band
from evaluation.outcome.stored import StoredEvaluation
from evaluation.outcome.tables import Table, named
from evaluation.plot import plot_learning, plot_scores
from evaluation.progress import say
from evaluation.report import markdown_of, results_of, tables_of
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, FAILED
from mcp_ghost.files import write_whole
from session.configuration_file import ConfigurationError

RESULTS_FILE = "results.json"
DESCRIPTION = "Compute the figures of an evaluation again from its logs. Plays nothing."
EPILOG = """\
exit code: 0 every episode was played to its end; 1 some were not, or the
  figures could not be written; 2 wrong usage, or no evaluation in DIR
"""
_FILE_WIDTH = 140
"""Columns of tables that go into a file or a pipe."""


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py report``."""
    it.add_argument("folder", metavar="DIR", type=Path, help="where the evaluation is")


def run(flags: argparse.Namespace) -> int:
    """Report on an evaluation; returns the exit code."""
    return DONE if write_report(flags.folder) else FAILED


def write_report(folder: Path, jobs: int | None = None) -> bool:
    """Write and show what was played; whether every episode was played to its end."""
    played = StoredEvaluation.read(folder)
    results = results_of(played, jobs)
    write_whole(folder / RESULTS_FILE, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / "results.md", markdown_of(results, played.turns))
    written, hint = [f"{folder}/{RESULTS_FILE}", "results.md"], None
    try:
        written += _plotted(played, results)
    except ConfigurationError as error:  # without matplotlib
        hint = f"{error}, then run this again for pictures of the scores"
    show(
        tables_of(results, played.turns),
        results["statement"],
        *results["findings"],
        f"Written: {', '.join(written)}",
    )
    if hint:
        say(console(), hint)
    return all(figures.finished for figures in played.episodes.values())


def show(tables: Sequence[Table], *sentences: str) -> None:
    """On standard output."""
    for table in tables:
        console().print(table.rich(console().width))
    for sentence in sentences:
        console().print(Text(sentence))


def console() -> Console:
    """Standard output, of a fixed width unless it is a terminal."""
    return Console(width=None if sys.stdout.isatty() else _FILE_WIDTH)


def _plotted(played: StoredEvaluation, results: dict[str, Any]) -> list[str]:
    agreed, turns = played.agreed, played.turns
    bands = {}
    for it in results["variants"]:
        games: defaultdict[str, list[EpisodeFigures]] = defaultdict(list)
        for key, figures in played.of(it["variant"]).items():
            games[key.game].append(figures)
        of_one = games.get("")
        bands[named(it)] = band(of_one, turns) if of_one else suite_band(games.values(), turns)
    helped = ", WITH HINTS" if results["provenance"]["hints"] else ""
    what = agreed["suite"]["name"] if agreed.get("suite") else agreed["story"]["title"]
    models = results["provenance"]["models_served"] or [agreed["model"]]
    title = f"{what}, {', '.join(models)}{helped}"
    paths = plot_scores(bands, title, played.max_score, played.folder)
    paths += plot_learning(results["learning"], title, played.max_score, played.folder)
    return [path.name for path in paths]
