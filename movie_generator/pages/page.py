"""A page as the writer sees it: title, description, text as Markdown, images with absolute URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag


_MAX_IMAGES = 40
_MAX_LINE = 500
"""Characters of a title, a description or what an image shows."""
_NO_TEXT = [
    "script",
    "style",
    "noscript",
    "template",
    "iframe",
    "svg",
    "canvas",
    "object",
    "nav",
    "aside",
    "footer",
    "form",
    "button",
    "dialog",
    "title",  # not the whole head: without a <body>, lxml puts <main> into it
]
# Bounded: a page of nothing but "![" would take hours otherwise.
_MARKDOWN_IMAGE = re.compile(r"!\[([^\]\n]{0,1000})\]\(\s*<?([^\s)>]+)")
_HEADING = re.compile(r"^[ ]{0,3}#{1,3}[ \t]+(.*\S)", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")


@dataclass(frozen=True)
class Image:
    """An image of a page."""

    url: str
    alt: str = ""
    """What it shows, in the page's words."""


@dataclass(frozen=True)
class Page:
    """What was read."""

    url: str
    title: str
    description: str
    text: str
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()
    """What is missing from ``text``, for people."""

    def cut(self, limit: int) -> Page:
        """The page with at most ``limit`` characters of text, and a note on what was cut."""
        if len(self.text) <= limit:
            return self
        note = f"The text was cut after {limit:,} of {len(self.text):,} characters."
        return replace(self, text=self.text[:limit].rstrip(), notes=(*self.notes, note))


def tidy(text: str) -> str:
    """Markdown with no more than one empty line at a time."""
    return _EMPTY_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\x00", "")).strip()


def line(text: object) -> str:
    """A title or description on one line; nothing for what is not text."""
    return " ".join(text.split())[:_MAX_LINE] if isinstance(text, str) else ""


def heading(text: str) -> str:
    """The first heading of a Markdown text."""
    found = _HEADING.search(text)
    title = found[1] if found else ""
    closed = title.rstrip("#")  # "# Title #" says no more than "# Title"; "# C#" does
    return line(closed if closed.endswith((" ", "\t")) else title)


def usable_images(found: Iterable[tuple[object, object]], base: str) -> tuple[Image, ...]:
    """Each (URL, description) once, made absolute; anything no browser would load is left out."""
    images: dict[str, Image] = {}
    for source, alt in found:
        url = _absolute(source, base)
        if url and url not in images and len(images) < _MAX_IMAGES:
            images[url] = Image(url, line(alt))
    return tuple(images.values())


def markdown_images(text: str) -> Iterator[tuple[str, str]]:
    """The (URL, description) of every image in a Markdown text."""
    return ((found[2], found[1]) for found in _MARKDOWN_IMAGE.finditer(text))


def page_from_html(html: bytes | str, url: str, encoding: str | None = None) -> Page:
    """Read a page; ``encoding`` is what the server said, and may be wrong or missing."""
    from bs4 import BeautifulSoup

    if isinstance(html, str):  # of a tool, with half a character perhaps
        html, encoding = html.encode("utf-8", "replace"), "utf-8"
    # Of the parsers lxml's is linear: a few hundred "<!--" hold no other page up.
    soup = BeautifulSoup(html, "lxml", from_encoding=encoding)
    base = _absolute(_attribute(soup.find("base"), "href"), url) or url
    title = _meta(soup, "og:title") or line(_text(soup.find("title"))) or _text(soup.find("h1"))
    description = _meta(soup, "description") or _meta(soup, "og:description")
    canonical = _absolute(_attribute(soup.find("link", rel="canonical"), "href"), base)
    leading = [(_meta(soup, "og:image"), title)]
    for tag in soup(_NO_TEXT):
        tag.decompose()
    content = _content(soup)
    images = usable_images([*leading, *_images(content)], base)
    return Page(canonical or url, line(title), line(description), _markdown(content), images)


def _content(soup: BeautifulSoup) -> Tag:
    """The part that the page is about."""
    for name in ("main", "article"):
        found = soup.find_all(name)
        if len(found) == 1 and found[0].get_text(strip=True):
            return found[0]
    return soup  # with what stands behind </body>, which browsers show too


def _markdown(content: Tag) -> str:
    from markdownify import MarkdownConverter

    try:
        converter = MarkdownConverter(heading_style="ATX")
        return tidy(converter.convert_soup(content))
    except RecursionError:  # nested more deeply than any page meant to be read
        return tidy("\n".join(content.stripped_strings))


def _images(content: Tag) -> Iterator[tuple[str, str]]:
    for image in content.find_all("img"):
        lazy = _attribute(image, "data-src") or _attribute(image, "data-original")
        first_of_set = _attribute(image, "srcset").split(",")[0].split()
        source = lazy or _attribute(image, "src") or (first_of_set[0] if first_of_set else "")
        yield source, _attribute(image, "alt")


def _meta(soup: BeautifulSoup, name: str) -> str:
    for key in ("property", "name"):
        tag = soup.find("meta", attrs={key: name})
        if content := _attribute(tag, "content"):
            return line(content)
    return ""


def _attribute(tag: Tag | None, name: str) -> str:
    value = tag.get(name) if tag is not None else None
    return value.strip() if isinstance(value, str) else ""


def _text(tag: Tag | None) -> str:
    return tag.get_text(" ", strip=True) if tag is not None else ""


def _absolute(source: object, base: str) -> str:
    if not isinstance(source, str) or not source.strip():
        return ""
    try:
        url = urljoin(base, source.strip())
        usable = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        return ""
    return url if usable and not re.search(r"[\s<>\"]", url) else ""
