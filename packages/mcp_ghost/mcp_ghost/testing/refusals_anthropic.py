"""What Anthropic's messages API refuses: the rules of the strict model server on that wire.

Most are rows of ``refusals_anthropic.json``; here is what no schema can say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from mcp_ghost.results import JSONObject
from mcp_ghost.testing.rules import (
    CallIds,
    first_objection,
    image_fault,
    invalid,
    is_untouched,
    recursive,
    rules_of,
    unanswered,
    unasked,
)

_LONGEST = (
    ("claude-3-(?:opus|sonnet|haiku)", 4096),
    ("claude-3-5-", 8192),
    (r"claude-opus-4(?:-[01])?(?:-\d{8})?$", 32_000),
    (r"claude-(?:3-7|sonnet-4(?:-0|-\d{8})?$|[a-z]+-4-5)", 64_000),
    ("claude-", 128_000),
)
"""The first that fits a model says how many tokens a reply of it may have."""


def _too_long(body: JSONObject) -> str | None:
    tokens, model = body["max_tokens"], str(body["model"])
    most = next((most for pattern, most in _LONGEST if re.search(pattern, model)), tokens)
    if tokens <= most:
        return None
    return f"{tokens} > {most}, which is the maximum allowed number of output tokens for {model}"


def _blocks(message: JSONObject, kind: str) -> list[JSONObject]:
    return [it for it in message["content"] if isinstance(it, dict) and it["type"] == kind]


def _exchanges(messages: list[JSONObject]) -> list[CallIds]:
    nothing: JSONObject = {"content": []}
    return [
        (
            [it["id"] for it in _blocks(message, "tool_use")],
            [it["tool_use_id"] for it in _blocks(following, "tool_result")],
        )
        for message, following in itertools.pairwise([nothing, *messages, nothing])
    ]


def _trailing_space(messages: list[JSONObject]) -> str | None:
    last = messages[-1]["content"]
    text = last if isinstance(last, str) else str(last[-1].get("text", ""))
    return "space" if messages[-1]["role"] == "assistant" and text != text.rstrip() else None


def _result_behind(content: object) -> str | None:
    kinds = [block["type"] for block in content] if isinstance(content, list) else []
    return "first" if "tool_result" in kinds[kinds.count("tool_result") :] else None


def _unthought(body: JSONObject) -> str | None:
    """A tool's use that the model made without thinking, where thinking is on."""
    if (body.get("thinking") or {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return None
    before = body["messages"][-2]
    kind = str(before["content"][0]["type"]) if _blocks(before, "tool_use") else "thinking"
    return None if "thinking" in kind else kind


def _tools_missing(body: JSONObject) -> str | None:
    kinds = ("tool_use", "tool_result")
    used = any(_blocks(message, kind) for message in body["messages"] for kind in kinds)
    return "tools" if used and not body.get("tools") else None


def _unknown_choice(body: JSONObject) -> str | None:
    choice = body.get("tool_choice") or {}
    is_known = choice.get("name") in [tool["name"] for tool in body.get("tools") or ()]
    return str(choice["name"]) if choice.get("type") == "tool" and not is_known else None


RULES = rules_of(
    "anthropic",
    {
        "too_long": _too_long,
        "image": lambda source: image_fault(source["media_type"], source["data"]),
        "signature": lambda block: (
            None
            if is_untouched(str(block.get("signature") or ""), str(block.get("thinking")))
            else "signature"
        ),
        "first_role": lambda them: None if them[0]["role"] == "user" else them[0]["role"],
        "trailing_space": _trailing_space,
        "unanswered": lambda messages: unanswered(_exchanges(messages)),
        "unasked": lambda messages: unasked(_exchanges(messages)),
        "result_behind": _result_behind,
        "unthought": _unthought,
        "tools_missing": _tools_missing,
        "unknown_choice": _unknown_choice,
        "recursive": recursive,
        "invalid": invalid,
    },
)


def refusal(body: object, headers: Mapping[str, str]) -> str | None:
    """Why Anthropic would refuse the request, or None."""
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    return first_objection(RULES, body)
