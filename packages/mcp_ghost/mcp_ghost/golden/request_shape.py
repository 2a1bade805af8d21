"""What matters in a request, the same for every provider: model, tools on offer, roles, results.

Other texts do not matter: prompts may be reworded without a golden becoming wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Any

from mcp_ghost.golden.difference import difference
from mcp_ghost.golden.scrub import same
from mcp_ghost.results import as_text
from mcp_ghost.text import counted

_SAME_ROLE = {"developer": "system", "model": "assistant", "function": "tool"}
_ROLE_OF_ITEM = {
    "reasoning": "assistant",
    "function_call": "assistant",
    "function_call_output": "tool",
}
"""Of OpenAI's Responses API, where calls and their results are no messages."""


def request_differences(
    recorded: Mapping[str, Any],
    now: Mapping[str, Any],
    volatile: Iterable[str] = (),
) -> Iterator[str]:
    """How two entries of ``provider_responses`` differ in what they ask, in words.

    ``volatile`` are patterns of tools whose results may be anything.
    """
    if not isinstance(recorded.get("request"), Mapping):
        return
    before, after = request_shape(recorded), request_shape(now)
    if before["model"] != after["model"]:
        yield f"model: recorded {_listed(before['model'])}, now {_listed(after['model'])}"
    gone = [name for name in before["tools"] if name not in after["tools"]]
    new = [name for name in after["tools"] if name not in before["tools"]]
    if gone:
        yield f"tools: no longer offered: {_listed(gone)}"
    if new:
        yield f"tools: not offered when recorded: {_listed(new)}"
    if before["roles"] != after["roles"]:
        pairs = enumerate(zip_longest(before["roles"], after["roles"], fillvalue="nothing"), 1)
        number, (role, role_now) = next(it for it in pairs if it[1][0] != it[1][1])
        lengths = f"{counted(len(before['roles']), 'message')} recorded, {len(after['roles'])} now"
        yield f"message {number}, role: recorded {role}, now {role_now} ({lengths})"
        return  # what follows belongs to another conversation
    # Names on the wire, where a namespace leads and dots are underscores.
    any_of = ["*" + pattern.replace(".", "_") for pattern in volatile]
    for (number, name, text), (_, _, text_now) in zip(_told(recorded), _told(now), strict=False):
        if not (same(text, text_now) or any(fnmatchcase(name, it) for it in any_of)):
            yield difference(f"message {number}, result of {name}", text, text_now)


def request_shape(exchange: Mapping[str, Any]) -> dict[str, list[str]]:
    """``model``, ``tools`` (names on the wire) and ``roles`` of a request in any wire format."""
    body = exchange["request"] if isinstance(exchange["request"], Mapping) else {}
    # Gemini names the model in the address.
    found = re.search(r"/models/([^:/]+)", str(exchange.get("path") or ""))
    return {
        "model": [str(body.get("model") or (found[1] if found else "none"))],
        "tools": [] if _forbidden(body) else sorted(_tools(body)),
        "roles": [*(["system"] if _has_system(body) else ()), *(it for it, _ in _messages(body))],
    }


def _forbidden(body: Mapping[str, Any]) -> bool:
    """Whether tools are only defined, for calls in the history, and none may be called."""
    config = body.get("toolConfig") or body.get("tool_config") or {}
    calling = config.get("functionCallingConfig") or config.get("function_calling_config") or {}
    return body.get("tool_choice") in ("none", {"type": "none"}) or calling.get("mode") == "NONE"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    for tool in _dicts(body.get("tools")):
        declared = tool.get("functionDeclarations") or tool.get("function_declarations")
        for function in _dicts(declared) if declared else [tool.get("function") or tool]:
            yield str(function.get("name"))


def _messages(body: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The role of each message, and what it is made of: itself, or the items of one reply."""
    messages: list[tuple[str, list[dict[str, Any]]]] = []
    for message in _dicts(body.get("messages") or body.get("contents") or body.get("input")):
        kind = message.get("type")
        known = str(message.get("role") or _ROLE_OF_ITEM.get(str(kind), kind))
        role = _SAME_ROLE.get(known, known)
        if kind and role == "assistant" and messages and messages[-1][0] == role:
            messages[-1][1].append(message)
        else:
            messages.append((role, [message]))
    return messages


def _has_system(body: Mapping[str, Any]) -> bool:
    """Whether the system prompt stands beside the messages."""
    names = ("system", "systemInstruction", "system_instruction", "instructions")
    return any(body.get(name) for name in names)


def _told(exchange: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """What the model is told about its calls: message (from 1), name on the wire, and text."""
    body = exchange["request"] if isinstance(exchange["request"], Mapping) else {}
    names: dict[object, str] = {}
    numbered = enumerate(_messages(body), start=2 if _has_system(body) else 1)
    for number, message in ((number, each) for number, (_, them) in numbered for each in them):
        for call in _dicts(message.get("tool_calls")):
            names[call.get("id")] = str((call.get("function") or {}).get("name"))
        if message.get("type") == "function_call":
            names[message.get("call_id")] = str(message.get("name"))
        if message.get("role") == "tool":
            name = _named(names, message.get("tool_call_id"))
            yield number, name, as_text(message.get("content"))
        elif message.get("type") == "function_call_output":
            yield number, _named(names, message.get("call_id")), as_text(message.get("output"))
        for part in _dicts(message.get("parts") or message.get("content")):
            if part.get("type") == "tool_use":
                names[part.get("id")] = str(part.get("name"))
            elif part.get("type") == "tool_result":
                name = _named(names, part.get("tool_use_id"))
                yield number, name, as_text(part.get("content"))
            elif isinstance(answer := part.get("functionResponse"), dict):
                yield number, str(answer.get("name")), as_text(answer.get("response"))


def _named(names: Mapping[object, str], identifier: object) -> str:
    return names.get(identifier, str(identifier))


def _dicts(value: object) -> Iterable[dict[str, Any]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"
