"""What the agent's tools gave: kept as it came, so that no model retells the page.

The agent decides which results are the page. Their text is joined here. A tool that gives a page in
parts, or its HTML as well as its text, is asked for all of it at once, and the agent is shown what
it asked for.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_ghost.media import in_words
from mcp_ghost.results import ToolCallResult
from mcp_ghost.text import address, one_line
from mcp_ghost.toolset import Call, Kind, Outcome, Toolset, Wrapper
from movie_generator.answers import json_object
from movie_generator.errors import AgentError, PageError
from movie_generator.pages.markup import page_from_html
from movie_generator.pages.page import Page, heading, line, markdown_images, tidy, usable_images
from movie_generator.pages.results import about_page, fault, is_garbled, page_text, sounds_passing
from movie_generator.pages.tool_guard import texts
from movie_generator.settings import Limits

# As mcp-server-fetch calls them.
_START, _LENGTH, _RAW = "start_index", "max_length", "raw"
_USUAL_LENGTH = 5_000
"""Characters that it gives if it is not asked for more."""
# What mcp-server-fetch puts before, and after, the text of a page.
_PREAMBLE = re.compile(r"\A(?:Content type [^\n]*\n)?Contents of \S+:\n")
_REMARK = re.compile(r"\n{0,2}<error>([^<]*)</error>\s*\Z")
_HTML = re.compile(
    r"\s*<(?:!doctype html|(?:html|head|body|main|article|section|div|p)[\s>])", re.IGNORECASE
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_HTML = 10_000_000
"""Characters of a page's source."""


@dataclass(frozen=True)
class Reading:
    """One result."""

    tool: str
    arguments: dict[str, Any]
    content: object

    @property
    def source(self) -> str:
        """The first URL among the arguments, if there is one."""
        named = (text.strip() for _, text, _ in texts("", self.arguments))
        return next((it for it in named if re.match("https?:", it, re.IGNORECASE)), "")

    @property
    def whole(self) -> tuple[str, str]:
        """What all parts of one text have in common."""
        rest = {key: value for key, value in self.arguments.items() if key not in (_START, _LENGTH)}
        return self.tool, json.dumps(rest, sort_keys=True, default=str)

    @property
    def start(self) -> int:
        """Where in the whole text this part begins."""
        start = self.arguments.get(_START)
        return start if isinstance(start, int) else 0

    @cached_property
    def text(self) -> str:
        """The page's words."""
        return _REMARK.sub("", self._raw)

    @cached_property
    def fault(self) -> str:
        """Why this is not the page; empty if it may be."""
        text = self.page.text if self.page else self.text
        return fault(self.content, text, self.source)

    @property
    def next_start(self) -> int | None:
        """Where the next part begins, where the tool says that there is one."""
        remark = _REMARK.search(self._raw)
        following = re.search(r"start_index of (\d+)", remark[1]) if remark else None
        return int(following[1]) if following else None

    @cached_property
    def page(self) -> Page | None:
        """What the text says as a page, if it is HTML."""
        return page_from_html(self.text, self.source) if _HTML.match(self.text) else None

    @cached_property
    def _raw(self) -> str:
        return _PREAMBLE.sub("", page_text(self.content, self.source))


