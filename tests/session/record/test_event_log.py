"""The episode's record on the disk."""

from __future__ import annotations

import json
import logging
import os
import resource
from collections.abc import Iterator
from datetime import datetime, timedelta
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.redact import Redactor
from session.events import event_context, log_event, log_line
from session.record import event_log
from session.record.event_log import (
    EVENTS_FILE,
    EpisodeDamagedError,
    EpisodeLockedError,
    EpisodeNotKeptError,
    EventLog,
    entry_of,
    read,
)
from session.record.schema import ModelCall, write
from session.record.summary import LOG_FILE
from session.record.text_log import EpisodeLog
from tests.support.episodes import read_events

KEY = "sk-very-secret"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.Logger("episode", logging.DEBUG)
    yield logger
    for handler in logger.handlers:
        handler.close()


def test_an_event_is_one_line_with_its_fields_and_its_context(
    tmp_path: Path, logger: logging.Logger
) -> None:
    logger.addHandler(memory := BufferingHandler(capacity=9))
    logger.addHandler(EventLog(tmp_path))
    with event_context(episode_id="e", turn=3):
        log_event(logger, logging.INFO, "Line\nbreak", "something", answer={"ü": 1})
        log_line(logger, logging.INFO, "for people")
    (event,) = read_events(tmp_path)
    assert datetime.fromisoformat(event["time"]).utcoffset() == timedelta(0)
    assert '{"ü": 1}' in (tmp_path / EVENTS_FILE).read_text(encoding="utf-8")
    assert [entry_of(record) for record in memory.buffer] == [*read(tmp_path), None]
    assert event["event_type"] == "something"
    assert (event["episode_id"], event["turn"], event["level"]) == ("e", 3, "INFO")
    assert event["answer"] == {"ü": 1}
    assert event["message"] == "Line\nbreak"


def test_a_plain_record_is_for_reading_only(tmp_path: Path, logger: logging.Logger) -> None:
    logger.addHandler(EventLog(tmp_path))
    logger.addHandler(EpisodeLog(tmp_path))
    with event_context(turn=15, iteration=1):
        log_line(logger, logging.DEBUG, "Tool arguments: {}")
    assert list(read_events(tmp_path)) == []
    text = (tmp_path / LOG_FILE).read_text(encoding="utf-8")
    assert text == "[DEBUG] Turn 15 Iteration 1: Tool arguments: {}\n"


def test_no_key_reaches_a_file(tmp_path: Path, logger: logging.Logger) -> None:
    logger.addHandler(EventLog(tmp_path, (KEY,)))
    logger.addHandler(EpisodeLog(tmp_path, (KEY,)))
    log_event(logger, logging.INFO, f"refused {KEY}", "oops", header={"authorization": KEY})
    for name in (EVENTS_FILE, LOG_FILE):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert KEY not in text
        assert "refused ***" in text


def test_a_line_cut_by_a_crash_is_neither_read_nor_continued(
    tmp_path: Path, logger: logging.Logger
) -> None:
    whole = json.dumps({"event_type": "a"}) + "\n"
    (tmp_path / EVENTS_FILE).write_text(whole + '{"event_type": "b", "te', encoding="utf-8")
    assert [event["event_type"] for event in read_events(tmp_path)] == ["a"]
    logger.addHandler(EventLog(tmp_path))
    log_event(logger, logging.INFO, "", "c")
    assert [event["event_type"] for event in read_events(tmp_path)] == ["a", "c"]


