"""An episode is played again from its record, and the first thing that differs is named."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import zork_agent
from mcp_ghost.testing import content_reply, error_reply, tool_reply
from orchestration.recorded import DivergenceError
from orchestration.replay import replay
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from prompts import load_prompt
from session.game_configuration import ConfigurationError, GameConfiguration
from session.record.event_log import EVENTS_FILE, EpisodeDamagedError
from session.record.request_deltas import RequestDeltas, request_text
from tests.support import ROOT
from tests.support.episodes import answer, played, read_events, wanted
from tests.support.games import BUNDLED_COMMANDS
from tests.support.ghosts import Bank
from tests.support.journal import NAME
from tests.support.program import Program
from tests.support.servers import faulty, write_config
from tests.support.viewing import LEARNED
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_ghost.testing import ModelRequest, Reply

EVERYTHING: dict[str, Any] = {
    "reflection_enabled": True,
    "reflection_interval_turns": 3,
    "critic_enabled": True,
    "mcp_enabled": True,
    "mcp_config_file": str(ROOT / "mcp_config.json"),
}


class Thoughtful:
    """Plays the solution, calls tools, criticises and learns."""

    def __init__(self, begin: int = 0) -> None:
        self._model = ScriptedModel(BUNDLED_COMMANDS[begin:], think_every=2)

    def __call__(self, request: ModelRequest) -> Reply:
        if wanted(request) == "ReflectionAnswer":
            return content_reply(json.dumps(LEARNED))
        if wanted(request) == "CriticAnswer":
            return content_reply('{"verdict": "accept", "reason": ""}')
        return self._model(request)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changed(folder: Path, before: str, after: str) -> None:
    log = folder / EVENTS_FILE
    text = log.read_text(encoding="utf-8")
    assert before in text
    log.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_an_episode_with_tools_critic_and_reflections_goes_the_same_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    episode = played(tmp_path, Thoughtful(), max_turns_per_episode=8, **EVERYTHING)
    assert episode.events("mcp_tool_result")
    before = files(episode.folder)
    same = replay(episode.folder)
    assert (same.turns, same.calls) == (8, len(episode.requests))
    assert files(episode.folder) == before


def test_what_was_carried_over_is_taken_from_the_record(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"reflection_enabled": True, "reflection_interval_turns": 3}
    played(tmp_path, Thoughtful(), max_turns_per_episode=6, **settings)
    second = played(
        tmp_path, Thoughtful(), episode="second", max_turns_per_episode=3, **settings
    ).folder
    (tmp_path / "game_files" / "knowledge.db").unlink()
    assert replay(second).turns == 3


def test_a_resumed_episode_goes_the_same_from_run_to_run(tmp_path: Path) -> None:
    played(tmp_path, Thoughtful(), max_turns_per_episode=3, **EVERYTHING)
    folder = played(
        tmp_path, Thoughtful(3), resume=True, max_turns_per_episode=5, critic_enabled=False
    ).folder
    assert replay(folder).turns == 5


def test_a_turn_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=4).folder
    log = folder / EVENTS_FILE
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"event_type": "turn"' in line)
    log.write_bytes(b"".join([*lines[:last], lines[last][:50]]))
    played(tmp_path, Thoughtful(3), resume=True, max_turns_per_episode=5)
    assert replay(folder).turns == 5


def test_turns_that_were_not_played_fail_again(tmp_path: Path) -> None:
    script = [answer("north"), error_reply(503), content_reply("Hm."), answer("north")]
    folder = played(tmp_path, script, max_turns_per_episode=2).folder
    assert replay(folder).turns == 2


def test_extra_fields_are_compared_where_the_log_holds_them(tmp_path: Path) -> None:
    body = {"metadata": {"api_key": "hunter2-hunter2", "run": "first"}}
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=2, agent_extra_body=body).folder
    assert replay(folder).turns == 2
    rewritten(folder, without_extra_body)
    assert replay(folder).turns == 2


def without_extra_body(request: dict[str, Any]) -> None:
    del request["sent"], request["options"]["extra_body"]


def without_kinds(request: dict[str, Any]) -> None:
    for message in request["messages"]:
        message.pop("kind", None)


def in_other_words(request: dict[str, Any]) -> None:
    for message in request["messages"]:
        if message["role"] == "tool":
            told = message["content"]
            for word in ("Tool call failed", "Tool call timed out", "Skipped", "lost"):
                told = told.replace(word, word[::-1])
            message["content"] = told


def rewritten(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the log as if the requests had been logged after ``change``."""
    known, fewer = RequestDeltas(), RequestDeltas()
    events = [*read_events(folder)]
    for event in events:
        if event["event_type"] == "model_call":
            request = known.taken_in(event["role"], event["request"])
            change(request)
            split = fewer.split(event["role"], request_text(request))
            event["request"] = fewer.delta(event["role"], split)
            fewer.keep(event["role"], split)
    log = "".join(json.dumps(event) + "\n" for event in events)
    (folder / EVENTS_FILE).write_text(log, encoding="utf-8")


