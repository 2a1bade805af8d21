"""What matters in a request, alike for every provider: the model, the tools on offer, the roles.

Texts do not matter: prompts may be worded anew without a golden becoming wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
_SAME_ROLE = {"developer": "system", "model": "assistant", "function": "tool"}


def request_differences(recorded: Json, now: Json) -> Iterator[str]:
    """How two entries of ``provider_responses`` differ in what they ask, in words."""
    if not isinstance(recorded.get("request"), Mapping):
        return
    before, after = outline(recorded), outline(now)
    for what in ("model", "roles"):
        if before[what] != after[what]:
            yield f"{what}: recorded {_listed(before[what])}, now {_listed(after[what])}"
    gone = [name for name in before["tools"] if name not in after["tools"]]
    new = [name for name in after["tools"] if name not in before["tools"]]
    if gone:
        yield f"tools: no longer offered: {_listed(gone)}"
    if new:
        yield f"tools: not offered when recorded: {_listed(new)}"


def outline(exchange: Json) -> dict[str, list[str]]:
    """``model``, ``tools`` (names on the wire) and ``roles`` of a request in any wire format."""
    body = exchange["request"] if isinstance(exchange["request"], Mapping) else {}
    return {
        "model": [str(body.get("model") or _model_of(str(exchange.get("path") or "")))],
        "tools": [] if _forbidden(body) else sorted(_tools(body)),
        "roles": list(_roles(body)),
    }


def _model_of(path: str) -> str:
    """Gemini names the model in the address."""
    match = re.search(r"/models/([^:/]+)", path)
    return match[1] if match else "none"


def _forbidden(body: Json) -> bool:
    """Whether tools are only defined, for calls in the history, and none may be called."""
    config = body.get("toolConfig") or body.get("tool_config") or {}
    calling = config.get("functionCallingConfig") or config.get("function_calling_config") or {}
    return body.get("tool_choice") in ("none", {"type": "none"}) or calling.get("mode") == "NONE"


def _tools(body: Json) -> Iterator[str]:
    for tool in _dicts(body.get("tools")):
        declared = tool.get("functionDeclarations") or tool.get("function_declarations")
        for function in _dicts(declared) if declared else [tool.get("function") or tool]:
            yield str(function.get("name"))


def _roles(body: Json) -> Iterator[str]:
    if body.get("system") or body.get("systemInstruction") or body.get("system_instruction"):
        yield "system"
    for message in _dicts(body.get("messages") or body.get("contents")):
        role = str(message.get("role"))
        yield _SAME_ROLE.get(role, role)


def _dicts(value: object) -> Iterable[dict[str, Any]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"