class RecordingTools(Wrapper):
    """The tools of ``inner``, whose results are kept, and numbered for the agent."""

    def __init__(self, inner: Toolset, limits: Limits, told: Callable[[str], None]) -> None:
        super().__init__(inner)
        self.limits = limits
        self.readings: list[Reading] = []
        self.was_garbled = False
        """Whether a tool read a page in a wrong encoding."""
        self._told = told
        self._reasons: dict[str, str] = {}

    async def call(self, call: Call) -> Outcome:
        """Make a call of the agent for all of a page; it is told if the result is not the page."""
        asked = Reading(call.name, call.arguments, None)
        rest = {key: it for key, it in call.arguments.items() if key not in (_START, _LENGTH)}
        has_length = self.takes(call.name, _LENGTH)
        ways = [call.arguments]
        if has_length and self.takes(call.name, _START):
            ways = [{**rest, _LENGTH: self.limits.page_characters}]
        if self.takes(call.name, _RAW) and asked.source:
            # The page's source comes first; mcp-server-fetch gives no more of it at a time.
            ways.insert(0, {**rest, _RAW: True} | ({_LENGTH: 999_999} if has_length else {}))
        for arguments in ways:
            reading = await self._read(call.name, arguments)
            if not isinstance(reading, Reading) or reading.page is not None:
                break
        if not isinstance(reading, Reading):
            return reading
        self.readings.append(reading)
        content = in_words(reading.content)
        if reading.arguments != call.arguments:  # the agent is shown as much as it asked for
            length = call.arguments.get(_LENGTH)
            end = asked.start + (length if isinstance(length, int) else _USUAL_LENGTH)
            page = reading.page
            text = f"{page.title}\n\n{page.text}" if page else reading.text
            left = f"\n[{len(text) - end:,} more characters, which the program has]"
            content = text[asked.start : end] + (left if len(text) > end else "")
        return Outcome.of(ToolCallResult({"result": len(self.readings), "content": content}))

    async def _read(self, tool: str, arguments: dict[str, Any]) -> Reading | Outcome:
        """What a call gives, or gave before; else why it is not the page."""
        if _LENGTH in arguments:  # other tools may give something else each time
            for known in self.readings:
                if (known.tool, known.arguments) == (tool, arguments):
                    return known
        outcome = await self.read(tool, arguments)
        if outcome.kind is not Kind.OK:
            return outcome
        reading = Reading(tool, arguments, outcome.result.content)
        why = await asyncio.to_thread(getattr, reading, "fault")
        if not why:
            return reading
        self._reasons[tool] = why
        self.was_garbled |= is_garbled(reading.page.text if reading.page else reading.text)
        self._told(f"{tool} did not return the page: {why}")
        reason = f"This is not the page: {why}. Try another tool, or another address."
        return Outcome.without_result(Kind.FAILED, reason)

    async def read(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """What a tool gives, which the agent is not told."""
        self._told(f"{name} {one_line(json.dumps(arguments, ensure_ascii=False), 160)}")
        outcome = await self.inner.call(Call(name, arguments, timeout=self.limits.page_timeout))
        if outcome.kind is not Kind.OK:
            late = f"it timed out after {self.limits.page_timeout:g} s"
            self._reasons[name] = late if outcome.kind is Kind.TIMEOUT else outcome.reason
        return outcome

    def explained(self, error: AgentError | PageError) -> AgentError | PageError:
        """``error`` with the reasons of the tools that failed."""
        reasons = [f"{name}: {one_line(said, 300)}" for name, said in self._reasons.items()]
        told = f" Tools that failed: {'; '.join(reasons)}" if reasons else ""
        explained = type(error)(f"{error}{told}")
        explained.starts_over = True  # what was said so far led to it
        explained.passes = error.passes or any(map(sounds_passing, self._reasons.values()))
        return explained

    def takes(self, name: str, argument: str) -> bool:
        """Whether the tool ``name`` has an argument of that name."""
        tool = self.tools.get(name)
        return bool(tool and argument in tool.schema["function"]["parameters"]["properties"])


async def assemble(url: str, tools: RecordingTools, answer: str) -> Page:
    """The page at ``url`` from what was read; not much more of it than the limits allow.

    Raises:
        PageError: Nothing was read.
    """
    said = json_object(answer, "results") or {}  # nothing, if the agent answers something else
    said_title, said_description = line(said.get("title")), line(said.get("description"))
    texts: list[str] = []
    notes: list[str] = []
    pages: list[Page] = []
    chosen = _chosen(tools.readings, said.get("results"), url)
    for first in {reading.whole: reading for reading in chosen}.values():
        room = _MOST_HTML if first.page else tools.limits.page_characters - sum(map(len, texts))
        text, note = await _complete(first, tools, room)
        if page := first.page:
            if text != first.text:
                page = await asyncio.to_thread(page_from_html, text, first.source or url)
            pages.append(page)
            text = page.text
        texts.append(text)
        notes += [note] if note else []
    text = tidy("\n\n".join(text for text in texts if text.strip()))
    if not text:
        words = one_line(answer) or "nothing"
        raise PageError(f"The agent read nothing from {address(url)}. It said: {words}")
    facts = [about_page(reading.content, reading.source) for reading in chosen]
    source = pages[0] if pages else Page("", "", "", "")
    own_title = _fact(facts, "title", "ogTitle", "og:title") or source.title
    own_description = _fact(facts, "description", "ogDescription", "og:description")
    own_description = own_description or source.description
    title = own_title or said_title or heading(text) or address(url)
    leading = _fact(facts, "ogImage", "og:image")
    found = [(leading, title), *markdown_images(text)]
    found += [(image.url, image.alt) for image in source.images]
    images = usable_images(found, chosen[0].source or url)
    day = _DAY.match(_fact(facts, "publishedTime", "publishedDate", "published_time", "date"))
    return Page(
        source.url or url,
        title,
        own_description or said_description,
        text,
        images,
        tuple(notes),
        hearsay=tuple(sorted({said_title, said_description} - {own_title, own_description})),
        language=source.language or _fact(facts, "language", "languageCode"),
        author=source.author or _fact(facts, "author"),
        date=source.date or (day[0] if day else ""),
    )


def _chosen(readings: list[Reading], numbers: object, url: str) -> list[Reading]:
    """The results that are the page, as the agent says or else as their arguments do."""
    filled = [reading for reading in readings if reading.text.strip()]
    numbers = [n for n in numbers if type(n) is int] if isinstance(numbers, list) else None
    if numbers == []:
        return []
    named = [readings[n - 1] for n in numbers or () if 0 < n <= len(readings)]
    from_page = [reading for reading in filled if reading.source == url]
    # What was tried last is what the agent was content with.
    last = [reading for reading in from_page if reading.whole == from_page[-1].whole]
    for choice in (named, last, [reading for reading in filled if reading.source]):
        if any(reading.text.strip() for reading in choice):
            return choice
    return filled


async def _complete(first: Reading, tools: RecordingTools, room: int) -> tuple[str, str]:
    """The whole text that ``first`` is a part of, and a note on what is missing."""
    if not tools.takes(first.tool, _START):
        return first.text, ""
    known = {r.start: r for r in tools.readings if r.whole == first.whole}
    texts: list[str] = []
    start: int | None = 0
    while start is not None and sum(map(len, texts)) < room and len(texts) < 200:
        part = known.get(start)
        if part is None:  # the agent did not ask for it
            arguments = {**first.arguments, _START: start}
            outcome = await tools.read(first.tool, arguments)
            part = Reading(first.tool, arguments, outcome.result.content)
            why = part.fault if outcome.kind is Kind.OK else one_line(outcome.reason)
            if outcome.kind is Kind.TIMEOUT:
                why = "the tool did not answer in time"
            if why:
                return "".join(texts), f"The text from character {start:,} on is missing: {why}"
        texts.append(part.text)
        following = part.next_start
        start = following if following is not None and following > start else None
    note = "" if start is None else f"The text from character {start:,} on was left out."
    return "".join(texts), note


def _fact(facts: list[dict[str, Any]], *names: str) -> str:
    values = (line(fact.get(name)) for fact in facts for name in names)
    return next((value for value in values if value), "")
