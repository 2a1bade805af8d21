"""How long sessions last and what they cost: slow servers, several, and those that remember."""

from __future__ import annotations

import gc
import logging
import os
import shlex
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from managers.mcp_manager import MCPError, MCPManager
from mcp_ghost.config import ServerConfig
from mcp_ghost.servers.process import POLITE_GRACE
from mcp_ghost.testing import Reply, tool_reply
from session.game_configuration import GameConfiguration
from tests.support.fakes import RecordingLangfuse
from tests.support.journal import NAME, Journal
from tests.support.playing import ECHO, LOGGER, Player, events
from tests.support.servers import eventually, faulty, is_running, listing, pids, seen, write_config
from tests.support.servers.over_http import faulty_http
from workshop.scripted_model import action_reply

pytestmark = pytest.mark.mcp

LOOK = action_reply("look")
DIE: tuple[str, dict[str, Any]] = (f"{NAME}.die", {})


@pytest.fixture(autouse=True)
def every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def pair(folder: Path, config: Path, **env: str) -> None:
    """Two servers, "a" and "b", each with a log of that name; ``env`` is for the second."""
    write_config(
        config,
        a=faulty(SERVER_LOG=str(folder / "a")),
        b=faulty(SERVER_LOG=str(folder / "b"), **env),
    )


def echo(server: str) -> Reply:
    return tool_reply([(f"{server}.echo", {"text": server})])


def kill(journal: Journal) -> None:
    """Kill the latest server, between two turns."""
    os.kill(journal.starts[-1], signal.SIGKILL)
    assert eventually(lambda: not is_running(journal.starts[-1]))


# --- slow servers -----------------------------------------------------------------------------


def test_a_turn_without_tools_does_not_wait_for_its_server_and_none_is_left(
    journal: Journal, tmp_path: Path
) -> None:
    gate, shells = tmp_path / "gate", tmp_path / "shells"
    gate.touch()
    journal.configure(first=f"echo $$ >> {shells}; while [ ! -e {gate} ]; do sleep 0.05; done")
    settings: dict[str, Any] = {"mcp_server_startup_timeout_seconds": 600}
    script = [LOOK, LOOK, tool_reply([ECHO]), LOOK]
    with Player(script, journal, **settings) as player:
        player.play()
        gate.unlink()
        assert player.play()["action"] == "look"  # though the server never starts
        gate.touch()
        player.play()
        assert player.answers() == [{"content": "hello"}]
        assert player.manager is not None
        player.manager.close()
    assert not any(map(is_running, map(int, shells.read_text().split())))