def test_a_line_that_did_not_fit_on_the_disk_leaves_nothing_behind(
    tmp_path: Path, logger: logging.Logger
) -> None:
    logger.addHandler(EventLog(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    log_event(logger, logging.INFO, "", "a")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        log_event(logger, logging.INFO, "x" * 2000, "b")
        with pytest.raises(EpisodeNotKeptError, match=f"--resume {tmp_path.name}"):
            log_event(logger, logging.INFO, "x" * 2000, "turn")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    log_event(logger, logging.INFO, "", "c")
    assert [event["event_type"] for event in read_events(tmp_path)] == ["a", "c"]


@pytest.mark.parametrize("line", ["garbage", "[]", "{}", "[" * 100_000, '{"event_type": "x"'])
def test_a_damaged_line_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    text = f'{{"event_type": "a"}}\n{line}\n{{"event_type": "b"}}\n'
    (tmp_path / EVENTS_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(EpisodeDamagedError, match="Line 2 of") as error:
        list(read(tmp_path))
    assert str(error.value).endswith("the turn before it, delete that line and all after it.")


def test_a_log_without_its_beginning_cannot_be_continued_or_replayed(tmp_path: Path) -> None:
    (tmp_path / EVENTS_FILE).write_text("garbage\n", encoding="utf-8")
    words = r"is damaged\. Without its beginning, the episode cannot be continued or replayed\.$"
    with pytest.raises(EpisodeDamagedError, match=f"^Line 1 of .*{words}"):
        list(read(tmp_path))


def test_two_writers_of_one_episode_are_refused(tmp_path: Path) -> None:
    first = EventLog(tmp_path)
    with pytest.raises(EpisodeLockedError, match="another process"):
        EventLog(tmp_path)
    first.close()
    EventLog(tmp_path).close()


def test_a_value_that_json_does_not_know_is_kept_as_text(
    tmp_path: Path, logger: logging.Logger
) -> None:
    logger.addHandler(EventLog(tmp_path))
    log_event(logger, logging.INFO, "", "odd", value={1, 2} and Path("x"), lone="\ud800")
    (event,) = read_events(tmp_path)
    assert event["value"] == "x"


def test_only_steps_of_the_episode_wait_for_the_disk(
    tmp_path: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    logger.addHandler(EventLog(tmp_path))
    assert (tmp_path / EVENTS_FILE).stat().st_mode & 0o111 == 0  # nobody can execute it
    log_event(logger, logging.INFO, "", "thought")
    assert synced == []
    log_event(logger, logging.INFO, "", "turn")
    assert synced == [(tmp_path / EVENTS_FILE).stat().st_size]


def test_a_request_like_the_one_before_it_refers_to_it_also_when_the_log_is_opened_again(
    tmp_path: Path, logger: logging.Logger
) -> None:
    text = "The first line of a prompt.\nIts second line.\n"
    for _ in range(2):
        log = EventLog(tmp_path)
        logger.addHandler(log)
        for _ in range(2):
            write(logger, "", ModelCall(role="Agent", request={"messages": [{"content": text}]}))
        logger.removeHandler(log)
        log.close()
    first, *others = read_events(tmp_path)
    assert text.splitlines()[0] in str(first)
    for other in others:
        (part,) = other["request"]["parts"]
        assert isinstance(part, list)
    asked = [it.event.request for it in read(tmp_path) if isinstance(it.event, ModelCall)]
    assert asked == [{"messages": [{"content": text}]}] * 4


def test_what_has_become_secret_is_blanked_out_when_the_log_is_opened_again(
    tmp_path: Path, logger: logging.Logger
) -> None:
    request = {"messages": [{"content": "Say hunter2-hunter2.\nThis is the second line.\n"}]}
    for secrets in ([], ["hunter2-hunter2"]):
        log = EventLog(tmp_path, secrets)
        logger.addHandler(log)
        for _ in range(2):
            write(logger, "", ModelCall(role="Agent", request=request))
        logger.removeHandler(log)
        log.close()
    asked = [it.event.request for it in read(tmp_path) if isinstance(it.event, ModelCall)]
    assert ["hunter2" in str(it) for it in asked] == [True, True, False, False]


def test_only_what_is_new_in_a_request_is_searched_for_secrets(
    tmp_path: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[int, int]] = []

    class Recording(Redactor):
        def finds_nothing(self, text: str, known: int = 0) -> bool:
            searched.append((known, len(text)))
            return super().finds_nothing(text, known)

    monkeypatch.setattr(event_log, "Redactor", Recording)
    logger.addHandler(EventLog(tmp_path))
    said: list[dict[str, Any]] = []
    for number in range(3):
        said.append({"content": f"{number} is what was said then.\n" * 20})
        for role in ("Agent", "Critic"):
            messages = [{"content": role}, *said]
            write(logger, "", ModelCall(role=role, request={"messages": messages}))
    first, later = searched[:2], searched[2:]
    assert [known for known, _ in first] == [0, 0]
    assert all(0 < length - known < 800 < length for known, length in later)


def test_what_follows_a_request_that_is_missing_stands_on_its_own(
    tmp_path: Path, logger: logging.Logger
) -> None:
    def ask(*numbers: int) -> None:
        log = EventLog(tmp_path)
        logger.addHandler(log)
        for number in numbers:
            said = [{"content": f"This was said in turn {it}.\n"} for it in range(number)]
            write(logger, "", ModelCall(role="Agent", request={"messages": said}))
        logger.removeHandler(log)
        log.close()

    ask(1, 2, 3)
    first, _, third = (tmp_path / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / EVENTS_FILE).write_bytes(first + third)
    ask(4, 5)
    calls = [it.event for it in read(tmp_path) if isinstance(it.event, ModelCall)]
    assert [len(it.request["messages"]) for it in calls] == [1, 4, 5]
    *_, fourth, _ = read_events(tmp_path)
    assert not [it for it in fourth["request"]["parts"] if isinstance(it, list)]


def test_a_damaged_request_does_not_stop_the_log(tmp_path: Path) -> None:
    log = tmp_path / EVENTS_FILE
    log.write_text('garbage "event_type": "model_call"\n', encoding="utf-8")
    EventLog(tmp_path).close()
    assert log.stat().st_size > 0
    with pytest.raises(EpisodeDamagedError, match="Line 1 of"):
        list(read(tmp_path))


def test_a_program_without_standard_input_keeps_a_record(
    tmp_path: Path, logger: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "games" / "e"
    stdin = os.dup(0)
    os.close(0)
    try:
        log = EventLog(folder)  # its file has the number that is free
        logger.addHandler(log)
        log_event(logger, logging.INFO, "", "a")
        log.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
    log_event(logger, logging.INFO, "", "after the end")
    assert [event["event_type"] for event in read_events(folder)] == ["a"]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", ["events.jsonl", "episode.log"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_written_through_what_somebody_put_in_the_place_of_a_log(
    name: str, kind: str, tmp_path: Path
) -> None:
    folder, target = tmp_path / "shared", tmp_path / "target"
    folder.mkdir()
    target.write_text("mine")
    if kind == "link":
        (folder / name).symlink_to(target)
    else:
        os.mkfifo(folder / name)
    with pytest.raises(OSError, match=name):
        (EventLog if name == "events.jsonl" else EpisodeLog)(folder)
    assert target.read_text() == "mine"