def test_a_refused_command_is_refused_again(tmp_path: Path) -> None:
    script = [answer("take the golden fleece"), answer("north"), answer("north")]
    folder = played(tmp_path, script, max_turns_per_episode=2).folder
    assert replay(folder).turns == 2


SHOW: tuple[str, dict[str, Any]] = ("bank.show", {})
HUGE = tool_reply([(f"{NAME}.huge", {"size": 40_000})])
BLIND = error_reply(404, "No endpoints found that support image input")
TOLD: list[tuple[int, list[Reply]]] = [
    (1_000, [HUGE, HUGE]),
    (10_000, [HUGE]),
    (10_000, [tool_reply([SHOW, ("bank.balance", {}), SHOW])]),
    (6_000, [tool_reply([SHOW] * 3)]),
    (10_000, [tool_reply([SHOW]), BLIND, tool_reply([SHOW])]),
]


@pytest.mark.parametrize(("tokens", "script"), TOLD)
def test_results_that_were_cut_and_images_reach_the_model_as_they_did(
    tokens: int, script: list[Reply], tmp_path: Path
) -> None:
    servers = {"bank": Bank(tmp_path).config, NAME: faulty("ok")}
    settings: dict[str, Any] = {
        "mcp_enabled": True,
        "mcp_config_file": str(write_config(tmp_path / "servers.json", **servers)),
        "mcp_servers": tuple(servers),
        "mcp_max_result_tokens_per_turn": tokens,
    }
    episode = played(tmp_path, [*script, answer("north")], max_turns_per_episode=1, **settings)
    assert replay(episode.folder).turns == 1


@pytest.mark.parametrize("change", [without_kinds, in_other_words])
def test_calls_that_failed_fail_again_in_the_words_that_the_model_was_told(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "mcp_enabled": True,
        "mcp_config_file": str(write_config(tmp_path / "servers.json", **{NAME: faulty("ok")})),
        "mcp_tool_call_timeout_seconds": 1,
    }
    said = [*itertools.product((f"{NAME}.echo", f"{NAME}.hang", f"{NAME}.die"), [{"text": "x"}])]
    script = [tool_reply(said[:2] + said[:1]), tool_reply([said[0], said[2], said[0]])]
    script.append(answer("north"))
    folder = played(tmp_path, script, max_turns_per_episode=1, **settings).folder
    rewritten(folder, change)
    assert replay(folder).turns == 1


@pytest.mark.soak
def test_an_episode_of_the_embedded_model_is_replayed_without_it(tmp_path: Path) -> None:
    config = GameConfiguration(
        story="bundled", seed=7, workdir=str(tmp_path), max_turns_per_episode=2
    )
    with ZorkOrchestratorV2("small", config) as orchestrator:
        orchestrator.play_episode()
    assert replay(orchestrator.folder).turns == 2


