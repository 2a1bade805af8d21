"""Joins what several machines played of one evaluation."""

import argparse
import filecmp
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evaluation.agreement import differences
from evaluation.commands.report import write_report
from evaluation.outcome.stored import agreed_in
from evaluation.outcome.tables import listed
from evaluation.plan import PLAN_FILE, Cell, cells_of
from evaluation.run import taken
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE
from mcp_ghost.files import PRIVATE, write_whole
from mcp_ghost.text import counted
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE

DESCRIPTION = """\
Join evaluations that were played under the same rules, but with different
seeds, variants or episodes, by copying their episodes into one. The result
can be continued, exported and compared like any other. Plays nothing. If it
is interrupted, run it again.
"""
EPILOG = """\
exit code: 0 merged; 1 something could not be written (run again to continue);
  2 wrong usage, no evaluation in a folder, different rules, or two different
  logs of one episode
"""


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py merge``."""
    where = "where the result goes; if it holds an evaluation, that is merged too"
    it.add_argument("out", metavar="OUT", type=Path, help=where)
    it.add_argument("parts", metavar="A", type=Path, nargs="+", help="folders of evaluations")


def run(flags: argparse.Namespace) -> int:
    """Merge, and report on the result; returns the exit code."""
    from storage.store import Store

    out: Path = flags.out
    name = out.resolve().name
    parts = [out] * (out / PLAN_FILE).is_file() + flags.parts
    folders = _once(parts)
    _agreement_of(folders, name)  # before OUT is locked, which would create it
    with ExitStack() as locks:
        for folder in _once([out, *folders]):
            locks.enter_context(taken(folder))
        agreed = _agreement_of(folders, name)
        logs = _logs_of(folders, carried_over=agreed["knowledge_carried_over"])
        copied = _copy_logs(logs, out)
        for kept in (it for folder in folders for it in folder.glob("achievements/*.tsv")):
            write_whole(out / "achievements" / kept.name, kept.read_bytes())
        # What later episodes begin with is made from the logs: no database is copied.
        for log in (out / key.place for key in logs if agreed["knowledge_carried_over"]):
            config = GameConfiguration(workdir=str(log.parents[1]), storage_database_url=None)
            with Store(config) as store:
                store.take_in_log(log)
        # Until now OUT is no evaluation like any other.
        write_whole(out / PLAN_FILE, json.dumps(agreed, indent=2, ensure_ascii=False) + "\n")
        write_report(out)
    print(f"Merged: {counted(len(logs), 'episode')}, {copied} of them copied now.")
    return DONE


def _once(folders: Sequence[Path]) -> list[Path]:
    """Each folder once, however it is written."""
    known: dict[Path, Path] = {}
    for folder in folders:
        known.setdefault(folder.resolve(), folder)
    return list(known.values())


def _agreement_of(folders: Sequence[Path], name: str) -> dict[str, Any]:
    """What all agree on, with the matrix that holds theirs."""
    parts = {folder: agreed_in(folder) for folder in folders}
    (first, agreed), *others = parts.items()
    variants = [variant for part in parts.values() for variant in part["variants"]]
    matrix = {
        "name": name,
        "variants": list(dict.fromkeys(variants)),
        "seeds": sorted({seed for part in parts.values() for seed in part["seeds"]}),
        "episodes": max(part["episodes"] for part in parts.values()),
    }
    if shard_of := {folder: part["shard"] for folder, part in parts.items() if "shard" in part}:
        _refuse_other_shards(parts, shard_of)
        for part in parts.values():
            part.pop("shard", None)
    for folder, part in others:
        if changed := differences({**agreed, **matrix}, {**part, **matrix}):
            raise ConfigurationError(
                f"{folder} was not played under the same rules as {first}: {'; '.join(changed)}. "
                "Nothing was merged; `evaluate.py compare` shows such evaluations side by side."
            )
    return {**agreed, **matrix}


def _refuse_other_shards(
    parts: Mapping[Path, Mapping[str, Any]], shard_of: Mapping[Path, Sequence[int]]
) -> None:
    """Refuse shards of different divisions, missing ones, and one that is there twice."""
    kinds = {of for _, of in shard_of.values()}
    if len(kinds) > 1:
        kind = ", ".join(f"{it} is {one}/{of}" for it, (one, of) in shard_of.items())
        raise ConfigurationError(f"These are shards of different divisions: {kind}.")
    (count,) = kinds
    folders: dict[int, list[str]] = {number: [] for number in range(1, count + 1)}
    for folder, (number, _) in shard_of.items():
        folders[number].append(str(folder))
    for number, in_them in folders.items():
        if len(in_them) > 1:
            raise ConfigurationError(
                f"The shard {number}/{count} appears more than once, in {' and '.join(in_them)}: "
                "name one of them."
            )
    missing = [number for number, in_them in folders.items() if not in_them]
    if missing and len(shard_of) == len(parts):  # else one of them is whole
        agreed = next(iter(parts.values()))
        shards = ({**agreed, "shard": (number, count)} for number in missing)
        lost = {key.row[::2] for shard in shards for key in cells_of(shard)}
        named = [", ".join(filter(None, (game, f"seed {seed}"))) for game, seed in sorted(lost)]
        gaps = ", ".join(f"{number}/{count}" for number in missing)
        what = f"Shard {gaps} is" if len(missing) == 1 else f"Shards {gaps} are"
        raise ConfigurationError(f"{what} missing, with {listed(named)}: name all of them.")


def _logs_of(folders: Sequence[Path], *, carried_over: bool) -> dict[Cell, Path]:
    """Where the log of each episode is that one of the folders has."""
    found: dict[Cell, Path] = {}
    for folder in folders:
        here = {key: folder / key.place for key in cells_of(agreed_in(folder))}
        here = {key: log for key, log in here.items() if (log / EVENTS_FILE).is_file()}
        for key in sorted(found.keys() & here.keys()):
            _check_same(key, found[key], here[key])
        shared_rows = {key.row for key in here} & {key.row for key in found}
        for row in shared_rows if carried_over else ():
            ours, theirs = ({key for key in logs if key.row == row} for logs in (here, found))
            if not (ours <= theirs or theirs <= ours):
                of = ", seed ".join(filter(None, map(str, row[1:])))
                raise ConfigurationError(
                    f"Knowledge was carried over, but {folder} has only some of the episodes of "
                    f"{of}, and another folder the others: those of one game, variant and seed "
                    "must have been played on one machine."
                )
        found |= here
    return found


def _copy_logs(logs: Mapping[Cell, Path], out: Path) -> int:
    """Copy those that ``out`` has not yet; how many these were.

    An episode's event log comes last, so that an episode is there whole or not at all.
    """
    there = [key for key in logs if (out / key.place / EVENTS_FILE).is_file()]
    for key in there:
        _check_same(key, logs[key], out / key.place)
    missing = {key: log for key, log in logs.items() if key not in there}
    for key, log in missing.items():
        files = [it for it in log.iterdir() if it.is_file() and not it.is_symlink()]
        for path in sorted(files, key=lambda path: path.name == EVENTS_FILE):
            write_whole(out / key.place / path.name, path.read_bytes(), mode=PRIVATE)
    return len(missing)


def _check_same(key: Cell, one: Path, other: Path) -> None:
    if not filecmp.cmp(one / EVENTS_FILE, other / EVENTS_FILE, shallow=False):
        raise ConfigurationError(
            f"There are two different logs of {key}: {one} and {other}. Remove the one that "
            "should not count."
        )
