"""What an HTML page says about itself, outside of its text."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from movie_generator.answers import lenient_json
from movie_generator.grounding.dates import moments
from movie_generator.pages.page import Page, absolute, line, usable_images

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_REFRESH = re.compile(
    r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*['\"]?([^'\"]+)", re.IGNORECASE
)
_AUTHORS = ("author", "dc.creator", "article:author", "parsely-author", "byl", "sailthru.author")
_BYLINES = (
    ".//*[(self::a and @rel='author') or @itemprop='author' or contains(@class, 'byline')"
    " or contains(@class, 'author-name') or contains(@class, 'author_name')]"
)
_NO_AUTHORS = frozenset({"admin", "administrator", "editor", "root", "user", "webmaster"})
_AFTER_NAME = re.compile(r"\s*(?:[|•·]|\(\S*@).*", re.DOTALL)
"""What stands behind a name in a line: "Ida Marlow | 8 March"."""
_CDATA = re.compile(r"^\s*(?://|/\*)?\s*<!\[CDATA\[(?:\*/)?|(?://|/\*)?\s*\]\]>(?:\*/)?\s*$")
_YEAR = re.compile(r"[年년]")
_SECONDS = re.compile(r"(1\d{9})(?:\d{3}|\.\d+)?")
"""An instant since 2001 as programs count it."""
_PUBLISHED = re.compile(r"(?!.*(?:modif|updat|expir|valid)).*(?:publi|date|created)")
_DATED = (
    ".//*[contains(@class, 'dat') or contains(@class, 'time') or contains(@class, 'publi')"
    " or self::time]"
)
_BY = re.compile(
    r"^(?:(?:by|von|par|por|di|door|text|autor(?:in)?|author)\b:?\s+|(?:著者|作者|執筆|文|記者)\s?\W\s?)",
    re.IGNORECASE,
)
_BY_LABEL = re.compile(r"\b(?:by|von|par|por|da|door|autor|author)\b", re.IGNORECASE)
_OF_ADDRESS = re.compile(r"\S+@\S+\s*\(([^)]+)\)")
"""As RSS has it: ida@site.example (Ida Marlow)."""


def head_of(tree: HtmlElement, url: str) -> tuple[Page, str]:
    """Read the page at ``url`` without its text; also return what its addresses are relative to."""
    tags: dict[str, list[HtmlElement]] = defaultdict(list)
    for tag in tree.iter("html", "base", "meta", "link", "title", "h1", "script"):
        if next(tag.iterancestors("svg", "noscript"), None) is None:
            tags[tag.tag].append(tag)
    base = next((absolute(tag.get("href"), url) for tag in tags["base"]), "") or url
    meta: dict[str, str] = {}
    for tag in tags["meta"]:
        names = [attribute(tag, key).lower() for key in ("property", "name", "itemprop")]
        names.append(f"http:{attribute(tag, 'http-equiv').lower()}")
        for name in names if (content := line(tag.get("content"))) else ():
            meta.setdefault(name, content)
    linked: list[Mapping[str, Any]] = []
    for tag in tags["script"]:
        if tag.get("type") == "application/ld+json":
            with suppress(ValueError, RecursionError):
                linked += _objects(lenient_json(_CDATA.sub("", tag.text or "")))
    dates = [content for name, content in meta.items() if _PUBLISHED.match(name)]
    dates += [str(it.get("datePublished")) for it in linked]
    found, date = _signed(tree, url, dates)
    written = [*(meta.get(name, "") for name in _AUTHORS), _linked_author(linked)]
    if _BY_LABEL.search(meta.get("twitter:label1", "")):  # as plug-ins for WordPress write it
        written.append(meta.get("twitter:data1", ""))
    author = _author(found.replace("; ", ", "), written)
    if not author:  # it may stand in the text
        from trafilatura.metadata import extract_author

        byline = next((line(it.text_content()) for it in tree.xpath(_BYLINES)), "")
        author = _author("", [byline]) or _author(extract_author(tree) or "", [])
    stated = [attribute(tag, name) for tag in tags["html"] for name in ("lang", "xml:lang")]
    stated += [meta.get("http:content-language", ""), meta.get("og:locale", "")]
    languages = (it.replace("_", "-") for it in stated)
    refresh = _REFRESH.match(meta.get("http:refresh", ""))
    if refresh and int(refresh[1]) > 10:  # seconds: the page is meant to be read
        refresh = None
    named, heading = (
        next((line(" ".join(tag.itertext())) for tag in tags[name]), "") for name in ("title", "h1")
    )
    heading = heading.rstrip("\N{PILCROW SIGN}# ")
    # A <title> often ends with the site's name, a heading does not.
    own = heading if heading and (heading in named or not named) else named
    title = meta.get("og:title") or own
    page = Page(
        _canonical(tags["link"], base, url) or url,
        title,
        meta.get("description") or meta.get("og:description", ""),
        "",
        usable_images([(meta.get("og:image"), title)], base),
        language=next(filter(_LANGUAGE.fullmatch, languages), ""),
        author=line(author),
        date=date,
        moved_to=absolute(refresh[2], base) if refresh else "",
    )
    return page, base


def _signed(tree: HtmlElement, url: str, dates: list[str]) -> tuple[str, str]:
    """Return the author whom no reader sees, and the date, which may be one of ``dates``."""
    # trafilatura's own way to these, `extract_metadata`, takes twice as long for what nobody needs.
    from htmldate import find_date
    from trafilatura.metadata import examine_meta, extract_meta_json, extract_url

    for library in ("trafilatura", "htmldate"):  # which log what they could not find
        logging.getLogger(library).setLevel(logging.CRITICAL)
    said = examine_meta(tree)
    if " " not in (said.author or ""):
        said.author = None
    with suppress(Exception):  # whatever a page has for JSON
        said = extract_meta_json(tree, said)
    address = said.url or extract_url(tree, url)
    date: str | None = next(filter(None, map(_stated_date, dates)), "")
    date = date or find_date(tree, original_date=True, url=address, extensive_search=False)
    if not date:
        # Of a year alone, as in a copyright notice, htmldate makes its first day.
        guessed = find_date(tree, original_date=True, url=url) or ""
        date = "" if guessed.endswith("-01-01") else guessed
    if not date:  # htmldate knows no days of China, Japan and Korea
        days = (_stated_date(line(it.text_content())) for it in tree.xpath(_DATED))
        date = next(filter(None, days), "")
    return said.author or "", date


def _stated_date(text: str) -> str:
    """Return a date that is in a form that htmldate does not know."""
    if seconds := _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(seconds[1]), UTC).date().isoformat()
    for it in moments(text, ("ja",)) if _YEAR.search(text) else ():
        if it.year and it.month and it.day and _YEAR.search(it.written):
            return f"{it.year}-{it.month:02}-{it.day:02}"
    return ""


def attribute(tag: HtmlElement, name: str) -> str:
    """Return the value of an attribute; nothing where it is missing."""
    return str(tag.get(name, "")).strip()


def _canonical(links: list[HtmlElement], base: str, url: str) -> str:
    """Return the page's own address, which another site or a page's body cannot choose for it."""
    for link in links:
        in_head = next(link.iterancestors("body"), None) is None
        if in_head and "canonical" in attribute(link, "rel").lower().split():
            address = absolute(link.get("href"), base).partition("#")[0]
            hosts = [urlsplit(it).netloc.lower().removeprefix("www.") for it in (address, url)]
            is_home = urlsplit(address).path in ("", "/") and urlsplit(url).path not in ("", "/")
            return address if hosts[0] == hosts[1] and not is_home else ""
    return ""


def _author(found: str, written: list[str]) -> str:
    """Return the author as the page writes the name: without its initials' dots it is another's."""
    named = (_OF_ADDRESS.sub(r"\1", unescape(it)) for it in written if "://" not in it)
    names = [_AFTER_NAME.sub("", it) for it in named]
    names = [it for it in names if it and len(it) < 100]
    same = (it for it in names if _letters(it) == _letters(found))
    name = next(same, _OF_ADDRESS.sub(r"\1", unescape(found))) or next(iter(names), "")
    name = _BY.sub("", name)
    return "" if "://" in name or _letters(name) in _NO_AUTHORS else name


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _linked_author(objects: list[Mapping[str, Any]]) -> str:
    """Return the author in JSON-LD, also where it only refers to a person that stands elsewhere."""
    people = {str(it["@id"]): it for it in objects if "@id" in it and "name" in it}
    for it in objects:
        if names := [*_names(it.get("author") or it.get("creator"), people)]:
            return unescape(", ".join(names))
    return ""


def _names(value: object, people: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of a person, of each of a list, or of those who stand elsewhere."""
    if isinstance(value, list):
        for one in value:
            yield from _names(one, people) if not isinstance(one, list) else ()
    elif isinstance(value, Mapping):
        person = people.get(str(value.get("@id")), value)
        parts = [person.get(name) for name in ("givenName", "familyName")]
        whole = " ".join(it for it in parts if isinstance(it, str))
        name = person.get("name") or whole
        yield from _names(name, people) if not isinstance(name, Mapping) else ()
    elif isinstance(value, str) and value.strip():
        yield value.strip()


def _objects(data: object, depth: int = 20) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, of a graph, what a page is about, and ``data`` itself."""
    if isinstance(data, Mapping):
        yield data
        data = [data.get("@graph"), data.get("mainEntity")]
    if isinstance(data, list) and depth:
        for item in data:
            yield from _objects(item, depth - 1)
