"""OpenAI's chat completions: neutral messages into a payload, a reply body into an LLMResponse.

Pure functions. The format is shared by OpenAI, OpenRouter, llama.cpp, vLLM, Ollama and many
others, which differ in what they refuse; a ``Dialect`` says how.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMReplyError
from mcp_ghost.messages import LLMResponse, Message, ToolCall, ToolSchema
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import common
from mcp_ghost.providers.common import at
from mcp_ghost.providers.hosted import OPENAI, OPENROUTER, HostedProvider, hosted_at
from mcp_ghost.providers.parameters import parameters
from mcp_ghost.providers.streaming.openai import OpenAIAssembler
from mcp_ghost.providers.taken import FOR_GRAMMARS, FOR_OPENAI
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Assembler

_BLOCK = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)

Dialect: TypeAlias = Literal["generic", "openai", "openrouter"]
"""generic: what all take; openai: OpenAI itself, which refuses every parameter that it does not
know; openrouter: hands the request on to one of several providers, wants tool definitions beside a
history with tool calls, and takes cache markers in parts."""

# OpenAI's reasoning models; they refuse sampling parameters and `stop`.
REASONING_MODEL = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))", re.IGNORECASE)
SAMPLING = frozenset({"temperature", "top_p", "stop"})
_EXTRA_SAMPLING = frozenset({"top_k", "min_p"})
# Claude takes temperature or top_p, and refuses both together.
_ONE_SAMPLER_MODEL = re.compile(r"claude", re.IGNORECASE)
# Thinking that its provider wants back with the calls: DeepSeek and Kimi, OpenRouter.
_ECHOED = ("reasoning_content", "reasoning_details")
# Mistral, wherever it runs: https://docs.mistral.ai/capabilities/function_calling
_SHORT_IDS = re.compile(
    r"[mp]i[sx]tral|ministral|magistral|voxtral|(?:cod|dev)estral|devstral", re.I
)
_MAX_DESCRIPTION = 1024
_MAX_BREAKPOINTS = 4


def dialect_of(base_url: str) -> Dialect:
    """The dialect spoken at ``base_url``."""
    hosted = hosted_at(base_url)
    return "openrouter" if hosted is OPENROUTER else "openai" if hosted is OPENAI else "generic"


class OpenAI(HostedProvider):
    """OpenAI, and at another address whatever speaks its format."""

    name, key_variables, base_url, base_url_variable, default_model = OPENAI[:5]
    # https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits; Groq takes as many.
    most_tools = 128

    def encode(self, request: common.LLMRequest) -> common.WireRequest:
        """See :class:`mcp_ghost.providers.common.Provider`."""
        messages, model, names = request.messages, request.model, request.names
        dialect, options = dialect_of(request.base_url), request.given
        response_format = options.pop("response_format", None)
        reasoning = REASONING_MODEL.search(model) is not None
        is_short = (
            request.has_short_ids or _SHORT_IDS.search(f"{request.base_url} {model}") is not None
        )
        encoded = _messages(messages, names, dialect, reasoning, is_short=is_short)
        payload: JSONObject = {"model": model, "messages": encoded}
        if request.tools:
            payload["tools"] = [tool_of(tool, names, dialect, model) for tool in request.tools]
            if request.tool_choice is not None:
                payload["tool_choice"] = _tool_choice(request.tool_choice, names)
        elif dialect == "openrouter" and any(common.calls_of(messages)):
            defined = request.known_tools or common.minimal_tools(messages)
            payload["tools"] = [tool_of(tool, names, dialect, model) for tool in defined]
            payload["tool_choice"] = "none"
        if response_format is not None:
            payload["response_format"] = response_format
        if _ONE_SAMPLER_MODEL.search(model) and "temperature" in options:
            options.pop("top_p", None)
        payload |= options_of(options, dialect, reasoning, constrained=response_format is not None)
        return common.WireRequest("/chat/completions", payload, authorization(request))

    def streamed(self, wire: common.WireRequest) -> common.WireRequest:
        """See :class:`mcp_ghost.providers.common.Provider`."""
        payload = {**wire.payload, "stream": True, "stream_options": {"include_usage": True}}
        return replace(wire, payload=payload)

    def assembler(self) -> Assembler:
        """See :class:`mcp_ghost.providers.common.Provider`."""
        return OpenAIAssembler()

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        """See :class:`mcp_ghost.providers.common.Provider`."""
        choice = next(iter(common.dicts_in(body.get("choices"))), {})
        if error := common.reported(body) or common.reported(choice):
            raise error
        if not choice:
            raise LLMReplyError("The model server sent a reply without any choices.")
        message = choice.get("message")
        message = message if isinstance(message, dict) else {"content": choice.get("text")}
        if (older := message.get("function_call")) and not message.get("tool_calls"):
            message = {**message, "tool_calls": [older]}
        said, thinking = split_thinking(common.text_of(message.get("content")))
        said = said if said.strip() else common.text_of(message.get("refusal"))
        fields = (message.get(key) for key in ("reasoning", "reasoning_content"))
        thoughts = (
            next((text for text in fields if isinstance(text, str) and text), ""),
            # Mistral's way: parts of type "thinking" that hold text parts.
            "".join(
                common.text_of(part.get("thinking"))
                for part in common.dicts_in(message.get("content"))
            ),
            thinking,
        )
        raw = message.get("tool_calls")
        calls = common.tool_calls(map(_said, raw if isinstance(raw, list) else ()), names)
        finish_reason = choice.get("finish_reason")
        native = f"{finish_reason} {choice.get('native_finish_reason')}"  # OpenRouter's
        if not calls and (malformed := common.malformed_call(None, native)):
            raise malformed
        if finish_reason == "error":  # OpenRouter's, of a provider that broke off
            raise LLMReplyError("The model server ended the reply with an error.")
        usage = body.get("usage")
        return common.reply(
            said,
            calls,
            model=str(body.get("model") or model),
            usage=_usage(usage) if isinstance(usage, dict) and usage else None,
            finish_reason=str(finish_reason) if finish_reason else None,
            reasoning="\n".join(filter(None, thoughts)) or None,
            cost=common.cost_of(at(usage, "cost")),
            provider_state=_state(message, calls),
        )


# --- encoding


def _messages(
    messages: Sequence[Message],
    names: ToolNames,
    dialect: Dialect,
    reasoning: bool,
    *,
    is_short: bool,
) -> list[JSONObject]:
    marked = common.breakpoints(messages, _MAX_BREAKPOINTS) if dialect == "openrouter" else set()
    encoded: list[JSONObject] = []
    seen: list[JSONObject] = []
    for index, message in enumerate(messages):
        if seen and message["role"] != "tool":
            encoded.append({"role": "user", "content": seen})
            seen = []
        if message["role"] == "assistant":
            encoded.append(_assistant(message, names, dialect, is_short=is_short))
        elif message["role"] == "tool":
            content = common.result_text(message)
            answered = common.wire_id(message["tool_call_id"], is_short=is_short)
            encoded.append({"role": "tool", "tool_call_id": answered, "content": content})
            seen += _seen(message)
        else:
            entry = {"role": message["role"], "content": _content(message, index in marked)}
            if dialect == "openai" and reasoning and entry["role"] == "system":
                entry["role"] = "developer"
            if entry["role"] == "user" and encoded and encoded[-1]["role"] == "user":
                # Several chat templates refuse two in a row.
                entry["content"] = joined(encoded.pop()["content"], entry["content"])
            encoded.append(entry)
    return [*encoded, {"role": "user", "content": seen}] if seen else encoded


def _seen(message: Message) -> list[JSONObject]:
    """The images of a tool's result, for the user to show: results themselves are text here."""
    images = common.images_of(message)
    said = f"From the result of call {message['tool_call_id']}:"
    return [{"type": "text", "text": said}, *images] if images else []


