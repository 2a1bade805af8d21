"""The orchestrator and MCP: who makes the manager, what fails when, what is logged."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from managers.mcp_manager import MCPError, MCPManager, MCPServerStartupError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.game_state import EndReason
from tests.support import warm
from tests.support.episodes import read_events
from tests.support.journal import NAME, Journal
from tests.support.servers import is_running
from workshop.scripted_model import action_reply

if TYPE_CHECKING:
    from mcp_ghost.testing import Script

pytestmark = pytest.mark.mcp

ECHO = (f"{NAME}.echo", {"text": "hello"})


def configuration(base_url: str = "http://127.0.0.1:9/v1", **settings: Any) -> GameConfiguration:  # noqa: ANN401  whatever it has
    values = {"story": "bundled", "seed": 1, "mcp_enabled": True}
    return GameConfiguration(**{**values, "client_base_url": base_url, **settings})


@contextmanager
def episode(script: Script, **settings: Any) -> Iterator[ZorkOrchestratorV2]:  # noqa: ANN401  see above
    """An episode at a model that follows ``script``."""
    with ModelServer(script) as model:
        config = configuration(model.base_url, **settings)
        with ZorkOrchestratorV2("played", config, max_turns_per_episode=3) as orchestrator:
            yield orchestrator
        assert model.refusals == []


def thoughtful(request: ModelRequest) -> Reply:
    """A model that calls a tool once a turn, where there is one."""
    if request.tool_names and request.last["role"] == "user":
        return tool_reply([ECHO])
    return action_reply("wait")


def events(orchestrator: ZorkOrchestratorV2, event_type: str) -> list[dict[str, Any]]:
    return [e for e in read_events(orchestrator.folder) if e["event_type"] == event_type]


def test_with_mcp_the_orchestrator_makes_a_manager_and_gives_it_to_the_agent(
    journal: Journal,
) -> None:
    with ZorkOrchestratorV2("made", configuration()) as orchestrator:
        assert isinstance(orchestrator.mcp_manager, MCPManager)
        assert orchestrator.agent.mcp_manager is orchestrator.mcp_manager
        assert orchestrator.agent.mcp_enabled
        (event,) = events(orchestrator, "mcp_manager_init")
        assert (event["episode_id"], event["turn"]) == ("made", 1)
    assert journal.starts == []  # a server belongs to a turn


def test_without_mcp_there_is_no_manager_and_no_file_is_read() -> None:
    Path("mcp_config.json").write_text("not JSON at all")
    with ZorkOrchestratorV2("off", configuration(mcp_enabled=False)) as orchestrator:
        assert orchestrator.mcp_manager is None
        assert orchestrator.agent.mcp_manager is None
        assert not orchestrator.agent.mcp_enabled


def test_without_mcp_a_turn_is_played_as_ever(journal: Journal) -> None:
    with episode(thoughtful, mcp_enabled=False) as orchestrator:
        assert orchestrator._process_turn()
        assert orchestrator.game_state.last_action == "wait"
        logged = [event["event_type"] for event in read_events(orchestrator.folder)]
    assert not [each for each in logged if str(each).startswith("mcp_")]
    assert journal.starts == []


def test_a_missing_configuration_file_is_an_error_that_names_both_ways_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(MCPError) as error:
        ZorkOrchestratorV2("missing", configuration(mcp_config_file="nowhere.json"))
    assert str(error.value) == (
        "MCP is enabled but config file not found: nowhere.json\n"
        "Please either:\n"
        "  1. Create mcp_config.json in project root, or\n"
        "  2. Set mcp.enabled = false in pyproject.toml\n"
        f"Looked for: {Path.cwd() / 'nowhere.json'}"
    )
    (record,) = [each for each in caplog.records if "nowhere.json" in each.getMessage()]
    assert record.__dict__["event_type"] == "mcp_init_error"
    assert record.__dict__["episode_id"] == "missing"
    assert "nowhere.json" in record.__dict__["error"]
    assert record.levelno == logging.ERROR


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {', r"Invalid JSON in mcp_config\.json, line 1, column 17"),
        ('{"servers": {}}', "mcpServers"),
        ('{"mcpServers": {}}', "No MCP servers configured"),
        ('{"mcpServers": {"a": {"args": []}}}', "'a'.*'command'"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "disabled: a"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', "comand"),
        ("\udcff", "is not UTF-8"),
    ],
)
def test_a_configuration_that_cannot_be_used_stops_the_start_and_says_why(
    text: str, expected: str
) -> None:
    Path("mcp_config.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(MCPError, match=expected):
        ZorkOrchestratorV2("broken", configuration())
    (event,) = read_events(Path("game_files/episodes/broken"))
    assert event["event_type"] == "mcp_init_error"


def test_whatever_stops_the_manager_is_an_mcp_error_and_logged(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_name: str) -> str:
        raise RuntimeError("no home directory")

    monkeypatch.setattr("importlib.metadata.version", broken)
    with pytest.raises(MCPError, match="no home directory") as error:
        ZorkOrchestratorV2("stopped", configuration())
    assert isinstance(error.value.__cause__, RuntimeError)
    (event,) = read_events(Path("game_files/episodes/stopped"))
    assert (event["event_type"], event["error"]) == ("mcp_init_error", "no home directory")
    assert (event["episode_id"], event["level"]) == ("stopped", "ERROR")


def test_a_turn_can_be_processed_right_after_construction(journal: Journal) -> None:
    with episode(thoughtful) as orchestrator:
        assert orchestrator._process_turn() is True
        assert orchestrator.game_state.turn_count == 1
        assert orchestrator.game_state.last_action == "wait"
    assert journal.calls == [("echo", {"text": "hello"})]


def test_the_orchestrator_is_synchronous_and_plays_in_any_thread(journal: Journal) -> None:
    assert not inspect.iscoroutinefunction(ZorkOrchestratorV2._process_turn)
    assert not inspect.iscoroutinefunction(ZorkOrchestratorV2.play_episode)
    with episode(thoughtful) as orchestrator:
        asyncio.run(asyncio.to_thread(orchestrator.play_episode))
    assert len(journal.starts) == 3


@pytest.mark.parametrize("session", ["turn", "episode"])
def test_between_turns_the_main_thread_is_alone_and_an_episode_has_one_event_loop(
    journal: Journal, session: str
) -> None:
    """With all that asks a model: player, critic and reflection."""
    code = """
