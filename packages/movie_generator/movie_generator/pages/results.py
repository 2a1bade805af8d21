"""The result of a tool: the words of a page in it, what it says about the page, what is wrong.

Scrapers wrap a page in objects of their own, report failures inside a successful result, or give
something else instead.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_ghost.media import media_in
from mcp_ghost.results import parsed
from mcp_ghost.tables import compiled, table
from mcp_ghost.text import one_line

_FIELDS = table("movie_generator", "pages/scrapers.toml")
_TEXTS, _STATUSES = _FIELDS["texts"], _FIELDS["statuses"]
_LONGEST_NOTICE = 700
"""Characters; what is longer is a page, whatever words it begins with."""
_LONGEST_LEAD = 100
"""Of words such as "Here is the page:" beside the page."""
_SAYS = compiled(table("movie_generator", "pages/notices.toml"))
"""What sites and tools say in place of a page."""
_STATUS_ALONE = re.compile(r"([45]\d\d)(?: [A-Z].{0,40})?")
_FENCED = re.compile(r"\s*```\w*\n(.*?)\n```\s*", re.DOTALL)
_DATA = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=]{200,}\s*")
_PATH = re.compile(
    r"(?:(?:file:/{1,3}|(?<![\w/:.])(?:~|\.{1,2})?/)(?:[\w.@~-]+/)*|\b[A-Z]:\\+(?:[^\s\\]+\\+)*"
    r"|(?<![\w/:.])\.?[\w-]+/)[\w.@~-]+\.[A-Za-z]\w{0,5}\b"
)
_IS_PATH = re.compile(rf"(?:\w{{1,20}}: ?)?(?:{_PATH.pattern})(?:\n\w+: \S+)*")
_MISREAD = re.compile(
    "[ÃÂâ][\x80-\xbf\u0152-\u0178\u2018-\u2022\u20ac\u2122]"
    "|ï¿½|锟斤拷|\\b[\u0430-\u044f][\u0410-\u042f]{2,}"
)
_CODECS = {"latin-1": 2, "cp1252": 2, "cp1251": 4, "cp932": 6, "gb18030": 6, "cp949": 6, "cp850": 4}
"""As which programs take UTF-8 if nobody tells them better; and how many characters show it."""


def page_text(value: object, address: str = "") -> str:
    """The words of a page in what a tool returned; of several pages, those of ``address``."""
    if isinstance(value, str):
        fenced = _FENCED.fullmatch(value)
        found = _json(fenced[1] if fenced else value)
        whole = mended(fenced[1] if fenced else value)
        return whole if found is None else page_text(found, address)
    if isinstance(value, Mapping):
        kind = value.get("type")
        if kind in ("image", "audio", "resource_link") or (kind == "resource" and "size" in value):
            return ""
        known = [page_text(value[key], address) for key in _TEXTS if key in value]
        text = next((it for it in known if it.strip()), "")
        return text if known else "\n".join(_labelled(value))
    if isinstance(value, list):
        ours = [it for it in value if address and _is_at(it, address)]
        texts = [page_text(it, address) for it in ours or value]
        wrapped = sum(len(it) for it, item in zip(texts, value, strict=False) if item is not it)
        if not ours and wrapped > _LONGEST_LEAD:  # what else is short only leads to it
            pairs = zip(texts, value, strict=True)
            texts = [it for it, item in pairs if item is not it or len(it) > _LONGEST_LEAD]
        return "\n\n".join(text for text in texts if text.strip())
    return "" if value is None else str(value)


def about_page(value: object, address: str = "") -> dict[str, Any]:
    """What a tool says of the page beside its words, such as ``title`` or ``ogImage``."""
    return dict(ChainMap(*map(dict, _objects(value, address))))


def fault(value: object, text: str, address: str = "") -> str:
    """Why ``text``, the words in what a tool returned, is not the page; empty if it may be."""
    said = one_line(text, 200)
    objects = [(it, _reason(it)) for it in _objects(value, address)]
    for found, reason in objects:
        statuses = (_STATUS_ALONE.fullmatch(str(found.get(key))) for key in _STATUSES)
        if status := next(filter(None, statuses), None):
            return f"the page answered {status[1]}" + (f" ({reason})" if reason else "")
    for found, reason in objects:
        state = str(found.get("status")).lower()
        failed = any(found.get(key) is it for key, it in _FIELDS["failures"].items())
        failed = failed or state in ("error", "failed", "failure")
        is_job = any(map(found.get, _FIELDS["jobs"]))
        unknown = found is value and not found.keys() & {*_TEXTS} and is_job
        undone = unknown or state in ("queued", "pending", "running", "processing")
        told = bool(reason) and reason not in (found.get("message"), found.get("warning"))
        if failed or ((undone or told) and len(text) < _LONGEST_NOTICE):
            return f"the tool failed: {reason or said or 'it does not say why'}"
    if warning := _SAYS["jina_warning"].search(text[:2000]):
        return f"the tool failed: {warning[1]}"
    if media_in(value) and (not text.strip() or _SAYS["image"].fullmatch(text)):
        return "it is an image or a sound, without any text"
    if not text.strip():
        return ""
    if is_garbled(text):
        return "its characters were read in a wrong encoding"
    if _DATA.fullmatch(text.strip()) or text.startswith("%PDF-"):
        return "it is a file's data, without any text"
    if len(text) > _LONGEST_NOTICE:
        return ""
    failed_by_network = _SAYS["failed"].match(text) and _SAYS["network"].search(text)
    notice = failed_by_network or (_SAYS["notice"].match(text) and not _is_titled(text))
    if notice or is_shell(text) or text.strip().lower() in _FIELDS["nothing"]:
        return f"it is only a notice: {said}"
    beside = len(_PATH.sub("", text))
    is_hint = beside < len(text) and beside < 400 and _SAYS["saved"].search(text)
    if is_hint or _IS_PATH.fullmatch(text.strip()):
        return f"it is the path of a file instead of its text: {said}"
    return ""


def _reason(found: Mapping[str, Any]) -> str:
    """What an object says of a failure, if there is one."""
    errors = [found[key] for key in _FIELDS["errors"] if isinstance(found.get(key), str)]
    errors += ["\n".join(_labelled(found.get(key))) for key in ("error", "errors")]
    return one_line(next((it for it in errors if it.strip()), ""), 200)


def _is_titled(text: str) -> bool:
    """Whether a text that begins as an error goes on as an article does."""
    title = _SAYS["titled"].match(text)
    if title is None or _SAYS["notice"].match(title[1]) or _SAYS["advice"].search(text):
        return False
    return len(re.findall(r"\w[.!?](?:\s|$)", text[title.end() :])) >= 3


def is_shell(text: str) -> bool:
    """Whether a text is what a page shows to programs without JavaScript."""
    return len(text) <= 300 and _SAYS["shell"].match(text) is not None


def sounds_passing(reason: str) -> bool:
    """Whether a tool's words about its failure suggest that it is temporary."""
    return _SAYS["passing"].search(reason) is not None