def joined(one: str | list[JSONObject], other: str | list[JSONObject]) -> str | list[JSONObject]:
    """The contents of two messages as that of one."""
    if isinstance(one, str) and isinstance(other, str):
        return "\n\n".join(text for text in (one, other) if text.strip())
    return [*common.parts_of(one), *common.parts_of(other)]


def _content(message: Message, marked: bool) -> str | list[JSONObject]:
    """Plain text where that says it all, since not every server takes parts."""
    content = message.get("content")
    if isinstance(content, str) and not marked:
        return content
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    parts = [{key: part[key] for key in part if key != "cache_control"} for part in parts]
    if marked:
        last = max(index for index, part in enumerate(parts) if (part.get("text") or "").strip())
        parts[last]["cache_control"] = message["cache_control"]
    elif all(part.get("type") == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _assistant(
    message: Message, names: ToolNames, dialect: Dialect, *, is_short: bool
) -> JSONObject:
    content = common.text_of(message.get("content"))
    calls = message.get("tool_calls")
    if not calls:
        return {"role": "assistant", "content": content}
    # What another server of this format attached, OpenAI would refuse.
    state = {} if dialect == "openai" else next(iter(common.state_of(message, "openai")), {})
    encoded = [
        {
            "id": common.wire_id(call["id"], is_short=is_short),
            "type": "function",
            "function": {
                "name": names.encode(call["function"]["name"]),
                "arguments": arguments_of(call["function"].get("arguments"), names),
            },
            **state.get("calls", {}).get(call["id"], {}),
        }
        for call in calls
    ]
    # Blank text beside calls is refused by some.
    return {
        "role": "assistant",
        "content": content if content.strip() else None,
        "tool_calls": encoded,
        **state.get("message", {}),
    }


def arguments_of(arguments: object, names: ToolNames) -> str:
    """The model's own text, if it can be; many servers parse it and fail on what is no object."""
    written = common.parsed_object(arguments) if isinstance(arguments, str) else None
    given = common.object_of(arguments) if written is None else written
    encoded = names.encode_arguments(given, FOR_OPENAI.names)
    if isinstance(arguments, str) and encoded is written:
        return arguments
    return json.dumps(encoded, ensure_ascii=False)


def tool_of(tool: ToolSchema, names: ToolNames, dialect: Dialect, model: str) -> JSONObject:
    """Define ``tool`` as chat completions do."""
    function = tool["function"]
    encoded: JSONObject = {"name": names.encode(function["name"])}
    if description := function.get("description"):
        is_at_openai = dialect == "openai" or (
            dialect == "openrouter" and model.startswith("openai/")
        )
        if is_at_openai and len(description) > _MAX_DESCRIPTION:
            description = description[: _MAX_DESCRIPTION - 4].rstrip() + " ..."
        encoded["description"] = description
    taken = FOR_OPENAI if dialect == "openai" else FOR_GRAMMARS
    encoded["parameters"] = parameters(function.get("parameters"), taken, function["name"])
    if function.get("strict") is not None:
        encoded["strict"] = function["strict"]
    return {"type": "function", "function": encoded}


def authorization(request: common.LLMRequest) -> dict[str, str]:
    """The header with the key; Azure has one of its own, but for tokens of Entra ID."""
    if not request.api_key:
        return {}
    host = urlsplit(request.base_url).hostname or ""
    if host.endswith(".azure.com") and not request.api_key.startswith("eyJ"):
        return {"api-key": request.api_key}  # openai.lib.azure.AzureOpenAI
    return {"Authorization": f"Bearer {request.api_key}"}


def _tool_choice(choice: str | JSONObject, names: ToolNames) -> str | JSONObject:
    if isinstance(choice, str):
        return choice
    return {"type": "function", "function": {"name": names.encode(choice["function"]["name"])}}


def options_of(
    options: Mapping[str, object], dialect: Dialect, reasoning: bool, *, constrained: bool
) -> JSONObject:
    """Leave out of ``options`` what is refused, and name the others as the dialect does."""
    refused: frozenset[str] = frozenset()
    if reasoning and dialect != "generic":
        refused |= SAMPLING
    if dialect == "openai" or (dialect == "openrouter" and constrained):
        # With `require_parameters`, OpenRouter finds no provider for what few of them know.
        refused |= _EXTRA_SAMPLING
    kept = {key: value for key, value in options.items() if key not in refused}
    if dialect == "openai" and reasoning and "max_tokens" in kept:
        kept["max_completion_tokens"] = kept.pop("max_tokens")
    if dialect == "openrouter":
        if effort := kept.pop("reasoning_effort", None):
            kept["reasoning"] = {"effort": effort}
        kept["usage"] = {"include": True}
        if constrained:
            provider = kept.get("provider")
            given = provider if isinstance(provider, dict) else {}
            kept["provider"] = {"require_parameters": True, **given}
    return kept


# --- decoding


def _said(call: object) -> tuple[object, object, object]:
    """Id, name and arguments of a call; some servers leave the inner object out.

    Others pass on what small models call the arguments: parameters.
    """
    function = at(call, "function")
    function = function if isinstance(function, dict) else call
    return at(call, "id"), at(function, "name"), common.arguments_in(function)


def _state(message: JSONObject, calls: Sequence[ToolCall]) -> JSONObject | None:
    """What is sent back with ``calls``; Gemini signs each of them in a field of its own."""
    if not calls:
        return None
    fields = {key: message[key] for key in _ECHOED if message.get(key)}
    signed = {
        call.id: {"extra_content": entry["extra_content"]}
        for call, entry in zip(calls, message["tool_calls"], strict=True)
        if isinstance(entry, dict) and entry.get("extra_content")
    }
    return {"openai": [{"message": fields, "calls": signed}]} if fields or signed else None


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    cached = at(usage, "prompt_tokens_details", "cached_tokens")
    return common.usage_of(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        usage.get("total_tokens"),
        common.count(cached) or usage.get("prompt_cache_hit_tokens"),
    )


def split_thinking(text: str) -> tuple[str, str]:
    """(answer, thinking); an answer in JSON is left as it stands."""
    if text.lstrip()[:1] in ("{", "["):
        return text, ""
    end = max((found.end() for found in _END.finditer(text)), default=0)
    # Beyond it, the search for an end would run to the last character from every start.
    thoughts = _BLOCK.findall(text[:end])
    answer = _BLOCK.sub("", text[:end]) + text[end:]
    if ends := list(_END.finditer(answer)):  # chat templates may swallow the opening tag
        thoughts.append(answer[: ends[-1].start()])
        answer = answer[ends[-1].end() :]
    if start := _START.match(answer):  # cut off before the closing tag
        thoughts.append(answer[start.end() :])
        answer = ""
    if not thoughts:
        return text, ""
    return answer.strip(), "\n".join(thought.strip() for thought in thoughts).strip()
