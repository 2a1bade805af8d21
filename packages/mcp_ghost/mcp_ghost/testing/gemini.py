"""Gemini's generateContent as the model server speaks it, with the rules that no schema can say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.rules import (
    first_objection,
    image_fault,
    is_untouched,
    recursive,
    repeated,
    rules_of,
    signature,
)
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


# --- what is refused

_VERSION_3 = re.compile(r"gemini-(?:[3-9]|\d\d)")
_WITHOUT_CHECK = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}


def wants_signatures(model: str) -> bool:
    """Whether calls of ``model`` are signed and numbered."""
    return _VERSION_3.search(model) is not None


def call_text(call: JSONObject) -> str:
    """What of ``call`` is signed."""
    return json.dumps([call.get("name"), call.get("args") or {}], sort_keys=True)


def _of(content: JSONObject, kind: str) -> list[JSONObject]:
    return [part[kind] for part in content["parts"] if kind in part]


def _turns(contents: list[JSONObject]) -> str | None:
    """What is wrong with the order: calls follow a user's turn, and are all answered at once."""
    calls: list[JSONObject] = []
    for index, content in enumerate(contents):
        responses = _of(content, "functionResponse")
        if responses and not calls:
            return "function response turn comes after a function call turn"
        if len(responses) != len(calls):
            return (
                "the number of function response parts is equal to the number of function call "
                "parts of the function call turn"
            )
        if sorted(map(_key, responses)) != sorted(map(_key, calls)):
            return "function responses match their calls by name and id"
        calls = _of(content, "functionCall")
        if calls and (index == 0 or content.get("role") != "model"):
            return "function call turn comes immediately after a user turn"
    return "function call turns are followed by function responses" if calls else None


def _key(part: JSONObject) -> tuple[str, str]:
    return str(part.get("name")), str(part.get("id"))


def _signed(body: JSONObject) -> list[JSONObject]:
    """The parts that have to be signed: in the current turn, the first call of each step."""
    if not wants_signatures(str(body.get("model"))):
        return []
    contents = body["contents"]
    asked = [i for i, it in enumerate(contents) if it.get("role") != "model" and _of(it, "text")]
    steps = contents[asked[-1] if asked else 0 :]
    first = (next((part for part in it["parts"] if "functionCall" in part), None) for it in steps)
    return [part for part in first if part is not None]


def _corrupted(part: JSONObject) -> bool:
    given = str(part.get("thoughtSignature"))
    return given not in _WITHOUT_CHECK and not is_untouched(given, call_text(part["functionCall"]))


def _multimodal(body: JSONObject) -> str | None:
    responses = (it for content in body["contents"] for it in _of(content, "functionResponse"))
    has_parts = any("parts" in response for response in responses)
    return "parts" if has_parts and not wants_signatures(str(body.get("model"))) else None


def _undefined(schema: JSONObject) -> str:
    missing = set(schema.get("required") or ()) - set(schema.get("properties") or {})
    return ", ".join(sorted(missing))


def _undeclared(body: JSONObject) -> str:
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = set(config.get("allowedFunctionNames") or ())
    tools = body.get("tools") or () if config.get("mode") == "ANY" else ()
    known = {it["name"] for tool in tools for it in tool.get("functionDeclarations") or ()}
    return ", ".join(sorted(allowed - known))


RULES = rules_of(
    "gemini",
    {
        "image": lambda inline: image_fault(inline.get("mimeType"), inline.get("data")),
        "same_roles": lambda contents: repeated(it.get("role", "user") for it in contents),
        "turns": _turns,
        "unsigned": lambda body: (
            None if all(it.get("thoughtSignature") for it in _signed(body)) else "unsigned"
        ),
        "corrupted": lambda body: "corrupted" if any(map(_corrupted, _signed(body))) else None,
        "multimodal": _multimodal,
        "undefined": _undefined,
        "undeclared": _undeclared,
        "recursive": recursive,
    },
)


def refusal(body: object, model: str, headers: Mapping[str, str]) -> str | None:
    """Why Gemini would refuse the request, or None."""
    if "key=" in urlsplit(headers.get(":path", "")).query:
        return "This server wants the key in the header x-goog-api-key: addresses are logged."
    if ":stream" in headers.get(":path", "") and "alt=sse" not in headers[":path"]:
        return "This server streams only with alt=sse; without it, Gemini sends one JSON array."
    asked = {"model": model, **body} if isinstance(body, dict) else body
    return first_objection(RULES, asked)


GEMINI = Wire(
    path=_PATH,
    refusal=lambda body, headers: refusal(body, _model(headers), headers),
    read=_read,
    write=_write,
    error=_error,
    streams=lambda _, headers: ":streamGenerateContent" in headers[":path"],
    events=gemini_events,
)
