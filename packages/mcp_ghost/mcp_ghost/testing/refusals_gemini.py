"""What Gemini's generateContent refuses: the rules of the strict model server on that wire.

Most are rows of ``refusals_gemini.json``; here is what no schema can say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.rules import (
    first_objection,
    image_fault,
    is_untouched,
    recursive,
    repeated,
    rules_of,
)

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
