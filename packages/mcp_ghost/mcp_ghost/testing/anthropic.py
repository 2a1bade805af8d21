"""Anthropic's messages API as the model server speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.refusals_anthropic import refusal
from mcp_ghost.testing.rules import signature
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


ANTHROPIC = Wire(
    path=re.compile("/v1/messages"),
    refusal=refusal,
    read=_read,
    write=_write,
    error=_error,
    streams=lambda body, _: bool(body.get("stream")),
    events=anthropic_events,
)
