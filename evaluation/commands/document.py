"""The results in docs/evaluation.md, made from an evaluation so that nobody copies figures."""

import argparse
import json
import shutil
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

from evaluation import ROOT
from evaluation.outcome.stored import StoredEvaluation
from evaluation.report import markdown_of, results_of
from mcp_ghost.cli.arguments import Parser, add_flags
from mcp_ghost.cli.program import DONE
from mcp_ghost.files import write_whole
from session.configuration_file import ConfigurationError

BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
_PAGE = ROOT / "docs" / "evaluation.md"
_WIDTH = 130
DESCRIPTION = f"""\
Write the results of an evaluation into a page, between the lines {BEGIN.strip()}
and {END.strip()}, and beside it their figures (NAME-results.json) and, if it was drawn,
their picture (NAME-scores.png). Plays nothing.
"""
EPILOG = """\
exit code: 0 written; 1 something could not be written; 2 wrong usage, no
  evaluation in DIR, or a page without those lines
"""
_FLAGS = "--page FILE  the page (default: docs/evaluation.md)"


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py document``."""
    it.add_argument("folder", metavar="DIR", type=Path, help="where the evaluation is")
    add_flags(it, _FLAGS, page={"type": Path, "default": _PAGE})


def run(flags: argparse.Namespace) -> int:
    """Write the results into the page; returns the exit code."""
    page: Path = flags.page
    results = results_of(StoredEvaluation.read(flags.folder))
    for episode in results["episodes"]:
        del episode["scores"]  # after every turn, which a page does not show
    if results["games"]:
        del results["episodes"]  # too many to read; an export has them
    text = with_section(page.read_text(encoding="utf-8"), section_of(results), page)
    figures, picture = (
        page.with_name(f"{page.stem}-{it}") for it in ("results.json", "scores.png")
    )
    write_whole(figures, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_whole(page, text)
    written = [page, figures]
    if (drawn := flags.folder / "scores.png").is_file():
        shutil.copyfile(drawn, picture)
        written.append(picture)
    print(f"Written: {', '.join(map(str, written))}")
    return DONE


def section_of(results: dict[str, Any]) -> str:
    """What stands between the lines: nothing but what ``results`` say."""
    markdown = markdown_of(results, results["settings"]["turns"])
    wrap = partial(textwrap.fill, width=_WIDTH, break_long_words=False)
    lines = (
        line
        if line.startswith(("|", "**"))
        else wrap(line, subsequent_indent="  " if line.startswith("- ") else "")
        for line in markdown.split("\n")
    )
    return "\n".join(lines)


def with_section(text: str, section: str, page: Path) -> str:
    """A page with another section.

    Raises:
        ConfigurationError: It has no place for it.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ConfigurationError(
            f"{page} has no place for the results: add the lines {BEGIN.strip()} and {END.strip()}."
        )
    return f"{before}{BEGIN}\n{section}\n{END}{after}"
