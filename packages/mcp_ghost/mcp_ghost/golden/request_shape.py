"""What matters in a request, the same for every provider: model, tools on offer, roles, results.

Other texts do not matter: prompts may be reworded without a golden becoming wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Any, NamedTuple

from mcp_ghost.golden.comparison import difference
from mcp_ghost.golden.scrub import same
from mcp_ghost.providers.common import at, dicts_in
from mcp_ghost.results import JSONObject, as_text
from mcp_ghost.text import counted

_HEADS = ("system", "systemInstruction", "system_instruction", "instructions")
"""Where the system prompt stands beside the messages."""
_SAME_ROLE = {"developer": "system", "model": "assistant", "function": "tool"}
_ROLE_OF_ITEM = {
    "reasoning": "assistant",
    "function_call": "assistant",
    "function_call_output": "tool",
}
"""Of OpenAI's Responses API, where calls and their results are no messages."""
_RESULTS = {
    "tool": ("tool_call_id", "content"),
    "function_call_output": ("call_id", "output"),
    "tool_result": ("tool_use_id", "content"),
}
"""By the role or type of a result: the fields of its call's id and of its text."""


class Shape(NamedTuple):
    """What of a request matters."""

    model: str
    tools: list[str]
    """Those that may be called, by their names on the wire."""
    roles: list[str]
    results: list[tuple[int, str, str]]
    """What the model is told of its calls: message, from 1; name on the wire; text."""


def request_differences(
    recorded: Mapping[str, Any], now: Mapping[str, Any], volatile: Iterable[str] = ()
) -> Iterator[str]:
    """How two entries of ``provider_responses`` differ in what they ask, in words.

    ``volatile`` are patterns of tools whose results may be anything.
    """
    if not isinstance(recorded.get("request"), Mapping):
        return
    before, after = request_shape(recorded), request_shape(now)
    if before.model != after.model:
        yield f"model: recorded {before.model}, now {after.model}"
    if gone := [name for name in before.tools if name not in after.tools]:
        yield f"tools: no longer offered: {', '.join(gone)}"
    if new := [name for name in after.tools if name not in before.tools]:
        yield f"tools: not offered when recorded: {', '.join(new)}"
    if before.roles != after.roles:
        pairs = enumerate(zip_longest(before.roles, after.roles, fillvalue="nothing"), start=1)
        number, (role, role_now) = next(it for it in pairs if it[1][0] != it[1][1])
        lengths = f"{counted(len(before.roles), 'message')} recorded, {len(after.roles)} now"
        yield f"message {number}, role: recorded {role}, now {role_now} ({lengths})"
        return  # what follows belongs to another conversation
    # Names on the wire, where a namespace leads and dots are underscores.
    any_of = ["*" + pattern.replace(".", "_") for pattern in volatile]
    for (number, name, text), (_, _, text_now) in zip(before.results, after.results, strict=False):
        if not (same(text, text_now) or any(fnmatchcase(name, it) for it in any_of)):
            yield difference(f"message {number}, result of {name}", text, text_now)


def request_shape(exchange: Mapping[str, Any]) -> Shape:
    """What matters of a request in any wire format."""
    body = exchange["request"] if isinstance(exchange["request"], Mapping) else {}
    # Gemini names the model in the address.
    in_address = re.search(r"/models/([^:/]+)", str(exchange.get("path") or ""))
    model = body.get("model") or (in_address[1] if in_address else "none")
    tools = [
        str(function.get("name"))
        for tool in dicts_in(body.get("tools"))
        for function in dicts_in(tool.get("functionDeclarations"))
        or dicts_in(tool.get("function_declarations"))
        or [tool.get("function") or tool]
    ]
    config = body.get("toolConfig") or body.get("tool_config")
    mode = at(config, "functionCallingConfig", "mode") or at(
        config, "function_calling_config", "mode"
    )
    # They may be defined only for calls in the history, where none may be called.
    is_none = body.get("tool_choice") in ("none", {"type": "none"}) or mode == "NONE"
    messages = _messages(body)
    return Shape(
        str(model),
        [] if is_none else sorted(tools),
        [role for role, _ in messages],
        [*_results(messages)],
    )


def _messages(body: Mapping[str, Any]) -> list[tuple[str, list[JSONObject]]]:
    """The role of each message, and what it is made of: itself, or the items of one reply."""
    messages: list[tuple[str, list[JSONObject]]] = []
    if any(body.get(name) for name in _HEADS):
        messages.append(("system", []))
    for message in dicts_in(body.get("messages") or body.get("contents") or body.get("input")):
        kind = message.get("type")
        known = str(message.get("role") or _ROLE_OF_ITEM.get(str(kind), kind))
        role = _SAME_ROLE.get(known, known)
        if kind and role == "assistant" and messages and messages[-1][0] == role:
            messages[-1][1].append(message)
        else:
            messages.append((role, [message]))
    return messages


def _results(messages: Iterable[tuple[str, list[JSONObject]]]) -> Iterator[tuple[int, str, str]]:
    names: dict[object, str] = {}
    for number, (_, items) in enumerate(messages, start=1):
        parts = (part for it in items for part in dicts_in(it.get("parts") or it.get("content")))
        for item in (*items, *parts):
            for call in dicts_in(item.get("tool_calls")):
                names[call.get("id")] = str(at(call, "function", "name"))
            kind = "tool" if item.get("role") == "tool" else str(item.get("type"))
            if kind in ("function_call", "tool_use"):
                names[item.get("call_id", item.get("id"))] = str(item.get("name"))
            elif kind in _RESULTS:
                identifier, text = (item.get(field) for field in _RESULTS[kind])
                yield number, names.get(identifier, str(identifier)), as_text(text)
            elif isinstance(answer := item.get("functionResponse"), dict):
                yield number, str(answer.get("name")), as_text(answer.get("response"))
