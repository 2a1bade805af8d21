"""Sessions with servers that are reached by URL: the same guarantees as for processes of ours."""

import asyncio
import os
import signal
from pathlib import Path

import httpx2
import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPServerDiedError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.servers.protocol import revision
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.toolsets.union import Toolbox
from tests.support import PATIENCE
from tests.support.servers import call_in, eventually, faulty, open_descriptors, seen
from tests.support.servers.over_http import (
    SECRET,
    Remote,
    faulty_http,
    remote,
    silent_log,  # noqa: F401 - a fixture for every test here
)

pytestmark = pytest.mark.mcp

# --- the ordinary life of a session -----------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("spoken", ["2025-11-25", "2026-07-28"])
async def test_a_session_opens_lists_calls_and_ends_on_the_server_too(
    tmp_path: Path, form: str, spoken: str
) -> None:
    log = tmp_path / "log"
    with remote(form, SERVER_LOG=str(log)) as server:
        if spoken == "2025-11-25":
            revision.remember(server.config(), revision.HANDSHAKE)
        async with ServerSession("s", server.config()) as session:
            assert session.is_alive
            assert session.server_info["name"] == "remote"
            names = [tool["function"]["name"] for tool in session.tools]
            assert names == ["echo", "hang", "die", "huge"]
            assert "text" in session.tools[0]["function"]["parameters"]["properties"]
            assert (await session.call("echo", {"text": "hello"})).content == {"result": "hello"}
            wrong = await session.call("echo", {})
            assert wrong.is_error
            assert "text" in (wrong.error_message or "")
        assert not session.is_alive
        with pytest.raises(MCPToolCallError, match="not open"):
            await session.call("echo", {"text": "late"})
    sent = seen(log)
    sessions = {entry["headers"].get("mcp-session-id") for entry in sent[1:]}
    assert len(sessions) == 1
    assert (None in sessions) == (spoken == "2026-07-28")
    assert (sent[-1]["method"] == "DELETE") == (spoken == "2025-11-25")
    versions = {entry["headers"].get("mcp-protocol-version") for entry in sent[1:]}
    assert versions == {spoken}


def test_headers_user_and_query_reach_the_server_with_variables_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("REMOTE_TOKEN", SECRET)
    with remote(SERVER_LOG=str(log), TOKEN=SECRET) as server:
        config = server.config(
            "?apikey={env:REMOTE_TOKEN}", Authorization="Bearer {env:REMOTE_TOKEN}"
        )
        assert asyncio.run(call_in(config, "echo", text="x")).content == {"result": "x"}
    assert {entry["query"] for entry in seen(log)} == {f"apikey={SECRET}"}

    with faulty_http("") as plain:
        address = plain.url.replace("//", "//us%40er:pass@")
        asyncio.run(call_in(ServerConfig(url=address), "echo"))
        assert {headers["Authorization"] for _, _, headers in plain.requests} == {
            "Basic dXNAZXI6cGFzcw=="
        }


def test_a_variable_in_the_path_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty_http("odd") as server:
        monkeypatch.setenv("WHERE", server.url.removesuffix("/mcp"))
        monkeypatch.setenv("PATH_TOKEN", SECRET)
        config = ServerConfig(url="{env:WHERE}/{env:PATH_TOKEN}/mcp")
        assert asyncio.run(call_in(config, "echo")).content == "on"
        assert {target for _, target, _ in server.requests} == {f"/{SECRET}/mcp"}


def test_a_redirect_on_the_same_server_is_followed_with_all_headers() -> None:
    with faulty_http("init redirect:/other") as server:
        config = ServerConfig(url=f"{server.url}?k={SECRET}", headers={"X-Key": SECRET})
        assert asyncio.run(call_in(config, "echo")).content == "on"
        assert [target for _, target, _ in server.requests[1:3]] == [f"/mcp?k={SECRET}", "/other"]
        assert {headers["X-Key"] for _, _, headers in server.requests} == {SECRET}


async def test_an_answer_that_is_cut_off_is_resumed_where_the_server_can() -> None:
    with faulty_http("resume") as server:
        async with ServerSession("s", ServerConfig(url=server.url)) as session:
            assert (await session.call("odd", {})).content == "resumed"
            assert session.is_alive


async def test_long_results_arrive_and_are_cut_visibly() -> None:
    with remote("events") as server:
        result = await call_in(server.config(), "huge", size=3_000_000)
    assert "[cut here: " in str(result.content)


def test_proxies_are_for_servers_elsewhere_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty_http("odd") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/mcp"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        far = ServerConfig(url="http://mcp.example.test/mcp")
        assert asyncio.run(call_in(far, "echo")).content == "on"
        assert {target for _, target, _ in proxy.requests} == {"http://mcp.example.test/mcp"}
        with faulty_http("odd") as near:
            assert asyncio.run(call_in(ServerConfig(url=near.url), "echo")).content == "on"
            assert {target for _, target, _ in near.requests} == {"/mcp"}


