"""What a model accepts of a chat request: which fields, how long a reply, and whether images.

No table of models stays right for long, so the refusal itself is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_ghost.errors import LLMStatusError
    from mcp_ghost.results import JSONObject

_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
# OpenRouter (404): "support image input"; llama.cpp (500): "image input is not supported";
# DeepSeek: "unknown variant `image_url`, expected `text`"; Groq: "content must be a string";
# and Mistral wants no user after a tool.
_OF_IMAGES = re.compile(
    r"image|mmproj|multimodal|vision|must be a string|role .?user.? after role .?tool", re.I
)
_MENTIONS = {
    # DeepSeek and Groq know no schemas. "Requested parameters" is what OpenRouter calls them when
    # no provider of the model knows any.
    "response_format": re.compile(r"response.?format|json.?schema|requested parameters", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "top_k": re.compile(r"top_k", re.I),
    "min_p": re.compile(r"min_p", re.I),
    "stream_options": re.compile(r"stream_options", re.I),
    # OpenAI streams some models only for organisations that it has verified.
    "stream": re.compile(r"\bstream\b(?!_)|streaming", re.I),
}
_LENGTHS = ("max_tokens", "max_completion_tokens")
"""The fields that say how long a reply may be."""
# Anthropic: "max_tokens: 64000 > 4096, which is the maximum"; OpenAI: "max_tokens is too large:
# 64000. This model supports at most 4096 completion tokens"; DeepSeek and others: "the valid range
# of max_tokens is [1, 8192]".
_LONGEST = re.compile(
    r"max_\w*tokens\W{1,4}\d{1,9} > (\d{1,9})|at most (\d{1,9}) (?:completion|output) tokens"
    r"|range of max_\w*tokens is \[\d{1,9}, (\d{1,9})\]"
)
# Anthropic, of models before 4.5: "input length and `max_tokens` exceed context limit: 150000 +
# 64000 > 200000".
_ROOM = re.compile(r"context limit: (\d{1,9}) \+ \d{1,9} > (\d{1,9})")
_LEAST_ROOM = 1024
"""Tokens for a reply; where there is less, the conversation has to become shorter."""


@dataclass
class Accepted:
    """What one model was found to accept."""

    without: frozenset[str] = frozenset()
    """The fields that it refused."""
    longest: int | None = None
    """The longest reply in tokens, once it has said so."""

    def of(self, payload: JSONObject) -> JSONObject:
        """As much of ``payload`` as the model accepts."""
        kept = {key: payload[key] for key in payload if key not in self.without}
        if "stream" in self.without:
            kept.pop("stream_options", None)
        for field in _LENGTHS:
            if field in kept and self.longest is not None:
                kept[field] = min(kept[field], self.longest)
        if "response_format" in self.without and "provider" in kept:
            # Or the demand that a provider must know all fields would still count this one.
            kept["provider"] = {**kept["provider"], "require_parameters": False}
        return kept

    def learn(self, payload: JSONObject, error: LLMStatusError) -> dict[str, str]:
        """Take in what ``error`` refuses of ``payload``: fields, and how they are sent from now on.

        Nothing where it is about something else.
        """
        if error.status not in _REFUSALS:
            return {}
        said = str(error)
        refused = {
            field for field, words in _MENTIONS.items() if field in payload and words.search(said)
        }
        self.without |= refused
        learned = {field: f"without {field}" for field in sorted(refused)}
        limit = _longest(said)
        for field in _LENGTHS if limit else ():
            if payload.get(field, 0) > limit:
                self.longest, learned[field] = limit, f"with {field} of at most {limit}"
        return learned


def refuses_images(error: LLMStatusError) -> bool:
    """Whether ``error``, which answers a request with images, is about these."""
    return error.status in _IMAGE_REFUSALS and _OF_IMAGES.search(str(error)) is not None


def _longest(said: str) -> int:
    """The number of tokens that ``said`` names as the most, or leaves room for; 0 for none."""
    if found := _LONGEST.search(said):
        return int(next(filter(None, found.groups())))
    if found := _ROOM.search(said):
        room = int(found[2]) - int(found[1])
        return room if room >= _LEAST_ROOM else 0
    return 0
