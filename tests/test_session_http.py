"""Sessions with servers that are reached by URL: the same guarantees as for processes of ours."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import (
    MCPConfigError,
    MCPServerDiedError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.session import ServerSession
from mcp_ghost.toolbox import Toolbox
from tests.servers import call_in, eventually, faulty, seen
from tests.servers.over_http import Faulty, Remote, faulty_http, remote
from tests.test_mcp_ghost_endings import open_descriptors

SECRET = "correct-horse-7"


def startup_failure(config: ServerConfig, timeout: float = 10.0) -> list[str]:
    """The lines of the error."""
    with pytest.raises(MCPServerStartupError) as failure:
        asyncio.run(ServerSession("demo", config).open(timeout))
    return str(failure.value).splitlines()


@pytest.fixture(autouse=True)
def silent_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever happens: no warning, no traceback, and no secret at any level."""
    caplog.set_level(logging.DEBUG)
    yield
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert [r for r in caplog.records if SECRET in r.getMessage()] == []


# --- the ordinary life of a session -----------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "events"])
def test_a_session_opens_lists_calls_and_ends_on_the_server_too(tmp_path: Path, form: str) -> None:
    log = tmp_path / "log"

    async def life(server: Remote) -> None:
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

    with remote(form, SERVER_LOG=str(log)) as server:
        asyncio.run(life(server))
    sent = seen(log)
    assert sent[-1]["method"] == "DELETE"
    sessions = {entry["headers"].get("mcp-session-id") for entry in sent[1:]}
    assert len(sessions) == 1
    assert None not in sessions
    versions = {entry["headers"].get("mcp-protocol-version") for entry in sent[1:]}
    assert versions == {"2025-11-25"}


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
        assert [target for _, target, _ in server.requests[:2]] == [f"/mcp?k={SECRET}", "/other"]
        assert {headers["X-Key"] for _, _, headers in server.requests} == {SECRET}


def test_an_answer_that_is_cut_off_is_resumed_where_the_server_can() -> None:
    async def resumed(server: Faulty) -> None:
        async with ServerSession("s", ServerConfig(url=server.url)) as session:
            assert (await session.call("odd", {})).content == "resumed"
            assert session.is_alive

    with faulty_http("resume") as server:
        asyncio.run(resumed(server))


def test_long_results_arrive_and_are_cut_visibly() -> None:
    with remote("events") as server:
        result = asyncio.run(call_in(server.config(), "huge", size=3_000_000))
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


# --- servers that cannot be reached or used ---------------------------------------------------


def test_a_refused_connection_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    lines = startup_failure(ServerConfig(url=f"http://127.0.0.1:{port}/mcp?key={SECRET}"))
    assert lines[0].startswith(
        f"Failed to connect to MCP server 'demo': no server can be reached at "
        f"http://127.0.0.1:{port}/mcp ("
    )
    assert lines[1:] == [
        f"URL: http://127.0.0.1:{port}/mcp",
        "Check that the server is running and the URL is right.",
    ]


def test_a_refused_token_is_not_repeated_even_where_the_server_does() -> None:
    with remote(TOKEN="another") as server:
        address = server.config(
            f"?key={SECRET}", Authorization=f"Bearer {SECRET}", **{"X-Team": "h1dden"}
        )
        lines = startup_failure(address)
    first = "Failed to connect to MCP server 'demo': it answered with status 401: "
    assert lines == [
        f"{first}no entry with *** and key=***",
        f"URL: {server.url}",
        "Check that 'headers' holds the credentials that the server wants.",
    ]


