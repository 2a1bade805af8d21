"""A page as the writer sees it: title, description, text as Markdown, images with absolute URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

_MAX_IMAGES = 40
# Bounded: a page of nothing but "![" would take hours otherwise.
_MARKDOWN_IMAGE = re.compile(r"!\[([^\]\n]{0,1000})\]\(\s*<?([^\s)>]+)")
RAISED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(f"[{RAISED_DIGITS}\N{SUPERSCRIPT MINUS}]+")
_EXPONENTS = str.maketrans(f"{RAISED_DIGITS}\N{SUPERSCRIPT MINUS}", "0123456789-")


@dataclass(frozen=True)
class Saved:
    """A page that need not be fetched."""

    url: str
    body: bytes
    kind: str = ""
    """Its media type; empty for HTML."""


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
    language: str = ""
    """As the page says: "en", "pt-BR"."""
    author: str = ""
    date: str = ""
    """When it was published, as YYYY-MM-DD."""
    hearsay: tuple[str, ...] = ()
    """Title and description, if the agent that read the page worded them."""
    others: tuple[str, ...] = ()
    """The addresses of the other pages whose texts are in ``text``."""
    moved_to: str = ""
    """The address to which the page itself redirects its readers."""

    @property
    def head(self) -> str:
        """Title, description, author, date and what images show, in the page's own words."""
        facts = (self.title, self.description, self.author, self.date)
        texts = (*facts, *(image.alt for image in self.images))
        return "\n".join(text for text in texts if text and text not in self.hearsay)

    def cut(self, limit: int) -> Page:
        """The page with at most ``limit`` characters of text, and a note on what was cut."""
        if len(self.text) <= limit:
            return self
        note = f"The text was cut after {limit:,} of {len(self.text):,} characters."
        return replace(self, text=self.text[:limit].rstrip(), notes=(*self.notes, note))


def joined(pages: Sequence[Page]) -> Page:
    """Several pages as one, whose text has a heading for each."""
    first, *others = pages
    return replace(
        first,
        description=" ".join(page.description for page in pages if page.description),
        text="\n\n".join(f"# {page.title or page.url}\n\n{page.text}" for page in pages),
        images=tuple({it.url: it for page in pages for it in page.images}.values())[:_MAX_IMAGES],
        notes=tuple(note for page in pages for note in page.notes),
        author=", ".join(dict.fromkeys(page.author for page in pages if page.author)),
        hearsay=tuple(it for page in pages for it in page.hearsay),
        others=tuple(page.url for page in others),
    )


def tidy(text: str) -> str:
    """Markdown with no more than one empty line at a time, and no raised digits behind others."""
    text = _RAISED.sub(_settled, text.replace("\r\n", "\n").replace("\x00", ""))
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+\n", "\n\n", text).strip()


def _settled(raised: re.Match[str]) -> str:
    """Keep the exponents of units; write those of powers out; leave out the numbers of notes."""
    before = raised.string[max(0, raised.start() - 4) : raised.start()]
    if re.search(r"(?<!\d)(?:2|10)$", before):
        return f"^{raised[0].translate(_EXPONENTS)}"
    is_unit = re.search(r"(?<![^\W\d_])[^\W\d_]{1,3}$", before)
    return "" if before[-1:].isalnum() and not is_unit else raised[0]


def line(text: object) -> str:
    """A title or description on one line; nothing for what is not text."""
    return " ".join(text.split())[:500] if isinstance(text, str) else ""


def heading(text: str) -> str:
    """The first heading of a Markdown text."""
    found = re.search(r"^[ ]{0,3}#{1,3}[ \t]+(.*\S)", text, re.MULTILINE)
    title = found[1] if found else ""
    closed = title.rstrip("#")  # "# Title #" says no more than "# Title"; "# C#" does
    return line(closed if closed.endswith((" ", "\t")) else title)


def usable_images(found: Iterable[tuple[object, object]], base: str) -> tuple[Image, ...]:
    """Each (URL, description) once, made absolute; anything no browser would load is left out."""
    images: dict[str, Image] = {}
    for source, alt in found:
        if url := absolute(source, base):
            images.setdefault(url, Image(url, line(alt)))
    return tuple(images.values())[:_MAX_IMAGES]


def markdown_images(text: str) -> Iterator[tuple[str, str]]:
    """The (URL, description) of every image in a Markdown text."""
    return ((found[2], found[1]) for found in _MARKDOWN_IMAGE.finditer(text))


def absolute(source: object, base: str) -> str:
    """``source`` as a web address, resolved against ``base``; empty if it is not one."""
    if not isinstance(source, str) or not source.strip():
        return ""
    try:
        url = urljoin(base, source.strip().replace(" ", "%20"))
        usable = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        return ""
    return url if usable and not re.search(r"[\s<>\"]", url) else ""
