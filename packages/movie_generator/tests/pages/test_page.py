"""Pages: what is read of them, in any encoding, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from mcp_ghost.errors import UrlRefusedError
from movie_generator.errors import PageError
from movie_generator.pages import fetch, markup
from movie_generator.pages.fetch import fetch_page
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Image, Page, heading, markdown_images
from movie_generator.pages.robots import Robots
from movie_generator.pages.urls import UrlPolicy
from movie_generator.queue.failures import Failure
from movie_generator.settings import Limits
from tests.support.movie import site
from tests.support.work import growth

PUBLIC, PRIVATE = UrlPolicy(), UrlPolicy(allow_private=True)
ARTICLE = """<!doctype html><html><head><meta charset="utf-8">
<title>Bridges &amp; rivers | Example</title>
<meta property="og:title" content="Bridges and rivers">
<meta name="description" content="How bridges
 cross rivers.">
<meta property="og:image" content="/lead.png">
<link rel="canonical" href="/bridges">
<style>p { color: red }</style></head>
<body><nav><a href="/">Home of the site</a></nav>
<main><h1>Bridges</h1><p>A <b>bridge</b> crosses a <a href="/river">river</a>.</p>
<img src="a.png" alt="An arch"><img data-src="//cdn.example/b.jpg" src="data:image/gif;base64,AA">
<img srcset="c-1.png 1x, c-2.png 2x"><img src="a.png"><img src="javascript:alert(1)">
<h2>Stone</h2><ul><li>old</li><li>heavy</li></ul><script>alert("hidden")</script></main>
<footer>Imprint</footer></body></html>"""


async def read(url: str, policy: UrlPolicy = PRIVATE, **limits: Any) -> Page:  # noqa: ANN401
    return await fetch_page(url, Limits(**limits), Robots(policy, timeout=30))


def fetched(pages: dict[str, Any], path: str = "/", **limits: Any) -> Page:  # noqa: ANN401
    with site(pages) as served:
        return asyncio.run(read(served.url + path, **limits))


def test_title_description_and_images_are_kept_and_absolute() -> None:
    page = page_from_html(ARTICLE, "https://example.com/posts/1?x=2")
    assert page.title == "Bridges and rivers"
    assert page.description == "How bridges cross rivers."
    assert page.url == "https://example.com/bridges"
    assert page.images == (
        Image("https://example.com/lead.png", "Bridges and rivers"),
        Image("https://example.com/posts/a.png", "An arch"),
        Image("https://cdn.example/b.jpg"),
        Image("https://example.com/posts/c-1.png"),
    )


BLANK = 'src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP"'
ARCH = "https://example.com/arch.jpg"


@pytest.mark.parametrize(
    ("html", "address"),
    [
        (f'<img {BLANK} srcset="/arch.jpg 300w, /large.jpg 900w" alt="An arch">', ARCH),
        (f'<img {BLANK} data-srcset="/arch.jpg, /large.jpg 2x" alt="An arch">', ARCH),
        (f'<img {BLANK} data-lazy-src="/arch.jpg" alt="An arch">', ARCH),
        (f'<img {BLANK} data-lazyload="/arch.jpg" alt="An arch">', ARCH),
        ('<img src="/blank.gif" data-echo="/arch.jpg?w=3" alt="An arch">', f"{ARCH}?w=3"),
        (
            '<img data-cfsrc="/arch.jpg" style="display:none" alt="An arch"><noscript></noscript>',
            ARCH,
        ),
        ('<amp-img src="/arch.jpg" alt="An arch"></amp-img>', ARCH),
        (f'<img {BLANK}><noscript><img src="/arch.jpg" alt="An arch"></noscript>', ARCH),
        ('<picture><source srcset="/arch.jpg 2x"><img alt="An arch"></picture>', ARCH),
        (f'<picture><source data-srcset="/arch.jpg"><img {BLANK} alt="An arch"></picture>', ARCH),
        (
            '<img srcset="/w_300,h_200/arch.jpg 300w, /w_900,h_600/arch.jpg 900w" alt="An arch">',
            "https://example.com/w_300,h_200/arch.jpg",
        ),
        ('<img src="/an arch.jpg" alt="An arch">', "https://example.com/an%20arch.jpg"),
    ],
)
def test_an_image_that_a_browser_would_show_is_found(html: str, address: str) -> None:
    page = page_from_html(f"<main><p>Before.</p>{html}<p>After.</p></main>", "https://example.com")
    assert page.images == (Image(address, "An arch"),)
    assert f"![An arch]({address.removeprefix('https://example.com')})" in page.text


def test_an_image_is_shown_once_and_none_that_only_counts_readers() -> None:
    html = (
        '<main><p>Before.</p><img data-src="/a.jpg"><noscript><img src="/a.jpg"></noscript>'
        '<img src="/seen.gif" width="1" height="1"><noscript>Switch on <img src="b.png"></noscript>'
    )
    page = page_from_html(html, "https://example.com")
    assert (page.text, len(page.images)) == ("Before.\n\n![](/a.jpg)", 1)


def test_an_image_inside_a_page_leaves_room_for_its_text() -> None:
    image = f'<img src="data:image/png;base64,{"A" * 9_000}" alt="An arch">'
    page = page_from_html(f"<main><p>Before.</p>{image}<p>After.</p>", "https://example.com")
    assert page.text.split() == ["Before.", "An", "arch", "After."]


@pytest.mark.parametrize("base", ["http://[oops", "javascript:0", ""])
def test_a_base_that_is_not_an_address_is_passed_over(base: str) -> None:
    html = f'<base href="{base}"><p>Text.</p><img src="a.png">'
    page = page_from_html(html, "https://example.com/posts/1")
    assert page.images == (Image("https://example.com/posts/a.png"),)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Before.\n\n## Bridges ##\n", "Bridges"),
        ("# Learning C#\n", "Learning C#"),
        ("#no heading\n# \n### One  \n", "One"),
        ("none", ""),
    ],
)
def test_the_first_heading_is_found(text: str, title: str) -> None:
    assert heading(text) == title


def test_hostile_markdown_is_searched_in_linear_time() -> None:
    assert not list(markdown_images("![" * 20_000))
    assert heading("# " + "#" * 20_000 + "x").endswith("#")
    assert growth(lambda size: list(markdown_images("![" * size)), 2_000) < 9
    assert growth(lambda size: heading("# " + "#" * size + "x"), 2_000) < 9


@pytest.mark.parametrize("hostile", ["<!--", '<a a="', "<a ", "<p>", "<div>x", "&#", "<nav>"])
def test_hostile_html_is_read_in_linear_time(hostile: str) -> None:
    def read(size: int) -> Page:
        return page_from_html(hostile * (size // len(hostile)), "https://example.com/")

    assert growth(read, 2_000) < 9


def test_reading_ends_with_the_pages_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    monkeypatch.setattr(fetch, "page_from_html", lambda *_: given_up.wait(60))
    with pytest.raises(PageError, match=r"could not be (?:read|parsed) within 0\.5 s"):
        fetched({"/": ("text/html", b"<p>Words.")}, page_timeout=0.5)
    assert not given_up.is_set()
    given_up.set()


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("\ud800<p>half a character", "half a character"),
        (b"<!doctype html><body><p>one</body></html><p>behind", "one\n\nbehind"),
        (b"<p>&hellip;&#8364;&bogus; &amp;lt;", "\u2026\u20ac&bogus; &lt;"),
        (b'<!DOCTYPE html [<!ENTITY x SYSTEM "/etc/hostname">]><p>&x;', "\\]>\n&x;"),
    ],
)
def test_what_no_page_should_hold_is_read_as_far_as_it_goes(html: str | bytes, text: str) -> None:
    assert page_from_html(html, "https://example.com/").text == text


def test_the_text_is_the_page_without_what_surrounds_it() -> None:
    text = page_from_html(ARTICLE, "https://example.com/").text
    assert text.startswith("# Bridges\n\nA **bridge** crosses a river.")
    assert "## Stone\n\n- old\n- heavy" in text
    for left_out in ("Home of the site", "Imprint", "hidden", "color: red"):
        assert left_out not in text


def test_a_page_with_little_markup_is_read_too() -> None:
    page = page_from_html("<h1>Title</h1><p>Words.", "https://example.com/")
    assert (page.title, page.text) == ("Title", "# Title\n\nWords.")
    base = '<base href="https://other.example/x/"><img src="y.png">'
    assert (
        page_from_html(base, "https://example.com/")
        .images[0]
        .url.startswith("https://other.example/x/y.png")
    )
    whole = page_from_html("<title>Title</title><main><p>Words.</main>", "https://example.com/")
    assert (whole.title, whole.text) == ("Title", "Words.")
    deep = page_from_html("<div>" * 1500 + "deep down" + "</div>" * 1500, "https://example.com/")
    assert "deep down" in deep.text


@pytest.mark.parametrize(
    ("content_type", "encoding", "head"),
    [
        ("text/html; charset=shift_jis", "shift_jis", ""),
        ("text/html", "euc_jp", '<meta charset="euc-jp">'),
        ("text/html; charset=utf-8", "utf-8", ""),
        ("text/html; charset=nonsense", "utf-8", '<meta charset="utf-8">'),
    ],
)
def test_the_encoding_is_the_servers_or_else_the_pages(
    content_type: str, encoding: str, head: str
) -> None:
    html = f"<html><head>{head}<title>東京の橋</title></head><body><p>橋は川を渡る。</p></body>"
    page = fetched({"/": (content_type, html.encode(encoding))})
    assert (page.title, page.text) == ("東京の橋", "橋は川を渡る。")


def test_plain_text_and_markdown_are_pages() -> None:
    page = fetched({"/": ("text/markdown; charset=utf-8", b"# Notes\r\n\r\n\r\n\r\nWords.")})
    assert (page.title, page.text) == ("Notes", "# Notes\n\nWords.")
    assert fetched({"/": ("text/plain", b"First line\nsecond")}).title == "First line"


def test_html_that_the_server_calls_plain_text_is_html() -> None:
    page = fetched({"/": ("text/plain", b"<!DOCTYPE html><title>Notes</title><p>Words.")})
    assert (page.title, page.text) == ("Notes", "Words.")


def test_redirects_are_followed_and_the_last_address_counts() -> None:
    pages = {"/": "/a", "/a": "/b/", "/b/": ("text/html", b'<p>Here.</p><img src="i.png">')}
    page = fetched(pages)
    assert page.url.endswith("/b/")
    assert page.images[0].url == page.url + "i.png"


def test_a_page_that_sends_its_readers_on_is_followed_but_not_in_circles() -> None:
    moved = b'<meta http-equiv="refresh" content="0; url=/%b"><p>Moved.'
    pages = {
        "/": ("text/html", moved % b"new"),
        "/new": ("text/html", b"<p>Here."),
        "/round": ("text/html", moved % b"and-round"),
        "/and-round": ("text/html", moved % b"round"),
    }
    page = fetched(pages)
    assert (page.text, page.url[-4:]) == ("Here.", "/new")
    assert fetched(pages, "/round").text == "Moved."


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({}, "answered 404"),
        ({"/": ("application/zip", b"PK")}, "is application/zip, not a web page"),
        ({"/": ("text/html", b"<script>app()</script>")}, "contains no text.*JavaScript"),
        ({"/": ("text/html", b"<p> </p>")}, "contains no text[.]$"),
        ({"/": ("text/html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1")}, "is not text"),
        ({"/": ("text/plain", b"PK\3\4\x14\0\0\0\x08\0")}, "is not text"),
        ({"/": "/"}, "cannot be read"),
        (
            {"/": ("text/html", b"<iframe src=/b></iframe>")},
            r"contains no text[.].* frames: h.*/b$",
        ),
        ({"/": ("text/html", b"<div>Loading...</div><script src=a>")}, "only a notice.*JavaScript"),
        (
            {"/": ("text/html", b"<h1>Just a moment...</h1><p>Wait.</p><script src=a></script>")},
            "only a notice: # Just a moment.*JavaScript",
        ),
    ],
)
def test_what_is_not_a_readable_page_is_a_clear_error(pages: dict[str, Any], message: str) -> None:
    with pytest.raises(PageError, match=message):
        fetched(pages)


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (302, {}, "/ answered 302 Found[.]"),
        (999, {}, "/ answered 999[.]"),
        (200, {"Content-Encoding": "compress"}, "compressed with compress, which cannot be read"),
        (302, {"Location": "file:///etc/passwd"}, "^A redirect of .*/ is not followed: 'file://"),
        (302, {"Location": "http://169.254.1.1/"}, "^A redirect of .*/ is not followed: 169"),
    ],
)
def test_what_a_server_answers_instead_of_a_page_is_not_taken_for_it(
    status: int, headers: dict[str, str], message: str
) -> None:
    with site({}) as served:
        served.faults["/"] = [(status, {"Content-Type": "text/html", **headers})]
        with pytest.raises((PageError, UrlRefusedError), match=message) as caught:
            asyncio.run(read(f"{served.url}/"))
    assert not Failure.of(caught.value).passes


def test_a_page_of_frames_is_not_what_it_says_to_others() -> None:
    html = b"<frameset><frame src=a><noframes><body>No frames here.</noframes></frameset>"
    with pytest.raises(
        PageError, match=r"contains no text[.] It shows other pages in frames: http"
    ):
        fetched({"/": ("text/html", html)})


def test_a_page_that_is_too_long_is_cut_and_that_is_said() -> None:
    html = b"<h1>Long</h1>" + b"<p>word</p>" * 1000
    page = fetched({"/": ("text/html", html)}, page_bytes=2000)
    assert 100 < len(page.text) < 2000
    assert page.notes == ("Only its first 2,000 bytes were read.",)
    cut = page.cut(50)
    assert len(cut.text) <= 50
    assert "cut after 50 of" in cut.notes[1]


def test_private_addresses_are_refused_unless_allowed() -> None:
    with site({"/": ("text/html", b"<p>secret")}) as served:
        with pytest.raises(UrlRefusedError, match="MOVIE_ALLOW_PRIVATE_URLS"):
            asyncio.run(read(served.url, PUBLIC))
        assert served.asked == []


async def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(PageError, match="cannot be read"):
        await read("http://127.0.0.1:9/")


def test_of_a_page_of_many_megabytes_only_as_much_is_read_as_can_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markup, "MOST_SEARCHED", 5_000)
    monkeypatch.setattr(markup, "MOST_TEXT", 2_000)
    rows = "".join(f"<tr><td>Town number {it}</td><td>{it}</td></tr>" for it in range(1_000))
    page = page_from_html(f"<title>Towns</title><table>{rows}</table>", "https://x.example/")
    assert page.title == "Towns"
    assert "Town number 50" in page.text
    assert "Town number 500" not in page.text
    assert page.notes == ("Only the first 2,000 characters of its text were read.",)