def test_a_changed_prompt_is_named_with_the_turn_and_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=2).folder

    def edited(*named: str) -> str:
        return load_prompt(*named).replace("You", "Thou", 1)

    monkeypatch.setattr(zork_agent, "load_prompt", edited)
    with pytest.raises(DivergenceError, match="Turn 1: the request to the Agent differs") as raised:
        replay(folder)
    assert "Thou" in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ('"command": "north"', '"command": "south"', "Turn 2: its command differs"),
        ('"name": "Cliff Path"', '"name": "Cliff Top"', "Turn 2: its after differs"),
        ('\\"action\\": \\"north\\"', '\\"action\\": \\"wait\\"', "Turn 2: its command differs"),
    ],
)
def test_another_command_another_fact_or_another_reply_is_named(
    tmp_path: Path, before: str, after: str, what: str
) -> None:
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=3).folder
    log = (folder / EVENTS_FILE).read_text(encoding="utf-8")
    first = log.index('"event_type": "turn_start", "episode_id": "played", "turn": 2')
    (folder / EVENTS_FILE).write_text(log[:first] + log[first:].replace(before, after, 1))
    with pytest.raises(DivergenceError, match=what):
        replay(folder)


@pytest.mark.parametrize(
    ("event_type", "written", "what"),
    [
        ("model_call", '"parts": ["', "a recorded request to a model cannot be read"),
        ("episode_start", "", "the episode has not begun"),
        ("turn", "", "turn 1 is missing"),
    ],
)
def test_a_log_damaged_by_hand_is_called_damaged(
    tmp_path: Path, event_type: str, written: str, what: str
) -> None:
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=2).folder
    lines = (folder / EVENTS_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(n for n, it in enumerate(lines) if f'"event_type": "{event_type}"' in it)
    lines[at] = lines[at].replace(written, f"{written}?") if written else ""
    (folder / EVENTS_FILE).write_text("".join(lines), encoding="utf-8")
    with pytest.raises(EpisodeDamagedError, match=what):
        replay(folder)


def test_a_step_that_is_no_longer_what_it_was_is_named_in_words(tmp_path: Path) -> None:
    folder = played(tmp_path, [answer("north")] * 2, max_turns_per_episode=2).folder
    changed(folder, '"reply": {', '"error": "It is busy.", "none": {')
    what = "Turn 1: a turn that was played was recorded, but now it is a turn that was not played"
    with pytest.raises(DivergenceError, match=what):
        replay(folder)


def test_an_episode_that_never_began_cannot_be_replayed(tmp_path: Path) -> None:
    (tmp_path / EVENTS_FILE).touch()
    with pytest.raises(ConfigurationError, match="its log ends before the game begins"):
        replay(tmp_path)


def test_an_episode_without_recorded_requests_cannot_be_replayed(tmp_path: Path) -> None:
    folder = tmp_path / "ended"
    shutil.copytree(ROOT / "tests" / "data" / "episodes" / "ended", folder)
    with pytest.raises(ConfigurationError, match="its log lacks requests to models"):
        replay(folder)


def test_the_command_line_says_whether_it_is_the_same(tmp_path: Path) -> None:
    folder = played(tmp_path, Thoughtful(), max_turns_per_episode=2).folder
    program = Program(tmp_path)
    same = program.run("--replay", "latest")
    assert (same.returncode, same.stderr) == (0, "")
    assert "played replays identically: 2 turns, 2 requests" in same.stdout
    changed(folder, '"score": 0', '"score": 7')
    other = program.run("--replay", str(folder))
    assert other.returncode == 1
    assert "its observation differs" in other.stderr
    wrong = program.run("--replay", "played", "--model", "other")
    assert (wrong.returncode, "--model is for playing" in wrong.stderr) == (2, True)
