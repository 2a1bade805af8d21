"""Joins what several machines played of one evaluation."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from evaluation.commands.report import write_report
from evaluation.outcome import union
from evaluation.plan import PLAN_FILE
from evaluation.run import taken
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, Errors, program
from mcp_ghost.text import counted
from session.configuration_file import ConfigurationError

_DESCRIPTION = """\
Copies the episodes of several evaluations, which must have been played under
the same rules, into one: of other seeds, variants or episodes. What comes out
can be continued, exported and compared like any other. When run again, it
continues where it was interrupted. Plays nothing.
"""
_EPILOG = """\
exit code: 0 merged; 1 something could not be written (run again to continue);
  2 wrong usage, no evaluation in a folder, other rules, or two different logs
  of one episode
"""


def parser() -> Parser:
    """The command line of ``evaluate.py merge``."""
    it = Parser(prog="evaluate.py merge", description=_DESCRIPTION, epilog=_EPILOG)
    where = "where the result goes; if it holds an evaluation, that is merged too"
    it.add_argument("out", metavar="OUT", type=Path, help=where)
    it.add_argument("parts", metavar="A", type=Path, nargs="+", help="folders of evaluations")
    return it


def main(words: Sequence[str]) -> int:
    """Do what the command line says; returns the exit code."""
    flags = parser().parse_args(words)
    return program("evaluate.py merge", lambda _: _merge(flags), _errors)


def _errors() -> Errors:
    from storage.errors import StorageError

    return Errors(wrong_use=(ConfigurationError,), failed=(StorageError,))


def _merge(flags: argparse.Namespace) -> int:
    out: Path = flags.out
    before = [out] if (out / PLAN_FILE).is_file() else []
    folders = list(union.folders_once([*before, *flags.parts]))
    name = out.resolve().name
    union.union_of(union.parts_in(folders), name)  # before OUT is locked, which would create it
    with ExitStack() as locks:
        for folder in union.folders_once([out, *folders]):
            locks.enter_context(taken(folder))
        parts = union.parts_in(folders)
        agreed = union.union_of(parts, name)
        carried_over = bool(agreed["knowledge_carried_over"])
        logs = union.logs_of(parts, carried_over=carried_over)
        copied = union.copy_logs(logs, out)
        if carried_over:
            union.rebuild_knowledge(logs, out)
        union.write_agreement(agreed, out)
        write_report(out)
    print(f"Merged: {counted(len(logs), 'episode')}, {copied} of them copied now.")
    return DONE