import asyncio, sys, threading, warnings
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
warnings.simplefilter("error")
loops, init = [], asyncio.BaseEventLoop.__init__
def counting(loop):
    loops.append(loop)
    init(loop)
asyncio.BaseEventLoop.__init__ = counting
config = GameConfiguration(
    story="bundled", mcp_enabled=True, mcp_session=sys.argv[2], client_base_url=sys.argv[1],
    critic_enabled=True, reflection_interval_turns=1,
)
with ZorkOrchestratorV2("alone", config, max_turns_per_episode=3) as orchestrator:
    going_on = True
    while going_on:
        going_on = orchestrator._process_turn()
        print(*(thread.name for thread in threading.enumerate()))
print(len(loops), loops[0].is_closed())
"""
    with ModelServer(thoughtful) as model:
        run = warm.run([sys.executable, "-c", code, model.base_url, session])
    assert run.stdout == "MainThread\n" * 3 + "1 True\n", run.stderr
    assert len(journal.calls) == 3
    roles = {str(request.messages[0]["content"])[:40] for request in model.requests}
    assert len(roles) >= 2


def test_closing_the_episode_ends_a_server_that_lasted_for_it(journal: Journal) -> None:
    with episode(thoughtful, mcp_session="episode") as orchestrator:
        orchestrator._process_turn()
        (server,) = journal.starts
        assert is_running(server)
        orchestrator.close()
        (stopped,) = events(orchestrator, "mcp_server_stopped")
    assert stopped["server_name"] == NAME
    assert journal.ends == [server]
    assert not is_running(server)


def test_every_turn_starts_one_server_and_ends_it_before_the_next(journal: Journal) -> None:
    with episode(thoughtful) as orchestrator:
        for number in (1, 2, 3):
            assert orchestrator._process_turn() is (number < 3)
            assert len(journal.starts) == number
            assert journal.ends == journal.starts
            assert not any(map(is_running, journal.starts))
    assert len(set(journal.starts)) == 3
    turn = ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert journal.methods == ["server/discover", *turn * 3]


def test_a_server_that_cannot_start_on_the_first_turn_ends_the_episode(journal: Journal) -> None:
    journal.configure("exit3")
    with episode([]) as orchestrator:
        with pytest.raises(MCPServerStartupError) as error:
            orchestrator.play_episode()
        assert f"Failed to start MCP server '{NAME}'" in str(error.value)
        assert "Command: " in str(error.value)
        assert "Check that " in str(error.value)
        assert orchestrator.game_state.turn_count == 0
        assert orchestrator.game_state.end_reason is EndReason.ABORTED
        assert events(orchestrator, "episode_end")[0]["reason"] == "aborted"
    assert len(journal.starts) == 1


def test_a_server_that_fails_later_costs_the_tools_but_not_the_episode(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.configure(failing_starts=[2, 3])
    with episode(thoughtful) as orchestrator:
        orchestrator.play_episode()
        assert orchestrator.game_state.end_reason is EndReason.MAX_TURNS
        assert orchestrator.game_state.turn_count == 3
        (fallback,) = events(orchestrator, "mcp_disabled_fallback")
        assert fallback["turn"] == 2
        assert orchestrator.mcp_manager is not None
        assert orchestrator.mcp_manager.is_disabled
    assert len(journal.starts) == 3
    assert "MCP retry failed, disabling MCP for episode" in caplog.text


def test_a_resumed_episode_fails_fast_on_its_first_connection(journal: Journal) -> None:
    journal.configure(failing_starts=[2])
    with episode(thoughtful) as orchestrator:
        orchestrator._process_turn()
    with ZorkOrchestratorV2("played", configuration(), resume=True) as resumed:
        with pytest.raises(MCPServerStartupError):
            resumed.play_episode()
        assert [e["turn"] for e in events(resumed, "mcp_manager_init")] == [1, 2]
    assert len(journal.starts) == 2


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The events of an episode in which everything that is logged about MCP happens."""
    folder = tmp_path_factory.mktemp("played")
    journal = Journal(folder)
    broken = folder / "broken"
    journal.configure(first=f"[ -e {broken} ] && exit 1")
    answers: dict[int, list[Any]] = {
        1: [[ECHO, (f"{NAME}.fail", {})], "wait"],
        2: [[(f"{NAME}.hang", {}), ECHO], "wait"],
        3: ["", "", "wait"],
        4: ["save", "quit", "wait"],  # tried twice, each time with a server
        5: [[ECHO], [ECHO], "wait"],
        6: [[ECHO], "wait"],
    }
    script = iter([(turn, reply) for turn, replies in answers.items() for reply in replies])

    def model(_: ModelRequest) -> Reply:
        turn, reply = next(script)
        if (turn, reply) == (5, "wait"):
            broken.touch()  # from the next turn on
        if isinstance(reply, list):
            return tool_reply(reply)
        return action_reply(reply) if reply else content_reply("")

    with ModelServer(model) as server:
        config = configuration(
            server.base_url,
            workdir=str(folder),
            mcp_config_file=str(journal.config_file),
            mcp_max_tool_iterations=2,
            mcp_tool_call_timeout_seconds=0.3,
            retry_max_attempts=2,
            retry_initial_delay=0,
        )
        with ZorkOrchestratorV2("all", config, max_turns_per_episode=6) as orchestrator:
            orchestrator.play_episode()
    return list(read_events(orchestrator.folder))


