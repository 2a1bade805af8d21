"""Gemini's generateContent as the model server speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.refusals_gemini import call_text, refusal, wants_signatures
from mcp_ghost.testing.rules import signature
from mcp_ghost.testing.streams import gemini_events
from mcp_ghost.testing.wires import Headers, Wire, arguments_of, asked_form, call_of

_PATH = re.compile(r"/v1(?:beta|alpha)?/(?:models/)?(?P<model>.+):(?:g|streamG)enerateContent")
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


def _read(body: JSONObject, headers: Headers) -> JSONObject:
    system = "\n".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ()))
    messages: list[JSONObject] = [{"role": "system", "content": system}] if system else []
    called: list[JSONObject] = []
    for content in body["contents"]:
        messages += _read_content(content, called)
        called = messages[-1].get("tool_calls") or []
    chat: JSONObject = {"model": _model(headers), "messages": messages}
    if "tools" in body:
        declared = [each for tool in body["tools"] for each in tool["functionDeclarations"]]
        chat["tools"] = [{"type": "function", "function": each} for each in declared]
        config = body.get("toolConfig", {}).get("functionCallingConfig", {})
        chat["tool_choice"] = _CHOICE[config.get("mode", "AUTO")]
    config = body.get("generationConfig") or {}
    if config.get("responseMimeType") == "application/json":
        chat |= asked_form(config.get("responseJsonSchema"))
    return chat


def _write(completion: JSONObject) -> JSONObject:
    choice = completion["choices"][0]
    parts = list(_parts(choice["message"], signed=wants_signatures(completion["model"])))
    reason = _FINISH_REASON.get(choice["finish_reason"], "STOP")
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": reason}],
        "usageMetadata": _usage(completion["usage"]),
        "modelVersion": completion["model"],
        "responseId": completion["id"],
    }


def _error(status: int, message: str) -> JSONObject:
    named = _STATUS.get(status, "INTERNAL")
    return {"error": {"code": status, "message": message, "status": named}}


def _model(headers: Headers) -> str:
    match = _PATH.fullmatch(urlsplit(headers[":path"]).path)
    return unquote(match["model"]) if match else ""


def _read_content(content: JSONObject, called: list[JSONObject]) -> list[JSONObject]:
    """One content as messages; ``called`` are the calls of the one before."""
    messages: list[JSONObject] = []
    parts, open_ = content["parts"], list(called)
    for response in (part["functionResponse"] for part in parts if "functionResponse" in part):
        call = next(c for c in open_ if _answers(response, c))
        open_.remove(call)
        given = response["response"]
        said = next((given[key] for key in ("output", "error") if key in given), given)
        text = said if isinstance(said, str) else json.dumps(said)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    calls = [
        call_of(call.get("id") or f"call_{index}", call["name"], json.dumps(call.get("args") or {}))
        for index, part in enumerate(parts)
        if (call := part.get("functionCall"))
    ]
    text = "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
    if calls:
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
    elif text:
        role = "assistant" if content.get("role") == "model" else "user"
        messages.append({"role": role, "content": text})
    return messages


def _answers(response: JSONObject, call: JSONObject) -> bool:
    if "id" in response:
        return bool(response["id"] == call["id"])
    return bool(response["name"] == call["function"]["name"])


def _parts(message: JSONObject, *, signed: bool) -> Iterable[JSONObject]:
    """From version 3 on, calls have ids and the first of them a signature."""
    if thinking := message.get("reasoning"):
        yield {"text": thinking, "thought": True}
    if text := message.get("content"):
        yield {"text": text}
    for index, call in enumerate(message.get("tool_calls") or ()):
        named: JSONObject = {"name": call["function"]["name"], "args": arguments_of(call)}
        part: JSONObject = {"functionCall": {"id": call["id"], **named} if signed else named}
        if signed and index == 0:
            part["thoughtSignature"] = signature(call_text(named))
        yield part


def _usage(usage: JSONObject) -> JSONObject:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    return {
        "promptTokenCount": usage["prompt_tokens"],
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": usage["completion_tokens"] - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
    }


GEMINI = Wire(
    path=_PATH,
    refusal=lambda body, headers: refusal(body, _model(headers), headers),
    read=_read,
    write=_write,
    error=_error,
    streams=lambda _, headers: ":streamGenerateContent" in headers[":path"],
    events=gemini_events,
)
