"""Servers by URL that want to know who asks: signing in, and staying signed in."""

import asyncio
import json
import logging
import socket
import socketserver
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPConfigError, MCPServerStartupError
from mcp_ghost.guard import Range
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.oauth import browser
from mcp_ghost.servers.oauth.browser import Authorize
from mcp_ghost.servers.oauth.network import FAULT, IssuerPolicy, ask
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.testing import Reply, tool_reply
from tests.support import FOREVER, PATIENCE
from tests.support.ghosts import play, said_to
from tests.support.servers.guarded import SECRET_CLIENT, Guarded, guarded

pytestmark = pytest.mark.mcp


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[Guarded]:
    """A guarded server; whatever happens, none of its tokens is logged at any level."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    caplog.set_level(logging.DEBUG)
    with guarded() as server:
        yield server
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert not [token for token in server.issued if token in logged]


def kept(tmp_path: Path) -> list[Path]:
    """The files of tokens that there are."""
    return sorted((tmp_path / "data" / "mcp_ghost" / "oauth").iterdir())


def use(
    config: ServerConfig, *tools: str, authorize: Authorize | None = None
) -> list[ToolCallResult]:
    """A session that calls ``tools`` one after the other."""

    async def session() -> list[ToolCallResult]:
        async with ServerSession("s", config, authorize=authorize) as session:
            return [await session.call(tool, {}) for tool in tools]

    return asyncio.run(session())


def failure(config: ServerConfig, authorize: Authorize | None = None) -> str:
    """What is said of a start that failed."""
    with pytest.raises(MCPServerStartupError) as failed:
        use(config, authorize=authorize)
    return str(failed.value)


async def nobody(url: str) -> str:
    raise AssertionError(f"nobody should be sent to {url}")


# --- the whole way ----------------------------------------------------------------------------


def test_who_signs_in_once_need_not_do_so_again(server: Guarded, tmp_path: Path) -> None:
    first = use(server.config(), "read", authorize=server.authorize)
    again = use(server.config(), "read", authorize=nobody)
    assert [result.content for result in first + again] == ["did read", "did read"]
    assert len(server.clients) == len(server.asked) == len(server.token_requests) == 1
    assert server.asked[0]["scope"] == "read"
    assert server.asked[0]["resource"] == f"{server.url}/mcp"
    assert server.asked[0]["code_challenge_method"] == "S256"
    assert server.clients[0]["redirect_uris"] == [server.asked[0]["redirect_uri"]]
    (file,) = kept(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert server.issued[0] in file.read_text()


async def test_strangers_who_connect_and_ask_nothing_do_not_keep_the_browser_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(browser, "_REQUEST_SECONDS", FOREVER)
    back = browser.address_to_return_to()
    url = f"https://sign.example/in?{urlencode({'redirect_uri': back, 'state': 'ours'})}"
    signed_in = asyncio.create_task(browser.in_browser(url, "A sign-in."))
    host, port = "127.0.0.1", urlsplit(back).port
    strangers: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    while len(strangers) < 40:
        with suppress(ConnectionRefusedError):  # until it listens
            strangers.append(await asyncio.open_connection(host, port))
    for reader, _ in strangers[:24]:
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
    async with httpx2.AsyncClient(trust_env=False) as client:
        assert "signed in" in (await client.get(f"{back}?code=1&state=ours")).text
    assert await asyncio.wait_for(signed_in, PATIENCE) == f"{back}?code=1&state=ours"
    for _, writer in strangers:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def test_the_browser_opens_and_is_sent_back_to_an_address_that_listens(
    server: Guarded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages: list[str] = []

    def surf(url: str) -> None:
        back = server._follow(url)
        for elsewhere in (back.replace("state=", "state=forged"), back.replace("callback", "x")):
            assert httpx2.get(elsewhere, timeout=PATIENCE).status_code == 404
        pages.append(httpx2.get(back, timeout=PATIENCE).text)

    surfers: list[threading.Thread] = []

    def open_(url: str) -> bool:
        surfers.append(threading.Thread(target=surf, args=(url,)))
        surfers[0].start()
        return True

    monkeypatch.setenv("BROWSER", "yes")
    monkeypatch.setattr("webbrowser.open", open_)
    assert use(server.config(), "read")[0].content == "did read"
    surfers[0].join()
    assert "You are signed in. You can close this page." in pages[0]
    host = server.url.removeprefix("http://")
    assert capsys.readouterr().err.startswith(
        f"The MCP server at {host} sends you to {host} to sign in; {host} then gives this program "
        f"the token.\nSign in at {server.url}/authorization?"
    )


@pytest.mark.slow
def test_a_person_may_take_longer_than_a_start(server: Guarded) -> None:
    async def slow(url: str) -> str:
        await asyncio.sleep(6.5)
        return await server.authorize(url)

    async def session() -> ToolCallResult:
        session = ServerSession("s", server.config(), authorize=slow)
        await session.open(timeout=6)
        try:
            return await session.call("read", {})
        finally:
            await session.close()

    assert asyncio.run(session()).content == "did read"


def test_a_run_signs_in_and_its_account_shows_no_token(server: Guarded) -> None:
    script: list[Reply | str] = [
        tool_reply([("guarded.read", {}), ("guarded.leak", {})]),
        "Done.",
    ]
    result, model = play(script, {"guarded": server.config()}, authorize=server.authorize)
    assert result["tool_chain"][0]["result"] == "did read"
    assert "'Authorization': 'Bearer ***'" in result["tool_chain"][1]["result"]
    seen = json.dumps([result, said_to(model, -1)])
    assert not [token for token in server.issued if token in seen]


# --- tokens that are not enough ---------------------------------------------------------------


@pytest.mark.parametrize("why", ["expired", "revoked"])
def test_a_token_that_is_no_longer_good_is_renewed_without_asking(
    server: Guarded, why: str, tmp_path: Path
) -> None:
    use(server.config(), authorize=server.authorize)
    if why == "revoked":
        server.scopes.clear()
    else:
        (file,) = kept(tmp_path)
        file.write_text(json.dumps(json.loads(file.read_text()) | {"expires_at": 1.0}))
    assert use(server.config(), "read", authorize=nobody)[0].content == "did read"
    grants = [form["grant_type"] for form in server.token_requests]
    assert grants == ["authorization_code", "refresh_token"]
    assert server.issued[-1] in kept(tmp_path)[0].read_text()


def test_a_token_that_cannot_be_renewed_is_replaced_by_signing_in_again(server: Guarded) -> None:
    use(server.config(), authorize=server.authorize)
    server.scopes.clear()
    server.renewals.clear()
    assert use(server.config(), "read", authorize=server.authorize)[0].content == "did read"
    assert len(server.asked) == 2
    assert len(server.clients) == 1


def test_calls_side_by_side_renew_a_token_once(server: Guarded) -> None:
    async def session() -> list[ToolCallResult]:
        async with ServerSession("s", server.config(), authorize=server.authorize) as session:
            server.scopes.clear()
            calls = (session.call("read", {}) for _ in range(4))
            return await asyncio.gather(*calls)

    assert [result.content for result in asyncio.run(session())] == ["did read"] * 4
    assert len(server.token_requests) == 2


def test_a_tool_that_needs_more_is_asked_for_once_and_then_refused(server: Guarded) -> None:
    async def agree_then_deny(url: str) -> str:
        server.denies = len(server.asked) > 0
        return await server.authorize(url)

    results = use(server.config(), "write", "write", "read", authorize=agree_then_deny)
    assert [result.is_error for result in results] == [True, True, False]
    assert "signing in failed: access_denied: The user said no" in str(results[0].error_message)
    assert "status 403" in str(results[1].error_message)
    assert [query["scope"] for query in server.asked] == ["read", "read write"]


# --- signing in that fails --------------------------------------------------------------------


def test_who_declines_is_asked_once_and_told_so(server: Guarded, tmp_path: Path) -> None:
    server.denies = True
    said = failure(server.config(), server.authorize)
    assert "signing in failed: access_denied: The user said no\n" in said
    assert len(server.asked) == 1
    assert not [file for file in kept(tmp_path) if '"tokens"' in file.read_text()]


def test_an_answer_in_the_name_of_another_issuer_is_refused(server: Guarded) -> None:
    server.issuer = "http://127.0.0.1:1"
    said = failure(server.config(), server.authorize)
    assert "iss mismatch" in said
    assert server.token_requests == []


def test_where_nobody_is_there_the_message_says_where_to_sign_in(server: Guarded) -> None:
    said = failure(server.config(), browser.nowhere)
    assert "Nobody is there to sign in: run this once in a terminal." in said


def test_where_clients_cannot_register_the_message_says_what_is_needed(server: Guarded) -> None:
    server.registers = False
    said = failure(server.config(), server.authorize)
    assert "Registration failed: 404" in said
    assert "Check that 'auth' has the 'client_id' of a client that is registered there." in said


def test_without_auth_in_the_entry_the_message_says_what_to_write(server: Guarded) -> None:
    said = failure(ServerConfig(url=f"{server.url}/mcp"))
    assert "it answered with status 401" in said
    assert """its entry has '"auth": {"type": "oauth"}', for signing in""" in said


def test_auth_beside_another_way_in_is_refused(server: Guarded) -> None:
    config = server.config().model_copy(update={"headers": {"authorization": "Bearer x"}})
    with pytest.raises(MCPConfigError, match="both 'auth' and an Authorization header"):
        use(config)


# --- what an entry may say --------------------------------------------------------------------


def test_a_client_that_is_known_there_does_not_register(server: Guarded, tmp_path: Path) -> None:
    config = server.config(
        **SECRET_CLIENT, scopes=["read", "extra"], redirect_uri="http://127.0.0.1:7777/back"
    )
    assert use(config, "read", authorize=server.authorize)[0].content == "did read"
    assert server.clients == []
    assert server.asked[0]["client_id"] == "known-client"
    assert server.asked[0]["scope"] == "read extra"
    assert server.asked[0]["redirect_uri"] == "http://127.0.0.1:7777/back"
    assert server.token_requests[0]["authorization"].startswith("Basic ")
    assert SECRET_CLIENT["client_secret"] not in kept(tmp_path)[0].read_text()
    server.scopes.clear()
    use(config, authorize=nobody)
    assert server.token_requests[1]["authorization"].startswith("Basic ")


def test_a_program_signs_in_by_itself_with_its_secret(server: Guarded) -> None:
    config = server.config(
        **SECRET_CLIENT, scopes=["read", "write"], grant_type="client_credentials"
    )
    assert use(config, "write", authorize=nobody)[0].content == "did write"
    assert server.asked == []
    server.scopes.clear()
    assert use(config, "write", authorize=nobody)[0].content == "did write"
    with pytest.raises(ValueError, match="'client_credentials' needs 'client_id' and"):
        server.config(grant_type="client_credentials")


def test_a_secret_is_shown_to_the_issuer_of_the_entry_only(server: Guarded) -> None:
    config = server.config(
        **SECRET_CLIENT, grant_type="client_credentials", issuer="https://login.example.test"
    )
    assert "issuer mismatch" in failure(config, nobody)
    assert server.token_requests == []


# --- where a server may send us ---------------------------------------------------------------


class Names:
    """A resolver that leads each name to its addresses, one question after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **names: list[str]) -> None:
        self._names = names
        self._resolve = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._found)

    def _found(self, host: str, port: int | None, *rest: Any, **options: Any) -> Any:  # noqa: ANN401
        found = self._names.get(host.partition(".")[0])
        if not found:
            return self._resolve(host, port, *rest, **options)
        return self._resolve(found.pop(0) if len(found) > 1 else found[0], port, *rest, **options)


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[tuple[int, list[str]]]:
    """A server of something else, and the first line of every request that it gets."""
    lines: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines.append(self.rfile.readline().decode("latin-1").strip())

    with socketserver.ThreadingTCPServer((host, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1], lines
        finally:
            server.shutdown()
            thread.join(PATIENCE)


def through(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything but this machine asked through a proxy on it."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")


def fault_of(url: str, policy: IssuerPolicy, method: str = "GET") -> str:
    """What keeps a request of a sign-in from going out."""
    response = asyncio.run(ask(httpx2.Request(method, url), policy))
    return str(response.extensions.get(FAULT, ""))


INSIDE = "an address inside this machine or its network"
SPECIAL = "a special-purpose address"


@pytest.mark.parametrize(
    ("server", "asked", "why"),
    [
        ("https://mcp.test/", "http://127.0.0.1:PORT/admin", INSIDE),
        ("https://mcp.test/", "http://inside.test:PORT/admin", INSIDE),
        ("https://mcp.test/", "http://0x7f000001:PORT/", INSIDE),
        ("https://mcp.test/", "http://[::ffff:127.0.0.1]:PORT/", INSIDE),
        ("https://mcp.test/", "http://10.0.0.1:PORT/", INSIDE),
        ("https://mcp.test/", "http://100.64.0.1:PORT/", INSIDE),
        ("https://mcp.test/", "http://169.254.169.254/latest/meta-data", SPECIAL),
        ("https://unknown.invalid/", "http://127.0.0.1:PORT/admin", INSIDE),
        ("http://10.0.0.1/mcp", "http://127.0.0.1:PORT/admin", INSIDE),
        ("http://lan.test/mcp", "http://localhost:PORT/admin", INSIDE),
        ("http://127.0.0.1/mcp", "http://10.0.0.1:PORT/", INSIDE),
        ("http://127.0.0.1/mcp", "http://[fe80::1]:PORT/", SPECIAL),
        ("http://127.0.0.1/mcp", "http://[::ffff:169.254.169.254]:PORT/", SPECIAL),
        ("http://127.0.0.1/mcp", "http://metadata.google.internal/", "keeps a machine's keys"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "proxied"])
def test_signing_in_leads_to_public_addresses_and_to_the_servers_own_range(
    server: str,
    asked: str,
    why: str,
    method: str,
    is_proxied: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Names(monkeypatch, mcp=["8.8.8.8"], inside=["127.0.0.1"], lan=["192.168.0.9"])
    with listening() as (port, lines):
        if is_proxied:
            through(port, monkeypatch)
        url = asked.replace("PORT", str(port))
        url = url.replace("http:", "https:") if method == "POST" else url
        assert why in fault_of(url, IssuerPolicy(server), method)
    assert lines == []


def test_a_server_of_this_machine_may_name_an_issuer_on_it() -> None:
    with listening() as (port, lines):
        fault_of(f"http://127.0.0.1:{port}/token", IssuerPolicy("http://localhost/mcp"), "POST")
    assert lines == ["POST /token HTTP/1.1"]


def test_an_issuer_of_the_entry_may_be_in_another_network(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, mcp=["8.8.8.8"], login=["127.0.0.1"])
    with listening() as (port, lines):
        issuer = f"http://login.test:{port}"
        fault_of(issuer, IssuerPolicy("https://mcp.test/", issuer))
        assert INSIDE in fault_of(issuer, IssuerPolicy("https://mcp.test/"))
    assert lines == ["GET / HTTP/1.1"]


def test_a_proxy_connects_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for a host that the user named, which the proxy may look up."""
    Names(monkeypatch, login=["8.8.8.8", "127.0.0.1"])
    policy = IssuerPolicy("https://mcp.test/")
    with listening() as (port, lines):
        through(port, monkeypatch)
        fault_of("https://login.test/token", policy, "POST")
        assert INSIDE in fault_of("https://login.test/token", policy, "POST")
        assert "was not found" in fault_of("https://unknown.invalid/", policy, "POST")
        fault_of("https://mcp.test/token", policy, "POST")
    assert lines == [f"CONNECT {host}:443 HTTP/1.1" for host in ("8.8.8.8", "mcp.test")]


def test_a_server_that_answered_from_outside_does_not_move_inside_later(
    server: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By changing its name's address, or by naming an endpoint or a page that is inside."""
    of = Range.of
    monkeypatch.setattr(Range, "of", lambda it: Range.PUBLIC if str(it) == "127.0.0.1" else of(it))
    with listening("127.0.0.2") as (port, lines):
        inside = f"http://127.0.0.2:{port}/admin/do?x=1"
        server.endpoints = {"registration_endpoint": inside}
        assert f"127.0.0.2 is {INSIDE}" in failure(server.config(), nobody)
        server.endpoints = {"token_endpoint": inside}
        assert f"127.0.0.2 is {INSIDE}" in failure(server.config(), server.authorize)
        server.endpoints = {"authorization_endpoint": inside}
        assert f"127.0.0.2 is {INSIDE}" in failure(server.config(), nobody)
    assert lines == []