FIELDS = {
    "mcp_manager_init": ({1}, set()),
    "mcp_server_started": ({1, 2, 5}, {"server_name", "duration_ms"}),
    "mcp_server_stopped": ({1, 2, 5}, {"server_name", "duration_ms"}),
    "mcp_iteration_start": ({1, 2, 3, 4, 5, 6}, {"iteration", "max_iterations"}),
    "mcp_tool_call": ({1, 2, 5, 6}, {"tool_name", "server_name", "arguments", "iteration"}),
    "mcp_tool_result": (
        {1, 5, 6},
        {"tool_name", "server_name", "result_type", "result_length", "is_error", "duration_ms"},
    ),
    "mcp_tool_timeout": ({2}, {"tool_name", "iteration"}),
    "mcp_tool_error": ({1, 6}, {"tool_name", "error", "iteration"}),
    "mcp_session_complete": (
        {1, 2, 3, 4, 5, 6},
        {"iterations", "tool_calls_count", "tools_used", "final_action"},
    ),
    "mcp_no_content": ({3, 4, 5}, {"iterations"}),
    "mcp_unexpected_state": ({3}, {"finish_reason", "iteration"}),
    "mcp_disabled_fallback": ({6}, set()),
    "agent_parse_error": ({3, 4}, {"raw_response"}),
}


@pytest.mark.parametrize("event_type", FIELDS)
def test_the_json_log_has_each_event_with_its_fields_in_the_turns_it_belongs_to(
    event_type: str, played: list[dict[str, Any]]
) -> None:
    turns, fields = FIELDS[event_type]
    found = [event for event in played if event["event_type"] == event_type]
    if event_type.startswith("mcp_server_"):  # one that nobody needs may start in time or not
        found = [event for event in found if event["turn"] not in {3, 4}]
    assert {event["turn"] for event in found} == turns
    assert all(fields <= event.keys() for event in found)


def test_every_event_has_its_episode_turn_time_and_level(played: list[dict[str, Any]]) -> None:
    assert {event["episode_id"] for event in played} == {"all"}
    assert all(isinstance(event["turn"], int) for event in played)
    assert all(event["time"] and event["level"] and event["message"] for event in played)
    turns = [event["turn"] for event in played if event["event_type"] != "mcp_manager_init"]
    assert turns == sorted(turns)


def test_the_record_of_a_turn_tells_of_its_tool_calls(played: list[dict[str, Any]]) -> None:
    first, second, *_ = [event["tools"] for event in played if event["event_type"] == "turn"]
    assert [(tool["name"], tool["is_error"]) for tool in first] == [
        (f"{NAME}.echo", False),
        (f"{NAME}.fail", True),
    ]
    (hung,) = second
    assert "timed out" in hung["result"]
