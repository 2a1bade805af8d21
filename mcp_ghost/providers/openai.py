"""OpenAI's chat completions: neutral messages into a payload, a reply body into an LLMResponse.

Pure functions. The format is shared by OpenAI, OpenRouter, llama.cpp, vLLM, Ollama and many
others, which differ in what they refuse; a :class:`Dialect` says how.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall, ToolSchema
from mcp_ghost.names import ToolNames
from mcp_ghost.providers.thinking import split_thinking

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Dialect:
    """What one family of servers wants or refuses beyond the common core."""

    key_variable: str | None = None
    """The environment variable that its users keep the key in."""
    cache_breakpoints: int = 0
    """How many parts of a prompt may ask to be cached."""
    tools_with_history: bool = False
    """Whether a history with tool calls needs tool definitions beside it."""
    routes: bool = False
    """Whether it hands the request on to one of several providers (OpenRouter)."""
    official: bool = False
    """Whether it is OpenAI itself, which refuses every parameter that it does not know."""


GENERIC = Dialect()
OPENAI = Dialect(key_variable="OPENAI_API_KEY", official=True)
OPENROUTER = Dialect(
    key_variable="OPENROUTER_API_KEY",
    cache_breakpoints=4,
    tools_with_history=True,
    routes=True,
)

_HOST = re.compile(r"https?://(?:[^/@]*@)?([^/:?#]+)", re.IGNORECASE)
# OpenAI's reasoning models; they refuse sampling parameters and `stop`.
_REASONING_MODEL = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))", re.IGNORECASE)
_SAMPLING = frozenset({"temperature", "top_p", "stop"})
_EXTRA_SAMPLING = frozenset({"top_k", "min_p"})
_MAX_DESCRIPTION = 1024
_NOT_AT_TOP_LEVEL = frozenset({"anyOf", "oneOf", "allOf", "enum", "not"})


def dialect_of(base_url: str) -> Dialect:
    """The dialect spoken at ``base_url``."""
    host = _HOST.match(base_url)
    for domain, dialect in (("openrouter.ai", OPENROUTER), ("api.openai.com", OPENAI)):
        if host and f".{host[1].lower()}".endswith(f".{domain}"):
            return dialect
    return GENERIC


def tool_names(messages: Iterable[Message], tools: Iterable[ToolSchema] | None) -> ToolNames:
    """The table for one request: tools on offer, and whatever the history calls."""
    offered = [tool["function"]["name"] for tool in tools or ()]
    called = [call["function"]["name"] for call in _calls(messages)]
    return ToolNames([*offered, *called])


def encode(
    messages: Sequence[Message],
    *,
    model: str,
    names: ToolNames,
    dialect: Dialect = GENERIC,
    tools: Sequence[ToolSchema] | None = None,
    known_tools: Sequence[ToolSchema] | None = None,
    tool_choice: str | Json | None = None,
    response_format: Json | None = None,
    **options: object,
) -> Json:
    """The payload of one request.

    ``known_tools`` defines the tools that the history calls, for servers that want definitions
    even where no tool is on offer (``tools=None``). ``options`` are sampling parameters and
    whatever else the server takes; those that are None, or refused by the dialect, are left out.
    """
    reasoning = _REASONING_MODEL.search(model) is not None
    payload: Json = {"model": model, "messages": _messages(messages, names, dialect, reasoning)}
    if tools:
        payload["tools"] = [_tool(tool, names, dialect, model) for tool in tools]
        if tool_choice is not None:
            payload["tool_choice"] = _tool_choice(tool_choice, names)
    elif dialect.tools_with_history and any(_calls(messages)):
        defined = known_tools or _minimal_tools(messages)
        payload["tools"] = [_tool(tool, names, dialect, model) for tool in defined]
        payload["tool_choice"] = "none"
    if response_format is not None:
        payload["response_format"] = response_format
    payload |= _options(options, dialect, reasoning, constrained=response_format is not None)
    return payload


def decode(body: Mapping[str, Any], names: ToolNames, *, model: str = "") -> LLMResponse:
    """The reply in ``body``; ``model`` is the one asked for, used where the body names none.

    Raises:
        LLMStatusError: an error that came with HTTP status 200; the text is the server's own.
        LLMReplyError: no choice to read, or an error without a status.
    """
    choice = _choice(body)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    said, thinking = split_thinking(_text(message.get("content")))
    said = said if said.strip() else _text(message.get("refusal"))
    thinking = "\n".join(
        filter(None, [_thinking_fields(message), _thinking_parts(message.get("content")), thinking])
    )
    calls = _tool_calls(message.get("tool_calls"), names)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else None
    cost = usage.get("cost") if usage else None
    finish_reason = choice.get("finish_reason")
    return LLMResponse(
        content=None if calls else said or None,
        model=str(body.get("model") or model),
        usage=_usage(usage) if usage else None,
        tool_calls=calls or None,
        finish_reason=str(finish_reason) if finish_reason else None,
        text=(said or None) if calls else None,
        reasoning=thinking or None,
        cost=float(cost) if isinstance(cost, (int, float)) else None,
    )


# --- encoding


def _calls(messages: Iterable[Message]) -> Iterable[Json]:
    return (call for message in messages for call in message.get("tool_calls") or ())


def _messages(
    messages: Sequence[Message], names: ToolNames, dialect: Dialect, reasoning: bool
) -> list[Json]:
    marked = _breakpoints(messages, dialect.cache_breakpoints)
    encoded = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            encoded.append(_assistant(message, names))
        elif message["role"] == "tool":
            answer = {"tool_call_id": message["tool_call_id"], "content": _text_of(message)}
            encoded.append({"role": "tool", **answer})
        else:
            entry = {"role": message["role"], "content": _content(message, index in marked)}
            if dialect.official and reasoning and entry["role"] == "system":
                entry["role"] = "developer"
            encoded.append(entry)
    return encoded


def _breakpoints(messages: Sequence[Message], limit: int) -> set[int]:
    """The messages whose marker is honoured: the stable head, then the latest ones."""
    wanted = [
        index
        for index, message in enumerate(messages)
        if message.get("cache_control")
        and message["role"] in ("system", "user")
        and _text(message.get("content")).strip()
    ]
    if len(wanted) > limit:
        wanted = [*wanted[:1], *wanted[len(wanted) - limit + 1 :]][:limit]
    return set(wanted)


def _content(message: Message, marked: bool) -> str | list[Json]:
    """Plain text where that says it all, since not every server takes parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    parts = [{key: part[key] for key in part if key != "cache_control"} for part in parts]
    if marked:
        last = max(index for index, part in enumerate(parts) if (part.get("text") or "").strip())
        parts[last]["cache_control"] = message["cache_control"]
    elif all(part.get("type") == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _text_of(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _assistant(message: Message, names: ToolNames) -> Json:
    content = _text(message.get("content"))
    calls = message.get("tool_calls")
    if not calls:
        return {"role": "assistant", "content": content}
    encoded = [
        {
            "id": call["id"],
            "type": "function",
            "function": {
                "name": names.encode(call["function"]["name"]),
                "arguments": _valid_arguments(call["function"].get("arguments")),
            },
        }
        for call in calls
    ]
    # Blank text beside calls is refused by some.
    return {
        "role": "assistant",
        "content": content if content.strip() else None,
        "tool_calls": encoded,
    }


def _valid_arguments(arguments: object) -> str:
    """The model's arguments; many servers parse them again and fail on what is no object."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_arguments": text}) if text.strip() else "{}"


def _tool(tool: ToolSchema, names: ToolNames, dialect: Dialect, model: str) -> Json:
    function = tool["function"]
    encoded: Json = {"name": names.encode(function["name"])}
    if description := function.get("description"):
        if dialect.official or (dialect.routes and model.startswith("openai/")):
            description = _shortened(description)
        encoded["description"] = description
    encoded["parameters"] = _parameters(function.get("parameters"))
    if function.get("strict") is not None:
        encoded["strict"] = function["strict"]
    return {"type": "function", "function": encoded}


def _shortened(description: str) -> str:
    if len(description) <= _MAX_DESCRIPTION:
        return description
    return description[: _MAX_DESCRIPTION - 4].rstrip() + " ..."


def _parameters(schema: object) -> Json:
    """``schema`` as the plain object that OpenAI wants at the top level."""
    given = schema if isinstance(schema, dict) else {}
    kept = {key: value for key, value in given.items() if key not in _NOT_AT_TOP_LEVEL}
    properties = kept.get("properties")
    return {
        **kept,
        "type": "object",
        "properties": properties if isinstance(properties, dict) else {},
    }


def _tool_choice(choice: str | Json, names: ToolNames) -> str | Json:
    if isinstance(choice, str):
        return choice
    return {"type": "function", "function": {"name": names.encode(choice["function"]["name"])}}


def _minimal_tools(messages: Sequence[Message]) -> list[ToolSchema]:
    called = dict.fromkeys(call["function"]["name"] for call in _calls(messages))
    return [{"type": "function", "function": {"name": name}} for name in called]


def _options(
    options: Mapping[str, object], dialect: Dialect, reasoning: bool, *, constrained: bool
) -> Json:
    kept = {key: value for key, value in options.items() if value is not None}
    refused: frozenset[str] = frozenset()
    if reasoning and (dialect.official or dialect.routes):
        refused |= _SAMPLING
    if dialect.official or (dialect.routes and constrained):
        # With `require_parameters`, OpenRouter finds no provider for what few of them know.
        refused |= _EXTRA_SAMPLING
    kept = {key: value for key, value in kept.items() if key not in refused}
    if dialect.official and reasoning and "max_tokens" in kept:
        kept["max_completion_tokens"] = kept.pop("max_tokens")
    if dialect.routes:
        kept["usage"] = {"include": True}
        if constrained:
            provider = kept.get("provider")
            given = provider if isinstance(provider, dict) else {}
            kept["provider"] = {"require_parameters": True, **given}
    return kept


# --- decoding


def _choice(body: Mapping[str, Any]) -> Json:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice: Json = first if isinstance(first, dict) else {}
    for error in (body.get("error"), choice.get("error")):
        if error:
            raise _reported(error)
    if not choice:
        raise LLMReplyError("The model server sent a reply without any choice in it.")
    return choice


def _reported(error: object) -> LLMStatusError | LLMReplyError:
    details = error if isinstance(error, dict) else {"message": str(error)}
    said = str(details.get("message") or json.dumps(details))
    code = str(details.get("code"))
    if code.isdecimal() and 400 <= int(code) <= 599:
        return LLMStatusError(said, int(code))
    return LLMReplyError(f"The model server reported an error: {said}")


def _text(content: object) -> str:
    """The text of a content, which is a string, a list of parts or nothing."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
    return content if isinstance(content, str) else ""


def _thinking_fields(message: Json) -> str:
    return next(
        (
            text
            for key in ("reasoning", "reasoning_content")
            if isinstance(text := message.get(key), str) and text
        ),
        "",
    )


def _thinking_parts(content: object) -> str:
    """Mistral's way: parts of type "thinking" that hold text parts."""
    parts = content if isinstance(content, list) else []
    return "".join(_text(part.get("thinking")) for part in parts if isinstance(part, dict))


def _tool_calls(raw: object, names: ToolNames) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for item in raw if isinstance(raw, list) else ():
        entry = item if isinstance(item, dict) else {}
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        call_id = str(entry.get("id") or "")
        if not call_id or any(call.id == call_id for call in calls):
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        name = names.decode(str(function.get("name") or ""))
        arguments = _arguments(function.get("arguments"))
        calls.append(ToolCall(call_id, "function", FunctionCall(name, arguments)))
    return calls


def _arguments(raw: object) -> str:
    if isinstance(raw, str):
        return raw if raw.strip() else "{}"
    return "{}" if raw is None else json.dumps(raw, ensure_ascii=False)


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": _count(usage.get("total_tokens")) or prompt + completion,
        "cached_tokens": _count(cached) or _count(usage.get("prompt_cache_hit_tokens")),
    }


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) else 0
