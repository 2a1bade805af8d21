"""What a model accepts of a chat request: which fields, how long a reply, and whether images.

No table of models stays right for long, so the refusal itself is read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.refusal import fields_of, is_elsewhere, names, other_name, other_value

if TYPE_CHECKING:
    from mcp_ghost.errors import LLMConnectionError, LLMStatusError
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
# Which of two that exclude each other is left out: the first here.
_LEAST_NEEDED = ("top_p", "top_k", "generationConfig.topP", "parallel_tool_calls", "stream_options")
_TOGETHER = re.compile(r"\bboth\b|together|only one|simultaneous|combin|mutually", re.I)
_IN_MESSAGES = (
    "cache_control",
    "reasoning_content",
    "reasoning_details",
    "extra_content",
    "strict",
)
"""Fields that messages and tools can do without."""
_IN_SCHEMAS = re.compile(r"parameters|schema|\.input\b")
# LiteLLM before Claude: "doesn't support tool calling without `tools=` param specified"; Anthropic
# and Bedrock: "must define tools", "toolConfig field must be defined".
_WANTS_TOOLS = re.compile(
    r"without .?tools=?.? param|must define tools|toolconfig field must be defined", re.I
)
# Mistral, and vLLM with its models: "must be a-z, A-Z, 0-9, with a length of 9".
_WANTS_SHORT_IDS = re.compile(r"a-z, A-Z, 0-9,? (?:and|with a) length", re.I)
_HUNG_UP = "without sending a response"
_MENTIONS = {
    # DeepSeek and Groq know no schemas. "Requested parameters" is what OpenRouter calls them when
    # no provider of the model knows any.
    "response_format": re.compile(r"response.?format|json.?schema|requested parameters", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "top_k": re.compile(r"top_k", re.I),
    "min_p": re.compile(r"min_p", re.I),
    "include": re.compile(r"encrypted.?content (?:is )?not supported|\binclude\b", re.I),
    # Anthropic: "This model does not support the effort parameter", "adaptive thinking is not
    # supported on this model"; Gemini: "Budget 0 is invalid. This model only works in thinking
    # mode"; Ollama: "does not support thinking".
    "output_config.effort": re.compile(r"\beffort\b", re.I),
    "thinking": re.compile(r"adaptive thinking|support thinking|thinking\.type", re.I),
    "generationConfig.thinkingConfig": re.compile(r"thinking|budget \d", re.I),
    "reasoning_effort": re.compile(r"reasoning.?effort|support thinking|think value", re.I),
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
# 64000 > 200000"; vLLM: "(64000 > 32768 - 5000)".
_ROOM = re.compile(
    r"context limit: (?P<used>\d{1,9}) \+ \d{1,9} > (?P<all>\d{1,9})"
    r"|\(\d{1,9} > (?P<most>\d{1,9}) - (?P<taken>\d{1,9})\)"
)
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

    renamed: dict[str, str] = field(default_factory=dict)
    """What it calls fields."""
    instead: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What it takes in the place of a field's value."""
    defines_tools: bool = False
    """Whether it wants definitions of tools beside a history that calls some."""
    has_short_ids: bool = False
    """Whether ids of calls have nine letters or digits."""

    def of(self, payload: JSONObject) -> JSONObject:
        """As much of ``payload`` as the model accepts."""
        kept = dict(payload)
        if self.without or self.renamed or self.instead:
            kept = {
                self.renamed.get(key, key): self._kept(value, key)
                for key, value in payload.items()
                if key not in self.without
            }
        if "stream" in self.without:
            kept.pop("stream_options", None)
        for name in _LENGTHS:
            if name in kept and self.longest is not None:
                kept[name] = min(kept[name], self.longest)
        if not self.thinks_with_tools and "tools" in kept and "messages" in kept:
            kept["reasoning_effort"] = "none"
        if "response_format" in self.without and "provider" in kept:
            # Or the demand that a provider must know all fields would still count this one.
            kept["provider"] = {**kept["provider"], "require_parameters": False}
        return kept

    def _kept(self, value: Any, path: str) -> Any:  # noqa: ANN401  any JSON
        """``value``, which is at ``path``, without the parts that were refused."""
        if (path, repr(value)) in self.instead:
            return self.instead[path, repr(value)]
        if isinstance(value, list):
            return [self._kept(it, f"{path}.*") for it in value]
        if not isinstance(value, dict):
            return value
        is_deep = path.startswith(("messages.", "tools.", "system.", "input."))
        return {
            key: self._kept(value[key], f"{path}.{key}")
            for key in value
            if f"{path}.{key}" not in self.without
            and not (is_deep and f"*.{key}" in self.without and not _IN_SCHEMAS.search(path))
        }

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

    def turn_from_silence(self, path: str, error: LLMConnectionError) -> bool:
        """Turn to chat where a request on the other wire is hung up on.

        So does what stands in for OpenAI and does not know that address.
        """
        if not path.endswith("/responses") or self.left or _HUNG_UP not in str(error):
            return False
        self.left, self.wire = frozenset({"responses"}), "chat"
        return True

    def learn(self, payload: JSONObject, error: LLMStatusError) -> dict[str, str]:
        """Take in what ``error`` refuses of ``payload``: fields, and how they are sent from now on.

        Nothing where it is about something else.
        """
        if error.status not in _REFUSALS or _OF_STATE.search(error.said):
            return {}
        said, param = error.said, error.named.get("param", "")
        limit = _longest(said)
        for name in _LENGTHS if limit else ():
            if payload.get(name, 0) > limit:
                self.longest = limit
                return {name: f"with {name} of at most {limit}"}
        if _WANTS_TOOLS.search(said) and not self.defines_tools:
            self.defines_tools = True
            return {"tools": "with definitions of the tools in the history"}
        if _WANTS_SHORT_IDS.search(said) and not self.has_short_ids:
            self.has_short_ids = True
            return {"tool_call_id": "with ids of nine letters or digits"}
        refused = {path: value for path, value in fields_of(payload) if _refused(path, said, param)}
        about = [path for path in refused if param and names(path, "", param)]
        if about:
            refused = {path: refused[path] for path in about}
        elif len(refused) > 1 and _TOGETHER.search(said):
            least = next((it for it in _LEAST_NEEDED if it in refused), [*refused][-1])
            refused = {least: refused[least]}
        learned = {path: self._corrected(path, refused[path], payload, said) for path in refused}
        for name in _IN_MESSAGES if not learned else ():
            path = f"*.{name}"
            if path not in self.without and f'"{name}"' in json.dumps(payload) and name in said:
                self.without |= {path}
                learned[path] = f"without {name}"
        return {path: how for path, how in learned.items() if how}

    def _corrected(self, path: str, value: object, payload: JSONObject, said: str) -> str:
        """How a refused field is sent from now on, if at all."""
        original = {new: old for old, new in self.renamed.items()}.get(path, path)
        name = other_name(path, payload, said)
        if name and name not in self.without and original not in self.renamed:
            self.renamed[original] = name
            return f"with {name} in the place of {path}"
        near = other_value(value, said)
        if near is not None and not any(original == known for known, _ in self.instead):
            self.instead[original, repr(value)] = near
            return f"with {path} {near!r} in the place of {value!r}"
        if path in _LENGTHS and "context" in said:  # the conversation has to become shorter
            return ""
        other = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
        if path == original and path in other:
            self.renamed[path] = other[path]
            return f"with {other[path]} in the place of {path}"
        self.without |= {original}
        return f"without {path}"


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


def _refused(path: str, said: str, param: str) -> bool:
    mention = _MENTIONS.get(path) or _MENTIONS.get(path.removeprefix("generationConfig."))
    is_mentioned = mention is not None and mention.search(said) and not is_elsewhere(said, param)
    return bool(is_mentioned) or names(path, said, param)


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
        room = int(found["all"] or found["most"]) - int(found["used"] or found["taken"])
        return room if room >= _LEAST_ROOM else 0
    return 0
