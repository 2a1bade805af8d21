"""Logs that somebody edited or a disk garbled are read, or refused with line and remedy."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game_interface.errors import GameError, StoryNotFoundError
from mcp_ghost.testing import ModelServer
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import ConfigurationError
from session.record.event_log import EVENTS_FILE, EpisodeDamagedError, read
from session.record.fold import EpisodeFold
from session.record.index import LogIndex
from session.record.resume import SavedEpisode
from tests.support import DATA
from tests.support.episodes import answer, configured, played

LOGS = {
    folder.name: (folder / EVENTS_FILE).read_bytes().replace(b'"fernz"', b'"bocfel"')
    for folder in (DATA / "episodes").iterdir()
}
ODD: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        3,
        2**40,
        10**30,
        1e308,
        float("nan"),
        "",
        "x",
        "\N{SLIGHTLY SMILING FACE}",
    ),
    *("\x00", "\ud800", "AAAA", [], {}, [1], {"a": 1}, "retired", "jericho"),
]
# The last where the log names a story that this machine does not have, as a whole log may, too.
REFUSED = (EpisodeDamagedError, ConfigurationError, StoryNotFoundError)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything within ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, bytes]:
    """An episode's name, and its log after up to three edits."""
    name = draw(st.sampled_from(sorted(LOGS)))
    lines = [json.loads(line) for line in LOGS[name].splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["set", "set", "delete", "drop", "repeat", "swap"])):
            case "drop" if len(lines) > 1:
                del lines[at]
            case "repeat":
                lines.insert(at, copy.deepcopy(lines[at]))
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case edit:
                *way, last = draw(st.sampled_from([*places(lines[at])] or [("event_type",)]))
                holder = lines[at]
                for key in way:
                    holder = holder[key]
                if edit == "delete":
                    holder.pop(last, None) if isinstance(holder, dict) else holder.pop(last)
                else:
                    holder[last] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return name, b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@st.composite
def garbled(draw: st.DrawFn) -> tuple[str, bytes]:
    """An episode's name, and its log with other bytes at some places."""
    name = draw(st.sampled_from(sorted(LOGS)))
    log = bytearray(LOGS[name])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(log)))
        log[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=8))
    return name, bytes(log)


def written(workdir: Path, name: str, log: bytes) -> Path:
    folder = workdir / "game_files" / "episodes" / name
    folder.mkdir(parents=True)
    (folder / EVENTS_FILE).write_bytes(log)
    return folder


def refused_as(work: Callable[[], object]) -> str:
    """What is said where ``work`` refuses a log; every other error is a fault."""
    try:
        work()
    except REFUSED as error:
        return str(error)
    return ""


def folded(folder: Path) -> None:
    fold = EpisodeFold()
    for entry in read(folder):
        fold.take(entry)


@pytest.mark.fuzz
@given(st.one_of(edited(), garbled()))
def test_every_log_is_read_or_refused_with_its_line(case: tuple[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as workdir:
        folder = written(Path(workdir), *case)
        said = refused_as(lambda: folded(folder))
        assert said == "" or (
            "Without its beginning" in said
            or "To continue from the turn before it, delete that line" in said
        )
        refused_as(lambda: SavedEpisode(folder))
        for line in LogIndex(folder / EVENTS_FILE).read_new():  # as the viewer reads it
            assert line.number > 0


@pytest.mark.fuzz
@settings(max_examples=15)
@given(edited())
def test_every_edited_log_is_resumed_or_refused(case: tuple[str, bytes]) -> None:
    with (
        tempfile.TemporaryDirectory() as workdir,
        ModelServer(lambda _: answer("look")) as model,
    ):
        folder = written(Path(workdir), *case)
        config = configured(Path(workdir), model.base_url)

        def resumed() -> None:
            with ZorkOrchestratorV2(folder.name, config, resume=True) as orchestrator:
                orchestrator._process_turn()

        refused_as(resumed)


def resumed_with(workdir: Path, event_type: str, **changes: object) -> str:
    """What resuming says after the last event of the type was edited."""
    lines = [json.loads(line) for line in LOGS["ended"].splitlines()]
    number = max(i for i, line in enumerate(lines) if line["event_type"] == event_type)
    lines[number] |= changes
    log = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with ModelServer(lambda _: answer("look")) as model:
        written(workdir, "ended", log)
        config = configured(workdir, model.base_url)

        def resumed() -> None:
            with ZorkOrchestratorV2("ended", config, resume=True) as orchestrator:
                orchestrator._process_turn()

        said = refused_as(resumed)
    assert said.startswith(f"Line {number + 1} of ") == bool(said)
    return said


@pytest.mark.parametrize(
    ("event_type", "changes", "why"),
    [
        ("turn", {"snapshot": "\N{SLIGHTLY SMILING FACE}"}, "(its snapshot is not base64)"),
        ("turn", {"snapshot": "!!!!"}, "(its snapshot is not base64)"),
        ("turn", {"snapshot": base64.b64encode(b"x").decode()}, "(this is not a snapshot"),
        ("turn", {"scored": 10**30}, " is damaged."),
        ("turn", {"turn": 12}, "(turn 8 is missing)"),
        ("turn", {"turn": 7}, "(turn 8 is missing)"),
        ("episode_start", {"story": ""}, "(not a valid start of an episode)"),
    ],
)
def test_what_no_game_can_go_on_from_is_refused(
    tmp_path: Path, event_type: str, changes: dict[str, object], why: str
) -> None:
    assert why in resumed_with(tmp_path, event_type, **changes)


@pytest.mark.parametrize("name", ["story_path", "story"])
@pytest.mark.parametrize("path", ["x" * 5000, "/" + "x/" * 2500 + "story.z5", "a\nb" * 1000])
def test_a_path_without_end_is_refused_in_one_short_line(
    tmp_path: Path, name: str, path: str
) -> None:
    log = [json.loads(line) for line in LOGS["ended"].splitlines()]
    changes = {"story_path": path, "story": path}
    if name == "story":
        changes["story_path"] = ""
    lines = [it | changes if it["event_type"] == "episode_start" else it for it in log]
    folder = tmp_path / "game_files" / "episodes" / "edited"
    folder.mkdir(parents=True)
    unended = [it for it in lines if it["event_type"] != "episode_end"]
    (folder / EVENTS_FILE).write_text("".join(f"{json.dumps(it)}\n" for it in unended))
    with pytest.raises((ConfigurationError, GameError)) as refused:
        played(tmp_path, [], episode="edited", resume=True)
    assert len(str(refused.value)) < 600
    assert "\n" not in str(refused.value)


def test_turns_without_a_beginning_are_refused(tmp_path: Path) -> None:
    lines = LOGS["ended"].splitlines(keepends=True)
    log = b"".join(line for line in lines if b'"event_type": "episode_start"' not in line)
    folder = written(tmp_path, "ended", log)
    with pytest.raises(EpisodeDamagedError, match=r"\(the episode has not begun\)") as refused:
        SavedEpisode(folder)
    assert "delete that line" not in str(refused.value)
    assert "Without its beginning" in str(refused.value)
