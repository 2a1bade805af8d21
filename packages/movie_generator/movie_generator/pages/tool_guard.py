"""The guard of an agent's tools: no call goes out that names what is not a public web address.

A page may try to lead the agent to addresses that only this machine can reach, or to its files.
Which arguments are addresses, their names and the tool's schema tell. In all others, what a URL
parser, a browser or a shell might take for an address is checked: a scheme, a host with a port, an
IP address in any notation.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import socket
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from mcp_ghost.errors import UrlRefusedError, UrlUnresolvedError
from mcp_ghost.guard import Range, check_url, checked_addresses
from mcp_ghost.text import one_line
from mcp_ghost.toolset import Call, Kind, Outcome, Toolset, Wrapper
from movie_generator.pages.robots import Robots, RobotsRefusedError, RobotsUnknownError

Schema: TypeAlias = Mapping[str, Any]

_MOST_HOSTS: Final = 100
"""That the arguments of one call may name; each is looked up."""
_FORMATS: Final = frozenset({"uri", "url", "iri", "uri-reference", "iri-reference"})
_HOST_NAMES: Final = frozenset({"host", "hostname", "ip", "domain", "endpoint", "href", "website"})
_UNSEEN: Final = re.compile(
    r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_GAP: Final = r"[\t\r\n]*"
"""What URL parsers leave out, wherever it stands (https://url.spec.whatwg.org/#url-parsing)."""
_START: Final = r"(?<![A-Za-z0-9+.-])"
_WEB: Final = rf"(?:{_START}{_GAP.join('http')}{_GAP}s?{_GAP}:|https?:(?=[/\\]))"
_ELSEWHERE: Final = re.compile(
    rf"{_START}(?:"
    rf"(?:{'|'.join(map(_GAP.join, ('file', 'javascript', 'vbscript', 'view-source')))})"
    rf"{_GAP}:[\w./\\%~]"
    rf"|(?:ftp|wss?){_GAP}:{_GAP}[/\\]"
    r"|data:[a-z]+/"
    r"|[a-z][a-z0-9+.-]+(?<!http)(?<!https)://)",
    re.IGNORECASE,
)
_INSIDE: Final = r"[^\s\"'<>`{}|^]"
_LONGEST_AUTHORITY: Final = 300
_WEB_URL: Final = re.compile(
    rf"{_WEB}(?=(?P<near>[/\\]*{_INSIDE}{{0,{_LONGEST_AUTHORITY}}}))"
    rf"(?=(?P<far>(?:{_GAP}[/\\])*(?:{_GAP}{_INSIDE}){{0,{_LONGEST_AUTHORITY}}}))",
    re.IGNORECASE,
)
_WHOLE_WEB_URL: Final = re.compile(rf"{_WEB}{_INSIDE}*", re.IGNORECASE)
_HOST: Final = re.compile(r"\[(?P<v6>[0-9A-Fa-f:.]+)(?:%[^]]*)?]|(?P<name>[\w-]+(?:\.[\w-]+)*)")
_HOST_AND_PORT: Final = re.compile(
    r"(?<![\w.:-])(?P<host>[\w-]+(?:\.[\w-]+)*):[1-9]\d{0,4}(?!\w|[.:]\d)"
)
_LOCAL: Final = re.compile(
    r"(?<![\w.-])(?:(?:[\w-]+\.)*localhost|(?:[\w-]+\.)+(?:local|internal|lan|home\.arpa))(?=[/\\])",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?:0x[0-9a-f]+|\d+)"
_NUMBERS: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})*", re.IGNORECASE)
_SHORT_FORM: Final = re.compile(
    r"127\.|192\.168\.|169\.254\.|0x[0-9a-f]+\.|0x[0-9a-f]{7,8}\b|0[0-7]{2,}\.|0[0-7]{9,}\b",
    re.IGNORECASE,
)
"""How an address of fewer than four numbers begins that is no version, time or date."""
_V4: Final = re.compile(
    rf"(?<![\w.:-])(?<![a-z]/){_NUMBER}(?:\.{_NUMBER}){{3}}(?!\w|\.\w|-\w)", re.IGNORECASE
)
"""Not so the version of a product, as in ``Chrome/127.0.0.0``."""
_V6: Final = re.compile(
    r"(?<![\w:.)\]])(?P<open>\[)?(?P<v6>[0-9a-f:]{2,39}(?:\.\d{1,3}){0,3})(?![\w:])",
    re.IGNORECASE,
)


