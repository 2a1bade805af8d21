"""Anthropic's messages API as the model server speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from mcp_ghost.refusals_anthropic import refusal, signature

Json: TypeAlias = dict[str, Any]

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


class AnthropicWire:
    """See :class:`mcp_ghost.testing.wires.Wire`."""

    base_path = ""

    def serves(self, path: str) -> bool:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        return path == "/v1/messages"

    def refusal(self, body: object, headers: dict[str, str]) -> str | None:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        return refusal(body, headers)

    def read(self, body: Json, _headers: dict[str, str]) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        system = _text(body.get("system") or "")
        messages = [{"role": "system", "content": system}] if system else []
        messages += [each for turn in body["messages"] for each in _read_turn(turn)]
        chat: Json = {"model": body["model"], "messages": messages}
        if "tools" in body:
            chat["tools"] = [_read_tool(tool) for tool in body["tools"]]
            chat["tool_choice"] = _read_choice(body.get("tool_choice") or {"type": "auto"})
        return chat

    def write(self, completion: Json) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
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

    def error(self, status: int, message: str) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        kind = _ERROR_TYPE.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _text(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _read_turn(turn: Json) -> Iterable[Json]:
    """One turn as the messages that it was made from: results first, then what was said."""
    content = turn["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            said = _text(block.get("content") or "")
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": said}
    text = _text(blocks)
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": turn["role"], "content": text}


def _read_tool(tool: Json) -> Json:
    described = {"description": tool["description"]} if "description" in tool else {}
    function = {"name": tool["name"], **described, "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}


def _read_choice(choice: Json) -> str | Json:
    if choice["type"] == "tool":
        return {"type": "function", "function": {"name": choice["name"]}}
    return "required" if choice["type"] == "any" else str(choice["type"])


def _blocks(message: Json) -> Iterable[Json]:
    if thinking := message.get("reasoning"):
        yield {"type": "thinking", "thinking": thinking, "signature": signature(thinking)}
    if text := message.get("content"):
        yield {"type": "text", "text": text}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        try:
            arguments = json.loads(function["arguments"])
        except ValueError:  # a script that wants broken arguments gets them
            arguments = function["arguments"]
        yield {
            "type": "tool_use",
            "id": call["id"].replace("call_", "toolu_"),
            "name": function["name"],
            "input": arguments,
        }
