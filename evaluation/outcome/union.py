"""One evaluation out of several, as parts of it were played on several machines."""

import filecmp
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.agreement import differences
from evaluation.outcome.played import Key, agreed_in, keys_of
from evaluation.plan import PLAN_FILE
from mcp_ghost.files import write_whole
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE


def union_of(parts: Mapping[Path, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """What all ``parts``, folder -> agreement, agree on, with the matrix that holds theirs.

    Raises:
        ConfigurationError: They were not played under the same rules.
    """
    (first, agreed), *others = parts.items()
    variants = [variant for part in parts.values() for variant in part["variants"]]
    matrix = {
        "name": name,
        "variants": list(dict.fromkeys(variants)),
        "seeds": sorted({seed for part in parts.values() for seed in part["seeds"]}),
        "episodes": max(part["episodes"] for part in parts.values()),
    }
    for folder, part in others:
        if changed := differences({**agreed, **matrix}, {**part, **matrix}):
            raise ConfigurationError(
                f"{folder} was not played under the same rules as {first}: {'; '.join(changed)}. "
                "Nothing was merged; `evaluate.py compare` shows such evaluations side by side."
            )
    return {**agreed, **matrix}


def logs_of(parts: Mapping[Path, Mapping[str, Any]], *, carried_over: bool) -> dict[Key, Path]:
    """Where the log of each episode is that one of the ``parts`` has.

    Raises:
        ConfigurationError: Two have different logs of one episode, or knowledge was carried over
            between episodes that do not come from the same part.
    """
    found: dict[Key, Path] = {}
    for folder, agreed in parts.items():
        here = {key: folder / key.place for key in keys_of(agreed)}
        here = {key: log for key, log in here.items() if (log / EVENTS_FILE).is_file()}
        for key in found.keys() & here.keys():
            _check_same(key, found[key], here[key])
        if carried_over:
            _check_rows_whole(found, here, folder)
        found |= here
    return found


def copy_logs(logs: Mapping[Key, Path], out: Path) -> int:
    """Copy those that ``out`` has not yet; how many these were.

    An episode's event log comes last, so that an episode is there whole or not at all.

    Raises:
        ConfigurationError: ``out`` has another log of an episode.
    """
    missing = {}
    for key, log in logs.items():
        if (out / key.place / EVENTS_FILE).is_file():
            _check_same(key, log, out / key.place)
        else:
            missing[key] = log
    for key, log in missing.items():
        files = sorted(path for path in log.iterdir() if path.is_file())
        for path in sorted(files, key=lambda path: path.name == EVENTS_FILE):
            write_whole(out / key.place / path.name, path.read_bytes())
    return len(missing)


def rebuild_knowledge(logs: Mapping[Key, Path], out: Path) -> None:
    """What later episodes begin with: it is made from the logs, so that no database is copied."""
    from storage.store import Store

    for key in logs:
        log = out / key.place
        config = GameConfiguration(workdir=str(log.parents[1]), storage_database_url=None)
        with Store(config) as store:
            store.take_in_log(log)


def write_agreement(agreed: Mapping[str, Any], out: Path) -> None:
    """Make ``out`` an evaluation like any other, which it is not until then."""
    write_whole(out / PLAN_FILE, json.dumps(agreed, indent=2, ensure_ascii=False) + "\n")


def parts_in(folders: Sequence[Path]) -> dict[Path, dict[str, Any]]:
    """Folder -> agreement.

    Raises:
        ConfigurationError: There is no evaluation in one of them.
    """
    return {folder: agreed_in(folder) for folder in folders}


def _check_same(key: Key, one: Path, other: Path) -> None:
    if not filecmp.cmp(one / EVENTS_FILE, other / EVENTS_FILE, shallow=False):
        raise ConfigurationError(
            f"There are two different logs of {key}: {one} and {other}. Remove the one that "
            "should not count."
        )


def _check_rows_whole(found: Mapping[Key, Path], here: Mapping[Key, Path], folder: Path) -> None:
    """Refuse episodes that follow ones from which they learned nothing."""
    for row in _rows(here) & _rows(found):
        ours, theirs = ({key for key in logs if key[:2] == row} for logs in (here, found))
        if not (ours <= theirs or theirs <= ours):
            variant, seed = row
            raise ConfigurationError(
                f"Knowledge was carried over, but {folder} has only some of the episodes of "
                f"{variant}, seed {seed}, and another folder the others: those of one variant and "
                "seed must have been played on one machine."
            )


def _rows(logs: Mapping[Key, Path]) -> set[tuple[str, int]]:
    return {key[:2] for key in logs}


def folders_once(folders: Sequence[Path]) -> Iterator[Path]:
    """Each of ``folders`` once, however it is written."""
    seen = set()
    for folder in folders:
        if (real := folder.resolve()) not in seen:
            seen.add(real)
            yield folder
