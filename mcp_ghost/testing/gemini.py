"""Gemini's generateContent as the model server speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from mcp_ghost.refusals_gemini import refusal, signature, wants_signatures

Json: TypeAlias = dict[str, Any]

_PATH = re.compile(r"/v1(?:beta|alpha)?/(?:models/)?(?P<model>.+):generateContent")
_FINISH_REASON = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_CHOICE = {"AUTO": "auto", "NONE": "none", "ANY": "required"}


class GeminiWire:
    """See :class:`mcp_ghost.testing.wires.Wire`."""

    base_path = ""

    def serves(self, path: str) -> bool:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        return _PATH.fullmatch(path) is not None

    def refusal(self, body: object, headers: dict[str, str]) -> str | None:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        return refusal(body, _model(headers), headers)

    def read(self, body: Json, headers: dict[str, str]) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        system = "\n".join(
            part["text"] for part in body.get("systemInstruction", {}).get("parts", ())
        )
        messages: list[Json] = [{"role": "system", "content": system}] if system else []
        called: list[Json] = []
        for content in body["contents"]:
            messages += _read_content(content, called)
            called = messages[-1].get("tool_calls") or []
        chat: Json = {"model": _model(headers), "messages": messages}
        if "tools" in body:
            declared = [each for tool in body["tools"] for each in tool["functionDeclarations"]]
            chat["tools"] = [{"type": "function", "function": each} for each in declared]
            config = body.get("toolConfig", {}).get("functionCallingConfig", {})
            chat["tool_choice"] = _CHOICE[config.get("mode", "AUTO")]
        return chat

    def write(self, completion: Json) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        choice = completion["choices"][0]
        parts = list(_parts(choice["message"], signed=wants_signatures(completion["model"])))
        reason = _FINISH_REASON.get(choice["finish_reason"], "STOP")
        return {
            "candidates": [
                {
                    "index": 0,
                    "content": {"role": "model", "parts": parts},
                    "finishReason": reason,
                }
            ],
            "usageMetadata": _usage(completion["usage"]),
            "modelVersion": completion["model"],
            "responseId": completion["id"],
        }

    def error(self, status: int, message: str) -> Json:
        """See :class:`mcp_ghost.testing.wires.Wire`."""
        named = _STATUS.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": named}}


def _model(headers: dict[str, str]) -> str:
    match = _PATH.fullmatch(urlsplit(headers[":path"]).path)
    return unquote(match["model"]) if match else ""


def _read_content(content: Json, called: list[Json]) -> list[Json]:
    """One content as messages; ``called`` are the calls of the one before."""
    messages: list[Json] = []
    parts, open_ = content["parts"], list(called)
    for response in (part["functionResponse"] for part in parts if "functionResponse" in part):
        call = next(c for c in open_ if _answers(response, c))
        open_.remove(call)
        given = response["response"]
        said = json.dumps(next((given[key] for key in ("output", "error") if key in given), given))
        text = json.loads(said) if said.startswith('"') else said
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    calls = [
        _read_call(part["functionCall"], index)
        for index, part in enumerate(parts)
        if "functionCall" in part
    ]
    text = "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
    if calls:
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
    elif text:
        role = "assistant" if content.get("role") == "model" else "user"
        messages.append({"role": role, "content": text})
    return messages


def _answers(response: Json, call: Json) -> bool:
    if "id" in response:
        return bool(response["id"] == call["id"])
    return bool(response["name"] == call["function"]["name"])


def _read_call(call: Json, index: int) -> Json:
    function = {"name": call["name"], "arguments": json.dumps(call.get("args") or {})}
    return {"id": call.get("id") or f"call_{index}", "type": "function", "function": function}


def _parts(message: Json, *, signed: bool) -> Iterable[Json]:
    """From version 3 on, calls have ids and the first of them a signature."""
    if thinking := message.get("reasoning"):
        yield {"text": thinking, "thought": True}
    if text := message.get("content"):
        yield {"text": text}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        try:
            arguments = json.loads(function["arguments"])
        except ValueError:  # a script that wants broken arguments gets them
            arguments = function["arguments"]
        named: Json = {"name": function["name"], "args": arguments}
        part: Json = {"functionCall": {"id": call["id"], **named} if signed else named}
        if signed and index == 0:
            part["thoughtSignature"] = signature(named)
        yield part


def _usage(usage: Json) -> Json:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    return {
        "promptTokenCount": usage["prompt_tokens"],
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": usage["completion_tokens"] - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
    }
