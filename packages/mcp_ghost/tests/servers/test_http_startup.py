"""Servers by URL that cannot be reached or used: each failure says what to do, and no secret."""

import asyncio
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPConfigError, MCPServerStartupError
from mcp_ghost.servers.session import ServerSession
from tests.support.servers.over_http import (
    SECRET,
    faulty_http,
    remote,
    silent_log,  # noqa: F401 - a fixture for every test here
)

pytestmark = pytest.mark.mcp


def startup_failure(config: ServerConfig, timeout: float = 10.0) -> list[str]:
    """The lines of the error."""
    with pytest.raises(MCPServerStartupError) as failure:
        asyncio.run(ServerSession("demo", config).open(timeout))
    return str(failure.value).splitlines()


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


def test_a_host_that_there_is_not_is_named() -> None:
    lines = startup_failure(ServerConfig(url=f"http://unknown.invalid/mcp?key={SECRET}"))
    assert lines[0] == (
        "Failed to connect to MCP server 'demo': no server can be reached at "
        "http://unknown.invalid/mcp (cannot find the host unknown.invalid: check the address or "
        "the network)"
    )


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


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_is_only_starting_is_asked_again(status: int) -> None:
    with faulty_http(f"init once:status:{status}:warming up") as server:
        async with ServerSession("demo", ServerConfig(url=server.url)) as session:
            assert session.tools


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    pem = tmp_path / "pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=127.0.0.1",
            "-keyout",
            pem,
            "-out",
            tmp_path / "cert",
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    pem.write_text(pem.read_text() + (tmp_path / "cert").read_text())
    with faulty_http("", certificate=pem) as server:
        lines = startup_failure(ServerConfig(url=server.url, headers={"X-Key": SECRET}))
        assert server.requests == []
    assert "CERTIFICATE_VERIFY_FAILED" in lines[0]
    assert "its certificate is valid for this host" in lines[2]


def test_a_server_that_never_answers_is_given_up() -> None:
    with faulty_http("init mute") as server:
        lines = startup_failure(ServerConfig(url=server.url), timeout=0.2)
    assert lines[0].endswith("it did not answer within 0.2 s")
    assert "a slow one needs a longer timeout" in lines[2]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (ServerConfig(url="ftp://h/{env:KEY}"), "MCP server 'demo' is not a web address"),
        (
            ServerConfig(url="http://h/", headers={"X-Key": "{env:KEY}\n"}),
            "header 'X-Key' contains a",
        ),
        (ServerConfig(url="http://h/", headers={"X Key": "{env:KEY}"}), "'X Key' is not a valid"),
        (ServerConfig(url="http://h/{env:NO_SUCH}"), "needs the environment variable NO_SUCH"),
    ],
)
async def test_what_no_request_can_be_made_from_is_a_configuration_error(
    config: ServerConfig, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", SECRET)
    with pytest.raises(MCPConfigError, match=problem) as failure:
        await ServerSession("demo", config).open()
    assert SECRET not in str(failure.value)


def test_a_secret_in_the_path_is_shown_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH_TOKEN", SECRET)
    with faulty_http(f"init status:403:/{SECRET}/mcp is closed") as server:
        address = server.url.removesuffix("/mcp") + "/{env:PATH_TOKEN}/mcp"
        lines = startup_failure(ServerConfig(url=address))
        monkeypatch.setenv("ADDRESS", f"{server.url}/{SECRET}")
        hidden = startup_failure(ServerConfig(url="{env:ADDRESS}"))
    assert lines[0].endswith("it answered with status 403: /***/mcp is closed")
    assert lines[1] == f"URL: {address}"
    assert hidden[1] == f"URL: {server.url.removesuffix('/mcp')}"
    assert SECRET not in "".join(hidden)
