"""Several evaluations beside each other: other models, other prompts, other players."""

import argparse
import json
from pathlib import Path

from evaluation.commands.report import show
from evaluation.outcome.comparison import check_comparable, comparison_of, markdown_of, tables_of
from evaluation.outcome.stored import StoredEvaluation
from mcp_ghost.cli.arguments import Parser, add_flags, whole_number
from mcp_ghost.cli.program import DONE
from mcp_ghost.files import write_whole
from session.configuration_file import ConfigurationError

DESCRIPTION = """\
Compare evaluations with the first one: what differs between them, and by how
much their scores differ, paired by variant, seed and episode. Plays nothing.
"""
EPILOG = """\
exit code: 0 compared; 1 the comparison could not be written; 2 wrong usage,
  no evaluation in a folder, or evaluations with different stories, numbers of
  turns or protocols
"""
_FLAGS = """\
--turns N           compare the scores after N turns (default: the last turn)
--across-protocols  compare, even though they were played by different protocols
--json              print JSON, with all figures, instead of tables
--to DIR            also write comparison.md and comparison.json there
"""


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py compare``."""
    it.add_argument(
        "first", metavar="A", type=Path, help="folder of the evaluation to compare with"
    )
    it.add_argument("others", metavar="B", type=Path, nargs="+", help="folders of the others")
    add_flags(it, _FLAGS, turns={"type": whole_number()}, to={"type": Path})


def run(flags: argparse.Namespace) -> int:
    """Compare, and show or write what was found; returns the exit code."""
    read = [StoredEvaluation.read(folder) for folder in (flags.first, *flags.others)]
    folders = [it.folder.resolve() for it in read]
    if twice := next((folder for folder in folders if folders.count(folder) > 1), None):
        raise ConfigurationError(f"{twice} is named twice: name each evaluation once.")
    names = [str(it.agreed["name"]) for it in read]
    if len(set(names)) < len(names):
        names = [str(it.folder) for it in read]
    evaluations = dict(zip(names, read, strict=True))
    turn = check_comparable(evaluations, flags.turns, across_protocols=flags.across_protocols)
    comparison = comparison_of(evaluations, turn)
    as_json = json.dumps(comparison, indent=1, ensure_ascii=False) + "\n"
    if flags.to:
        write_whole(flags.to / "comparison.json", as_json)
        write_whole(flags.to / "comparison.md", markdown_of(comparison))
    if flags.json:
        print(as_json, end="")
    else:
        written = [f"Written: {flags.to}/comparison.md, comparison.json"] if flags.to else []
        show(tables_of(comparison), *comparison["findings"], *written)
    return DONE