# --- calls that go wrong ----------------------------------------------------------------------


async def test_a_call_that_takes_too_long_is_cancelled_and_the_session_stays_usable() -> None:
    with remote() as server:
        async with ServerSession("s", server.config()) as session:
            with pytest.raises(TimeoutError, match=r"'hang' within 0\.1 s"):
                await session.call("hang", {}, timeout=0.1)
            assert (await session.call("echo", {"text": "on"})).content == {"result": "on"}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("status:500:oh no", "it answered with status 500: oh no"),
        ("status:502:", "it answered with status 502: Bad Gateway"),
        ("status:401:", "it answered with status 401: Unauthorized. The call was not made"),
        ("status:429:", "it answered with status 429: Too Many Requests. The call was not made"),
        ("status:200:<h1>x</h1>", "Unexpected content type: text/html"),
        ("status:200:{}", "The server sent a malformed reply"),
        ("status:200: {}", "The server sent a malformed reply"),  # as text/html
        ('status:422:{"error": {"code": "E7", "message": "full"}}', "full (E7)"),
        ('status:200:{"id": null, "error": {"code": -32603, "message": "no"}}', "no"),
        (
            'status:422:{"error": {"code": 5, "message": "no", "data": {"at": "x"}}}',
            'no ({"at": "x"})',
        ),
        ('status:200:{"error": {"code": -32603, "message": "no rows"}}', "no rows"),
        ('events:{"error": "no rows"}', "no rows"),
        (
            'status:200:{"error": {"code": -32603, "message": "No browser session open"}}',
            "No browser session open",
        ),
        (
            'status:500:{"error": {"code": 1, "message": "The debug session crashed"}}',
            "The debug session crashed",
        ),
        ("garbled", "The server sent a malformed reply"),
    ],
)
async def test_what_the_server_refuses_is_a_result_and_the_session_goes_on(
    fault: str, message: str
) -> None:
    with faulty_http(fault) as server:
        async with ServerSession("s", ServerConfig(url=server.url)) as session:
            result = await session.call("odd", {})
            assert (result.is_error, result.error_message) == (True, message)
            assert (await session.call("echo", {})).content == "on"


@pytest.mark.parametrize(
    ("fault", "message", "may_have_acted"),
    [
        ("close", "the connection to URL broke: Server disconnected without sending", True),
        ("cut:application/json", "the connection to URL broke: peer closed connection", True),
        ("cut:text/event-stream", "the connection to URL broke: peer closed connection", True),
        ("status:404:", "it no longer knows this session", False),
        ('status:404:{"error": {"code": -32001, "message": "x"}}', "it no longer knows", False),
        ("status:400:Bad Request: No valid session ID provided", "it no longer knows", False),
        ("status:400:Bad Request: Server not initialized", "it no longer knows", False),
        ("status:410:", "it no longer knows this session", False),
        ("status:422:unknown session", "it no longer knows this session", False),
        ("status:422:Unexpected message, expect initialize request", "it no longer knows", False),
        ("status:401:Unauthorized: Session not found", "it no longer knows this session", False),
        (
            'status:200:{"error": {"code": -32001, "message": "Session not found"}}',
            "it no longer knows this session",
            False,
        ),
        ("status:500:Session expired", "it no longer knows this session", False),
        ('status:503:{"error": "Unknown Mcp-Session-Id"}', "it no longer knows", False),
        (
            'status:500:{"error": "HTTP 400: {\\"message\\":\\"No valid session ID provided\\"}"}',
            "it no longer knows this session",
            False,
        ),
        (
            'status:200:{"id": 9, "error": {"code": 1, "message": "Unknown session id 1"}}',
            "it no longer knows this session",
            False,
        ),
        (
            'status:200:{"error": {"code": -32000, "message": "Bad: Server not initialized"}}',
            "it no longer knows this session",
            False,
        ),
        ('status:200:{"error": "Session not found"}', "it no longer knows this session", False),
        ('events:{"error": "Session not found"}', "it no longer knows this session", False),
        (
            'events:{"id": 9, "error": {"code": -32603, "message": "MCP session has expired"}}',
            "it no longer knows this session; perhaps it was restarted (MCP session has expired).",
            False,
        ),
    ],
)
async def test_a_lost_connection_is_known_at_once_and_for_later_calls(
    fault: str, message: str, may_have_acted: bool
) -> None:
    with faulty_http(fault) as server:
        async with ServerSession("demo", ServerConfig(url=f"{server.url}?k={SECRET}")) as session:
            for tool, was_sent in (("odd", may_have_acted), ("echo", False)):
                with pytest.raises(MCPServerDiedError) as death:
                    await session.call(tool, {})
                assert death.value.was_sent is was_sent
                words = f"MCP server 'demo' is gone: {message.replace('URL', server.url)}"
                assert str(death.value).startswith(words)
                assert SECRET not in str(death.value)
            assert not session.is_alive
        assert "DELETE" not in [method for method, _, _ in server.requests]