@pytest.mark.parametrize(
    ("fault", "details", "hint"),
    [
        ("status:404:<h1>Not\n here</h1>", "it answered with status 404: Not here", "ends in /mcp"),
        ("status:405:", "it answered with status 405: Method Not Allowed", "ends in /mcp"),
        ("status:500:oh no", "it answered with status 500: oh no", "its own log may say more"),
        (
            'status:400:{"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "old"}}',
            "old",
            "ends in /mcp",
        ),
        ("status:200:<h1>Welcome</h1>", "Unexpected content type: text/html", "ends in /mcp"),
        ('status:200:{"hello": 1}', "sent a malformed reply", "ends in /mcp"),
        ("redirect:http://example.test/x", "Redirect to http://example.test/x not followed", ""),
        ("close", "broke: Server disconnected without sending a response", "server is running"),
        ("cut:application/json", "broke: peer closed connection without", "server is running"),
    ],
)
def test_each_failure_to_connect_says_what_to_do(fault: str, details: str, hint: str) -> None:
    with faulty_http(f"init {fault}") as server:
        lines = startup_failure(ServerConfig(url=f"{server.url}?key={SECRET}"))
    assert details in lines[0]
    assert hint in lines[2]
    assert SECRET not in "".join(lines)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    pem = tmp_path / "pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
        + ["-subj", "/CN=127.0.0.1", "-keyout", pem, "-out", tmp_path / "cert"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    pem.write_text(pem.read_text() + (tmp_path / "cert").read_text())
    with faulty_http("", certificate=pem) as server:
        lines = startup_failure(ServerConfig(url=server.url, headers={"X-Key": SECRET}))
        assert server.requests == []
    assert "CERTIFICATE_VERIFY_FAILED" in lines[0]
    assert "its certificate is valid for this host" in lines[2]


def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    started = time.perf_counter()
    with faulty_http("init mute") as server:
        lines = startup_failure(ServerConfig(url=server.url), timeout=0.2)
        assert time.perf_counter() - started < 5
    assert lines[0].endswith("it did not answer within 0.2 s")
    assert "a slow one needs a longer timeout" in lines[2]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (ServerConfig(url="ftp://h/{env:KEY}"), "The 'url' of MCP server 'demo' is no web address"),
        (ServerConfig(url="http://h/mcp", type="sse"), "asks for the old SSE transport"),
        (ServerConfig(url="http://h/", headers={"X-Key": "{env:KEY}\n"}), "header 'X-Key' holds a"),
        (ServerConfig(url="http://h/", headers={"X Key": "{env:KEY}"}), "'X Key' is no name of a"),
        (ServerConfig(url="http://h/{env:NO_SUCH}"), "needs the environment variable NO_SUCH"),
    ],
)
def test_what_no_request_can_be_made_from_is_a_configuration_error(
    config: ServerConfig, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", SECRET)
    with pytest.raises(MCPConfigError, match=problem) as failure:
        asyncio.run(ServerSession("demo", config).open())
    assert SECRET not in str(failure.value)


# --- calls that go wrong ----------------------------------------------------------------------


def test_a_call_that_takes_too_long_is_cancelled_and_the_session_stays_usable() -> None:
    async def slow(server: Remote) -> None:
        async with ServerSession("s", server.config()) as session:
            with pytest.raises(TimeoutError, match=r"'hang' within 0\.1 s"):
                await session.call("hang", {}, timeout=0.1)
            assert (await session.call("echo", {"text": "on"})).content == {"result": "on"}

    with remote() as server:
        asyncio.run(slow(server))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("status:500:oh no", "it answered with status 500: oh no"),
        ("status:401:", "it answered with status 401: Unauthorized"),
        ("status:200:<h1>x</h1>", "Unexpected content type: text/html"),
        ("status:200:{}", "The server sent a malformed reply"),
        ("garbled", "The server sent a malformed reply"),
    ],
)
def test_what_the_server_refuses_is_a_result_and_the_session_goes_on(
    fault: str, message: str
) -> None:
    async def refused(server: Faulty) -> None:
        async with ServerSession("s", ServerConfig(url=server.url)) as session:
            result = await session.call("odd", {})
            assert (result.is_error, result.error_message) == (True, message)
            assert (await session.call("echo", {})).content == "on"

    with faulty_http(fault) as server:
        asyncio.run(refused(server))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("close", "the connection to URL broke: Server disconnected without sending a response"),
        ("cut:application/json", "the connection to URL broke: peer closed connection without"),
        ("cut:text/event-stream", "the connection to URL broke: peer closed connection without"),
        ("status:404:", "it no longer knows this session"),
        ("status:400:Bad Request: No valid session ID provided", "it no longer knows this session"),
        ("long:200000", "it sent a message that is too long"),
    ],
)
def test_a_lost_connection_is_known_at_once_and_for_later_calls(
    fault: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.http_wire.MAX_LINE_BYTES", 100_000)

    async def lost(server: Faulty) -> None:
        async with ServerSession("demo", ServerConfig(url=f"{server.url}?k={SECRET}")) as session:
            for tool in ("odd", "echo"):
                with pytest.raises(MCPServerDiedError) as death:
                    await session.call(tool, {})
                words = f"MCP server 'demo' is gone: {message.replace('URL', server.url)}"
                assert str(death.value).startswith(words)
                assert SECRET not in str(death.value)
            assert not session.is_alive

    with faulty_http(fault) as server:
        asyncio.run(lost(server))
        assert "DELETE" not in [method for method, _, _ in server.requests]


@pytest.mark.parametrize("form", ["json", "events"])
def test_a_server_that_dies_in_a_call_or_between_calls_is_noticed(form: str) -> None:
    async def dying(server: Remote) -> None:
        async with ServerSession("a", server.config()) as first:
            with pytest.raises(MCPServerDiedError, match="'a' is gone: the connection to http"):
                await first.call("die", {}, timeout=10)

    async def killed(server: Remote) -> None:
        async with ServerSession("b", server.config()) as second:
            server.process.kill()
            server.process.wait(10)
            with pytest.raises(MCPServerDiedError, match="'b' is gone: "):
                await second.call("echo", {"text": "x"})

    for death in (dying, killed):
        with remote(form) as server:
            started = time.perf_counter()
            asyncio.run(death(server))
            assert time.perf_counter() - started < 8


# --- endings ----------------------------------------------------------------------------------


def test_a_server_that_ignores_the_goodbye_does_not_hold_us_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_ghost.http_wire._GOODBYE_SECONDS", 0.1)
    started = time.perf_counter()
    with faulty_http("mute goodbye") as server:
        asyncio.run(call_in(ServerConfig(url=server.url), "echo"))
        assert time.perf_counter() - started < 5
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
            assert asyncio.all_tasks() == {asyncio.current_task()}
        await forgotten(server)

    with remote() as server:
        asyncio.run(counted(server))
        before = open_descriptors()
        for _ in range(3):
            asyncio.run(counted(server))
        assert open_descriptors() == before


# --- in a toolbox -----------------------------------------------------------------------------


def test_a_toolbox_mixes_processes_and_urls_and_restarts_what_came_back(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def life(server: Remote) -> None:
        servers = {
            "here": faulty(),
            "there": server.config(),
            "nowhere": ServerConfig(url="http://127.0.0.1:9/mcp"),
        }
        async with Toolbox(servers, allow=["echo"]) as toolbox:
            assert list(toolbox.connected) == ["here", "there"]
            assert list(toolbox.failures) == ["nowhere"]
            os.kill(server.process.pid, signal.SIGKILL)
            await asyncio.to_thread(server.process.wait, 10)
            with pytest.raises(MCPServerDiedError):
                await toolbox.call("there.echo", {"text": "x"})
            assert list(toolbox.connected) == ["here"]
            with pytest.raises(MCPServerStartupError, match="no server can be reached"):
                await toolbox.restart("there")
            with remote(PORT=str(server.port), SERVER_LOG=str(log)):
                await toolbox.restart("there")
                for name, content in {"here": "x", "there": {"result": "x"}}.items():
                    assert (await toolbox.call(f"{name}.echo", {"text": "x"})).content == content
                await toolbox.close()
                assert eventually(lambda: seen(log)[-1]["method"] == "DELETE")

    with remote() as server:
        asyncio.run(life(server))
