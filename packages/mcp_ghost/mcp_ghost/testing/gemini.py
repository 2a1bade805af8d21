"""Gemini's generateContent as the model server speaks it, with the rules that no schema can say."""

import json
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.replies import call_of
from mcp_ghost.testing.rules import first_objection, is_untouched, repeated, rules_of, signature
from mcp_ghost.testing.streams import gemini_events
from mcp_ghost.testing.wires import Headers, Wire, arguments_of, asked_form, text_of

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
    system = text_of(body.get("systemInstruction", {}).get("parts", []))
    messages: list[JSONObject] = [{"role": "system", "content": system}] if system else []
    called: list[JSONObject] = []
    for content in body["contents"]:
        parts = content["parts"]
        for response in _of(content, "functionResponse"):
            key = "id" if "id" in response else "name"
            call = next(
                it for it in called if response[key] == {**it["function"], "id": it["id"]}[key]
            )
            called.remove(call)
            given = response["response"]
            said = next((given[key] for key in ("output", "error") if key in given), given)
            text = said if isinstance(said, str) else json.dumps(said)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        called = [
            call_of(it.get("id") or f"call_{index}", it["name"], it.get("args") or {})
            for index, part in enumerate(parts)
            if (it := part.get("functionCall"))
        ]
        text = text_of([part for part in parts if not part.get("thought")])
        if called:
            said = {"content": text or None, "tool_calls": [*called]}
            messages.append({"role": "assistant", **said})
        elif text:
            role = "assistant" if content.get("role") == "model" else "user"
            messages.append({"role": role, "content": text})
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
    choice, usage = completion["choices"][0], completion["usage"]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    message, parts = choice["message"], list[JSONObject]()
    if thinking := message.get("reasoning"):
        parts.append({"text": thinking, "thought": True})
    if text := message.get("content"):
        parts.append({"text": text})
    # From version 3 on, calls have ids and the first of them a signature.
    is_signed = wants_signatures(completion["model"])
    for index, call in enumerate(message.get("tool_calls") or ()):
        named = {"name": call["function"]["name"], "args": arguments_of(call)}
        parts.append({"functionCall": {"id": call["id"], **named} if is_signed else named})
        if is_signed and index == 0:
            parts[-1]["thoughtSignature"] = signature(call_text(named))
    reason = _FINISH_REASON.get(choice["finish_reason"], "STOP")
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": reason}],
        "usageMetadata": {
            "promptTokenCount": usage["prompt_tokens"],
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": usage["completion_tokens"] - thoughts,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
        },
        "modelVersion": completion["model"],
        "responseId": completion["id"],
    }


def _model(headers: Headers) -> str:
    match = _PATH.fullmatch(urlsplit(headers[":path"]).path)
    return unquote(match["model"]) if match else ""


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


RULES = rules_of(
    "gemini",
    {
        "same_roles": lambda contents: repeated(it.get("role", "user") for it in contents),
        "turns": _turns,
        "unsigned": lambda body: not all(it.get("thoughtSignature") for it in _signed(body)),
        "corrupted": lambda body: any(map(_corrupted, _signed(body))),
        "undefined": lambda schema: ", ".join(
            sorted({*(schema.get("required") or ())} - {*(schema.get("properties") or {})})
        ),
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
    error=lambda status, message: {
        "error": {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}
    },
    streams=lambda _, headers: ":streamGenerateContent" in headers[":path"],
    events=gemini_events,
    base_path="",
)
