"""The game server as a process: over HTTP for many guests, over stdio for one; nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from game_server.__main__ import main
from mcp_ghost.testing import ModelServer, Reply
from orchestration.replay import replay
from tests.game_interface.text_environment import TALKATIVE
from tests.game_server.guests import Caller, guest
from tests.support import PATIENCE, ROOT, free_port
from tests.support.episodes import read_events
from tests.support.golden_cases import calls
from tests.support.program import Program, heavy_imports, killed_at_last
from tests.support.servers import eventually

pytestmark = pytest.mark.mcp

WARM = ("game_server.serving", "game_server.games", "uvicorn.protocols.http.auto")


@pytest.fixture
def server(tmp_path: Path) -> Program:
    program = Program(tmp_path, "-m", "game_server")
    program.warm = WARM
    program.env |= {"ZORKGPT_STORY": "bundled", "PYTHONPATH": str(ROOT)}
    return program


@contextmanager
def over_http(server: Program) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its address."""
    process = server.start("--http", "--port", str(free_port()))
    with killed_at_last(process):
        assert process.stdout
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        yield process, line.split()[2]


async def _play(call: Caller, seed: int, commands: list[str]) -> list[str]:
    name = (await call("new_game", seed=seed)).values["game"]
    told = [(await call("command", text=it, game=name)).values["text"] for it in commands]
    return [name, *told]


async def test_several_guests_of_both_revisions_play_at_once_and_a_kill_loses_nothing(
    server: Program,
) -> None:
    way = ["north", "north", "wait"]
    with over_http(server) as (process, address):
        async with (
            guest(address, "old", "legacy") as old,
            guest(address, "new", "2026-07-28") as new,
            guest(address, "third", "legacy") as third,
        ):
            games = await asyncio.gather(
                _play(old, 7, way), _play(new, 7, way), _play(third, 8, way[:1])
            )
            assert games[0][1:] == games[1][1:]
            assert (await old("status")).values["turn"] == 3  # its session's game
            assert (await new("status")).values["turn"] == 3  # the only one of its name
            assert (await third("status")).values["turn"] == 1
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    assert server.leftovers() == []
    for name, *told in games:
        folder = server.folder / "game_files" / "episodes" / name
        turns = [it for it in read_events(folder) if it["event_type"] == "turn"]
        assert [turn["response"] for turn in turns] == told
        assert replay(folder).turns == len(told)


async def test_who_says_goodbye_leaves_no_engine_and_foreign_pages_are_not_served(
    server: Program,
) -> None:
    with over_http(server) as (process, address):
        async with httpx2.AsyncClient() as web:
            for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
                answer = await web.post(address, json={}, headers=headers)
                assert answer.status_code in (403, 421)
        async with guest(address, mode="legacy") as call:
            name, *_ = await _play(call, 7, ["north"])
        folder = server.folder / "game_files" / "episodes" / name
        assert eventually(lambda: list(read_events(folder))[-1].get("reason") == "aborted")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait() in (143, -signal.SIGTERM)
    assert server.leftovers() == []


async def test_over_http_only_who_shows_the_token_is_served(server: Program) -> None:
    server.env["GAME_SERVER_TOKEN"] = token = "of-this-test_0123"
    with over_http(server) as (process, address):
        assert process.stdout
        assert f"Authorization: Bearer {token}" in process.stdout.readline()
        plain = address.replace(f"/{token}", "")
        assert address != plain
        sent = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
        async with httpx2.AsyncClient(trust_env=False) as web:
            for shown in ("", token, "Bearer", f"Bearer {token}x", f"Basic {token}"):
                answer = await web.post(plain, json=sent, headers={"authorization": shown})
                assert answer.status_code == 401
                assert "Authorization: Bearer" in answer.text
            for place in (f"{address}x", address.replace(token, token[1:]), f"{plain}?{token}"):
                assert (await web.get(place)).status_code == 401
        server.env["KEY"] = token
        entry = {"url": plain, "headers": {"Authorization": "Bearer ${KEY}"}}
        (server.folder / "zork.json").write_text(json.dumps({"mcpServers": {"zorkgpt": entry}}))
        asked = ["mcp_ghost", "tools", "--config", "zork.json"]
        listed = Program(server.folder, "-m", *asked)
        listed.env = server.env
        assert "zorkgpt.new_game" in (await asyncio.to_thread(listed.run)).stdout


