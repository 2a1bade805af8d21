"""An agent's connection to its server: beside the model, tried again, given up, interrupted."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llm_client import LLMClient
from managers.mcp_manager import MCPServerStartupError
from mcp_ghost.testing import ModelRequest, Reply, tool_reply
from tests.support import FOREVER, PATIENCE
from tests.support.fakes import RecordingLangfuse
from tests.support.journal import NAME, Journal
from tests.support.playing import ECHO, LOGGER, Player, events
from tests.support.servers import eventually, is_running, listing, write_config
from workshop.scripted_model import action_reply

pytestmark = pytest.mark.mcp


@pytest.fixture(autouse=True)
def every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def test_two_agents_in_two_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    decisions: dict[str, list[str | None]] = {}

    def play(name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        journal = Journal(folder)
        script = [tool_reply([(ECHO[0], {"text": name})]), action_reply(f"say {name}")] * 3
        with Player(script, journal) as player:
            decisions[name] = [player.play()["action"] for _ in range(3)]
            assert [given["text"] for _, given in journal.calls] == [name] * 3

    threads = [threading.Thread(target=play, args=(name,)) for name in ("xyzzy", "plugh")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert decisions == {name: [f"say {name}"] * 3 for name in ("xyzzy", "plugh")}


def test_from_the_second_turn_on_the_model_is_asked_while_the_server_connects(
    journal: Journal, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    journal.configure(first=f"while [ ! -e {gate} ]; do sleep 0.01; done")
    script = iter([action_reply("look"), tool_reply([ECHO]), action_reply("go north")])

    def model(_: ModelRequest) -> Reply:
        gate.touch()  # only now may the server start
        return next(script)

    with Player(model, journal) as player:
        player.play()
        gate.unlink()
        assert player.play()["action"] == "go north"
    assert player.answers() == [{"content": "hello"}]
    assert not any(map(is_running, journal.starts))
    assert journal.ends == journal.starts[1:]  # the first one had nothing to finish


class Clock(logging.Handler):
    """The clock that durations are taken from; each of some log events puts it on by seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._ahead = 0.0
        clock = time.perf_counter
        monkeypatch.setattr(time, "perf_counter", lambda: clock() + self._ahead)

    def emit(self, record: logging.LogRecord) -> None:
        self.put_on(self._seconds.get(getattr(record, "event_type", ""), 0.0))

    def put_on(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A server takes a day to start, and each call a minute."""
    day, minute = 86_400, 60
    clock = Clock(
        monkeypatch,
        mcp_server_started=day,
        mcp_connect_retry_successful=day,
        mcp_tool_call=minute,
    )
    LOGGER.addHandler(clock)
    yield clock
    LOGGER.removeHandler(clock)


@pytest.mark.parametrize(
    ("tool", "event_type"),
    [
        ("echo", "mcp_tool_result"),
        ("refuse", "mcp_tool_result"),
        ("hang", "mcp_tool_timeout"),
        ("die", None),
    ],
)
@pytest.mark.usefixtures("clock")
def test_the_duration_of_a_call_is_without_the_start_of_the_server(
    journal: Journal,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    tool: str,
    event_type: str | None,
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    journal.configure(first=f"while [ ! -e {gate} ]; do sleep 0.01; done")
    script = iter([action_reply("look"), tool_reply([(f"{NAME}.{tool}", {})]), action_reply("go")])

    def model(_: ModelRequest) -> Reply:
        gate.touch()
        return next(script)

    patience = 0.3 if tool == "hang" else 30
    with Player(model, journal, mcp_tool_call_timeout_seconds=patience) as player:
        player.play()
        gate.unlink()
        player.play()
        decision = player.agent.last_decision
    assert decision is not None
    (used,) = decision.tools
    logged = [event.duration_ms for event in events(caplog, event_type)] if event_type else []
    assert all(60_000 <= each < 86_400_000 for each in (used.duration_ms, *logged))
    assert len(logged) == (1 if event_type else 0)


async def test_the_duration_of_a_span_is_without_the_start_of_the_server(
    journal: Journal, clock: Clock
) -> None:
    class Langfuse(RecordingLangfuse):
        @contextmanager
        def start_as_current_observation(self, **fields: object) -> Iterator[object]:
            clock.put_on(60)
            with super().start_as_current_observation(**fields) as span:
                yield span

    journal.configure(failing_starts=[2])
    with Player([], journal) as player:
        assert player.manager is not None
        player.manager.langfuse_client = langfuse = Langfuse()
        manager = player.manager
        await manager.connect_session()
        await manager.disconnect_session()
        connecting = asyncio.create_task(manager.connect_session())
        await manager.call_tool(*ECHO)
        await connecting
        await manager.disconnect_session()
    (span,) = langfuse.spans
    assert 60_000 <= span["metadata"]["duration_ms"] < 86_400_000


def test_from_the_second_request_on_the_tools_are_those_that_the_server_lists_now(
    journal: Journal, tmp_path: Path
) -> None:
    def lists(*names: str) -> None:
        server = listing(tmp_path, NAME, names)
        write_config(journal.config_file, **{NAME: server})

    lists("old", "kept")
    kept = tool_reply([(f"{NAME}.kept", {})])
    script = [action_reply("look"), kept, kept, action_reply("go")]
    with Player(script, journal) as player:
        player.play()
        lists("kept", "new")
        player.play()
    assert [request.tool_names for request in player.model.requests] == [
        *[[f"{NAME}_old", f"{NAME}_kept"]] * 2,
        *[[f"{NAME}_kept", f"{NAME}_new"]] * 2,
    ]
    assert player.model.refusals == []


def test_the_first_turn_waits_for_the_server(journal: Journal, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    journal.configure(first=f"sleep 0.3; touch {ready}")

    def model(_: ModelRequest) -> Reply:
        assert ready.exists()
        return action_reply("look")

    with Player(model, journal) as player:
        player.play()


def test_a_retry_in_a_later_turn_is_not_noticed_by_the_model(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.configure(failing_starts=[2])
    script = [action_reply("look"), tool_reply([ECHO]), action_reply("go north")]
    with Player(script, journal) as player:
        assert [player.play()["action"] for _ in (1, 2)] == ["look", "go north"]
    assert player.answers() == [{"content": "hello"}]
    messages = [record.getMessage() for record in caplog.records]
    assert any(each.startswith("MCP session connect failed, retrying: ") for each in messages)
    assert "MCP session retry successful" in messages


def test_calls_in_flight_are_answered_when_mcp_is_given_up_and_no_tools_follow(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.configure(failing_starts=[2, 3])
    script = [
        action_reply("look"),
        tool_reply([ECHO, ECHO]),
        action_reply("go north"),
        action_reply("go south"),
    ]
    with Player(script, journal) as player:
        assert [player.play()["action"] for _ in (1, 2, 3)] == ["look", "go north", "go south"]
    assert ["error" in each for each in player.answers(2)] == [True, True]
    assert [bool(each.tool_names) for each in player.model.requests] == [True, True, False, False]
    assert "response_format" in player.model.requests[2].body
    assert player.model.refusals == []
    assert len(journal.starts) == 3
    (fallback,) = events(caplog, "mcp_disabled_fallback")
    assert (fallback.levelno, fallback.turn) == (logging.WARNING, 2)
    messages = [record.getMessage() for record in caplog.records]
    assert any(each.startswith("MCP retry failed, disabling MCP for episode") for each in messages)
    assert fallback.getMessage() == (
        f"Continuing without MCP tools: Failed to start MCP server '{NAME}': "
        "it exited with status 1 before it was ready"
    )


def test_the_first_connection_that_fails_stops_the_turn_without_a_retry(journal: Journal) -> None:
    journal.configure("exit3")
    player = Player([], journal)
    with player, pytest.raises(MCPServerStartupError, match="missing API key"):
        player.play()
    assert len(journal.starts) == 1
    assert player.model.requests == []


def test_a_turn_that_breaks_while_the_connection_failed_says_only_why_it_broke(
    journal: Journal, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.configure(failing_starts=[2, 3])
    with Player([action_reply("look")], journal) as player:
        player.play()

        def broken(**_: object) -> None:
            assert eventually(lambda: len(journal.starts) == 3)
            assert eventually(lambda: bool(player.manager and player.manager.is_disabled))
            raise ZeroDivisionError

        monkeypatch.setattr(player.client, "chat_completions_create", broken)
        with pytest.raises(ZeroDivisionError):
            player.play()
    gc.collect()
    assert [r for r in caplog.records if r.name == "asyncio" and r.levelno > logging.INFO] == []


@pytest.fixture
def sigint_later(journal: Journal) -> Iterator[threading.Thread]:
    """Presses Ctrl-C as soon as the server was called."""

    def press() -> None:
        if eventually(lambda: bool(journal.calls)):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    yield thread
    thread.join()


def test_ctrl_c_while_a_tool_runs_leaves_no_process(
    journal: Journal, sigint_later: threading.Thread
) -> None:
    with Player([tool_reply([(f"{NAME}.hang", {})])], journal) as player:
        sigint_later.start()
        with pytest.raises(KeyboardInterrupt):
            player.play()
    assert len(journal.starts) == 1
    assert not any(map(is_running, journal.starts))


def test_ctrl_c_while_the_model_thinks_ends_the_turn_at_once(journal: Journal) -> None:
    def slow(_: ModelRequest) -> Reply:
        os.kill(os.getpid(), signal.SIGINT)
        return action_reply("look").after(FOREVER)

    with Player(slow, journal) as player, pytest.raises(KeyboardInterrupt):
        player.play()
    assert not any(map(is_running, journal.starts))


# Wherever the second arrives, asyncio may lose what it was doing: the closing of a pipe, too.
# A file that is just opened is not yet in its "with".
@pytest.mark.filterwarnings("ignore:unclosed (transport|file):ResourceWarning")
@pytest.mark.parametrize("seconds", [0.02, 0.3])
@pytest.mark.parametrize("during", ["start", "call", "thought"])
def test_ctrl_c_pressed_twice_ends_the_turn_and_closing_leaves_no_process(
    journal: Journal, during: str, seconds: float
) -> None:
    asked = threading.Event()

    def model(_: ModelRequest) -> Reply:
        asked.set()
        if during == "thought":
            return action_reply("look").after(FOREVER)
        return tool_reply([(f"{NAME}.hang", {})])

    def press() -> None:
        if during == "thought":
            asked.wait(PATIENCE)
        elif during == "start":
            eventually(lambda: bool(journal.starts))
        else:
            eventually(lambda: bool(journal.calls))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    def play(player: Player, presses: threading.Thread) -> None:
        try:
            presses.start()
            player.play()
        finally:
            presses.join()

    journal.configure("mute" if during == "start" else "stubborn")
    player = Player(model, journal)
    with player.model, pytest.raises(KeyboardInterrupt):
        play(player, threading.Thread(target=press))
    player.client.close()
    assert len(journal.starts) == 1
    assert not any(map(is_running, journal.starts))
    del player
    gc.collect()  # else a later test would hear of the pipe


def test_closing_in_the_middle_of_a_call_ends_the_turn_and_leaves_no_process(
    journal: Journal,
) -> None:
    def close(client: LLMClient) -> None:
        if eventually(lambda: bool(journal.calls)):
            client.close()

    with Player([tool_reply([(f"{NAME}.hang", {})])], journal) as player:
        closing = threading.Thread(target=close, args=(player.client,))
        closing.start()
        with pytest.raises(RuntimeError, match="was closed"):
            player.play()
        closing.join(PATIENCE)
    assert len(journal.starts) == 1
    assert not any(map(is_running, journal.starts))


def test_ctrl_c_while_the_server_starts_leaves_no_process(journal: Journal) -> None:
    journal.configure("mute", first="kill -INT $PPID")
    with Player([], journal) as player, pytest.raises(KeyboardInterrupt):
        player.play()
    assert not any(map(is_running, journal.starts))
