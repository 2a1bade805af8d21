"""What a model accepts of a chat request: which fields, how long a reply, and whether images.

No table of models stays right for long, so the refusal itself is read.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from mcp_ghost.errors import LLMConnectionError, LLMStatusError
from mcp_ghost.providers.common import Wire
from mcp_ghost.providers.refusal import fields_of, is_elsewhere, names, other_name, other_value
from mcp_ghost.results import JSONObject

_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
# OpenRouter and MiMo (404): "support image input", https://github.com/aaif-goose/goose/issues/5396;
# llama.cpp (500): "image input is not supported", its tools/server; DeepSeek: "unknown variant
# `image_url`, expected `text`"; Groq: "content must be a string"; llama.cpp of results (400):
# "should be 'Input text'".
_OF_IMAGES = re.compile(
    r"image|mmproj|multimodal|vision|must be a string|should be .input text", re.I
)
# OpenAI: "could not be verified", https://github.com/openai/codex/issues/8145; "was not issued to
# this caller", https://github.com/anomalyco/opencode/issues/48773; "Item 'rs_1' of type 'reasoning'
# was provided without its required following item", "Item with id 'rs_1' not found"; Anthropic:
# "Invalid `signature` in `thinking` block".
_OF_STATE = re.compile(
    r"encrypted.content.*(?:verif|decrypt|pars|not issued)|without its required"
    r"|item with id \S+ not found|invalid .signature",
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
_WANTS = {
    # LiteLLM before Claude, https://github.com/anomalyco/opencode/issues/8246; Anthropic and
    # Bedrock: "must define tools", "toolConfig field must be defined".
    "tools": (
        re.compile(
            r"without .?tools=?.? param|must define tools|toolconfig field must be defined", re.I
        ),
        "with definitions of the tools in the history",
    ),
    # Mistral, and others with its models: https://github.com/nearai/ironclaw/issues/1241
    "tool_call_id": (
        re.compile(r"a-z, A-Z, 0-9,? (?:and|with a) length", re.I),
        "with ids of nine letters or digits",
    ),
    # Mistral, https://github.com/avante-corp/avante.nvim/pull/2695; templates of its models.
    "turns": (
        re.compile(r"role .?user.? after role .?tool|roles must alternate", re.I),
        "with a reply between a tool's result and the user's words",
    ),
    # Gemma, at Google ("Developer instruction is not enabled") and in vLLM with its chat template
    # ("System role not supported"); OpenAI's o1: "'messages[0].role' does not support 'system'".
    "system": (
        re.compile(
            r"(?:developer|system) (?:instruction|role|message)s? (?:is |are )?not (?:en|sup)"
            r"|not support (?:the )?.?system\b",
            re.I,
        ),
        "with instructions as words of the user",
    ),
}
"""What some models want of a request, and no field says."""
_LEFT_OUT = {
    "images": (_IMAGE_REFUSALS, _OF_IMAGES, "without images"),
    "reasoning": (_REFUSALS, _OF_STATE, "without the reasoning of earlier replies"),
}
"""What messages can do without: the statuses and words of its refusals, and how it goes on."""
_HUNG_UP = "without sending a response"
_MENTIONS = {
    # DeepSeek and Groq know no schemas; Groq: "json mode cannot be combined with tool/function
    # calling". "Requested parameters" is what OpenRouter calls them when no provider of the model
    # knows any.
    "response_format": re.compile(
        r"response.?format|json.?schema|json.?mode|requested parameters", re.I
    ),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "top_k": re.compile(r"top_k", re.I),
    "min_p": re.compile(r"min_p", re.I),
    "include": re.compile(r"encrypted.?content (?:is )?not supported|\binclude\b", re.I),
    # Gemma: "JSON mode is not enabled"; Gemini: "a response mime type ... is unsupported" beside
    # tools, and "Penalty is not enabled".
    **dict.fromkeys(
        ("responseMimeType", "responseJsonSchema"), re.compile(r"json.?mode|response.?mime", re.I)
    ),
    **dict.fromkeys(
        ("presencePenalty", "frequencyPenalty", "presence_penalty", "frequency_penalty"),
        re.compile(r"\bpenalty is", re.I),
    ),
    # Claude Haiku 4.5: "This model does not support the effort parameter", "adaptive thinking is
    # not supported on this model", https://github.com/elizaOS/eliza/pull/16175; Gemini 2.5 Pro:
    # "Budget 0 is invalid. This model only works in thinking mode", "does not support setting
    # thinking_budget to 0", https://github.com/GewoonJaap/gemini-cli-openai/issues/22; Ollama:
    # "does not support thinking".
    "output_config.effort": re.compile(r"\beffort\b", re.I),
    "thinking": re.compile(r"adaptive thinking|support thinking|thinking\.type", re.I),
    "generationConfig.thinkingConfig": re.compile(r"thinking|budget \d", re.I),
    "reasoning_effort": re.compile(
        r"reasoning.?(?:effort|value)|support thinking|think value|budget \d"
        r"|thinking (?:mode|level)|thinking.?budget",
        re.I,
    ),
    # OpenAI shows what some models thought only to organisations that it has verified.
    "reasoning.summary": re.compile(r"reasoning.summar", re.I),
    "stream_options": re.compile(r"stream_options", re.I),
    # OpenAI streams some models only for organisations that it has verified.
    "stream": re.compile(r"\bstream\b(?!_)|streaming", re.I),
}
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The fields that say how long a reply may be."""
# Anthropic: "max_tokens: 64000 > 4096, which is the maximum"; OpenAI and MiMo: "This model supports
# at most 4096 completion tokens", https://github.com/opencode-ai/opencode/issues/140; DeepSeek:
# "the valid range of max_tokens is [1, 8192]"; Bedrock: "The maximum tokens you requested exceeds
# the model limit of 8192"; Fireworks: "Requests with max_tokens > 4096 must have stream=true";
# OpenRouter, with 402: "You requested up to 65536 tokens, but can only afford 3000",
# https://github.com/can1357/oh-my-pi/issues/9569.
_LONGEST = re.compile(
    r"max_\w*tokens\W{1,4}\d{1,9} > (\d{1,9})|at most (\d{1,9}) (?:completion|output) tokens"
    r"|max_\w*tokens[^\[\n]{0,40}\[\d{1,9}, ?(\d{1,9})\]|exceeds the model limit of (\d{1,9})"
    r"|max_\w*tokens > (\d{1,9}) must|can only afford (\d{1,9})"
)
# Anthropic, of models before 4.5: "input length and `max_tokens` exceed context limit: 150000 +
# 64000 > 200000", https://github.com/docker/docker-agent/issues/569; vLLM: "(64000 > 32768 -
# 5000)", https://github.com/claude-code-best/claude-code/issues/272; Together, of Text Generation
# Inference: "must be <= 8193. Given: 200 `inputs` tokens and 64000"; OpenAI, older vLLM and
# OpenRouter: "maximum context length is 8192 tokens. However, you requested 8256 tokens (64 in the
# messages, 8192 in the completion)", https://github.com/ChatGPTNextWeb/NextChat/issues/3195.
_ROOM = (
    re.compile(r"context limit: (?P<used>\d{1,9}) \+ \d{1,9} > (?P<all>\d{1,9})"),
    re.compile(r"\(\d{1,9} > (?P<all>\d{1,9}) - (?P<used>\d{1,9})\)"),
    re.compile(r"must be <= (?P<all>\d{1,9})\. Given: (?P<used>\d{1,9}) "),
    re.compile(
        r"context length is (?P<all>\d{1,9}) tokens.{1,40}requested (?:about )?(?P<used>\d{1,9}) "
        r"tokens \(.{1,200}?(?P<reply>\d{1,9}) (?:in|of|for) (?:the|your) (?:completion|output)"
    ),
)
# OpenAI: "To use function tools, use /v1/responses or set reasoning_effort to 'none'",
# https://github.com/jeddict/jeddict-ai/issues/349; "only supported in v1/responses", "This is not a
# chat model and thus not supported in the v1/chat/completions endpoint"; Copilot: "is not
# accessible via the /chat/completions endpoint", https://github.com/github/copilot-cli/issues/4337;
# Azure: "The chatCompletion operation does not work with the specified model".
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
    wants: set[str] = field(default_factory=set)
    """What it wants of messages and tools: of ``_WANTS``; "images" and "reasoning" are left out,
    and "max_tokens" is always said."""
    refused_tools: set[str] = field(default_factory=set)
    """The names of tools that it does not take."""

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
        if "turns" in self.wants and "messages" in kept:
            messages: list[JSONObject] = []
            for message in kept["messages"]:
                if message["role"] == "user" and messages and messages[-1]["role"] == "tool":
                    messages.append({"role": "assistant", "content": "OK."})
                messages.append(message)
            kept["messages"] = messages
        if "max_tokens" in self.wants and not any(name in kept for name in _LENGTHS):
            kept["max_tokens"] = self.longest
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
        """Turn to chat where a stand-in for OpenAI hangs up on a request on the other wire."""
        if not path.endswith("/responses") or self.left or _HUNG_UP not in str(error):
            return False
        self.left, self.wire = frozenset({"responses"}), "chat"
        return True

    def learn(self, payload: JSONObject, error: LLMStatusError) -> dict[str, str]:
        """Take in which fields of ``payload`` are refused, if any, and how they are sent then."""
        if error.status not in {402, *_REFUSALS} or _OF_STATE.search(error.said):
            return {}
        said, param = error.said, error.named.get("param", "")
        if " " in param:  # MiMo's whole reason: https://github.com/AQBot-Desktop/AQBot/issues/93
            said, param = f"{said}: {param}", ""
        limit = _longest(said)
        for name in _LENGTHS if limit else ():
            if payload.get(name, 0) > limit:
                self.longest = limit
                return {name: f"with {name} of at most {limit}"}
        if error.status not in _REFUSALS:
            is_open = limit >= _LEAST_ROOM and "messages" in payload and self.longest is None
            if not is_open or any(name in payload for name in _LENGTHS):
                return {}
            self.longest = limit  # without a length, it counts the longest that the model writes
            self.wants.add("max_tokens")
            return {"max_tokens": f"with max_tokens of {limit}"}
        for wish, (pattern, how) in _WANTS.items():
            if wish not in self.wants and pattern.search(said):
                self.wants.add(wish)
                return {wish: how}
        fields = dict(fields_of(payload))
        refused: list[str] = []
        for path in fields:
            mention = _MENTIONS.get(path) or _MENTIONS.get(path.removeprefix("generationConfig."))
            is_mentioned = mention and mention.search(said) and not is_elsewhere(said, param)
            if is_mentioned or names(path, said, param):
                refused.append(path)
        # What is wrong with a part of an object is not wrong with all of it.
        refused = [it for it in refused if not any(part.startswith(f"{it}.") for part in refused)]
        if about := [path for path in refused if param and names(path, "", param)]:
            refused = about
        elif len(refused) > 1 and _TOGETHER.search(said):
            refused = [next((it for it in _LEAST_NEEDED if it in refused), refused[-1])]
        learned = {path: self._corrected(path, fields[path], payload, said) for path in refused}
        for name in _IN_MESSAGES if not learned else ():
            path = f"*.{name}"
            if path not in self.without and f'"{name}"' in json.dumps(payload) and name in said:
                self.without |= {path}
                learned[path] = f"without {name}"
        return {path: how for path, how in learned.items() if how}

    def leave_out(self, error: LLMStatusError, *, has_images: bool) -> dict[str, str]:
        """Take in, once, whether ``error`` is about images or what models attach to replies."""
        for what, (statuses, words, how) in _LEFT_OUT.items():
            is_there = has_images if what == "images" else what not in self.wants
            if is_there and error.status in statuses and words.search(error.said):
                self.wants.add(what)
                return {what: how}
        return {}

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
    names_chat = error.status in _REFUSALS and _NOT_RESPONSES.search(said)
    return "chat" if is_no_address(error) or names_chat else None


def is_no_address(error: LLMStatusError) -> bool:
    """Whether ``error`` says that nothing is at this address, not that the model is unknown."""
    return error.status in _NO_SUCH_ADDRESS and not _OF_MODEL.search(error.said)


def _longest(said: str) -> int:
    """The number of tokens that ``said`` names as the most, or leaves room for; 0 for none."""
    if found := _LONGEST.search(said):
        return int(next(filter(None, found.groups())))
    for pattern in _ROOM:
        if found := pattern.search(said):
            numbers = {name: int(it) for name, it in found.groupdict().items()}
            room = numbers["all"] - numbers["used"] + numbers.get("reply", 0)
            return room if room >= _LEAST_ROOM else 0
    return 0
