"""Anthropic's messages API as the model server speaks it, with the rules that no schema can say."""

import re
from collections.abc import Mapping

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.replies import call_of
from mcp_ghost.testing.rules import first_objection, image_fault, is_untouched, rules_of, signature
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


def _result_behind(content: object) -> bool:
    kinds = [block["type"] for block in content] if isinstance(content, list) else []
    return "tool_result" in kinds[kinds.count("tool_result") :]


def _unthought(body: JSONObject) -> str | None:
    """A tool's use that the model made without thinking, where thinking is on."""
    if (body.get("thinking") or {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return None
    before = body["messages"][-2]
    kind = str(before["content"][0]["type"]) if _of_kind(before, "tool_use") else "thinking"
    return None if "thinking" in kind else kind


RULES = rules_of(
    "anthropic",
    {
        "too_long": _too_long,
        "image": lambda source: image_fault(source["media_type"], source["data"]),
        "signature": lambda block: (
            not is_untouched(str(block.get("signature") or ""), str(block.get("thinking")))
        ),
        "result_behind": _result_behind,
        "unthought": _unthought,
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
    error=lambda status, message: {
        "type": "error",
        "error": {"type": _ERROR_TYPE.get(status, "api_error"), "message": message},
    },
    events=anthropic_events,
    base_path="",
)