def mended(text: str) -> str:
    """``text``, as UTF-8 if it was taken for something else throughout."""
    if "\x1b$" in text:
        with suppress(UnicodeError):
            return text.encode("latin-1").decode("iso2022_jp")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    for encoding, fewest in _CODECS.items():
        with suppress(UnicodeError):
            if beyond >= fewest:
                return text.encode(encoding).decode("utf-8")
    return text


def is_garbled(text: str) -> bool:
    """Whether many of the characters can only come from a wrong encoding."""
    # Replacement characters and those of terminals show that at once. Beyond that, no language has
    # mostly letters between À and ÿ, and none puts "Ã" before signs. Two may be on any page.
    sample = text[:200_000]
    letters = sum(it.isalpha() for it in sample)
    unread = sum(it == "\N{REPLACEMENT CHARACTER}" or "\x80" <= it <= "\x9f" for it in sample)
    high = sum("\xa1" <= it <= "\xff" for it in sample)
    pairs = len(_MISREAD.findall(sample))
    total = max(letters, 20)
    return any(it > 2 and it * 100 > total for it in (unread, pairs)) or high * 2 > total


def _json(text: str) -> object:
    """What ``text`` is the JSON of, if that is an object, a list or a string with escapes."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    found = parsed(text)
    if found is None:  # perhaps it has a value on each line
        values = [parsed(it) for it in text.split("\n") if it.strip()]
        found = None if None in values else values
    return None if isinstance(found, str) and "\\" not in text else found


def _labelled(value: object, name: str = "") -> Iterator[str]:
    """The values of an object of an unknown form, each on a line with its name."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _labelled(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _labelled(item, name)
    elif value is not None and str(value).strip():
        yield f"{name}: {mended(str(value))}" if name else mended(str(value))


def _objects(value: object, address: str) -> Iterator[Mapping[str, Any]]:
    """The objects in which a tool tells of the page, from the outermost inwards."""
    if isinstance(value, str):
        value = _json(value)
    if isinstance(value, list):
        entries = [it for it in value if isinstance(it, Mapping | str)]
        ours = [it for it in entries if address and _is_at(it, address)]
        if len(entries) > 1:
            # Blocks of different kinds are of one page; several objects are several pages.
            entries = [it for it in entries if isinstance(it, Mapping) and not media_in(it)]
        for item in ours or (entries if len(entries) == 1 else ()):
            yield from _objects(item, address)
    if isinstance(value, Mapping):
        yield value
        for key in _FIELDS["holders"]:
            if isinstance(inner := value.get(key), Mapping | list | str) and inner:
                yield from _objects(inner, address)


def _is_at(value: object, address: str) -> bool:
    """Whether an object says that it is about ``address``."""
    if not isinstance(value, Mapping):
        return False
    named = (value.get(key) for key in _FIELDS["addresses"])
    return any(isinstance(it, str) and _plain(it) == _plain(address) for it in named)


def _plain(address: str) -> tuple[str, str, str]:
    """What tells one page from another, however its address is written."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return address, "", ""
    return parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), parts.query
