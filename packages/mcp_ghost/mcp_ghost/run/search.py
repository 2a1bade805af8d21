"""Many tools: the model gets one that finds the others, instead of all their schemas.

What is found is offered from then on, behind what was offered before, so that the head of the
request stays as it is. No model takes part in the search: it is BM25 over the tools' names,
descriptions and parameters.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import ToolCallResult, failure
from mcp_ghost.toolset import Call, Outcome, Toolset, Wrapper

FIND_TOOLS = "find_tools"
SEARCH_ABOVE = 20_000
"""Tokens of schemas, unless somebody says otherwise."""
FOUND_AT_MOST = 8
"""Tools that one search brings."""
_CHARACTERS_OF_TOKEN = 4
_SERVERS_AT_MOST = 30
"""That the finder's description names; OpenAI takes 1,024 characters of it."""
_NAME_COUNTS = 3
"""How many times a word in a name counts."""
_SATURATION, _LENGTH_MATTERS = 1.2, 0.75
"""BM25's k1 and b, as usual."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_DESCRIPTION = (
    "Find tools by what they do. {count} tools are available, but only those that you have found "
    "can be called. Search in a few words for what you want to do next, such as 'create an issue'; "
    "what is found can be called from your next reply on. Tools of each server: {servers}."
)


class ToolSearch:
    """Offers all tools, or those found where they exceed ``limit`` tokens or are over ``most``.

    Without a ``limit`` it offers all.
    """

    def __init__(
        self, limit: int | None, used: Iterable[str] = (), most: int | None = None
    ) -> None:
        """``used`` are tools that the conversation has called before."""
        self._limit = limit
        self._most = most
        self._found = dict.fromkeys(used)
        self._seen: list[ToolSchema] = []
        self._index: _Index | None = None

    @property
    def is_on(self) -> bool:
        """Whether there are too many tools to offer them all."""
        return self._index is not None

    def offered(self, tools: list[ToolSchema]) -> list[ToolSchema]:
        """Those of ``tools`` to offer now."""
        if tools != self._seen:
            size = sum(len(json.dumps(tool["function"])) for tool in tools)
            are_many = self._limit is not None and (
                size > self._limit * _CHARACTERS_OF_TOKEN
                or (self._most is not None and len(tools) > self._most)
            )
            self._seen = tools
            self._index = _Index(tools) if are_many else None
        if self._index is None:
            return tools
        known = self._index.tools
        found = [known[name] for name in self._found if name in known]
        return [self._index.finder, *found[1 - self._most if self._most else 0 :]]

    def find(self, arguments: Mapping[str, Any]) -> ToolCallResult:
        """The result of a call of the finder."""
        query = arguments.get("query")
        if self._index is None or not isinstance(query, str) or not query.strip():
            return failure("Give 'query': a few words about what the tool should do.")
        found = self._index.best(query)
        self._found |= dict.fromkeys(tool["function"]["name"] for tool in found)
        if not found:
            return ToolCallResult("No tool fits these words. Try others.")
        listed = {it["function"]["name"]: it["function"].get("description") or "" for it in found}
        return ToolCallResult({"found": listed, "note": "These can be called now."})


class Searching(Wrapper):
    """The tools of ``inner``, and the one that finds tools where there are too many."""

    def __init__(self, inner: Toolset, search: ToolSearch) -> None:
        super().__init__(inner)
        self._search = search

    async def call(self, call: Call) -> Outcome:
        if call.name == FIND_TOOLS and self._search.is_on:
            return Outcome.of(self._search.find(call.arguments))
        return await self.inner.call(call)


class _Index:
    """The words of all tools."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self.tools = {tool["function"]["name"]: tool for tool in tools}
        counts = Counter(name.partition(".")[0] for name in self.tools)
        listed = [f"{name[:40]} {count}" for name, count in counts.most_common(_SERVERS_AT_MOST)]
        if more := len(counts) - len(listed):
            listed.append(f"and {more} more servers")
        query = {"type": "string", "description": "What the tool should do, in a few words."}
        parameters = {"type": "object", "properties": {"query": query}, "required": ["query"]}
        description = _DESCRIPTION.format(count=len(self.tools), servers=", ".join(listed))
        function = {"name": FIND_TOOLS, "description": description, "parameters": parameters}
        self.finder: ToolSchema = {"type": "function", "function": function}
        self._words = {name: Counter(_words_of(tool)) for name, tool in self.tools.items()}
        self._lengths = {name: words.total() for name, words in self._words.items()}
        self._mean = sum(self._lengths.values()) / max(len(tools), 1)

    def best(self, query: str) -> list[ToolSchema]:
        """The tools that fit best, the best one first."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in dict.fromkeys(_words(query)):
            counts = {name: words[word] for name, words in self._words.items() if word in words}
            rarity = math.log(1 + (len(self.tools) - len(counts) + 0.5) / (len(counts) + 0.5))
            for name, count in counts.items():
                length = 1 - _LENGTH_MATTERS + _LENGTH_MATTERS * self._lengths[name] / self._mean
                weight = (_SATURATION + 1) / (count + _SATURATION * length)
                scores[name] += rarity * count * weight
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        return [self.tools[name] for name in best[:FOUND_AT_MOST]]


def _words_of(tool: ToolSchema) -> Iterator[str]:
    function = tool["function"]
    yield from [*_words(function["name"])] * _NAME_COUNTS
    yield from _words(function.get("description") or "")
    properties = (function.get("parameters") or {}).get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        yield from _words(str(name))
        if isinstance(schema, dict):
            yield from _words(str(schema.get("description") or ""))


def _words(text: str) -> Iterator[str]:
    """The words of a text or a name (camelCase, snake_case), without their plural."""
    for found in _WORD.findall(text):
        word = found.lower()
        yield word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