class GuardedTools(Wrapper):
    """The tools of ``inner``, which are not called for addresses where nothing may be read."""

    def __init__(self, inner: Toolset, robots: Robots, told: Callable[[str], None]) -> None:
        super().__init__(inner)
        self._robots = robots
        self._told = told

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`."""
        try:
            await self._check(call)
        except (UrlRefusedError, RobotsRefusedError) as error:
            return Outcome.without_result(Kind.FAILED, str(error))
        return await self.inner.call(call)

    async def _check(self, call: Call) -> None:
        tool = self.tools.get(call.name)
        schema: Schema = tool.schema["function"]["parameters"] if tool else {}
        hosts: set[str] = set()
        for name, text, is_url in texts("", call.arguments, [schema], schema):
            if is_url or re.fullmatch(r"\s*https?:\S+\s*", text, re.IGNORECASE):
                try:
                    await check_url(text.strip(), self._robots.policy)
                    await self._robots.check(text.strip())
                except UrlUnresolvedError:
                    pass  # nothing private; the tool may have other means
                except RobotsUnknownError as error:
                    self._told(f"{error} It is left to the agent's tools.")
            if not is_url:
                hosts |= named_hosts(text, is_host=_last_word(name) in _HOST_NAMES)
        if len(hosts) > _MOST_HOSTS:
            raise UrlRefusedError(f"The arguments name more than {_MOST_HOSTS} hosts.")
        checks = (checked_addresses(host, None, self._robots.policy) for host in hosts)
        for found in await asyncio.gather(*checks, return_exceptions=True):
            if isinstance(found, BaseException) and not isinstance(found, UrlUnresolvedError):
                raise found


def named_hosts(text: str, *, is_host: bool = False) -> set[str]:
    """Every host that a program might read in ``text``, as it goes to the resolver.

    The text is words, code, JSON, or an address; all of it should be one if it ``is_host``.

    Raises:
        UrlRefusedError: Something in it leads elsewhere than to a web address.
    """
    found: set[str] = set()
    seen = _UNSEEN.sub("", text)
    for reading in {seen, html.unescape(unquote(seen))}:
        if match := _ELSEWHERE.search(reading):
            shown = f"'{one_line(reading[match.start() :], 60)}'"
            raise UrlRefusedError(f"{shown} is not a public web address, and no tool is given it.")
        for url in _WEB_URL.finditer(reading):
            for authority in {url["near"], re.sub(_GAP, "", url["far"])}:
                found |= {*_hosts_in(authority)}
        rest = _WHOLE_WEB_URL.sub(" ", reading).strip()
        found |= {*_hosts_without_scheme(rest, is_host=is_host)}
    if text.lstrip()[:1] in {"{", "[", '"'}:
        with suppress(ValueError, RecursionError):
            for name, inner, _ in texts("", json.loads(text)):
                found |= named_hosts(inner, is_host=_last_word(name) in _HOST_NAMES)
    return found


def _hosts_in(authority: str) -> Iterator[str]:
    """What programs read as the host, of which some take a backslash for a slash."""
    for end in (r"[/?#\\]", r"[/?#]"):
        written = re.split(end, authority.lstrip("/\\"))[0]
        if len(written) >= _LONGEST_AUTHORITY:
            raise UrlRefusedError(f"The host in {one_line(written, 60)} is too long.")
        host = written.rpartition("@")[2]
        host = unicodedata.normalize("NFKC", unquote(host)).replace("\u3002", ".")
        if match := _HOST.match(host):
            yield match["v6"] or match["name"]


def _hosts_without_scheme(text: str, *, is_host: bool) -> Iterator[str]:
    is_word = re.search(r"\s", text) is None
    is_short = _SHORT_FORM.match(text) is not None and _NUMBERS.match(text) is not None
    begins_as_host = re.match(r"[\w\[]" if is_host or is_short else r"[/\\]{2}[\w\[]", text)
    if is_word and begins_as_host:
        yield from _hosts_in(text)
    for match in _HOST_AND_PORT.finditer(text):
        host = match["host"]
        if _NUMBERS.fullmatch(host):
            is_large = host.isdecimal() and len(host) < 12 and int(host) >= 2**24
            if is_large or (_SHORT_FORM.match(host) and host.count(".") < 3):
                yield host
        elif "." in host or host.lower() == "localhost" or (is_word and match.start() == 0):
            yield host
    yield from (match[0] for match in _LOCAL.finditer(text))
    for match in _V4.finditer(text):
        with suppress(OSError):
            address = IPv4Address(socket.inet_aton(match[0]))
            if 0 < address.packed[0] < 224 or int(address) == 0:  # others are masks and versions
                yield str(address)
    for match in _V6.finditer(text):
        with suppress(ValueError):
            v6 = IPv6Address(match["v6"])
            is_inside = v6.is_link_local or Range.of(v6) in (Range.MACHINE, Range.NETWORK)
            # Programs have names between colons, too.
            if match["open"] or v6.ipv4_mapped or (is_inside and int(v6) > 0):
                yield str(v6)


def texts(
    name: str, value: object, schemas: Iterable[object] = (), root: Schema | None = None
) -> Iterator[tuple[str, str, bool]]:
    """Every text in ``value``, the name of its argument, and whether it has to be a URL."""
    kinds = [*_alternatives(schemas, root or {})]
    if isinstance(value, str):
        says_so = _last_word(name) == "url" or any(it.get("format") in _FORMATS for it in kinds)
        yield name, value, says_so and bool(value.strip())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield "", str(key), False
            inner = [_get(it.get("properties"), key) for it in kinds]
            others = [it.get("additionalProperties") for it in kinds]
            yield from texts(str(key), item, inner + others, root)
    elif isinstance(value, list):
        items = [it.get("items") for it in kinds]
        for item in value:
            yield from texts(name, item, items, root)


def _alternatives(schemas: Iterable[object], root: Schema) -> Iterator[Schema]:
    """``schemas`` and those of which they are made, each once."""
    left, seen = [*schemas], set[int]()
    while left:
        schema = left.pop()
        if isinstance(schema, Mapping) and id(schema) not in seen:
            seen.add(id(schema))
            yield schema
            for word in ("anyOf", "oneOf", "allOf"):
                members = schema.get(word)
                left += members if isinstance(members, list) else []
            named: object = root if "$ref" in schema else None
            for key in str(schema.get("$ref")).removeprefix("#/").split("/"):
                named = _get(named, key)
            left.append(named)


def _get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _last_word(name: str) -> str:
    """What the name of an argument says it is; ``url`` for all that are URLs."""
    words = [word.lower() for word in re.findall(r"UR[LI]s?|[A-Z]?[a-z]+|[A-Z]+", name)]
    while words and words[-1] in {"list", "array", "string", "value"}:
        words.pop()
    last = words[-1] if words else ""
    return "url" if re.search(r"ur[li]s?$", last) and last != "curl" else last
