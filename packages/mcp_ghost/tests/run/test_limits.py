"""Deadlines, budgets, cancellation, events and secrets: what bounds a run and what leaves it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.events import event_of
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from tests.support import FOREVER, PATIENCE, ROOT
from tests.support.ghosts import KEY, PROVIDERS, Notes, ghost, play, tools
from tests.support.program import killed_at_last
from tests.support.servers import eventually, faulty, is_running, pids, seen
from tests.support.warm import WarmPopen

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
WRITE = ("notes.write", {"name": "a", "text": "milk"})
READ = ("notes.read", {"name": "a"})


# --- the deadline -----------------------------------------------------------------------------

one_provider = pytest.mark.parametrize(  # seconds each, and no wire has a part in it
    "provider", [PROVIDERS[0], *(pytest.param(it, marks=pytest.mark.soak) for it in PROVIDERS[1:])]
)


@one_provider
def test_the_deadline_ends_a_run_whose_tool_hangs(provider: WireName, notes: Notes) -> None:
    log = notes.log.with_name("s.log")
    servers = {"s": faulty(SERVER_LOG=str(log)), "notes": notes.config}
    script = [tool_reply([("s.hang", {}), WRITE, ("s.echo", {"text": "late"})])]
    result, model = play(script, servers, provider, deadline=5)
    assert result["success"] is False
    assert "the deadline of 5 s for the whole run has passed" in result["summary"]
    assert tools(result) == ["s.hang", "notes.write"]
    assert [entry["success"] for entry in result["tool_chain"]] == [False, True]
    assert notes.file("a") == "milk"
    assert len(model.requests) == 1
    assert not any(map(is_running, [*pids(log), *notes.pids]))


@one_provider
def test_the_deadline_ends_a_run_whose_model_hangs(provider: WireName, notes: Notes) -> None:
    script = [tool_reply([WRITE]), content_reply("Too late.").after(FOREVER)]
    result, _ = play(script, {"notes": notes.config}, provider, deadline=5)
    assert result["success"] is False
    assert result["final_result"] is None
    assert tools(result) == ["notes.write"]
    assert result["errors"][-1]["tool_name"] == "mcp_ghost"
    assert "deadline" in result["errors"][-1]["error"]


def test_the_deadline_holds_while_servers_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result, model = play([], {"s": faulty("mute", SERVER_LOG=str(log))}, deadline=0.5)
    assert result["success"] is False
    assert "deadline" in result["summary"]
    assert model.requests == []
    assert not any(map(is_running, pids(log)))


def test_the_deadline_holds_while_a_server_is_restarted(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    script = f"if [ -e {marker} ]; then exec sleep {FOREVER}; fi; touch {marker}; exec "
    server = faulty()
    command = script + " ".join([server.command or "", *server.args])
    slow = server.model_copy(update={"command": "sh", "args": ["-c", command]})
    result, _ = play([tool_reply([("s.die", {})])], {"s": slow}, deadline=5)
    assert result["success"] is False
    assert "deadline" in result["summary"]


# --- budgets ----------------------------------------------------------------------------------


@every_provider
def test_a_spent_budget_of_tokens_ends_the_run(provider: WireName, notes: Notes) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    script = [tool_reply([WRITE], usage=usage), tool_reply([READ], usage=usage)]
    result, model = play(script, {"notes": notes.config}, provider, token_budget=150)
    assert result["success"] is False
    assert "the budget of 150 tokens is spent (200)" in result["summary"]
    assert len(model.requests) == 2
    assert [name for name, _ in notes.calls] == ["write", "read"]


def test_an_answer_that_spends_the_rest_of_the_budget_is_an_answer() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    assert play([content_reply("Four.", usage=usage)], {}, token_budget=50)[0]["success"]


def test_a_spent_budget_of_dollars_ends_the_run(notes: Notes) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.04}
    script = [tool_reply([WRITE], usage=usage), tool_reply([READ], usage=usage)]
    result, _ = play(script, {"notes": notes.config}, cost_budget=0.05)
    assert result["success"] is False
    assert "the budget of $0.05 is spent ($0.08)" in result["summary"]


def test_a_budget_that_cannot_be_watched_is_warned_about(
    notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    script: list[Reply | str] = [tool_reply([WRITE]), tool_reply([READ]), "Done."]
    result, _ = play(script, {"notes": notes.config}, cost_budget=0.05)
    assert result["success"]
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warnings == ["cost_budget cannot be enforced: the provider reports no figures"]


# --- cancellation -----------------------------------------------------------------------------


def test_a_cancelled_run_leaves_nothing_behind(notes: Notes) -> None:  # B21
    async def cancelled(model: ModelServer) -> None:
        before = asyncio.all_tasks()
        run = asyncio.create_task(ghost(model, {"notes": notes.config}))
        while not any(entry["event"] == "sleeping" for entry in seen(notes.log)):
            await asyncio.sleep(0.01)
            assert not run.done()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert not any(map(is_running, notes.pids))
        assert asyncio.all_tasks() == before

    script = [tool_reply([("notes.sleep", {"seconds": 1000})])]
    with ModelServer(script, namespace="mcp_ghost") as model:
        asyncio.run(asyncio.wait_for(cancelled(model), 30))


def test_runs_leave_no_descriptors_open(notes: Notes) -> None:  # B21
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  one that counts itself each time

    script: list[Reply | str] = [tool_reply([WRITE]), "Done."]
    play(script, {"notes": notes.config})
    before = descriptors()
    for _ in range(3):
        play(script, {"notes": notes.config, "ill": faulty("exit3")})
    assert descriptors() <= before


def test_ctrl_c_ends_servers_too(notes: Notes) -> None:  # B21
    code = """