def test_a_server_that_ends_slowly_does_not_delay_a_turn_that_did_not_use_it(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.configure("stubborn")
    with Player([LOOK], journal) as player:
        player.play()
        assert len(journal.starts) == 1
        assert not any(map(is_running, journal.starts))
    (stopped,) = events(caplog, "mcp_server_stopped")
    assert stopped.duration_ms < POLITE_GRACE * 1000


def test_of_two_servers_only_the_one_that_was_called_may_end_in_its_time(
    journal: Journal, tmp_path: Path
) -> None:
    pair(tmp_path, journal.config_file)
    with Player([echo("a"), LOOK], journal, mcp_servers=("a", "b")) as player:
        player.play()
    ends = {name: [it["event"] for it in seen(tmp_path / name)][-1] for name in "ab"}
    assert ends["a"] == "end of input"
    assert ends["b"] != "end of input"
    assert not any(map(is_running, [*pids(tmp_path / "a"), *pids(tmp_path / "b")]))


@pytest.mark.parametrize(
    ("start", "is_known"),
    [
        ("exit 3", True),
        ("{{ [ -e {0}/tried ] && sleep .5; touch {0}/tried; exit 3; }}", True),  # a slow second try
        ("sleep 600", False),
    ],
)
def test_a_server_that_fails_at_once_counts_also_where_no_call_needed_it(
    journal: Journal, tmp_path: Path, start: str, is_known: bool
) -> None:
    journal.configure(first=f"[ -e {tmp_path}/later ] && {start.format(tmp_path)}")
    with Player([LOOK, LOOK], journal) as player:
        player.play()
        (tmp_path / "later").touch()
        player.play()
        assert player.manager is not None
        assert player.manager.is_disabled is is_known


def test_a_turn_is_not_judged_by_the_calls_and_failures_of_the_one_before(
    journal: Journal, tmp_path: Path
) -> None:
    hang = tmp_path / "hang"
    journal.configure(failing_starts=[2], first=f"[ -e {hang} ] && sleep 600")
    script = [LOOK, tool_reply([ECHO]), LOOK, LOOK, LOOK]
    with Player(script, journal, mcp_server_startup_timeout_seconds=600) as player:
        for _ in (1, 2, 3):
            player.play()
        assert journal.ends == [journal.starts[2]]  # the only one that was called
        hang.touch()
        player.play()
        assert not any(map(is_running, journal.starts))


def test_of_a_start_that_takes_long_in_a_later_turn_it_is_said_once_what_helps(
    journal: Journal, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("managers.tools.server.SLOW_START", 0.0)
    with Player([LOOK, *[tool_reply([ECHO]), LOOK] * 2], journal) as player:
        for _ in (1, 2, 3):
            player.play()
    (said,) = events(caplog, "notice")
    assert f"MCP server '{NAME}' took" in said.getMessage()
    assert 'session = "episode"' in said.getMessage()


def test_a_call_waits_for_its_own_server_only(journal: Journal, tmp_path: Path) -> None:
    gate, plain = tmp_path / "gate", faulty()
    gate.touch()
    command = shlex.join([plain.command or "", *plain.args])
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done; exec {command}"
    write_config(journal.config_file, a=plain, b=ServerConfig(command="sh", args=["-c", wait]))
    settings: dict[str, Any] = {
        "mcp_servers": ("a", "b"),
        "mcp_server_startup_timeout_seconds": 600,
    }
    with Player([LOOK, echo("a"), LOOK], journal, **settings) as player:
        player.play()
        gate.unlink()
        player.play()  # though "b" never starts
        assert player.answers() == [{"content": "a"}]


# --- one session for the episode --------------------------------------------------------------


def test_a_session_may_last_for_the_episode(journal: Journal) -> None:
    script = [tool_reply([ECHO]), LOOK, LOOK, tool_reply([ECHO]), LOOK]
    with Player(script, journal, mcp_session="episode") as player:
        for _ in (1, 2, 3):
            player.play()
        assert len(journal.starts) == 1
        assert is_running(journal.starts[0])
        assert player.manager is not None
        player.manager.close()
    assert len(journal.calls) == 2
    assert journal.ends == journal.starts


def test_a_server_that_dies_in_a_call_is_started_again_and_the_model_told(
    journal: Journal,
) -> None:
    script = [LOOK, tool_reply([DIE]), tool_reply([ECHO]), LOOK]
    with Player(script, journal, mcp_session="episode") as player:
        player.play()
        player.play()
        died, echoed = player.answers()
        assert player.manager is not None
        player.manager.close()
    assert "exited with status 7" in died["error"]
    assert "started again, and remembers nothing. This call was not repeated" in died["error"]
    assert echoed == {"content": "hello"}
    assert len(journal.starts) == 2
    assert [name for name, _ in journal.calls] == ["die", "echo"]


@pytest.mark.parametrize("lasts", ["turn", "episode"])
def test_a_session_that_a_server_by_url_forgot_is_made_anew(journal: Journal, lasts: str) -> None:
    with faulty_http("once:status:404:") as server:
        write_config(journal.config_file, **{NAME: ServerConfig(url=server.url)})
        call: tuple[str, dict[str, Any]] = (f"{NAME}.write", {})
        with Player([tool_reply([call]), LOOK], journal, mcp_session=lasts) as player:
            player.play()
            assert player.answers() == [{"content": "on"}]


def test_a_death_between_turns_is_told_before_anything_is_called(journal: Journal) -> None:
    script = [LOOK, tool_reply([ECHO]), tool_reply([ECHO]), LOOK]
    with Player(script, journal, mcp_session="episode") as player:
        player.play()
        kill(journal)
        player.play()
        told, echoed = player.answers()
    assert "started again, and remembers nothing. This call was not made" in told["error"]
    assert echoed == {"content": "hello"}
    assert [name for name, _ in journal.calls] == ["echo"]


def test_a_server_that_was_started_again_is_as_good_as_new(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """However often, with a call between two deaths or without one, and at the second try."""
    journal.configure(failing_starts=[3, 5])
    script = [LOOK, LOOK, LOOK, *(tool_reply([it]) for it in (ECHO, DIE, DIE, ECHO)), LOOK]
    with Player(script, journal, mcp_session="episode") as player:
        player.play()
        for starts in (2, 4):
            kill(journal)
            player.play()
            assert len(journal.starts) == starts
        player.play()
        assert player.answers()[-1] == {"content": "hello"}
        assert all(each.tool_names for each in player.model.requests)
    assert len(journal.starts) == 7
    assert len(events(caplog, "mcp_connect_retry_successful")) == 2
    assert len(events(caplog, "mcp_server_restarted")) == 4


def test_a_server_that_cannot_be_started_again_at_two_tries_is_given_up(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.configure(failing_starts=[2, 3])
    script = [LOOK, tool_reply([DIE]), LOOK, LOOK]
    with Player(script, journal, mcp_session="episode") as player:
        for _ in (1, 2, 3):
            player.play()
        assert player.manager is not None
        assert player.manager.is_disabled
    assert "status 7" in player.model.requests[2].messages[-2]["content"]
    assert [bool(each.tool_names) for each in player.model.requests] == [True, True, False, False]
    assert len(journal.starts) == 3
    (fallback,) = events(caplog, "mcp_disabled_fallback")
    assert "Continuing without MCP tools: " in fallback.getMessage()


def test_an_agent_that_is_forgotten_takes_a_server_of_the_episode_along(journal: Journal) -> None:
    player = Player([LOOK], journal, mcp_session="episode")
    with player.model:
        player.play()
        (server,) = journal.starts
        assert is_running(server)
        del player.agent, player.manager, player.client
        gc.collect()
        assert not is_running(server)


# --- several servers --------------------------------------------------------------------------


def test_the_servers_that_are_named_are_used_side_by_side(journal: Journal, tmp_path: Path) -> None:
    pair(tmp_path, journal.config_file)
    both = tool_reply([(f"{name}.echo", {"text": name}) for name in "ba"])
    with Player([both, LOOK], journal, mcp_servers=("b", "a")) as player:
        player.play()
        offered = player.model.requests[0].tool_names
    assert offered[0].startswith("b_")
    assert {name[0] for name in offered} == {"a", "b"}
    assert player.answers() == [{"content": "b"}, {"content": "a"}]
    assert not any(map(is_running, [*pids(tmp_path / "a"), *pids(tmp_path / "b")]))


def test_tools_whose_names_would_meet_reach_their_own_server(
    journal: Journal, tmp_path: Path
) -> None:
    tools = {"x": ["a.t"], "x.a": ["t"]}
    servers = {name: listing(tmp_path, name, tools) for name, tools in tools.items()}
    write_config(journal.config_file, **servers)
    both = tool_reply([("x.a.t", {}), ("x.a.t_", {})])
    with Player([both, LOOK], journal, mcp_servers=tuple(servers)) as player:
        player.play()
    assert player.answers() == [{"content": "a.t"}, {"content": "t"}]


def test_the_span_of_a_call_names_the_server_that_is_called(
    journal: Journal, tmp_path: Path
) -> None:
    pair(tmp_path, journal.config_file)
    langfuse = RecordingLangfuse()
    with Player([echo("b"), echo("a"), LOOK], journal, mcp_servers=("a", "b")) as player:
        assert player.manager is not None
        player.manager.langfuse_client = langfuse
        player.play()
    calls = [span for span in langfuse.spans if span["name"].startswith("mcp-tool-")]
    assert [span["metadata"]["server_name"] for span in calls] == ["b", "a"]


def test_a_server_that_fails_later_costs_its_own_tools_only(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing = {"START_COUNTER": str(tmp_path / "count"), "FAILING_STARTS": "2,3"}
    pair(tmp_path, journal.config_file, **failing)
    script = [LOOK, echo("b"), echo("a"), LOOK, LOOK]
    with Player(script, journal, mcp_servers=("a", "b")) as player:
        for _ in (1, 2, 3):
            player.play()
    told, echoed = player.answers(3)
    assert "The tools of 'b' are off for the rest of the episode: Failed to start" in told["error"]
    assert echoed == {"content": "a"}
    kinds = [{name[0] for name in request.tool_names} for request in player.model.requests]
    assert kinds == [{"a", "b"}, {"a", "b"}, {"a"}, {"a"}, {"a"}]
    (fallback,) = events(caplog, "mcp_disabled_fallback")
    assert fallback.getMessage().startswith("Continuing without the tools of MCP server 'b': ")


async def test_a_server_that_fails_later_leaves_the_others_connected(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    pair(tmp_path, config, START_COUNTER=str(tmp_path / "count"), FAILING_STARTS="2,3")
    settings = GameConfiguration(
        mcp_enabled=True, mcp_config_file=str(config), mcp_servers=("a", "b")
    )
    manager = MCPManager(config=settings, logger=LOGGER)
    try:
        for _ in (1, 2):
            await manager.connect_session()
            await manager.disconnect_session()
        await manager.connect_session()
        assert (await manager.call_tool("a.echo", {"text": "a"})).content == "a"
        assert (await manager.call_tool("b.echo", {"text": "b"})).is_error
    finally:
        await manager.disconnect_session()
        manager.close()


def test_a_server_that_dies_costs_the_turn_its_own_tools_only(
    journal: Journal, tmp_path: Path
) -> None:
    pair(tmp_path, journal.config_file)
    script = [tool_reply([("b.die", {})]), echo("a"), LOOK]
    with Player(script, journal, mcp_servers=("a", "b")) as player:
        player.play()
    died, echoed = player.answers()
    assert "Its tools cannot be used in this turn; others can." in died["error"]
    assert echoed == {"content": "a"}


def test_any_first_connection_that_fails_stops_the_turn(journal: Journal, tmp_path: Path) -> None:
    write_config(journal.config_file, a=faulty(), b=faulty("exit3"))
    player = Player([], journal, mcp_servers=("a", "b"))
    with player, pytest.raises(MCPError, match="Failed to start MCP server 'b'"):
        player.play()
    assert player.model.requests == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("thinkin",), "There is no MCP server 'thinkin': did you mean 'thinking'?"),
        (("xyz",), "There is no MCP server 'xyz': known servers: thinking, off."),
        (("off",), "MCP server 'off' is disabled: enable it in its file, or do not name it."),
    ],
)
def test_a_server_that_cannot_be_chosen_is_named(
    names: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    off = faulty().model_copy(update={"disabled": True})
    path = write_config(tmp_path / "mcp.json", thinking=faulty(), off=off)
    config = GameConfiguration(mcp_enabled=True, mcp_config_file=str(path), mcp_servers=names)
    with pytest.raises(MCPError) as caught:
        MCPManager(config, LOGGER)
    assert str(caught.value) == said


def test_where_no_server_is_configured_none_can_be_chosen(tmp_path: Path) -> None:
    path = write_config(tmp_path / "mcp.json")
    config = GameConfiguration(mcp_enabled=True, mcp_config_file=str(path), mcp_servers=("a",))
    with pytest.raises(MCPError, match=r"^There is no MCP server 'a': known servers: none\.$"):
        MCPManager(config, LOGGER)


def test_what_is_left_out_is_said_once(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servers = {name: faulty(SERVER_LOG=str(tmp_path / name)) for name in ("a", "b", "c")}
    write_config(journal.config_file, **servers)
    with Player([LOOK, LOOK], journal) as player:
        player.play()
        player.play()
    (said,) = events(caplog, "mcp_servers_ignored")
    assert said.getMessage() == (
        "Only the first MCP server is used: 'a', not b, c. "
        "List those to use under 'servers' in [tool.zorkgpt.mcp]."
    )
    assert vars(said)["server_name"] == "a"
    assert not (tmp_path / "b").exists()


def test_a_server_without_tools_says_so_once_and_is_left_out(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_config(journal.config_file, empty=listing(tmp_path, "empty", []))
    with Player([LOOK, LOOK], journal) as player:
        assert [player.play()["action"] for _ in (1, 2)] == ["look", "look"]
        assert player.manager is not None
        assert player.manager.is_disabled
    assert [each.tool_names for each in player.model.requests] == [[], []]
    (said,) = events(caplog, "mcp_no_tools")
    assert said.getMessage() == "MCP server 'empty' has no tools. It is left out."


# --- downloads --------------------------------------------------------------------------------


def test_a_start_that_may_download_has_more_time(journal: Journal, tmp_path: Path) -> None:
    import_module(
        "mcp_ghost.servers.links.stdio_streams"
    )  # a start's time runs after the SDK's import
    server = tmp_path / "npx"
    server.write_text('#!/bin/sh\nsleep 1.5\nexec "$@"\n')
    server.chmod(0o755)
    plain = faulty()
    slow = plain.model_copy(
        update={"command": str(server), "args": [plain.command or "", *plain.args]}
    )
    write_config(journal.config_file, slow=slow)
    waits: dict[str, Any] = {"mcp_server_startup_timeout_seconds": 0.2}
    late = Player([], journal, **waits, mcp_server_install_timeout_seconds=0.3)
    with late, pytest.raises(MCPError, match=r"within 0\.3 s") as caught:
        late.play()
    setting = "server_install_timeout_seconds in [tool.zorkgpt.mcp]"
    assert str(caught.value).endswith(f"If it only needs more time, raise {setting}.")
    with Player([LOOK], journal, **waits) as patient:
        assert patient.play()["action"] == "look"
    again = Player([], journal, **waits)
    with (
        again,
        pytest.raises(
            MCPError, match=r"(?s)within 0\.2 s.*raise server_startup_timeout_seconds in"
        ),
    ):
        again.play()
