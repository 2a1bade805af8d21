"""Requests in Anthropic's format, refused and accepted."""

from __future__ import annotations

import base64
from typing import Any

from mcp_ghost.testing.rules import signature

VERSION = {"anthropic-version": "2023-06-01"}
TEXT = {"type": "text", "text": "Go on."}
USER = {"role": "user", "content": [TEXT]}
USE = {"type": "tool_use", "id": "t1", "name": "a_b", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
ASKED = {"role": "assistant", "content": [USE]}
ANSWER = {"role": "user", "content": [RESULT]}
TOOL = {"name": "a_b", "input_schema": {"type": "object", "properties": {}}}
MARK = {"cache_control": {"type": "ephemeral"}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": signature("Hm.")}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    given = {"model": "claude-sonnet-4-6", "max_tokens": 10, "messages": list(messages or [USER])}
    return {key: value for key, value in {**given, **fields}.items() if value is not None}


def taking(name: str, schema: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """A tool with one property."""
    return {**TOOL, "input_schema": {"type": "object", "properties": {name: schema}}}


def said(*blocks: Any, role: str = "user") -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"role": role, "content": list(blocks)}


def tooled(*messages: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return body(*messages, **{"tools": [TOOL], **fields})


def formed(schema: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return body(output_config={"format": {"type": "json_schema", "schema": schema}})


RECURSIVE = {
    "$ref": "#/$defs/A",
    "$defs": {"A": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/A"}]}}},
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
TIFF = {"type": "base64", "media_type": "image/tiff", "data": PNG}
PICTURE = {"type": "image", "source": {**TIFF, "media_type": "image/png"}}
LONGEST = {
    "claude-3-haiku-20240307": 4096,
    "claude-3-5-haiku-latest": 8192,
    "claude-opus-4-1-20250805": 32_000,
    "claude-sonnet-4-20250514": 64_000,
    "claude-haiku-4-5": 64_000,
    "claude-sonnet-4-6": 128_000,
}
"""Models, and how many tokens a reply of theirs may have."""


def heard(*blocks: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """A result of a tool with these blocks, to Anthropic."""
    result = {**RESULT, "content": list(blocks)}
    return tooled(USER, ASKED, said(result))


def spoken(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """An answer to a call of Anthropic's that has ``changes``."""
    use = said({**USE, **changes}, role="assistant")
    return tooled(USER, use, ANSWER)


REFUSED: list[tuple[Any, str]] = [
    ("text", "not valid JSON"),
    (body(model=None), "model"),
    (body(max_tokens=None), "max_tokens"),
    (body(max_tokens=0), "max_tokens"),
    (body(stream="yes"), "stream"),
    (body(output_config={"effort": "much"}), "effort"),
    (body(output_config={"form": {}}), "form: Extra inputs"),
    (body(output_config={"format": {"type": "json"}}), "expected tags"),
    (formed({"type": "object"}), "explicitly set to false"),
    (
        formed({"type": "array", "items": {"type": "object"}}),
        "items.additionalProperties: For 'object'",
    ),
    (formed({"type": "integer", "minimum": 1}), "'minimum' is not supported"),
    (formed({"type": "array", "minItems": 2}), "minItems"),
    (formed({"enum": [{}]}), "Complex types"),
    (formed(RECURSIVE), "Recursive"),
    (body(top_secret=1), "top_secret: Extra inputs"),
    (body(temperature=1, top_p=1), "cannot both"),
    (body(temperature=1.5), "range"),
    (body(model="claude-opus-4-8", temperature=1), "deprecated"),
    (body(messages=[]), "at least one message"),
    (body(system=[{"type": "text", "text": " "}]), "non-empty"),
    (body(system=3), "system"),
    (body({"role": "system", "content": "x"}), "role"),
    (body({**USER, "name": "x"}), "name: Extra inputs"),
    (body({"role": "user", "content": []}), "non-empty content"),
    (body({"role": "user", "content": "  "}), "non-empty"),
    (body(said(USE)), "expected tags"),
    (body(said({**TEXT, "id": "x"})), "Extra inputs"),
    (body(said(TEXT, role="assistant")), "first message"),
    (body(USER, USER), "alternate"),
    (body(USER, said({"type": "text", "text": "a "}, role="assistant")), "whitespace"),
    (body(USER, {"role": "assistant", "content": "a "}), "whitespace"),
    (tooled(USER, said({**USE, "id": "a.b"}, role="assistant"), ANSWER), "id"),
    (tooled(USER, said({**USE, "name": "a.b"}, role="assistant"), ANSWER), "name"),
    (tooled(USER, said({**USE, "input": "x"}, role="assistant"), ANSWER), "dictionary"),
    (tooled(USER, said(USE, USE, role="assistant"), ANSWER), "unique"),
    (tooled(USER, ASKED, ANSWER, ASKED, ANSWER), "unique"),
    (tooled(USER, ASKED), "without `tool_result`"),
    (tooled(USER, ASKED, USER), "without `tool_result`"),
    (tooled(USER, ASKED, said(TEXT, RESULT)), "come first"),
    (tooled(USER, ASKED, said(PICTURE, RESULT)), "come first"),
    (tooled(USER, ASKED, said(RESULT, RESULT)), "unexpected"),
    (tooled(USER, ASKED, said({"type": "tool_result"})), "tool_use_id: Field required"),
    (tooled(ANSWER), "unexpected"),
    (body(USER, ASKED, ANSWER), "must define tools"),
    (tooled(USER, said({**THINKING, "thinking": "X"}, USE, role="assistant"), ANSWER), "Inval"),
    (body(USER, said({**THINKING, "signature": ""}, role="assistant")), "Invalid `signature`"),
    (body(USER, said({"type": "thinking"}, role="assistant")), "Invalid `signature`"),
    (tooled(USER, ASKED, ANSWER, thinking={"type": "enabled"}), "Expected `thinking`"),
    (body(tool_choice={"type": "auto"}), "only be specified"),
    (tooled(tool_choice={"type": "maybe"}), "expected tags"),
    (tooled(tool_choice={"type": "tool", "name": "c"}), "not found"),
    (tooled(tool_choice={"type": "none", "disable_parallel_tool_use": True}), "Extra"),
    (body(tools=[TOOL, TOOL]), "unique"),
    (body(tools=[{**TOOL, "name": "a.b"}]), "name"),
    (body(tools=[{**TOOL, "parameters": {}}]), "parameters: Extra"),
    (body(tools=[{**TOOL, "input_schema": {}}]), "input_schema.type"),
    (body(tools=[taking("$top", {})]), "Property keys should match"),
    (body(tools=[taking("x" * 65, {})]), "Property keys should match"),
    (body(tools=[taking("p", {"minimum": 1, "exclusiveMinimum": True})]), "draft 2020-12"),
    (body(tools=[{**TOOL, "input_schema": {"type": "object", "anyOf": []}}]), "top level"),
    (tooled(said(*[{**TEXT, **MARK}] * 4), tools=[{**TOOL, **MARK}]), "maximum of 4"),
    *(
        (body(model=it, max_tokens=most + 1), f"{most + 1} > {most}")
        for it, most in LONGEST.items()
    ),
    *((body(model="claude-sonnet-5-5", **{key: 1}), "deprecated") for key in ("top_p", "top_k")),
    (body(system=[{"type": "image"}]), "expected tags"),
    (body(USER, said({"type": "image"}, role="assistant")), "expected tags"),
    (heard(USE), "expected tags"),
    (body(said({"type": "image", "url": "x"})), "url: Extra"),
    (spoken(extra=1), "extra: Extra"),
    (tooled(USER, ASKED, said({**RESULT, "x": 1})), "x: Extra"),
    (body(USER, said({**THINKING, "x": 1}, role="assistant")), "x: Extra"),
    (
        body(USER, said({"type": "redacted_thinking", "x": 1}, role="assistant")),
        "x: Extra",
    ),
    (
        tooled(
            USER,
            ASKED,
            said({**RESULT, "is_error": True, "content": [{"type": "image"}]}),
        ),
        "must be type `text`",
    ),
    (heard({"type": "image", "source": {"type": "url"}}), "expected tags"),
    (heard({"type": "image", "source": TIFF}), "unsupported image"),
    (formed({"type": "array", "items": []}), "should be an object"),
    (body(tools={}), "valid list"),
]
"""With words of the refusal."""
ACCEPTED: list[dict[str, Any]] = [
    body(),
    *(body(model=model, max_tokens=most) for model, most in LONGEST.items()),
    body({"role": "user", "content": "plain"}, system="Play.", temperature=0.5),
    tooled(USER, ASKED, said(RESULT, TEXT), tool_choice={"type": "none"}),
    tooled(USER, said(THINKING, USE, role="assistant"), ANSWER, thinking={"type": "enabled"}),
    tooled(said(*[{**TEXT, **MARK}] * 3), tools=[{**TOOL, **MARK}]),
]
