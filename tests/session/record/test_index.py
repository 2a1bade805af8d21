from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from session.record.event_log import EVENTS_FILE, EventLog
from session.record.index import LogIndex, LogReplacedError, is_being_written
from session.record.schema import parse
from tests.support.viewing import append, log_of, recorded
from tests.support.work import steps
from workshop.benchmarks.viewer import write_long_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return recorded(tmp_path) / EVENTS_FILE


def line(number: int) -> bytes:
    return json.dumps({"event_type": "notice", "message": f"number {number}"}).encode() + b"\n"


def test_a_log_is_read_once_and_then_only_what_was_appended(log: Path) -> None:
    index = LogIndex(log)
    events = [each.entry for each in index.read_new()]
    assert events == [parse(fields) for fields in log_of(log.parent)]
    assert not index.has_news()
    size = log.stat().st_size
    append(log.parent, line(1), line(2))
    assert index.has_news()
    new = list(index.read_new())
    assert [each.span.offset for each in new] == [size, size + len(line(1))]
    assert [each.number for each in new] == [len(events) + 1, len(events) + 2]
    assert list(index.read_new()) == []


def test_any_line_can_be_read_again_by_its_place(log: Path) -> None:
    index = LogIndex(log)
    for each in list(index.read_new())[::7]:
        assert index.read(each.span) == each.entry


def test_a_line_that_is_still_being_written_waits_until_it_is_whole(log: Path) -> None:
    index = LogIndex(log)
    list(index.read_new())
    append(log.parent, line(1)[:10])
    assert list(index.read_new()) == []
    append(log.parent, line(1)[10:])
    (whole,) = index.read_new()
    assert whole.entry == parse(json.loads(line(1)))


@pytest.mark.parametrize(
    "damage",
    [
        b"\n",
        b"\0\0\0\n",
        b"\xff\n",
        b"[1]\n",
        b"{}\n",
        b'{"event_type": \n',
        b'{"event_type": 1}\n',
        b"[" * 100_000 + b"\n",
        b"1" * 5000 + b"\n",
    ],
)
def test_a_damaged_line_is_told_and_the_rest_goes_on(log: Path, damage: bytes) -> None:
    index = LogIndex(log)
    count = len(list(index.read_new()))
    append(log.parent, damage, line(1))
    damaged, whole = index.read_new()
    assert damaged.entry is None
    assert damaged.number == count + 1
    assert whole.entry == parse(json.loads(line(1)))


def test_half_a_character_becomes_one_that_can_be_written(log: Path) -> None:
    index = LogIndex(log)
    list(index.read_new())
    append(log.parent, b'{"event_type": "notice", "message": "a\\ud800b"}\n')
    (odd,) = index.read_new()
    assert odd.entry == parse({"event_type": "notice", "message": "a\N{REPLACEMENT CHARACTER}b"})


def test_a_log_that_was_replaced_cut_or_written_anew_is_told_from_one_that_grew(log: Path) -> None:
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)

    def replace() -> None:
        other = log.with_suffix(".new")
        other.write_bytes(whole + line(1))
        other.replace(log)

    changes = (
        replace,
        lambda: os.truncate(log, len(whole) - len(lines[-1])),
        lambda: log.write_bytes(b"".join([*lines[:-1], line(1) * 100])),
    )
    for change in changes:
        log.write_bytes(whole)
        index = LogIndex(log)
        list(index.read_new())
        change()
        assert index.has_news()
        with pytest.raises(LogReplacedError):
            list(index.read_new())


def test_the_player_of_an_episode_is_noticed_and_never_hindered(tmp_path: Path) -> None:
    player = EventLog(tmp_path / "e")
    assert is_being_written(player.path)
    player.close()
    assert not is_being_written(player.path)
    EventLog(tmp_path / "e").close()
    assert not is_being_written(tmp_path / "missing")


def test_indexing_is_the_same_work_however_long_the_lines_are(log: Path, tmp_path: Path) -> None:
    def indexing(padding: int) -> int:
        folder = tmp_path / f"padded by {padding}"
        long = write_long_log(log.parent, folder, turns=200, padding=padding) / EVENTS_FILE
        assert long.stat().st_size > 200 * padding
        return steps(lambda: list(LogIndex(long).read_new()))

    assert indexing(20_000) <= 1.1 * indexing(20)