def test_a_token_that_does_not_fit_into_an_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for token in ("short", "0123456789/abcdef", "0123456789 abcdef", ""):
        monkeypatch.setenv("GAME_SERVER_TOKEN", token)
        assert main(["--http", "--story", "bundled"]) == 2
        assert "at least 16 letters" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, None])
def test_over_stdio_every_end_leaves_the_episode_and_no_process(
    server: Program, number: signal.Signals | None
) -> None:
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "by-hand", "version": "1"},
    }
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "new_game", "arguments": {}}},
    ]
    process = server.start(stdin=subprocess.PIPE)
    with killed_at_last(process):
        assert process.stdin
        assert process.stdout
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
            process.stdin.flush()
            if "id" in request:
                assert json.loads(process.stdout.readline())["id"] == request["id"]
        if number is None:
            process.stdin.close()
        else:
            os.kill(process.pid, number)
        process.wait()
    assert server.leftovers() == []
    (folder,) = server.episodes()
    assert list(read_events(folder))[-1]["event_type"] == "episode_end"


def test_what_an_environment_prints_at_its_start_is_no_message_to_the_client(
    server: Program,
) -> None:
    process = server.start("--story", TALKATIVE, stdin=subprocess.PIPE)
    with killed_at_last(process):
        said, errors = process.communicate("", timeout=PATIENCE)
    assert said == ""
    assert "The corridor is being built." in errors


@pytest.mark.soak
def test_mcp_ghost_plays_with_three_lines_of_configuration(server: Program) -> None:
    """As docs/doors.md has them, in processes that start cold."""
    text = (ROOT / "docs" / "doors.md").read_text(encoding="utf-8")
    shown = text.partition("```json\n")[2].partition("```")[0]
    assert len(shown.splitlines()) == 3
    entry = json.loads(shown)["mcpServers"]["zorkgpt"]
    assert [entry["command"], *entry["args"]] == ["uv", "run", "python", "-m", "game_server"]
    config = {"mcpServers": {"zorkgpt": {"command": sys.executable, "args": entry["args"][2:]}}}
    (server.folder / "zork.json").write_text(json.dumps(config))
    script: list[Reply | str] = [
        calls(("zorkgpt.new_game", {"story": "bundled", "seed": 7})),
        calls(("zorkgpt.command", {"text": "north"})),
        "I stand on a cliff path.",
    ]
    with ModelServer(script) as model:
        asked = ["--provider", "openai", "--base-url", model.base_url, "--prompt", "Play."]
        done = subprocess.run(
            [sys.executable, "-m", "mcp_ghost", "run", "--config", "zork.json", *asked],
            cwd=server.folder,
            env=server.env,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "I stand on a cliff path.\n", done.stderr
    assert server.leftovers() == []
    (folder,) = server.episodes()
    kinds = {event["event_type"]: event for event in read_events(folder)}
    assert (kinds["episode_start"]["player"], kinds["turn"]["command"]) == ("mcp", "north")
    assert kinds["episode_end"]["reason"] == "aborted"


@pytest.mark.parametrize(
    ("story", "why"),
    [
        ("nope.z5", "no story file"),
        ("gym:Nowhere-v9", "there is no environment"),
        ("gym:CartPole-v1", "not text"),
        (__file__, "neither a Z-machine story"),
    ],
)
def test_a_server_that_could_offer_nothing_does_not_start(
    story: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--story", story]) == 2
    assert why in capsys.readouterr().err


def test_the_servers_help_waits_for_nothing() -> None:
    assert heavy_imports("-m", "game_server", "--help") == set()
