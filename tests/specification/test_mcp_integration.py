"""Whole turns: the bundled story, real servers, a scripted model; the log as a user reads it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from managers.mcp_manager import MCPError
from mcp_ghost.config import ServerConfig
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from orchestration.replay import replay
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from tests.support import ROOT
from tests.support.episodes import read_events
from tests.support.journal import NAME, Journal
from tests.support.servers import write_config
from workshop.interoperability.catalogue import SEQUENTIAL_THINKING
from workshop.scripted_model import action_reply

if TYPE_CHECKING:
    from mcp_ghost.testing import Script

pytestmark = pytest.mark.mcp

SHIPPED = ROOT / "mcp_config.json"


class Played(NamedTuple):
    """What is left of an episode."""

    events: list[dict[str, Any]]
    lines: list[str]
    requests: list[ModelRequest]
    error: MCPError | None

    def of_type(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event_type"] == event_type]

    def results(self, request: int) -> list[Any]:
        messages = self.requests[request].messages
        return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


def play(folder: Path, config_file: Path, script: Script, turns: int, **settings: Any) -> Played:  # noqa: ANN401  whatever the configuration has
    """An episode of the bundled story."""
    error = None
    with ModelServer(script) as model:
        values = {"agent_model": "gpt-4.1", "retry_max_attempts": 1}
        config = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            seed=1,
            workdir=str(folder),
            mcp_enabled=True,
            mcp_config_file=str(config_file),
            **{**values, **settings},
        )
        orchestrator = ZorkOrchestratorV2("played", config, max_turns_per_episode=turns)
        try:
            orchestrator.play_episode()
        except MCPError as raised:
            error = raised
        assert model.refusals == []
    lines = (orchestrator.folder / "episode.log").read_text().splitlines()
    return Played(list(read_events(orchestrator.folder)), lines, model.requests, error)


def thought(number: int, total: int) -> tuple[str, dict[str, object]]:
    arguments: dict[str, object] = {
        "thought": f"Step {number} of the plan.",
        "thoughtNumber": number,
        "totalThoughts": total,
        "nextThoughtNeeded": number < total,
    }
    return "thoughtbox.think", arguments


@pytest.fixture(scope="module")
def with_thoughtbox(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Three turns with the shipped server: three thoughts, none, a wrong one that is mended."""
    script = [
        tool_reply([thought(1, 3)]),
        tool_reply([thought(2, 3), thought(3, 3)]),
        action_reply("read letter"),
        action_reply("north"),
        tool_reply([("thoughtbox.think", {"thought": "No number."})]),
        tool_reply([thought(1, 1)]),
        action_reply("north"),
    ]
    return play(tmp_path_factory.mktemp("thoughtbox"), SHIPPED, script, turns=3)


def test_the_model_plays_the_game_and_its_thoughts_are_kept_for_the_turn(
    with_thoughtbox: Played,
) -> None:
    turns = with_thoughtbox.of_type("turn")
    assert [turn["command"] for turn in turns] == ["read letter", "north", "north"]
    assert "Weatherworks" in turns[0]["response"]
    assert turns[1]["after"]["room"] != turns[1]["place"]
    first, second, third = with_thoughtbox.results(2)
    assert [r["content"]["thoughtHistoryLength"] for r in (first, second, third)] == [1, 2, 3]
    assert third["content"]["nextThoughtNeeded"] is False


def test_the_next_turn_begins_with_a_fresh_server(with_thoughtbox: Played) -> None:
    refused, mended = with_thoughtbox.results(-1)
    assert "thoughtNumber is missing" in refused["error"]
    assert mended["content"]["thoughtHistoryLength"] == 1


def test_the_log_shows_a_server_started_and_stopped_in_every_turn_that_uses_it(
    with_thoughtbox: Played,
) -> None:
    servers = [
        (event["turn"], event["event_type"], event["server_name"])
        for event in with_thoughtbox.events
        if event["event_type"].startswith("mcp_server_") and event["turn"] != 2
    ]
    assert servers == [
        (turn, event_type, "thoughtbox")
        for turn in (1, 3)
        for event_type in ("mcp_server_started", "mcp_server_stopped")
    ]


def test_a_turn_without_tools_is_one_request_that_offers_them(with_thoughtbox: Played) -> None:
    assert [bool(request.tool_names) for request in with_thoughtbox.requests] == [True] * 7
    (summary,) = [e for e in with_thoughtbox.of_type("mcp_session_complete") if e["turn"] == 2]
    assert (summary["iterations"], summary["tool_calls_count"]) == (1, 0)


