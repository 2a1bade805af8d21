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

_OF_HEADS = ["html", "base", "meta", "link", "title", "h1", "time", "script"]
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
    tags = _tags(soup)
    base = absolute(attribute(_first(tags["base"]), "href"), url) or url
    meta = _metadata(tags["meta"])
    linked = [*_linked_data(tags["script"])]
    canonical = [tag for tag in tags["link"] if "canonical" in tag.get_attribute_list("rel")]
    return Head(
        base=base,
        canonical=absolute(attribute(_first(canonical), "href"), base),
        title=_title(tags, meta),
        description=meta.get("description") or meta.get("og:description", ""),
        language=_language(tags, meta),
        author=_author(soup, meta, linked),
        date=_date(tags["time"], meta, linked),
        image=meta.get("og:image", ""),
        moved_to=_moved_to(meta, base),
    )


def _tags(soup: BeautifulSoup) -> Mapping[str, list[Tag]]:
    """What a head consists of, wherever it stands, from one look at the page."""
    found: dict[str, list[Tag]] = {name: [] for name in _OF_HEADS}
    for tag in soup.find_all(_OF_HEADS):
        found[tag.name].append(tag)
    return found


def _first(tags: list[Tag]) -> Tag | None:
    return tags[0] if tags else None


def _metadata(tags: list[Tag]) -> dict[str, str]:
    """The first that is said under each name; that of an HTTP header begins with "http:"."""
    said: dict[str, str] = {}
    for tag in tags:
        names = [attribute(tag, key).lower() for key in ("property", "name", "itemprop")]
        if header := attribute(tag, "http-equiv").lower():
            names.append(f"http:{header}")
        if content := line(attribute(tag, "content")):
            said |= {name: content for name in names if name and name not in said}
    return said


def attribute(tag: Tag | None, name: str) -> str:
    """The value of an attribute; nothing where it is missing."""
    value = tag.get(name) if tag is not None else None
    return value.strip() if isinstance(value, str) else ""


def _title(tags: Mapping[str, list[Tag]], meta: Mapping[str, str]) -> str:
    """The page's own: a <title> often ends with the site's name, which its heading does not."""
    if told := meta.get("og:title"):
        return told
    title = line(_text(_first(tags["title"])))
    heading = line(_text(_first(tags["h1"])).rstrip("\N{PILCROW SIGN}# "))
    return heading if heading and (heading in title or not title) else title


def _language(tags: Mapping[str, list[Tag]], meta: Mapping[str, str]) -> str:
    stated = attribute(_first(tags["html"]), "lang") or meta.get("http:content-language", "")
    return stated if _LANGUAGE.fullmatch(stated) else ""


def _author(soup: BeautifulSoup, meta: Mapping[str, str], linked: list[Mapping[str, Any]]) -> str:
    names = [meta.get(name, "") for name in ("author", "article:author", "dc.creator")]
    names += [", ".join(_names(it.get("author"))) for it in linked]
    if not any(names):
        names = [_text(soup.find(itemprop="author")), _text(soup.find(rel="author"))]
    return next((line(name) for name in names if name and "://" not in name), "")


def _names(author: object) -> Iterator[str]:
    """Of a person, an organisation, or several, as linked data has them."""
    for one in author if isinstance(author, list) else [author]:
        name = one.get("name") if isinstance(one, Mapping) else one
        if isinstance(name, str) and name.strip():
            yield name.strip()


def _date(times: list[Tag], meta: Mapping[str, str], linked: list[Mapping[str, Any]]) -> str:
    dates: list[object] = [
        meta.get(name)
        for name in ("article:published_time", "datepublished", "date", "dc.date", "pubdate")
    ]
    dates += [it.get("datePublished") for it in linked]
    dates += [attribute(it, "datetime") for it in times if it.get("itemprop") == "datePublished"]
    return next((day for day in map(_day, dates) if day), "")


def _day(text: object) -> str:
    try:
        return (
            datetime.fromisoformat(text.strip()).date().isoformat() if isinstance(text, str) else ""
        )
    except ValueError:
        return ""


def _linked_data(scripts: list[Tag]) -> Iterator[Mapping[str, Any]]:
    """The objects of JSON-LD that say who wrote something, or when."""
    for script in scripts:
        if script.get("type") != "application/ld+json":
            continue
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


def _moved_to(meta: Mapping[str, str], base: str) -> str:
    found = _REFRESH.match(meta.get("http:refresh", ""))
    if found is None or int(found[1]) > _LONGEST_PAUSE:
        return ""
    return absolute(found[2], base)


def _text(tag: Tag | None) -> str:
    return tag.get_text(" ", strip=True) if tag is not None else ""
