"""Anthropic's messages API as the model server speaks it, with the rules that no schema can say."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.rules import (
    CallIds,
    first_objection,
    image_fault,
    invalid,
    is_untouched,
    recursive,
    rules_of,
    signature,
    unanswered,
    unasked,
)
from mcp_ghost.testing.streams import anthropic_events
from mcp_ghost.testing.wires import Headers, Wire, arguments_of, asked_form, call_of

_STOP_REASON = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_ERROR_TYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _read(body: JSONObject, _headers: Headers) -> JSONObject:
    system = _text(body.get("system") or "")
    messages = [{"role": "system", "content": system}] if system else []
    messages += [each for turn in body["messages"] for each in _read_turn(turn)]
    chat: JSONObject = {"model": body["model"], "messages": messages}
    if "tools" in body:
        functions = [{**it, "parameters": it["input_schema"]} for it in body["tools"]]
        kept = ("name", "description", "parameters")
        chat["tools"] = [
            {"type": "function", "function": {key: it[key] for key in kept if key in it}}
            for it in functions
        ]
        choice = body.get("tool_choice") or {"type": "auto"}
        chat["tool_choice"] = "required" if choice["type"] == "any" else str(choice["type"])
        if choice["type"] == "tool":
            chat["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    if form := (body.get("output_config") or {}).get("format"):
        chat |= asked_form(form["schema"])
    return chat


def _write(completion: JSONObject) -> JSONObject:
    choice, usage = completion["choices"][0], completion["usage"]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "id": completion["id"].replace("chatcmpl-", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": list(_blocks(choice["message"])),
        "stop_reason": _STOP_REASON.get(choice["finish_reason"], choice["finish_reason"]),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": usage["completion_tokens"],
        },
    }


def _error(status: int, message: str) -> JSONObject:
    kind = _ERROR_TYPE.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _text(content: str | list[JSONObject]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _read_turn(turn: JSONObject) -> Iterable[JSONObject]:
    """One turn as the messages that it was made from: results first, then what was said."""
    content = turn["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            said = _text(block.get("content") or "")
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": said}
    text = _text(blocks)
    uses = (block for block in blocks if block["type"] == "tool_use")
    calls = [call_of(use["id"], use["name"], json.dumps(use["input"])) for use in uses]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": turn["role"], "content": text}


def _blocks(message: JSONObject) -> Iterable[JSONObject]:
    if thinking := message.get("reasoning"):
        yield {"type": "thinking", "thinking": thinking, "signature": signature(thinking)}
    if text := message.get("content"):
        yield {"type": "text", "text": text}
    for call in message.get("tool_calls") or ():
        yield {
            "type": "tool_use",
            "id": call["id"].replace("call_", "toolu_"),
            "name": call["function"]["name"],
            "input": arguments_of(call),
        }


# --- what is refused

_LONGEST = (
    ("claude-3-(?:opus|sonnet|haiku)", 4096),
    ("claude-3-5-", 8192),
    (r"claude-opus-4(?:-[01])?(?:-\d{8})?$", 32_000),
    (r"claude-(?:3-7|sonnet-4(?:-0|-\d{8})?$|[a-z]+-4-5)", 64_000),
    ("claude-", 128_000),
)
"""The first that fits a model says how many tokens a reply of it may have."""


def _too_long(body: JSONObject) -> str | None:
    tokens, model = body["max_tokens"], str(body["model"])
    most = next((most for pattern, most in _LONGEST if re.search(pattern, model)), tokens)
    if tokens <= most:
        return None
    return f"{tokens} > {most}, which is the maximum allowed number of output tokens for {model}"


def _of_kind(message: JSONObject, kind: str) -> list[JSONObject]:
    return [it for it in message["content"] if isinstance(it, dict) and it["type"] == kind]


def _exchanges(messages: list[JSONObject]) -> list[CallIds]:
    nothing: JSONObject = {"content": []}
    return [
        (
            [it["id"] for it in _of_kind(message, "tool_use")],
            [it["tool_use_id"] for it in _of_kind(following, "tool_result")],
        )
        for message, following in itertools.pairwise([nothing, *messages, nothing])
    ]


def _trailing_space(messages: list[JSONObject]) -> str | None:
    last = messages[-1]["content"]
    text = last if isinstance(last, str) else str(last[-1].get("text", ""))
    return "space" if messages[-1]["role"] == "assistant" and text != text.rstrip() else None


def _result_behind(content: object) -> str | None:
    kinds = [block["type"] for block in content] if isinstance(content, list) else []
    return "first" if "tool_result" in kinds[kinds.count("tool_result") :] else None


def _unthought(body: JSONObject) -> str | None:
    """A tool's use that the model made without thinking, where thinking is on."""
    if (body.get("thinking") or {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return None
    before = body["messages"][-2]
    kind = str(before["content"][0]["type"]) if _of_kind(before, "tool_use") else "thinking"
    return None if "thinking" in kind else kind


def _tools_missing(body: JSONObject) -> str | None:
    kinds = ("tool_use", "tool_result")
    used = any(_of_kind(message, kind) for message in body["messages"] for kind in kinds)
    return "tools" if used and not body.get("tools") else None


def _unknown_choice(body: JSONObject) -> str | None:
    choice = body.get("tool_choice") or {}
    is_known = choice.get("name") in [tool["name"] for tool in body.get("tools") or ()]
    return str(choice["name"]) if choice.get("type") == "tool" and not is_known else None


RULES = rules_of(
    "anthropic",
    {
        "too_long": _too_long,
        "image": lambda source: image_fault(source["media_type"], source["data"]),
        "signature": lambda block: (
            None
            if is_untouched(str(block.get("signature") or ""), str(block.get("thinking")))
            else "signature"
        ),
        "first_role": lambda them: None if them[0]["role"] == "user" else them[0]["role"],
        "trailing_space": _trailing_space,
        "unanswered": lambda messages: unanswered(_exchanges(messages)),
        "unasked": lambda messages: unasked(_exchanges(messages)),
        "result_behind": _result_behind,
        "unthought": _unthought,
        "tools_missing": _tools_missing,
        "unknown_choice": _unknown_choice,
        "recursive": recursive,
        "invalid": invalid,
    },
)


def refusal(body: object, headers: Mapping[str, str]) -> str | None:
    """Why Anthropic would refuse the request, or None."""
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    return first_objection(RULES, body)


ANTHROPIC = Wire(
    path=re.compile("/v1/messages"),
    refusal=refusal,
    read=_read,
    write=_write,
    error=_error,
    streams=lambda body, _: bool(body.get("stream")),
    events=anthropic_events,
)