def test_the_readable_log_tells_a_turn_in_the_specified_lines(with_thoughtbox: Played) -> None:
    lines = [
        re.sub(r"\(\d+\.\ds\)", "(0.3s)", line)
        for line in with_thoughtbox.lines
        if line.startswith("[INFO] Turn 1") or "Tool arguments" in line
    ]
    arguments = [json.dumps(thought(number, 3)[1]) for number in (1, 2, 3)]
    start = lines.index("[INFO] Turn 1: MCP session started (max 20 iterations)")
    assert lines[start : start + 12] == [
        "[INFO] Turn 1: MCP session started (max 20 iterations)",
        "[INFO] Turn 1 Iteration 1: Agent calling tool thoughtbox.think",
        f"[DEBUG] Turn 1 Iteration 1: Tool arguments: {arguments[0]}",
        "[INFO] Turn 1 Iteration 1: Tool result received (0.3s)",
        "[INFO] Turn 1 Iteration 2: Agent calling tool thoughtbox.think",
        f"[DEBUG] Turn 1 Iteration 2: Tool arguments: {arguments[1]}",
        "[INFO] Turn 1 Iteration 2: Tool result received (0.3s)",
        "[INFO] Turn 1 Iteration 2: Agent calling tool thoughtbox.think",
        f"[DEBUG] Turn 1 Iteration 2: Tool arguments: {arguments[2]}",
        "[INFO] Turn 1 Iteration 2: Tool result received (0.3s)",
        "[INFO] Turn 1: MCP session complete (3 iterations, 3 tool calls)",
        "[INFO] Turn 1: Agent action: read letter",
    ]


class Failure(NamedTuple):
    """A row of the specification's failure table, and what is to be seen of it."""

    script: list[Reply]
    commands: list[str]
    """What is played; empty when the episode ends with an error."""
    line: str
    """In the readable log, or in the error's text."""
    told: str = ""
    """To the model, as the result of a call."""
    mode: str = "ok"
    failing_starts: tuple[int, ...] = ()
    settings: dict[str, Any] = {}  # noqa: RUF012  never changed


ECHO = (f"{NAME}.echo", {"text": "hello"})
WAIT = action_reply("wait")
FAILURES = {
    "the server fails to start": Failure(
        [], [], rf"Failed to start MCP server '{NAME}': .*\nCommand: .*\nCheck that ", mode="exit3"
    ),
    "a tool call fails": Failure(
        [tool_reply([(f"{NAME}.fail", {}), ECHO]), WAIT],
        ["wait"],
        rf"\[WARNING\] Turn 1 Iteration 1: Tool call failed: {NAME}\.fail - the lamp is broken",
        told="the lamp is broken",
    ),
    "a tool call times out": Failure(
        [tool_reply([(f"{NAME}.hang", {}), ECHO]), WAIT],
        ["wait"],
        rf"\[WARNING\] Turn 1 Iteration 1: Tool call timeout: {NAME}\.hang\n"
        r"\[INFO\] Turn 1 Iteration 1: Skipping remaining tools in batch",
        told="Tool call timed out after 0.",
        settings={"mcp_tool_call_timeout_seconds": 0.3},
    ),
    "the model takes no tools": Failure(
        [],
        [],
        r"Model 'deepseek-r1' does not support tool calling\.\nPlease either:\n"
        r"  1\. Set mcp\.enabled = false in pyproject\.toml, or\n  2\. Use a compatible model",
        settings={"agent_model": "deepseek-r1"},
    ),
    "the limit of iterations is reached": Failure(
        [tool_reply([ECHO]), tool_reply([ECHO]), WAIT],
        ["wait"],
        r"\[WARNING\] Turn 1: Forcing final action after iteration limit",
        settings={"mcp_max_tool_iterations": 2},
    ),
    "the session fails later and is mended by a retry": Failure(
        [WAIT, tool_reply([ECHO]), WAIT],
        ["wait", "wait"],
        r"\[WARNING\] Turn 2: MCP session connect failed, retrying: [\s\S]*"
        r"\[INFO\] Turn 2: MCP session retry successful",
        failing_starts=(2,),
    ),
    "the session fails later for good": Failure(
        [WAIT, tool_reply([ECHO]), WAIT, WAIT],
        ["wait", "wait", "wait"],
        r"\[WARNING\] Turn 2: MCP retry failed, disabling MCP for episode[\s\S]*"
        r"\[WARNING\] Turn 2: Continuing without MCP tools",
        failing_starts=(2, 3),
    ),
    "the server dies in the middle of a turn": Failure(
        [tool_reply([(f"{NAME}.die", {}), ECHO]), WAIT],
        ["wait"],
        r"\[WARNING\] Turn 1: Forcing final action after loss of the tools",
        told="exited with status 7",
    ),
    "the arguments are not JSON": Failure(
        [tool_reply([(f"{NAME}.echo", "{oops"), ECHO]), WAIT],
        ["wait"],
        rf"\[WARNING\] Turn 1 Iteration 1: Tool call failed: {NAME}\.echo - ",
        told="Tool call failed: ",
    ),
    "the configuration is missing": Failure(
        [],
        [],
        r"MCP is enabled but config file not found: \S*nowhere\.json\nPlease either:\n"
        r"  1\. Create mcp_config\.json in project root, or\n"
        r"  2\. Set mcp\.enabled = false in pyproject\.toml",
        settings={"mcp_config_file": "nowhere.json"},
    ),
    "the answer is unusable": Failure(
        [content_reply("Hm."), content_reply("Hm."), WAIT],
        ["wait"],
        r"\[ERROR\] Turn 1: No usable answer: [\s\S]*\[WARNING\] Turn 1: Not played: ",
    ),
}


