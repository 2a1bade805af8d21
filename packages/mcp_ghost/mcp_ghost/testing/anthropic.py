"""Anthropic's messages API as the model server speaks it, with the rules that no schema can say."""

import re
from collections.abc import Mapping

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.replies import call_of
from mcp_ghost.testing.rules import first_objection, rules_of, signature
from mcp_ghost.testing.streams import anthropic_events
from mcp_ghost.testing.wires import Headers, Wire, arguments_of, asked_form, text_of

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
    system = text_of(body.get("system") or "")
    messages: list[JSONObject] = [{"role": "system", "content": system}] if system else []
    for turn in body["messages"]:  # each as those that it was made from, results first
        for block in _of_kind(turn, "tool_result"):
            said = text_of(block.get("content") or "")
            messages.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": said})
        text = text_of(turn["content"])
        calls = [
            call_of(use["id"], use["name"], use["input"]) for use in _of_kind(turn, "tool_use")
        ]
        if calls:
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        elif text:
            messages.append({"role": turn["role"], "content": text})
    chat: JSONObject = {"model": body["model"], "messages": messages}
    if "tools" in body:
        names = {"name": "name", "description": "description", "input_schema": "parameters"}
        chat["tools"] = [
            {"type": "function", "function": {names[key]: it[key] for key in names if key in it}}
            for it in body["tools"]
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
    message, blocks = choice["message"], list[JSONObject]()
    if thinking := message.get("reasoning"):
        sealed = signature(thinking)
        blocks.append({"type": "thinking", "thinking": thinking, "signature": sealed})
    if text := message.get("content"):
        blocks.append({"type": "text", "text": text})
    blocks += (
        {
            "type": "tool_use",
            "id": call["id"].replace("call_", "toolu_"),
            "name": call["function"]["name"],
            "input": arguments_of(call),
        }
        for call in message.get("tool_calls") or ()
    )
    return {
        "id": completion["id"].replace("chatcmpl-", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": blocks,
        "stop_reason": _STOP_REASON.get(choice["finish_reason"], choice["finish_reason"]),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": usage["completion_tokens"],
        },
    }


# --- what is refused


def _of_kind(message: JSONObject, kind: str) -> list[JSONObject]:
    return [it for it in message["content"] if isinstance(it, dict) and it["type"] == kind]


def _unthought(body: JSONObject) -> str | None:
    """A tool's use that the model made without thinking, where thinking is on."""
    if (body.get("thinking") or {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return None
    before = body["messages"][-2]
    kind = str(before["content"][0]["type"]) if _of_kind(before, "tool_use") else "thinking"
    return None if "thinking" in kind else kind


RULES = rules_of("anthropic", {"unthought": _unthought})


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
    error=lambda status, message: {
        "type": "error",
        "error": {"type": _ERROR_TYPE.get(status, "api_error"), "message": message},
    },
    events=anthropic_events,
    base_path="",
)
