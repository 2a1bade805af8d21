"""What a start of the viewer reads: the logs that are new or changed, and no others."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_ghost.results import JSONObject
from session.record.event_log import EVENTS_FILE
from session.record.index import Line, LogIndex
from tests.support.viewing import append, log_of, recorded, write_log
from viewer.library import Library
from viewer.summaries import SUMMARIES_FILE
from viewer.turns import encoded

NAMES = ("one", "two", "three")


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    for name in NAMES:
        recorded(tmp_path, name)
    return tmp_path


@pytest.fixture
def started(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Starts anew, lists all episodes, and names those whose logs were read."""
    read: list[str] = []
    read_new = LogIndex.read_new

    def counted(self: LogIndex) -> Iterator[Line]:
        read.append(self.path.parent.name)
        return read_new(self)

    monkeypatch.setattr(LogIndex, "read_new", counted)

    def start() -> set[str]:
        read.clear()
        assert len(Library(workdir).index()["episodes"]) == len(NAMES)
        return set(read)

    return start


def rows(workdir: Path) -> dict[str, JSONObject]:
    index = json.loads(encoded(Library(workdir).index()))
    return {row["id"]: row for row in index["episodes"]}


def test_a_second_start_reads_no_unchanged_log_and_shows_the_same(
    workdir: Path, started: Callable[[], set[str]]
) -> None:
    first = rows(workdir)
    (workdir / SUMMARIES_FILE).unlink()
    assert started() == set(NAMES)
    assert started() == set()
    assert rows(workdir) == first


def test_a_changed_log_is_read_again_and_a_copied_one_too(
    workdir: Path, started: Callable[[], set[str]]
) -> None:
    started()
    append(workdir / "episodes" / "two", b"\n")
    assert started() == {"two"}
    log = workdir / "episodes" / "three" / EVENTS_FILE
    times = log.stat()
    copy = log.with_name("copy")
    copy.write_bytes(log.read_bytes())
    copy.replace(log)
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert started() == {"three"}
    assert started() == set()


def test_an_episode_that_is_only_recalled_can_be_opened_found_and_goes_on(workdir: Path) -> None:
    events = log_of(workdir / "episodes" / "two")
    cut = [event for event in events if event["turn"] <= 6 and event["event_type"] != "episode_end"]
    write_log(workdir / "episodes" / "two", cut)
    assert rows(workdir)["two"]["running"] is False
    library = Library(workdir)
    library.index()
    episode = next(it for it in library.episodes() if it.id == "two")
    assert not episode.is_read
    file = os.open(episode.folder / EVENTS_FILE, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    assert episode.summary()["running"] is True
    os.close(file)
    found = library.find("two")
    assert (found, found.is_read, found.turn_count) == (episode, True, 6)
    assert found.summary()["running"] is False
    write_log(workdir / "episodes" / "two", events)
    row = next(it for it in library.index()["episodes"] if it["id"] == "two")
    assert row["turns"] == events[-1]["turn"] > 6


@pytest.mark.parametrize("damage", ["cut", "changed", "of other code", "binary", "a folder"])
def test_summaries_that_are_damaged_or_of_other_code_are_ignored_and_replaced(
    workdir: Path, started: Callable[[], set[str]], damage: str
) -> None:
    started()
    file = workdir / SUMMARIES_FILE
    kept = file.read_bytes()
    damaged = {
        "cut": kept[:-9],
        "changed": kept.replace(b'"score":', b'"scare":', 1),
        "of other code": b"0" + kept[1:] if kept[:1] != b"0" else b"1" + kept[1:],
        "binary": b"\xff\x00\n\xff",
    }
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    else:
        file.write_bytes(damaged[damage])
    assert started() == set(NAMES)
    assert started() == (set(NAMES) if damage == "a folder" else set())
    assert sorted(it.name for it in workdir.iterdir()) == sorted([SUMMARIES_FILE, "episodes"])


def test_what_a_killed_viewer_left_unfinished_is_removed(
    workdir: Path, started: Callable[[], set[str]]
) -> None:
    abandoned = workdir / f".{SUMMARIES_FILE}.abandoned.tmp"
    abandoned.write_bytes(b"half")
    assert started() == set(NAMES)
    assert sorted(it.name for it in workdir.iterdir()) == sorted([SUMMARIES_FILE, "episodes"])


def test_two_viewers_at_once_do_not_disturb_each_other(
    workdir: Path, started: Callable[[], set[str]]
) -> None:
    wrong: list[int] = []

    def start() -> None:
        for _ in range(5):
            append(workdir / "episodes" / "one", b"\n")
            if (seen := len(rows(workdir))) != len(NAMES):
                wrong.append(seen)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    started()
    assert started() == set()
    assert sorted(it.name for it in workdir.iterdir()) == sorted([SUMMARIES_FILE, "episodes"])


def test_rows_come_as_logs_are_read_the_newest_first(workdir: Path) -> None:
    for at, name in enumerate(NAMES):
        os.utime(workdir / "episodes" / name / EVENTS_FILE, ns=(at, at))
    progress: list[tuple[str, float | None]] = []
    library = Library(workdir, lambda label, share: progress.append((label, share)))
    told = [library.index(seconds=0) for _ in range(4)]
    assert [(len(it["episodes"]), it["unread"]) for it in told] == [(1, 2), (2, 1), (3, 0), (3, 0)]
    assert told[0]["episodes"][0]["id"] == NAMES[-1]
    shares = [0, 1, 1 / 3, 1, 2 / 3, 1, 1]
    assert progress == [("Reading 3 episodes", share) for share in shares]
    assert Library(workdir).index(seconds=0)["unread"] == 0
