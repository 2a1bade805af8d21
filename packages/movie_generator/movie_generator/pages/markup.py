"""An HTML page: its head, and the text that readers come for, as Markdown.

Which part that is, readability finds by where the sentences are. That part is taken whole, because
readability itself would leave out short lists and tables. Where it finds but few of the sentences,
as on pages of many small texts, all is taken that the page does not mark as something else.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from movie_generator.pages.decoding import decoded
from movie_generator.pages.head import attribute, head_of
from movie_generator.pages.page import Page, absolute, tidy, usable_images

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MOST_SEARCHED = 3_000_000
"""Characters of HTML; more would take longer than a page is waited for."""
_NO_TEXT = [
    "script",
    "style",
    "noscript",
    "noframes",
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
_NO_TEXT_ROLES = ["complementary", "contentinfo", "dialog", "navigation", "search"]
_SMALLEST_SHARE = 0.5
"""Of the sentences outside of links. Of saved articles, readability finds three quarters or more;
of a forum's posts, a third."""
_MOST_SOURCES = 10
"""Of one image."""
_MARK = "mark-of-our-own-"
_MARKED = re.compile(rf'{_MARK}(\d{{1,8}})"')


def page_from_html(html: bytes | str, url: str, encoding: str | None = None) -> Page:
    """Read a page; ``encoding`` is what the server said, and may be wrong or missing."""
    soup = _parsed(html if isinstance(html, str) else decoded(html, encoding))
    head = head_of(soup, url)
    _settle_images(soup, head.base)
    for tag in soup.find_all(_is_no_text):
        tag.decompose()
    whole = _marked(soup)
    part = _readable(whole)
    content = part if _said(part) >= _SMALLEST_SHARE * _said(whole) else whole
    found = [*_images(content)] or _images(whole)
    images = usable_images([(head.image, head.title), *found], head.base)
    return Page(
        head.canonical or url,
        head.title,
        head.description,
        _markdown(content),
        images,
        language=head.language,
        author=head.author,
        date=head.date,
        moved_to=head.moved_to,
    )


def _parsed(html: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning

    for harmless in (MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning):
        warnings.filterwarnings("ignore", category=harmless)
    # Of the parsers lxml's is linear: a few hundred "<!--" hold no other page up.
    # A tool may give half a character.
    return BeautifulSoup(html.encode("utf-8", "replace"), "lxml", from_encoding="utf-8")


def _is_no_text(tag: Tag) -> bool:
    return tag.name in _NO_TEXT or tag.get("role") in _NO_TEXT_ROLES or "hidden" in tag.attrs


def _marked(soup: BeautifulSoup) -> Tag:
    """What the page itself marks as its content."""
    for name in ("main", "article"):
        found = soup.find_all(name)
        if len(found) == 1 and found[0].get_text(strip=True):
            return found[0]
    return soup  # with what stands behind </body>, which browsers show too


def _readable(whole: Tag) -> Tag:
    """The smallest part that holds all that readability takes for the text."""
    from readability import Document
    from readability.readability import Unparseable

    tags = whole.find_all(True)
    for number, tag in enumerate(tags):  # to find again what readability keeps
        tag["id"] = f"{tag.get('id', '')} {_MARK}{number}"
    html = str(whole)
    if len(html) > MOST_SEARCHED:
        return whole
    logging.getLogger("readability.readability").setLevel(logging.CRITICAL)
    try:
        summary = Document(html).summary(html_partial=True)
    except (Unparseable, ValueError, RecursionError):
        return whole
    numbers = map(int, _MARKED.findall(summary))
    kept = [number for number in numbers if number < len(tags)]  # a text may look like a mark
    return _around(tags[min(kept)], tags[max(kept)]) if kept else whole


def _around(first: Tag, last: Tag) -> Tag:
    """The smallest part that holds both; in a page's order, all between them is in it, too."""
    above = {id(tag) for tag in (first, *first.parents)}
    return next(tag for tag in (last, *last.parents) if id(tag) in above)


def _said(content: Tag) -> int:
    """The characters of a text that are in no link and no comment of a reader."""
    from bs4 import Tag
    from bs4.element import NavigableString

    said = 0
    waiting = [content]
    while waiting:  # no recursion: a page may be nested as deeply as it likes
        for child in waiting.pop().children:
            if type(child) is NavigableString:
                said += len(child.strip())
            elif isinstance(child, Tag) and not _is_aside(child):
                waiting.append(child)
    return said


def _is_aside(tag: Tag) -> bool:
    if tag.name == "a":
        return True
    names = f"{tag.get('id', '')} {tag.get('class', '')}"
    return tag.name in ("div", "section", "ol", "ul") and "comment" in names.lower()


def _markdown(content: Tag) -> str:
    from markdownify import MarkdownConverter

    try:
        converter = MarkdownConverter(heading_style="ATX")
        return tidy(converter.convert_soup(content))
    except RecursionError:  # nested more deeply than any page meant to be read
        return tidy("\n".join(content.stripped_strings))


def _images(content: Tag) -> Iterator[tuple[str, str]]:
    return ((attribute(it, "src"), attribute(it, "alt")) for it in content.find_all("img"))


def _settle_images(soup: BeautifulSoup, base: str) -> None:
    """Give every image the address of what a browser shows; where there is none, its words stay.

    Until they are scrolled to, many images are only placeholders, with the address in attributes of
    a script's own, or in an image for browsers without scripts.
    """
    spare = [tag for tag in soup.find_all("noscript") if not tag.get_text(strip=True)]
    in_spare = {id(image) for tag in spare for image in tag.find_all("img")}
    shown: set[str] = set()
    for image in soup.find_all("img"):
        source = next((it for it in _sources(image) if absolute(it, base)), "")
        if source and not (id(image) in in_spare and source in shown):
            image["src"] = source.replace(" ", "%20")
            shown.add(source)
        else:
            image.replace_with(attribute(image, "alt") if id(image) not in in_spare else "")
    for tag in spare:
        tag.unwrap()


def _sources(image: Tag) -> Iterator[str]:
    """Where an image may be, what is meant for scripts first."""
    if {attribute(image, "width"), attribute(image, "height")} & {"0", "1"}:
        return  # it only counts readers
    places = [image, *_of_picture(image)]
    for name in ("data-src", "data-original", "data-lazy-src"):
        yield attribute(image, name)
    for name in ("data-srcset", "data-lazy-srcset", "src", "srcset"):
        for tag in places:
            # Addresses may hold commas themselves; between two of them, there is white space.
            yield attribute(tag, name) if name == "src" else _first_of(attribute(tag, name))


def _of_picture(image: Tag) -> Iterator[Tag]:
    """Each <source> of an image; lxml puts what follows an unclosed one into it."""
    from bs4 import Tag

    around = image.parent
    for _ in range(_MOST_SOURCES):
        if around is None or around.name != "source":
            break
        yield around
        around = around.parent
    if around is not None and around.name == "picture":
        first = islice(around.children, 2 * _MOST_SOURCES)  # with the white space between them
        yield from (it for it in first if isinstance(it, Tag) and it.name == "source")


def _first_of(addresses: str) -> str:
    return addresses.split()[0].rstrip(",") if addresses else ""