@pytest.mark.parametrize(
    "lost", ["status:404:", "status:500:Session expired", 'events:{"error": "Session not found"}']
)
def test_a_session_that_is_lost_before_it_was_of_use_is_begun_anew(lost: str) -> None:
    with faulty_http(f"list once:{lost}") as server:
        asyncio.run(call_in(ServerConfig(url=server.url), "echo"))


@pytest.mark.parametrize("form", ["json", "events"])
def test_a_server_that_dies_in_a_call_or_between_calls_is_noticed(form: str) -> None:
    async def dying(server: Remote) -> None:
        async with ServerSession("a", server.config()) as first:
            with pytest.raises(MCPServerDiedError, match="'a' is gone: the connection to http"):
                await first.call("die", {}, timeout=10)

    async def killed(server: Remote) -> None:
        async with ServerSession("b", server.config()) as second:
            server.process.kill()
            server.process.wait(PATIENCE)
            with pytest.raises(MCPServerDiedError, match="'b' is gone: ") as death:
                await second.call("echo", {"text": "x"})
            assert not death.value.was_sent

    for death in (dying, killed):
        with remote(form) as server:
            asyncio.run(death(server))


# --- endings ----------------------------------------------------------------------------------


def test_a_server_that_ignores_the_goodbye_does_not_hold_us_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = {"timeout": httpx2.Timeout(0.1).as_dict()}
    monkeypatch.setattr("mcp_ghost.servers.links.http_transport._GOODBYE", at_once)
    with faulty_http("mute goodbye") as server:
        asyncio.run(call_in(ServerConfig(url=server.url), "echo"))
        assert server.requests[-1][0] == "DELETE"


def test_no_descriptor_or_task_is_left_whatever_the_end() -> None:
    async def life(server: Remote) -> None:
        async with ServerSession("s", server.config()) as session:
            await session.call("echo", {"text": "x"})
            with pytest.raises(TimeoutError):
                await session.call("hang", {}, timeout=0.05)

    async def cancelled(server: Remote) -> None:
        session = ServerSession("s", server.config())
        await session.open()
        call = asyncio.create_task(session.call("hang", {}))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.create_task(session.close())

    async def cancelled_while_opening(_: Remote) -> None:
        with faulty_http("init mute") as mute:
            opening = asyncio.create_task(ServerSession("s", ServerConfig(url=mute.url)).open())
            await asyncio.to_thread(eventually, lambda: bool(mute.requests))
            opening.cancel()
            await asyncio.wait([opening])
            assert opening.cancelled()

    async def forgotten(server: Remote) -> None:
        await ServerSession("s", server.config()).open()

    async def refused(server: Remote) -> None:
        with pytest.raises(MCPServerStartupError):
            await ServerSession("s", ServerConfig(url=f"{server.url}/nowhere")).open()

    async def counted(server: Remote) -> None:
        for end in (life, cancelled, cancelled_while_opening, refused):
            await end(server)
            async with asyncio.timeout(PATIENCE):  # the loop ends generators that were left over
                while asyncio.all_tasks() != {asyncio.current_task()}:  # noqa: ASYNC110  no event
                    await asyncio.sleep(0.01)
        await forgotten(server)

    with remote() as server:
        asyncio.run(counted(server))
        before = open_descriptors()
        for _ in range(3):
            asyncio.run(counted(server))
        assert open_descriptors() == before


# --- in a toolbox -----------------------------------------------------------------------------


async def test_a_toolbox_mixes_processes_and_urls_and_restarts_what_came_back(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    with remote() as server:
        servers = {
            "here": faulty(),
            "there": server.config(),
            "nowhere": ServerConfig(url="http://127.0.0.1:9/mcp"),
        }
        async with Toolbox(servers, allow=["echo"]) as toolbox:
            assert [it.name for it in toolbox.alive] == ["here", "there"]
            assert list(toolbox.failures) == ["nowhere"]
            os.kill(server.process.pid, signal.SIGKILL)
            await asyncio.to_thread(server.process.wait, 10)
            with pytest.raises(MCPServerDiedError):
                await toolbox.result("there.echo", {"text": "x"})
            assert [it.name for it in toolbox.alive] == ["here"]
            with pytest.raises(MCPServerStartupError, match="no server can be reached"):
                await toolbox.restart("there")
            with remote(PORT=str(server.port), SERVER_LOG=str(log)):
                await toolbox.restart("there")
                for name, content in {"here": "x", "there": {"result": "x"}}.items():
                    assert (await toolbox.result(f"{name}.echo", {"text": "x"})).content == content
                assert {entry["method"] for entry in seen(log)} == {"POST"}
