"""The standard path: one page over HTTP, without an agent; bounded in time and size."""

import asyncio
import re
from dataclasses import replace
from functools import partial

import httpx2
from anyio.to_thread import run_sync

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import GuardedTransport, parse_url
from mcp_ghost.providers.transport import retry_after
from mcp_ghost.text import address, one_line
from movie_generator.errors import PageError, is_passing, reason_of
from movie_generator.pages.decoding import decoded, is_utf_16
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page, absolute, heading, tidy
from movie_generator.pages.pdf import page_from_pdf
from movie_generator.pages.results import is_shell
from movie_generator.pages.robots import USER_AGENT, Robots, start_of
from movie_generator.pages.urls import PUBLIC, UrlPolicy
from movie_generator.settings import Limits

_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, "
    "application/pdf;q=0.5",
}
_HTML = ("text/html", "application/xhtml+xml", "")
_TEXT = ("text/plain", "text/markdown", "text/x-markdown")
_PDF = "application/pdf"
_NEVER_IN_TEXTS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_SAMPLE = 4096
_IS_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)[\s>]", re.IGNORECASE)
_FRAME = re.compile(rb"<i?frame\s[^>]{0,500}?src\s*=\s*[\"']?([^\"'\s>]{1,500})", re.IGNORECASE)
_MOST_FRAMES = 5
_CODINGS = {"br", "compress", "dcb", "dcz", "x-compress", "x-gzip", "zstd"}
"""Compression that some servers use without having been asked for it."""
MAX_REDIRECTS = 10


async def fetch_page(url: str, limits: Limits, robots: Robots, policy: UrlPolicy = PUBLIC) -> Page:
    """Read the page at ``url``, following redirects, also those that pages contain.

    Raises:
        PageError: It cannot be read, holds no text, or its site asks programs not to read it.
        UrlRefusedError: It leads where nothing may be fetched.
    """
    if "://" not in url:
        parse_url(url)  # which refuses it as it was written, and not as the client would send it

    way = [url]
    parsing: list[str] = []

    async def ask_first(request: httpx2.Request) -> None:
        way.append(str(request.url))
        await robots.check(way[-1])

    try:
        async with (
            asyncio.timeout(limits.page_timeout),
            httpx2.AsyncClient(
                transport=GuardedTransport(policy),
                headers=_HEADERS,
                follow_redirects=True,
                max_redirects=MAX_REDIRECTS,
                timeout=limits.page_timeout,
                event_hooks={"request": [ask_first]},  # of redirects, too
            ) as client,
        ):
            page = await _read(client, url, limits, parsing)
            seen = {url}
            while page.moved_to and page.moved_to not in seen and len(seen) <= MAX_REDIRECTS:
                seen.add(page.moved_to)
                page = await _read(client, page.moved_to, limits, parsing)
    except (TimeoutError, httpx2.TimeoutException) as error:
        seconds = f"{limits.page_timeout:g} s"
        if parsing:  # which would take as long again
            raise PageError(f"{address(url)} could not be parsed within {seconds}.") from error
        late = f"{address(url)} could not be read within {seconds}."
        raise PageError(late, passes=True) from error
    except UrlRefusedError as error:
        if len(way) > 2:
            error.args = (f"A redirect of {address(url)} is not followed: {error}",)
        raise
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        said = f"{address(url)} cannot be read: {reason_of(error)}"
        raise PageError(said, passes=_may_pass(error)) from error
    if not page.text:
        raise PageError(f"{address(url)} contains no text, and its redirects go in circles.")
    return page


async def _read(client: httpx2.AsyncClient, url: str, limits: Limits, parsing: list[str]) -> Page:
    """What is at ``url`` now; ``parsing`` holds it while it is parsed."""
    async with client.stream("GET", url) as response:
        _check(response)
        body, whole = await start_of(response, limits.page_bytes)
        kind, encoding = _kind(response), response.charset_encoding
        if kind == _PDF and not whole:
            raise PageError(
                f"{address(url)} is a PDF of more than {limits.page_bytes:,} bytes. To read it, "
                "raise page_bytes under limits in config.yaml."
            )
        parsing.append(url)
        read = partial(page_of, body, kind, str(response.url), limits, encoding)
        page = await run_sync(read, abandon_on_cancel=True)
        parsing.clear()
    needs_browser = b"<script" in body.lower() and is_shell(page.text)
    if needs_browser or not (page.text or page.moved_to):
        frames = [absolute(it.decode(errors="replace"), url) for it in _FRAME.findall(body)]
        hint = ""
        if frames := [one_line(it) for it in frames if it][:_MOST_FRAMES]:
            hint = f" It shows other pages in frames: {', '.join(frames)}"
        elif b"<script" in body.lower():
            hint = (
                " A page that needs JavaScript can be read by an agent with a browser's MCP server "
                "(MCP_CONFIG_PATH)."
            )
        what = f"only a notice: {one_line(page.text, 200)}" if page.text else "no text."
        raise PageError(f"{address(url)} contains {what}{hint}")
    if whole:
        return page
    return replace(
        page, notes=(*page.notes, f"Only its first {limits.page_bytes:,} bytes were read.")
    )


def _may_pass(error: Exception) -> bool:
    """Whether the network failed, and not the page, its encryption or its server's HTTP."""
    said = str(error)
    if isinstance(error, httpx2.RemoteProtocolError):
        return "closed" in said or "disconnected" in said
    encryption = "[SSL" in said or "TLS" in said
    return isinstance(error, httpx2.NetworkError) and (not encryption or "_EOF_" in said)


def _check(response: httpx2.Response) -> None:
    url = address(str(response.url))
    if not response.is_success:
        status = one_line(f"{response.status_code} {response.reason_phrase}")
        passes, later = is_passing(response.status_code), retry_after(response.headers)
        raise PageError(f"{url} answered {status}.", passes=passes, retry_after=later)
    kind = _kind(response)
    if kind not in (*_HTML, *_TEXT, _PDF):
        raise PageError(f"{url} is {one_line(kind)}, not a web page.")
    codings = {it.strip() for it in response.headers.get("content-encoding", "").lower().split(",")}
    readable = response.request.headers.get("accept-encoding", "")
    for coding in codings & _CODINGS:
        if coding not in readable:
            raise PageError(f"{url} was sent compressed with {coding}, which cannot be read here.")


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def page_of(body: bytes, kind: str, url: str, limits: Limits, encoding: str | None = None) -> Page:
    """The page in ``body``, which is of a media type, as its server or its name says.

    Raises:
        PageError: It is no page.
    """
    if kind == _PDF or body.startswith(b"%PDF-"):  # which some servers call a text
        return page_from_pdf(body, url, limits.page_characters)
    sample = body[:_SAMPLE]
    binary = len(sample) - len(sample.translate(None, _NEVER_IN_TEXTS))
    if binary * 50 > len(sample) and not is_utf_16(body, encoding):
        raise PageError(f"{address(url)} is not text, although its server says so.")
    if kind in _HTML or _IS_HTML.match(sample):
        return page_from_html(body, url, encoding)
    text = tidy(decoded(body, encoding, is_html=False))
    return Page(url, heading(text) or text.partition("\n")[0][:200], "", text)
