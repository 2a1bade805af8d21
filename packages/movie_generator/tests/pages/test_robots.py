"""What sites ask of programs, seen from real servers."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from movie_generator import VideoScript, generate_script_from_url_with_agent
from movie_generator.errors import PageError
from movie_generator.pages.fetch import fetch_page
from movie_generator.pages.robots import (
    MOST_BYTES,
    MOST_REDIRECTS,
    Robots,
    RobotsRefusedError,
    RobotsUnknownError,
)
from movie_generator.pages.urls import UrlPolicy
from movie_generator.settings import Limits
from tests.support import PATIENCE
from tests.support.loopback import FRIEND, certificate_of, serving
from tests.support.movie import SERVERS, Site, script_reply, site, written_from

PRIVATE = UrlPolicy(allow_private=True)
FORBIDDEN = b"User-agent: *\nDisallow: /\n"


def robots(text: bytes | str, **pages: bytes | str) -> dict[str, tuple[str, bytes] | str]:
    """A site with that robots.txt, or one that leads there."""
    of_site = {"/robots.txt": text, **{f"/{name}": page for name, page in pages.items()}}
    return {
        path: page if isinstance(page, str) else ("text/plain", page)
        for path, page in of_site.items()
    }


def asked(url: str, *, obey: bool = True) -> None:
    asyncio.run(Robots(PRIVATE, timeout=PATIENCE, obey=obey).check(url))


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        (b"", "/page", True),
        (FORBIDDEN, "/page", False),
        (FORBIDDEN, "/robots.txt", True),
        (b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /a\r\n", "/a", False),
        (b"User-agent: *\nDisallow: /\nAllow: /p", "/page", True),
        (b"User-agent: *\nAllow: /page\nDisallow: /page", "/page", True),
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False),
        (b"User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", True),
        (b"User-agent: *\nDisallow: /page?print=", "/page?print=1", False),
        (b"User-agent: *\nDisallow: /%C3%BC", "/\xc3\xbc".encode("latin-1").decode(), False),
        (b"User-agent: *\nDisallow: /\n\nUser-agent: Movie-Generator\nDisallow: /x", "/y", True),
        (b"User-agent: other\nDisallow: /", "/page", True),
        (b"<!doctype html><title>Not found</title>", "/page", True),
        (b"User-agent: *\nDisallow: /\xff\xfe", "/page", True),
    ],
)
def test_rules_are_read_as_the_standard_has_them(rules: bytes, path: str, allowed: bool) -> None:
    with site(robots(rules)) as served:
        if allowed:
            asked(served.url + path)
        else:
            with pytest.raises(RobotsRefusedError, match=r"asks programs not to.*obey_robots"):
                asked(served.url + path)


def test_a_page_is_not_fetched_where_programs_are_not_wanted() -> None:
    with site({**robots(FORBIDDEN), "/page": ("text/html", b"<p>Words.")}) as served:
        with pytest.raises(RobotsRefusedError):
            asyncio.run(fetched(f"{served.url}/page"))
        assert served.asked == ["/robots.txt"]
        page = asyncio.run(fetched(f"{served.url}/page", obey=False))
        assert page == "Words."
        assert served.asked == ["/robots.txt", "/page"]


def test_the_target_of_a_redirect_is_asked_for_at_its_own_site() -> None:
    with site({**robots(FORBIDDEN), "/there": ("text/html", b"<p>Words.")}) as there:
        pages: dict[str, tuple[str, bytes] | str] = {
            "/here": f"{there.url}/there",
            "/meta": (
                "text/html",
                f'<meta http-equiv="Refresh" content="0;URL=\'{there.url}/there\'">'.encode(),
            ),
        }
        with site(pages) as here:
            for path in pages:
                with pytest.raises(RobotsRefusedError, match=there.url):
                    asyncio.run(fetched(here.url + path))
        assert there.asked == ["/robots.txt"] * 2


async def fetched(url: str, *, obey: bool = True) -> str:
    gate = Robots(PRIVATE, timeout=PATIENCE, obey=obey)
    return (await fetch_page(url, Limits(), gate)).text


def test_a_site_is_asked_once_in_a_run() -> None:
    async def run(served: Site) -> None:
        gate = Robots(PRIVATE, timeout=PATIENCE)
        for path in ("/a", "/b", "/c?d"):
            await gate.check(served.url + path)

    with site({}) as served:
        asyncio.run(run(served))
        assert served.asked == ["/robots.txt"]


def test_redirects_of_the_file_are_followed_five_times_and_then_it_counts_as_missing() -> None:
    steps = {f"{n}": f"/{n + 1}" for n in range(1, MOST_REDIRECTS)}
    pages = robots("/1", **steps, **{f"{MOST_REDIRECTS}": FORBIDDEN})
    with site(pages) as served, pytest.raises(RobotsRefusedError):
        asked(f"{served.url}/page")
    with site(robots("/robots.txt")) as served:
        asked(f"{served.url}/page")
        assert len(served.asked) == 1 + MOST_REDIRECTS


def test_the_file_cannot_lead_into_a_private_network() -> None:
    pages = robots("http://169.254.169.254/latest")
    with site(pages) as served, pytest.raises(UrlRefusedError, match="special-purpose"):
        asked(f"{served.url}/page")


def test_a_long_file_is_read_to_its_bound_in_whole_lines() -> None:
    start = b"User-agent: *\nDisallow: /early\n"
    filler = b"# " + b"x" * (MOST_BYTES - len(start) - 6) + b"\n"
    with site(robots(start + filler + b"Disallow: /late\n")) as served:
        asked(f"{served.url}/late")
        with pytest.raises(RobotsRefusedError):
            asked(f"{served.url}/early")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A site that answers everything with ``status``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing to see."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429])
def test_a_file_that_is_not_there_allows_everything(status: int) -> None:
    with answering(status) as url:
        asked(f"{url}/page")


@pytest.mark.parametrize("status", [500, 503])
def test_a_site_that_fails_to_answer_allows_nothing(status: int) -> None:
    with answering(status) as url:
        with pytest.raises(RobotsUnknownError, match=f"cannot be read.*answered {status}.*later"):
            asked(f"{url}/page")
        asked(f"{url}/page", obey=False)


def test_a_site_that_is_not_there_allows_nothing() -> None:
    with pytest.raises(RobotsUnknownError, match=r"/page cannot be read: All conn[^.]*$") as caught:
        asked("http://127.0.0.1:9/page")
    assert caught.value.passes


@pytest.mark.mcp
def test_an_agent_is_not_let_loose_on_a_page_where_programs_are_not_wanted(tmp_path: Path) -> None:
    with site(robots(FORBIDDEN)) as served, ModelServer([]) as model:
        with pytest.raises(RobotsRefusedError, match="asks programs not to read it"):
            asyncio.run(by_agent(f"{served.url}/page", model, tmp_path))
        assert model.requests == []


@pytest.mark.mcp
def test_an_agents_tools_are_not_called_with_pages_where_programs_are_not_wanted(
    tmp_path: Path,
) -> None:
    (tmp_path / "open").write_text("Words for all.")
    (tmp_path / "closed").write_text("Words for people.")
    rules = b"User-agent: *\nDisallow: /closed\n"
    with site(robots(rules)) as served:
        script: list[Reply | str] = [
            tool_reply([("fetch", {"url": f"{served.url}/closed"})]),
            tool_reply([("fetch", {"url": f"{served.url}/open"})]),
            json.dumps({"title": "T", "description": "D", "results": [1]}),
            script_reply(),
        ]
        with ModelServer(script) as model:
            asyncio.run(by_agent(f"{served.url}/open", model, tmp_path))
        assert served.asked == ["/robots.txt"]
    assert "asks programs not to read it" in model.requests[1].last["content"]
    assert "Words for all." in written_from(model.requests[-1])
    calls = (tmp_path / "calls").read_text()
    assert "open" in calls
    assert "closed" not in calls


async def by_agent(url: str, model: ModelServer, folder: Path) -> VideoScript:
    entry = {
        "command": sys.executable,
        "args": [str(SERVERS / "pages.py")],
        "env": {"PAGES": str(folder), "SERVER_LOG": str(folder / "calls")},
    }
    return await generate_script_from_url_with_agent(
        url,
        mcp_config_path={"mcpServers": {"pages": entry}},
        base_url=model.base_url,
        allow_private_urls=True,
    )


def test_a_page_with_a_certificate_that_nobody_trusts_is_not_tried_again(tmp_path: Path) -> None:
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(certificate_of("page.test", tmp_path))
    with serving(FRIEND, tls=server_tls) as port, pytest.raises(PageError, match="CERT") as caught:
        asyncio.run(
            Robots(UrlPolicy(allow_private=True), timeout=PATIENCE).check(
                f"https://{FRIEND}:{port}/"
            )
        )
    assert not caught.value.passes
