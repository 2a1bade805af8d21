"""mcp_ghost() and its servers: which are started and offered, and runs beside each other."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.ghosts import Notes, assert_well_formed, ghost, play, said_to
from tests.support.servers import faulty
from tests.support.servers.over_http import faulty_http, remote

pytestmark = pytest.mark.mcp


def test_only_listed_and_enabled_servers_are_started(tmp_path: Path) -> None:  # B16
    on, off = Notes(tmp_path, "on"), Notes(tmp_path, "off")
    disabled = off.config.model_copy(update={"disabled": True})
    result, model = play(["Done."], {"on": on.config, "off": disabled})
    assert result["execution_metadata"]["servers_connected"] == 1
    assert all(name.startswith("mcp_ghost_on_") for name in model.requests[0].tool_names)
    assert (len(on.pids), len(off.pids)) == (1, 0)


def test_a_server_that_cannot_start_is_told_and_the_others_go_on(notes: Notes) -> None:  # B19
    servers = {
        "gone": ServerConfig(command="no-such-program-anywhere"),
        "notes": notes.config,
        "ill": faulty("exit3"),
    }
    script: list[Reply | str] = [tool_reply([("notes.write", {"name": "a", "text": "b"})]), "Done."]
    result, _ = play(script, servers)
    assert result["success"]
    assert notes.file("a") == "b"
    failed = {error["tool_name"]: error for error in result["errors"]}
    assert failed.keys() == {"gone", "ill"}
    assert "no-such-program-anywhere" in failed["gone"]["error"]
    assert failed["ill"]["iteration"] == 0
    assert failed["ill"]["recovery_action"] == "went on without this server"
    assert result["execution_metadata"]["servers_connected"] == 1


def test_when_no_server_starts_the_run_fails_without_asking_the_model() -> None:  # B14
    result, model = play([], {"ill": faulty("exit3")})
    assert result["success"] is False
    assert result["final_result"] is None
    assert "no server could be started (ill)" in result["summary"]
    assert [m["content"] for m in result["conversation_history"]] == ["Keep notes.", "Do it."]
    assert model.requests == []


def test_without_servers_the_model_just_answers() -> None:  # B12, B14
    result, model = play(["Four."], {})
    assert result["success"]
    assert result["execution_metadata"]["success_rate"] == 1.0
    assert model.requests[0].tool_names == []
    assert model.requests[0].messages[0]["content"] == "Keep notes."


def test_allow_and_deny_choose_among_the_tools(
    notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    script: list[Reply | str] = [tool_reply([("notes.remove", {"name": "a"})]), "Done."]
    servers = {"notes": notes.config}
    result, model = play(script, servers, allow=["notes.*"], deny=["remove", "wriet"], namespace="")
    assert "notes_read" in model.requests[0].tool_names
    assert "notes_remove" not in model.requests[0].tool_names
    assert result["execution_metadata"]["tools_discovered"] == 7
    assert notes.calls == []
    assert "Unknown tool 'notes_remove'" in result["errors"][0]["error"]
    assert "wriet" in caplog.text


def test_results_are_cut_at_the_limit(notes: Notes) -> None:
    script: list[Reply | str] = [tool_reply([("s.huge", {"size": 5000})]), "Done."]
    result, model = play(script, {"s": faulty()}, result_limit=100)
    assert "4900 of 5000 characters left out" in result["tool_chain"][0]["result"]
    assert len(said_to(model, 1)) - len(said_to(model, 0)) < 600


def test_the_text_of_resources_and_beside_structured_content_reaches_model_and_result() -> None:
    both = tool_reply([("s.rich", {}), ("s.structured", {})])
    result, model = play([both, "Done."], {"s": faulty()})
    rich, structured = (entry["result"] for entry in result["tool_chain"])
    assert rich[2] == {
        "type": "resource",
        "uri": "file:///a.md",
        "mimeType": "text/markdown",
        "text": "y" * 5000,
    }
    assert structured == ["42 degrees", {"degrees": 42}]
    assert "y" * 5000 in said_to(model, 1)
    assert "42 degrees" in said_to(model, 1)


def test_servers_at_a_url_work_beside_those_that_are_started(notes: Notes) -> None:
    script: list[Reply | str] = [
        tool_reply([("far.echo", {"text": "hello"}), ("notes.write", {"name": "a", "text": "b"})]),
        "Done.",
    ]
    with remote(TOKEN="token-0123456789") as server:
        far = server.config(Authorization="Bearer token-0123456789")
        result, _ = play(script, {"far": far, "notes": notes.config})
    assert result["execution_metadata"]["servers_connected"] == 2
    assert [entry["result"] for entry in result["tool_chain"]] == [{"result": "hello"}, "wrote a"]


def test_a_broken_connection_is_made_again_and_the_call_repeated() -> None:  # B27
    script: list[Reply | str] = [
        tool_reply([("far.odd", {})]),
        tool_reply([("far.echo", {})]),
        "Done.",
    ]
    with faulty_http("close") as server:
        result, _ = play(script, {"far": ServerConfig(url=server.url)})
    assert result["success"]
    tried = [(e["tool_name"], e["success"], e["retry_attempt"]) for e in result["tool_chain"]]
    assert tried[:2] == [("far.odd", False, 0), ("far.odd", False, 1)]
    assert tried[-1][:2] == ("far.echo", True)


@pytest.mark.parametrize("fault", ["status:404:", "status:400:no such session"])
def test_a_call_that_was_certainly_not_made_is_made_in_a_new_session(fault: str) -> None:
    with faulty_http(f"once:{fault}") as server:
        script: list[Reply | str] = [tool_reply([("far.write", {})] * 2), "Done."]
        result, model = play(script, {"far": ServerConfig(url=server.url)})
    tried = [(e["success"], e["retry_attempt"]) for e in result["tool_chain"]]
    assert tried == [(False, 0), (True, 1), (True, 0)]
    assert [m["content"] for m in model.requests[-1].messages[-2:]] == ["on", "on"]


@pytest.mark.parametrize("told", [True, False])
def test_what_a_server_says_of_its_use_reaches_the_model_and_the_caller(
    told: bool, tmp_path: Path
) -> None:
    said = "Call \u001b[31mprepare first.\nThen the rest. Key: token-0123456789"
    about = {"INSTRUCTIONS": json.dumps(said), "MY_TOKEN": "token-0123456789"}
    servers = {"s": faulty(**about), "dumb": faulty(INSTRUCTIONS="[1]")}
    events: list[dict[str, Any]] = []
    result, model = play(["Done."], servers, on_event=events.append, server_instructions=told)
    shown = "Call prepare first.\nThen the rest. Key: ***"
    assert (shown in str(model.requests[0].messages[0]["content"])) is told
    assert [it["instructions"] for it in result["servers"]] == [shown, ""]
    assert result["servers"][0].items() >= {"name": "s", "version": "1.0"}.items()
    connected = [event for event in events if event["type"] == "server_connected"]
    assert [event["instructions"] for event in connected] == [shown, ""]
    result, model = play(["Done."], servers, deny=["s.*"])
    assert shown not in str(model.requests[0].messages)  # none of its tools is on offer


def test_runs_of_one_loop_do_not_mix(tmp_path: Path) -> None:
    stages = [Notes(tmp_path, f"run{number}") for number in range(5)]

    async def one(number: int, stage: Notes) -> dict[str, Any]:
        script: list[Reply | str] = [
            tool_reply([("notes.write", {"name": "who", "text": str(number)})], f"I am {number}."),
            tool_reply([("notes.read", {"name": "who"})]),
            f"I was {number}.",
        ]
        with ModelServer(script, namespace="mcp_ghost") as model:
            return await ghost(model, {"notes": stage.config})

    async def all_at_once() -> list[dict[str, Any]]:
        return await asyncio.gather(*(one(*each) for each in enumerate(stages)))

    for number, result in enumerate(asyncio.run(all_at_once())):
        assert_well_formed(result)
        assert result["final_result"] == f"I was {number}."
        assert result["tool_chain"][1]["result"] == str(number)
        assert f"I am {number}." in json.dumps(result["conversation_history"])
        assert stages[number].file("who") == str(number)
        assert len(stages[number].calls) == 2
