"""What a model accepts of a chat request: which fields, how long a reply, and whether images.

No table of models stays right for long, so the refusal itself is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_ghost.errors import LLMStatusError
    from mcp_ghost.providers.common import Wire
    from mcp_ghost.results import JSONObject

_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
# OpenRouter (404): "support image input"; llama.cpp (500): "image input is not supported";
# DeepSeek: "unknown variant `image_url`, expected `text`"; Groq: "content must be a string";
# llama.cpp of results (400): "should be 'Input text'"; and Mistral wants no user after a tool.
_OF_IMAGES = re.compile(
    r"image|mmproj|multimodal|vision|must be a string|should be .input text"
    r"|role .?user.? after role .?tool",
    re.I,
)
# OpenAI: "The encrypted content gAAA... could not be verified", "Item 'rs_1' of type 'reasoning'
# was provided without its required following item", "Item with id 'rs_1' not found"; Anthropic:
# "Invalid `signature` in `thinking` block".
_OF_STATE = re.compile(
    r"encrypted.content.*(?:verif|decrypt|pars)|without its required|item with id \S+ not found"
    r"|invalid .signature",
    re.I,
)
_MENTIONS = {
    # DeepSeek and Groq know no schemas. "Requested parameters" is what OpenRouter calls them when
    # no provider of the model knows any.
    "response_format": re.compile(r"response.?format|json.?schema|requested parameters", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "top_k": re.compile(r"top_k", re.I),
    "min_p": re.compile(r"min_p", re.I),
    "include": re.compile(r"encrypted.?content (?:is )?not supported|\binclude\b", re.I),
    # OpenAI shows what some models thought only to organisations that it has verified.
    "reasoning.summary": re.compile(r"reasoning.summar", re.I),
    "stream_options": re.compile(r"stream_options", re.I),
    # OpenAI streams some models only for organisations that it has verified.
    "stream": re.compile(r"\bstream\b(?!_)|streaming", re.I),
}
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
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
# OpenAI: "To use function tools, use /v1/responses", "only supported in v1/responses", "This is not
# a chat model and thus not supported in the v1/chat/completions endpoint"; Copilot: "is not
# accessible via the /chat/completions endpoint"; Azure: "The chatCompletion operation does not work
# with the specified model".
_NOT_CHAT = re.compile(
    r"/responses\b|responses (?:api|endpoint)|chatcompletion operation does not work"
    r"|not (?:a chat model|supported in the v1/chat|accessible via the /chat)",
    re.I,
)
# OpenAI: "is not supported with the Responses API"; others: "use /v1/chat/completions instead".
_NOT_RESPONSES = re.compile(
    r"chat/completions|not support\w*[^.]{0,40}\b(?:responses api|/responses\b)"
    r"|responses api[^.]{0,20} not |unknown (?:request )?url",
    re.I,
)
_NONE = re.compile(r"set reasoning_effort to .?none", re.I)
_NO_SUCH_ADDRESS = frozenset({404, 405, 501})
_OF_MODEL = re.compile(r"model|deployment", re.I)
_LEAST_ROOM = 1024
"""Tokens for a reply; where there is less, the conversation has to become shorter."""


@dataclass
class Accepted:
    """What one model was found to accept."""

    without: frozenset[str] = frozenset()
    """The fields that it refused."""
    longest: int | None = None
    """The longest reply in tokens, once it has said so."""
    wire: Wire | None = None
    """The one that its refusal of the other named."""
    left: frozenset[Wire] = frozenset()
    """Those that it refused."""
    thinks_with_tools: bool = True
    """Whether chat completions take tools for it unless it is told not to think."""

    def of(self, payload: JSONObject) -> JSONObject:
        """As much of ``payload`` as the model accepts."""
        kept = {
            key: _without(payload[key], key, self.without)
            for key in payload
            if key not in self.without
        }
        if "stream" in self.without:
            kept.pop("stream_options", None)
        for field in _LENGTHS:
            if field in kept and self.longest is not None:
                kept[field] = min(kept[field], self.longest)
        if not self.thinks_with_tools and "tools" in kept and "messages" in kept:
            kept["reasoning_effort"] = "none"
        if "response_format" in self.without and "provider" in kept:
            # Or the demand that a provider must know all fields would still count this one.
            kept["provider"] = {**kept["provider"], "require_parameters": False}
        return kept

    def turn(self, path: str, error: LLMStatusError, *, may_turn: bool) -> dict[str, str]:
        """Take in that a request at ``path`` belongs on the other wire, or on this one as told.

        Nothing where ``error`` is about something else, or the other wire was no better.
        """
        other = named_wire(path, error)
        here: Wire = "chat" if other == "responses" else "responses"
        is_offer = here == "chat" and self.thinks_with_tools and bool(_NONE.search(error.said))
        self.thinks_with_tools &= not is_offer
        is_open = other not in self.left or (other == "chat" and not self.thinks_with_tools)
        if other and may_turn and is_open and here not in self.left:
            self.left |= {here}
            self.wire = other
            return {"wire": f"on the {other} wire"}
        if other and not is_offer:  # neither will do: the next call begins anew
            self.wire, self.left = None, frozenset()
        return {"reasoning_effort": "with reasoning_effort 'none' beside tools"} if is_offer else {}

    def learn(self, payload: JSONObject, error: LLMStatusError) -> dict[str, str]:
        """Take in what ``error`` refuses of ``payload``: fields, and how they are sent from now on.

        Nothing where it is about something else.
        """
        if error.status not in _REFUSALS:
            return {}
        said = str(error)
        refused = {
            field
            for field, words in _MENTIONS.items()
            if _has(payload, field) and words.search(said)
        }
        self.without |= refused
        learned = {field: f"without {field}" for field in sorted(refused)}
        limit = _longest(said)
        for field in _LENGTHS if limit else ():
            if payload.get(field, 0) > limit:
                self.longest, learned[field] = limit, f"with {field} of at most {limit}"
        return learned


def named_wire(path: str, error: LLMStatusError) -> Wire | None:
    """The other of OpenAI's wires, if ``error`` says that a request at ``path`` belongs there."""
    said = error.said
    if path.endswith("/chat/completions") and error.status in _REFUSALS:
        return "responses" if _NOT_CHAT.search(said) else None
    if not path.endswith("/responses"):
        return None
    is_missing = error.status in _NO_SUCH_ADDRESS and not _OF_MODEL.search(said)
    names_chat = error.status in _REFUSALS and _NOT_RESPONSES.search(said)
    return "chat" if is_missing or names_chat else None


def _has(payload: JSONObject, field: str) -> bool:
    name, _, inner = field.partition(".")
    return name in payload and (not inner or inner in payload[name])


def _without(value: Any, name: str, fields: Collection[str]) -> Any:  # noqa: ANN401  any JSON
    """``value``, which is called ``name``, without the parts of it that are among ``fields``."""
    if not isinstance(value, dict):
        return value
    return {key: value[key] for key in value if f"{name}.{key}" not in fields}


def refuses_images(error: LLMStatusError) -> bool:
    """Whether ``error``, which answers a request with images, is about these."""
    return error.status in _IMAGE_REFUSALS and _OF_IMAGES.search(str(error)) is not None


def refuses_state(error: LLMStatusError) -> bool:
    """Whether ``error`` is about what another account, model or server attached to its replies."""
    return error.status in _REFUSALS and _OF_STATE.search(error.said) is not None


def _longest(said: str) -> int:
    """The number of tokens that ``said`` names as the most, or leaves room for; 0 for none."""
    if found := _LONGEST.search(said):
        return int(next(filter(None, found.groups())))
    if found := _ROOM.search(said):
        room = int(found[2]) - int(found[1])
        return room if room >= _LEAST_ROOM else 0
    return 0
