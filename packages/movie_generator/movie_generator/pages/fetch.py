"""The standard path: one page over HTTP, without an agent; bounded in time and size.

To read a PDF needs the extra ``pdf``.
"""

import asyncio
import io
import logging
import re
from dataclasses import replace
from functools import partial

import httpx2
from anyio.to_thread import run_sync

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import parse_url
from mcp_ghost.network import content_of
from mcp_ghost.providers.transport import retry_after
from mcp_ghost.text import address, one_line
from movie_generator.errors import PageError, is_passing, reason_of
from movie_generator.pages.decoding import decoded, is_utf_16
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page, absolute, heading, line, tidy
from movie_generator.pages.results import is_shell
from movie_generator.pages.robots import Robots
from movie_generator.settings import Limits

_ACCEPT = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.5"
_HTML = ("text/html", "application/xhtml+xml", "")
_TEXT = ("text/plain", "text/markdown", "text/x-markdown")
_PDF = "application/pdf"
_NEVER_IN_TEXTS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_IS_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)[\s>]", re.IGNORECASE)
_FRAME = re.compile(rb"<i?frame\s[^>]{0,500}?src\s*=\s*[\"']?([^\"'\s>]{1,500})", re.IGNORECASE)
_CODINGS = {"br", "compress", "dcb", "dcz", "x-compress", "x-gzip", "zstd"}
"""Compression that some servers use without having been asked for it."""
_OF_DAMAGE = (RuntimeError, ValueError, LookupError, TypeError, AttributeError)
"""How else a damaged PDF breaks its parser."""
MAX_REDIRECTS = 10
MOST_SHEETS = 1_000


async def fetch_page(url: str, limits: Limits, robots: Robots) -> Page:
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
            # Redirects are requests, too.
            robots.client(_ACCEPT, MAX_REDIRECTS, event_hooks={"request": [ask_first]}) as client,
        ):
            page = await _read(client, url, limits, parsing)
            seen = {url}
            while page.moved_to and page.moved_to not in seen and len(seen) <= MAX_REDIRECTS:
                seen.add(page.moved_to)
                page = await _read(client, page.moved_to, limits, parsing)
    except (TimeoutError, httpx2.TimeoutException) as error:
        done = "parsed" if parsing else "read"
        late = f"{address(url)} could not be {done} within {limits.page_timeout:g} s."
        raise PageError(late, passes=not parsing) from error  # parsing would take as long again
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
        at = address(str(response.url))
        if not response.is_success:
            status = one_line(f"{response.status_code} {response.reason_phrase}")
            passes, later = is_passing(response.status_code), retry_after(response.headers)
            raise PageError(f"{at} answered {status}.", passes=passes, retry_after=later)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (*_HTML, *_TEXT, _PDF):
            raise PageError(f"{at} is {one_line(kind)}, not a web page.")
        codings = response.headers.get("content-encoding", "").lower().split(",")
        readable = response.request.headers.get("accept-encoding", "")
        for coding in {it.strip() for it in codings} & _CODINGS:
            if coding not in readable:
                said = f"{at} was sent compressed with {coding}, which cannot be read here."
                raise PageError(said)
        body = await content_of(response, limits.page_bytes)
        whole = len(body) <= limits.page_bytes
        body, encoding = body[: limits.page_bytes], response.charset_encoding
        if kind == _PDF and not whole:
            raise PageError(
                f"{address(url)} is a PDF of more than {limits.page_bytes:,} bytes. To read it, "
                "raise page_bytes under limits in config.yaml."
            )
        parsing.append(url)
        read = partial(page_of, body, kind, str(response.url), limits, encoding)
        page = await run_sync(read, abandon_on_cancel=True)
        parsing.clear()
    has_script = b"<script" in body.lower()
    if (has_script and is_shell(page.text)) or not (page.text or page.moved_to):
        frames = [absolute(it.decode(errors="replace"), url) for it in _FRAME.findall(body)]
        hint = ""
        if frames := [one_line(it) for it in frames if it][:5]:
            hint = f" It shows other pages in frames: {', '.join(frames)}"
        elif has_script:
            hint = (
                " A page that needs JavaScript can be read by an agent with a browser's MCP server "
                "(MCP_CONFIG_PATH)."
            )
        what = f"only a notice: {one_line(page.text, 200)}" if page.text else "no text."
        raise PageError(f"{address(url)} contains {what}{hint}")
    note = f"Only its first {limits.page_bytes:,} bytes were read."
    return page if whole else replace(page, notes=(*page.notes, note))


def _may_pass(error: Exception) -> bool:
    """Whether the network failed, and not the page, its encryption or its server's HTTP."""
    said = str(error)
    if isinstance(error, httpx2.RemoteProtocolError):
        return "closed" in said or "disconnected" in said
    encryption = "[SSL" in said or "TLS" in said
    return isinstance(error, httpx2.NetworkError) and (not encryption or "_EOF_" in said)


def page_of(body: bytes, kind: str, url: str, limits: Limits, encoding: str | None = None) -> Page:
    """The page in ``body``, which is of a media type, as its server or its name says.

    Raises:
        PageError: It is no page.
    """
    if kind == _PDF or body.startswith(b"%PDF-"):  # which some servers call a text
        return page_from_pdf(body, url, limits.page_characters)
    sample = body[:4096]
    binary = len(sample) - len(sample.translate(None, _NEVER_IN_TEXTS))
    if binary * 50 > len(sample) and not is_utf_16(body, encoding):
        raise PageError(f"{address(url)} is not text, although its server says so.")
    if kind in _HTML or _IS_HTML.match(sample):
        return page_from_html(body, url, encoding)
    text = tidy(decoded(body, encoding, is_html=False))
    return Page(url, heading(text) or text.partition("\n")[0][:200], "", text)


def page_from_pdf(pdf: bytes, url: str, limit: int) -> Page:
    """Read a PDF up to about ``limit`` characters.

    Raises:
        PageError: It cannot be read, or pypdf is missing.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        said = f"{address(url)} is a PDF. To read PDFs, install the extra 'pdf': pip install pypdf"
        raise PageError(said) from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of each oddity that it mends
    texts: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(pdf))
        facts = reader.metadata
        title = line(facts.title) if facts else ""
        author = line(facts.author) if facts else ""
        for sheet in reader.pages[:MOST_SHEETS]:
            texts.append(sheet.extract_text())
            if sum(map(len, texts)) > limit:
                break
        left_out = len(reader.pages) - len(texts)
        language = line(reader.root_object.get("/Lang", ""))
    except (PyPdfError, DependencyError, *_OF_DAMAGE) as error:
        said = f"{address(url)} is a PDF that cannot be read: {one_line(error)}"
        raise PageError(said) from error
    text = tidy("\n\n".join(texts))
    notes = (f"The last {left_out:,} of its pages were not read.",) if left_out else ()
    title = title or heading(text) or text.partition("\n")[0][:200]
    return Page(url, title, "", text, notes=notes, language=language, author=author)
