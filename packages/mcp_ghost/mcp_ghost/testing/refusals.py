"""What providers refuse in a chat request: the rules of the strict model server.

Collected from OpenAI, OpenRouter and the providers behind it; each rule has stopped somebody's
agent in the field. Most are rows of ``refusals_openai.json``; here is what no schema can say.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Literal, TypeAlias

from mcp_ghost.results import JSONObject, parsed
from mcp_ghost.testing.rules import (
    CallIds,
    first_objection,
    image_fault,
    invalid,
    rules_of,
    unanswered,
    unasked,
)

ServerDialect: TypeAlias = Literal[
    "generic", "openai", "openrouter", "llamacpp", "mistral", "litellm"
]
"""generic: what all refuse; openai: also every unknown parameter; openrouter: takes cache markers
in parts, and wants tool definitions beside a history with tool calls; llamacpp: makes a grammar of
the tools' schemas; mistral: has ids of its own form, and refuses some of OpenAI's fields; litellm:
stands before Claude, and wants tool definitions beside such a history, too."""
# https://github.com/openai/openai-openapi/issues/541, and for those that think unasked
# https://github.com/BerriAI/litellm/pull/34569
_NO_TOOLS = re.compile(r"gpt-(?:5\.[2-9]|[6-9])(?!.*-chat)")
_THINKS_UNASKED = re.compile(r"gpt-(?:5\.[5-9]|[6-9])")
_ONLY_RESPONSES = re.compile(r"gpt-6(?:-astra|\.\d)")


def _exchanges(messages: list[JSONObject]) -> list[CallIds]:
    found: list[CallIds] = [([], [])]
    for message in messages:
        if message["role"] == "tool":
            found[-1][1].append(str(message.get("tool_call_id")))
        else:
            found.append(([call["id"] for call in message.get("tool_calls") or ()], []))
    return found


def _unasked(messages: list[JSONObject]) -> str | None:
    """Behind a call without any answer, that is what is wrong."""
    before = itertools.takewhile(lambda it: it[1] or not it[0], _exchanges(messages))
    return unasked(before)


def _two_users(messages: list[JSONObject], before: str = "user") -> str | None:
    pairs = itertools.pairwise(message["role"] for message in messages)
    return "user" if (before, "user") in pairs else None


def _user_after_tool(messages: list[JSONObject]) -> str | None:
    return _two_users(messages, "tool")


def _not_an_object(text: object) -> str | None:
    return None if isinstance(text, str) and isinstance(parsed(text), dict) else str(text)


def image(part: JSONObject) -> str | None:
    """What is wrong with an image in a part of a message."""
    url = str((part.get("image_url") or {}).get("url"))
    if inline := re.fullmatch(r"data:([^;,]*);base64,(.*)", url, re.DOTALL):
        return image_fault(inline[1], inline[2])
    return None if url.startswith("https://") else "expected a data URL or an address"


def _no_tool(body: JSONObject) -> str | None:
    choice = body.get("tool_choice", "auto")
    chosen = choice["function"]["name"] if isinstance(choice, dict) else choice
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    return None if chosen in ("auto", "none", "required", *names) else str(chosen)


def _undefined(body: JSONObject) -> str | None:
    called = any("tool_calls" in message for message in body["messages"])
    return "tools" if called and "tools" not in body else None


def _nowhere(schema: JSONObject) -> str | None:
    known = schema.get("$defs", {})
    names = re.findall(r'"\$ref": "(?:#/\$defs/)?([^"]*)"', json.dumps(schema))
    return next((name for name in names if name not in known), None)


def _incomplete(schema: JSONObject) -> str:
    return ", ".join(sorted({*schema.get("properties", ())} ^ {*schema.get("required", ())}))


def _thinks_with_tools(body: JSONObject) -> str | None:
    """The model, if it has tools and is not told not to think; newer ones think unasked."""
    model, effort = str(body.get("model")), body.get("reasoning_effort")
    wants = effort is not None or _THINKS_UNASKED.match(model)
    is_refused = body.get("tools") and wants and effort != "none" and _NO_TOOLS.match(model)
    return model if is_refused and not _ONLY_RESPONSES.match(model) else None


def _tools_elsewhere(body: JSONObject) -> str | None:
    model = str(body.get("model"))
    return model if body.get("tools") and _ONLY_RESPONSES.match(model) else None


RULES = rules_of(
    "openai",
    {
        "unanswered": lambda messages: unanswered(_exchanges(messages)),
        "unasked": _unasked,
        "no_two_users": _two_users,
        "no_user_after_tool": _user_after_tool,
        "json_text": _not_an_object,
        "image": image,
        "no_tool": _no_tool,
        "thinks_with_tools": _thinks_with_tools,
        "tools_elsewhere": _tools_elsewhere,
        "undefined": _undefined,
        "nowhere": _nowhere,
        "incomplete": _incomplete,
        "invalid": invalid,
    },
)


def refusal(body: object, dialect: ServerDialect = "generic") -> str | None:
    """Why a provider would refuse ``body``, or None."""
    return first_objection(RULES, body, dialect)
