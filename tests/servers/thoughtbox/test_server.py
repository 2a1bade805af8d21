"""The bundled server: its protocol on real pipes, and the chain of thoughts behind ``think``."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.config import load_servers
from mcp_ghost.servers.session import ServerSession
from tests.support import PATIENCE, ROOT
from thoughtbox.server import SCHEMA, Chain
from tool_server import RefusedCall


class Client:
    """A client that checks nothing: what it sends may be wrong."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def raw(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        return self.raw(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def think(self, **arguments: object) -> tuple[bool, Any]:
        result = self.ask("tools/call", name="think", arguments=arguments)["result"]
        text = result["content"][0]["text"]
        return result["isError"], text if result["isError"] else json.loads(text)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """As mcp_config.json starts it, from another directory."""
    config = load_servers(ROOT / "mcp_config.json")["thoughtbox"]
    assert config.command == "python"
    with subprocess.Popen(
        [sys.executable, *config.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        yield Client(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def step(number: int = 1, **more: object) -> dict[str, Any]:
    thought = {"thought": f"thought {number}", "thoughtNumber": number, "totalThoughts": 3}
    return {**thought, "nextThoughtNeeded": True, **more}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_known_protocol_versions_are_accepted(version: str, client: Client) -> None:
    result = client.ask("initialize", protocolVersion=version)["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "thoughtbox"
    assert "tools" in result["capabilities"]


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", None, 7])
def test_an_unknown_version_is_answered_with_the_newest_known(
    version: object, client: Client
) -> None:
    result = client.ask("initialize", protocolVersion=version)["result"]
    assert result["protocolVersion"] == "2025-11-25"


def modern(version: str = "2026-07-28") -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/protocolVersion": version, "traceparent": "00-1"}}


def test_the_revision_without_handshake_is_spoken_too(client: Client) -> None:
    found = client.ask("server/discover", **modern())["result"]
    assert found["supportedVersions"][0] == "2026-07-28"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "thoughtbox"
    listed = client.ask("tools/list", **modern())["result"]
    assert [tool["name"] for tool in listed["tools"]] == ["think"]
    for result in (found, listed):
        assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
        assert result["ttlMs"] > 0
    call = client.ask("tools/call", name="think", arguments=step(), **modern())["result"]
    assert (call["isError"], call["resultType"]) == (False, "complete")
    assert client.ask("ping", **modern())["error"]["code"] == -32601
    error = client.ask("tools/list", **modern("2099-01-01"))["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "2099-01-01"
    assert "2026-07-28" in error["data"]["supported"]


async def test_a_session_with_it_is_one_without_handshake() -> None:
    config = load_servers(ROOT / "mcp_config.json")["thoughtbox"]
    async with ServerSession("t", config) as session:
        assert session.protocol_version == "2026-07-28"
        assert session.annotations["think"]["readOnlyHint"] is False
        assert not (await session.call("think", step())).is_error


def test_ping_notifications_and_errors_follow_json_rpc(client: Client) -> None:
    assert client.ask("ping")["result"] == {}
    assert client.ask("resources/list")["error"]["code"] == -32601
    assert client.raw("{nonsense")["error"] == {"code": -32700, "message": "not JSON"}
    assert client.raw("[1]")["error"]["code"] == -32600
    assert client.raw('{"jsonrpc": "2.0", "id": 4}')["error"]["code"] == -32600
    assert client.ask("tools/call", name="guess")["error"]["code"] == -32602
    assert client.ask("tools/call", name="think", arguments=[1])["error"]["code"] == -32602
    silent = '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n'
    silent += '{"jsonrpc": "2.0", "id": 9, "result": {}}\n'
    assert client.raw(silent + '{"jsonrpc": "2.0", "id": "x", "method": "ping"}')["id"] == "x"


def test_the_listed_tool_takes_what_its_schema_says(client: Client) -> None:
    (tool,) = client.ask("tools/list")["result"]["tools"]
    assert tool["name"] == "think"
    assert tool["inputSchema"] == SCHEMA
    error, view = client.think(**step())
    assert not error
    assert view == {
        "thoughtNumber": 1,
        "totalThoughts": 3,
        "nextThoughtNeeded": True,
        "thoughtHistoryLength": 1,
        "branches": [],
        "outline": ["1: thought 1"],
    }


def test_the_chain_of_the_session_is_kept_and_refusals_do_not_change_it(client: Client) -> None:
    client.think(**step(1))
    error, text = client.think(**step(2, thought=" ", extra=1))
    assert error
    assert "thought must be a text" in text
    assert "extra is not a known field" in text
    error, view = client.think(**step(2, nextThoughtNeeded=False))
    assert not error
    assert view["outline"] == ["1: thought 1", "2: thought 2"]
    assert view["nextThoughtNeeded"] is False


def test_revisions_and_branches_show_in_the_view() -> None:
    chain = Chain()
    chain.add(step(1))
    chain.add(step(2, isRevision=True, revisesThought=1))
    view = chain.add(step(3, branchFromThought=1, branchId="attic", needsMoreThoughts=True))
    assert view["branches"] == ["attic"]
    assert view["outline"][1:] == ["2 (revises 1): thought 2", "3 [attic]: thought 3"]


def test_numbers_and_truth_values_written_as_text_are_understood() -> None:
    view = Chain().add(step(1, thoughtNumber="4", totalThoughts=2.0, nextThoughtNeeded="false"))
    assert view["thoughtNumber"] == view["totalThoughts"] == 4
    assert view["nextThoughtNeeded"] is False


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "thought is missing; thoughtNumber is missing"),
        (step(thoughtNumber=0), "thoughtNumber must be a whole number from 1"),
        (step(thoughtNumber="9" * 5000), "thoughtNumber must be a whole number from 1"),
        (step(thoughtNumber=True), "thoughtNumber must be a whole number from 1"),
        (step(nextThoughtNeeded="maybe"), "nextThoughtNeeded must be true or false"),
        (step(isRevision=True), "isRevision needs revisesThought"),
        (step(revisesThought=5), "revisesThought is 5, but there is no such thought yet"),
        (step(branchFromThought=5, branchId="b"), "branchFromThought is 5, but there is no such"),
        (step(thought="x" * 30_000), "thought must be a text of 1 to 20000 characters"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused_with_the_reason(
    arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(RefusedCall) as refusal:
        Chain().add(arguments)
    assert problem in str(refusal.value)


@given(st.lists(st.text(min_size=1, max_size=300).filter(str.strip), min_size=1, max_size=40))
def test_the_view_stays_small_however_long_the_chain(thoughts: list[str]) -> None:
    chain = Chain()
    for number, thought in enumerate(thoughts, start=1):
        view = chain.add(step(number, thought=thought))
    assert view["thoughtHistoryLength"] == len(thoughts)
    assert len(view["outline"]) + view.get("earlierThoughts", 0) == len(thoughts)
    assert len(json.dumps(view, ensure_ascii=False)) < 1200


@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), st.integers() | st.text()))
def test_any_arguments_are_recorded_or_refused(arguments: dict[str, Any]) -> None:
    with contextlib.suppress(RefusedCall):
        assert Chain().add(arguments)["thoughtHistoryLength"] == 1


def test_the_server_imports_little() -> None:
    code = (
        "import sys, thoughtbox.server;"
        "print(*{'typing', 'dataclasses', 'asyncio', 'pydantic', 'mcp'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", code], timeout=PATIENCE) == b"\n"