import sys
from mcp_ghost import mcp_ghost_sync
from mcp_ghost.testing import ModelServer, tool_reply
with ModelServer([tool_reply([("notes.sleep", {"seconds": 1000})])]) as model:
    mcp_ghost_sync(sys.argv[1], "", "openai", "k", "Go.", base_url=model.base_url, namespace="")
"""
    config = {"mcpServers": {"notes": notes.config.model_dump(exclude_defaults=True)}}
    Path("servers.json").write_text(json.dumps(config))
    program = WarmPopen(
        [sys.executable, "-c", code, "servers.json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )
    with killed_at_last(program):
        assert eventually(lambda: any(e["event"] == "sleeping" for e in seen(notes.log)))
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=PATIENCE)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not any(map(is_running, notes.pids))


# --- events -----------------------------------------------------------------------------------


def test_every_step_is_an_event(notes: Notes) -> None:
    events: list[dict[str, Any]] = []
    script: list[Reply | str] = [
        tool_reply([READ], "Let me look."),
        tool_reply([("notes.die_at_first", {})]),
        *[tool_reply([("notes.count", {})])] * 3,
        *[tool_reply([READ])] * 2,
        "Done.",
    ]
    servers = {"notes": notes.config, "ill": faulty("exit3")}
    play(script, servers, on_event=events.append)
    assert [event["type"] for event in events] == [
        "run_start",
        "server_failed",
        "server_connected",
        "model_reply",
        "tool_call",
        "tool_result",
        "backtrack",
        "model_reply",
        "tool_call",
        "tool_result",
        "retry",
        "tool_call",
        "tool_result",
        *["model_reply", "tool_call", "tool_result"] * 2,
        "model_reply",
        "loop",
        "tool_result",
        "backtrack",
        "model_reply",
        "tool_call",
        "tool_result",
        "backtrack",
        "model_reply",
        "tool_call",
        "tool_result",
        "breaker_open",
        "backtrack",
        "model_reply",
        "run_end",
    ]
    assert events[0]["servers"] == ["notes", "ill"]
    connected = {"server": "notes", "tools": 8, "revision": "2025-11-25", "instructions": ""}
    assert events[2] == {"type": "server_connected", "version": "1.0", **connected}
    assert events[3]["content"] == "Let me look."
    assert events[4] | {"tool_name": "notes.read", "arguments": {"name": "a"}} == events[4]
    assert events[5]["success"] is False
    assert events[-1]["success"] is True
    json.dumps(events)
    typed = [{"type": it["type"], **asdict(event_of(it))} for it in events]
    assert typed[:-1] == events[:-1]
    assert typed[-1] == {**events[-1], "result": None}


def test_a_coroutine_function_may_listen(notes: Notes) -> None:
    heard: list[str] = []

    async def listen(event: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        heard.append(event["type"])

    play([tool_reply([WRITE]), "Done."], {"notes": notes.config}, on_event=listen)
    assert heard[0] == "run_start"
    assert heard[-1] == "run_end"


async def never_ending(_event: dict[str, Any]) -> None:
    await asyncio.Event().wait()


def broken(_event: dict[str, Any]) -> None:
    raise ZeroDivisionError


def test_a_listener_whose_own_patience_ends_is_still_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[str] = []

    async def impatient(event: dict[str, Any]) -> None:
        heard.append(event["type"])
        raise TimeoutError

    assert play(["Done."], {}, on_event=impatient)[0]["success"]
    assert heard[-1] == "run_end"
    assert "on_event failed" in caplog.text


def test_a_listener_that_fails_is_logged_once_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert play(["Done."], {}, on_event=broken)[0]["success"]
    (record,) = caplog.records
    assert "on_event failed; later failures are not logged" in record.getMessage()
    assert "ZeroDivisionError" in record.getMessage()


def test_a_listener_that_hangs_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    result, _ = play(["Done."], {}, on_event=never_ending, deadline=0.5)
    assert "deadline" in result["summary"]
    (record,) = caplog.records
    assert record.getMessage() == "on_event took too long and is not called again"


# --- secrets ----------------------------------------------------------------------------------


@every_provider
def test_the_key_leaves_a_run_in_no_way(
    provider: WireName, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SOME_VARIABLE", KEY)
    events: list[dict[str, Any]] = []
    script = [
        tool_reply([("s.environment", {}), ("s.echo", {"text": KEY})]),
        error_reply(400, f"The key {KEY} is not what I want."),
    ]
    result, model = play(script, {"s": faulty()}, provider, on_event=events.append)
    assert "SOME_VARIABLE" in str(result["tool_chain"][0]["result"])
    assert KEY in str(model.requests[0].headers)
    # play() looks into the result.
    assert KEY not in json.dumps(events)
    assert KEY not in caplog.text


def test_a_fault_of_the_transport_is_a_result_too(caplog: pytest.LogCaptureFixture) -> None:
    import httpx2

    class Broken(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, _request: httpx2.Request) -> httpx2.Response:
            raise RuntimeError(f"I was given {KEY}")

    result, _ = play([], {}, transport=Broken())
    assert result["success"] is False
    assert "I was given ***" in result["summary"]
    assert "I was given ***" in caplog.text
    assert KEY not in caplog.text