@pytest.mark.parametrize("row", FAILURES)
def test_each_row_of_the_failure_table_goes_as_specified(row: str, tmp_path: Path) -> None:
    failure = FAILURES[row]
    journal = Journal(tmp_path)
    journal.configure(failure.mode, failing_starts=failure.failing_starts)
    config_file = Path(failure.settings.get("mcp_config_file", journal.config_file))
    settings = {k: v for k, v in failure.settings.items() if k != "mcp_config_file"}
    turns = max(1, len(failure.commands))
    if "nowhere" in config_file.name:
        with pytest.raises(MCPError, match=failure.line):
            play(tmp_path, config_file, [], turns)
        return
    played = play(tmp_path, config_file, failure.script, turns, **settings)
    assert [turn["command"] for turn in played.of_type("turn")] == failure.commands
    if failure.commands:
        assert re.search(failure.line, "\n".join(played.lines))
        assert played.error is None
        (episode,) = (tmp_path / "episodes").iterdir()
        assert replay(episode).turns == turns, "whatever failed fails again from the record"
    else:
        assert re.search(failure.line, str(played.error))
        assert played.requests == []
    if failure.told:
        assert failure.told in played.results(1)[0]["error"]


@pytest.fixture(scope="module")
def sequential_thinking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which npm has installed the server."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("npx") is None:
        pytest.skip("needs npm and npx")
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text("{}")
    command = [npm, "install", "--no-audit", "--no-fund", "--silent", SEQUENTIAL_THINKING]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=90, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm's registry does not answer")
    if done.returncode:
        pytest.skip(f"npm cannot install {SEQUENTIAL_THINKING}: {done.stderr[-300:]}")
    return folder


@pytest.mark.network
@pytest.mark.parametrize(
    "command",
    [
        lambda folder: ServerConfig(
            command="npx", args=["-y", SEQUENTIAL_THINKING], cwd=str(folder)
        ),
        lambda folder: ServerConfig(
            command="node",
            args=[str(folder / "node_modules" / SEQUENTIAL_THINKING / "dist" / "index.js")],
        ),
    ],
    ids=["npx", "node"],
)
def test_the_sequential_thinking_server_is_a_drop_in(
    command: Callable[[Path], ServerConfig], sequential_thinking: Path, tmp_path: Path
) -> None:
    path = write_config(tmp_path / "mcp_config.json", sequential=command(sequential_thinking))
    _, arguments = thought(1, 1)
    think = tool_reply([("sequential.sequentialthinking", arguments)])
    script = itertools.chain([think, WAIT] * 2)
    played = play(tmp_path, path, script, turns=2, mcp_server_startup_timeout_seconds=60)
    assert [turn["command"] for turn in played.of_type("turn")] == ["wait", "wait"]
    for request in (1, 3):
        (result,) = played.results(request)
        assert result["content"]["thoughtHistoryLength"] == 1
    assert not _processes_of(sequential_thinking)


def _processes_of(folder: Path) -> list[str]:
    """The command lines of processes that run something below ``folder``."""
    commands = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has just ended
    return [command for command in commands if str(folder) + os.sep in command]
