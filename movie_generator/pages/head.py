"""What a page's head says about it: nothing is guessed from its text or its address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from movie_generator.pages.page import absolute, line

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_REFRESH = re.compile(
    r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*['\"]?([^'\"]+)", re.IGNORECASE
)
_LONGEST_PAUSE = 10
"""Seconds; a page that sends its readers on later than that is meant to be read."""
_MOST_NESTED = 20


@dataclass(frozen=True)
class Head:
    """What is said; empty where nothing is."""

    base: str
    """What relative addresses are relative to."""
    canonical: str
    title: str
    description: str
    language: str
    author: str
    date: str
    image: str
    moved_to: str


def head_of(soup: BeautifulSoup, url: str) -> Head:
    """The head of the page at ``url``."""
    base = absolute(attribute(soup.find("base"), "href"), url) or url
    linked = [*_linked_data(soup)]
    return Head(
        base=base,
        canonical=absolute(attribute(soup.find("link", rel="canonical"), "href"), base),
        title=_title(soup),
        description=_meta(soup, "description", "og:description"),
        language=_language(soup),
        author=_author(soup, linked),
        date=_date(soup, linked),
        image=_meta(soup, "og:image"),
        moved_to=_moved_to(soup, base),
    )


def attribute(tag: Tag | None, name: str) -> str:
    """The value of an attribute; nothing where it is missing."""
    value = tag.get(name) if tag is not None else None
    return value.strip() if isinstance(value, str) else ""


def _title(soup: BeautifulSoup) -> str:
    """The page's own: a <title> often ends with the site's name, which its heading does not."""
    if told := _meta(soup, "og:title"):
        return told
    title = line(_text(soup.find("title")))
    heading = line(_text(soup.find("h1")).rstrip("\N{PILCROW SIGN}# "))
    return heading if heading and (heading in title or not title) else title


def _meta(soup: BeautifulSoup, *names: str) -> str:
    """The first of these that the page has."""
    for name in names:
        for key in ("property", "name", "itemprop"):
            if content := attribute(soup.find("meta", attrs={key: name}), "content"):
                return line(content)
    return ""


def _language(soup: BeautifulSoup) -> str:
    stated = attribute(soup.find("html"), "lang")
    http = soup.find("meta", attrs={"http-equiv": re.compile("^content-language$", re.IGNORECASE)})
    found = _LANGUAGE.fullmatch(stated or attribute(http, "content"))
    return found[0] if found else ""


def _author(soup: BeautifulSoup, linked: list[Mapping[str, Any]]) -> str:
    names = [_meta(soup, name) for name in ("author", "article:author", "dc.creator")]
    names += [", ".join(_names(it.get("author"))) for it in linked]
    names += [_text(soup.find(itemprop="author")), _text(soup.find(rel="author"))]
    return next((line(name) for name in names if name and "://" not in name), "")


def _names(author: object) -> Iterator[str]:
    """Of a person, an organisation, or several, as linked data has them."""
    for one in author if isinstance(author, list) else [author]:
        name = one.get("name") if isinstance(one, Mapping) else one
        if isinstance(name, str) and name.strip():
            yield name.strip()


def _date(soup: BeautifulSoup, linked: list[Mapping[str, Any]]) -> str:
    dates: list[object] = [
        _meta(soup, name)
        for name in ("article:published_time", "datePublished", "date", "dc.date", "pubdate")
    ]
    dates += [it.get("datePublished") for it in linked]
    dates.append(attribute(soup.find("time", attrs={"itemprop": "datePublished"}), "datetime"))
    return next((day for day in map(_day, dates) if day), "")


def _day(text: object) -> str:
    try:
        return (
            datetime.fromisoformat(text.strip()).date().isoformat() if isinstance(text, str) else ""
        )
    except ValueError:
        return ""


def _linked_data(soup: BeautifulSoup) -> Iterator[Mapping[str, Any]]:
    """The objects of JSON-LD that say who wrote something, or when."""
    for script in soup.find_all("script", type="application/ld+json"):
        try:
            data = json.loads(script.get_text())
        except (ValueError, RecursionError):
            continue
        yield from (
            it for it in _objects(data, _MOST_NESTED) if it.keys() & {"author", "datePublished"}
        )


def _objects(data: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """Those of a list, of a graph, and ``data`` itself."""
    if isinstance(data, Mapping):
        yield data
        data = data.get("@graph")
    if isinstance(data, list) and depth:
        for item in data:
            yield from _objects(item, depth - 1)


def _moved_to(soup: BeautifulSoup, base: str) -> str:
    tag = soup.find("meta", attrs={"http-equiv": re.compile("^refresh$", re.IGNORECASE)})
    found = _REFRESH.match(attribute(tag, "content"))
    if found is None or int(found[1]) > _LONGEST_PAUSE:
        return ""
    return absolute(found[2], base)


def _text(tag: Tag | None) -> str:
    return tag.get_text(" ", strip=True) if tag is not None else ""
