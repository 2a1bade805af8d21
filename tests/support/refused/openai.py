"""Requests in the format of OpenAI's chat completions, refused and accepted."""

from __future__ import annotations

from typing import Any

from mcp_ghost.testing.refusals import ServerDialect

USER = {"role": "user", "content": "Go on."}
CALL = {"id": "c1", "type": "function", "function": {"name": "a_b", "arguments": "{}"}}
NAMELESS = {key: CALL[key] for key in ("type", "function")}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "done"}
SHORT = (
    {**ASKED, "tool_calls": [{**CALL, "id": "abcdefghi"}]},
    {**ANSWER, "tool_call_id": "abcdefghi"},
)
TOOL = {
    "type": "function",
    "function": {"name": "a_b", "parameters": {"type": "object", "properties": {}}},
}
MARK = {"type": "ephemeral"}
MORE_KEYS = {"content": "hi", "extra": 1}
IMAGE = {"type": "image_url", "image_url": {"url": "ftp://a"}}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"model": "m", "messages": list(messages or [USER]), **fields}


def tool(**function: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"type": "function", "function": {**TOOL["function"], **function}}  # type: ignore[dict-item]  # a literal


def taking(schema: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """A request with a tool that has one property."""
    return body(tools=[tool(parameters={"type": "object", "properties": {"p": schema}})])


def called(**function: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    changed = {**CALL, "function": {**CALL["function"], **function}}  # type: ignore[dict-item]  # a literal
    return {**ASKED, "tool_calls": [changed]}


def strict(schema: dict[str, Any], name: str = "Answer") -> dict[str, Any]:
    named = {"name": name, "strict": True, "schema": schema}
    return body(response_format={"type": "json_schema", "json_schema": named})


def closed(**properties: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def chosen(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def part(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"role": "user", "content": [{"type": "text", "text": "hi", **fields}]}


REFUSED: list[tuple[Any, str]] = [
    ("text", "not a JSON object"),
    ({"messages": [USER]}, "model parameter"),
    ({"model": "m"}, "at least one message"),
    ({"model": "m", "messages": []}, "at least one message"),
    (body(stream_options={"include_usage": True}), "only allowed when 'stream'"),
    (body("hi"), "role"),
    (body({"role": "narrator", "content": "x"}), "role"),
    (body({**USER, "cache_control": MARK}), "cache_control"),
    (body({"role": "user", "content": None}), "got null"),
    (body({"role": "assistant", "content": None}), "got null"),
    (body({"role": "user", "content": 3}), "a string or parts"),
    (body(part(cache_control=MARK)), "cache_control"),
    (body({"role": "user", "content": [{"type": "text"}]}), "Missing text"),
    (body(USER, {**ASKED, "content": "", "tool_calls": []}), "at least one call"),
    (body(USER, called(name="a.b"), ANSWER), "does not match"),
    (body(USER, called(name="x" * 65), ANSWER), "does not match"),
    (body(USER, called(arguments={}), ANSWER), "JSON object"),
    (body(USER, called(arguments="{x"), ANSWER), "JSON object"),
    (body(USER, {**ASKED, "tool_calls": [CALL, CALL]}, ANSWER), "not unique"),
    (body(USER, ASKED), "must be followed"),
    (body(USER, ASKED, USER), "must be followed"),
    (body(USER, ASKED, USER, ANSWER), "must be followed"),
    (body(USER, ANSWER), "no preceding"),
    (body(USER, {"role": "tool", "content": "done"}), "messages[1].tool_call_id"),
    (body(USER, {**ASKED, "tool_calls": [NAMELESS]}, ANSWER), "tool_calls[0].id"),
    (body(USER, ASKED, ANSWER, ANSWER), "no preceding"),
    (body(USER, ASKED, {**ANSWER, "tool_call_id": "c2"}), "no preceding"),
    (body(tools=[]), "empty array"),
    (body(tool_choice="auto"), "only allowed"),
    (body(tools=[tool(name="a.b")]), "does not match"),
    (body(tools=[TOOL, TOOL]), "unique"),
    (body(tools=[TOOL], tool_choice="c"), "names no tool: c"),
    (body(tools=[TOOL], tool_choice=chosen("c")), "names no tool: c"),
    (body(tools=[TOOL], tool_choice={"type": "function"}), "names no tool"),
    (body(tools=[tool(parameters={"type": "string"})]), "type"),
    (body(tools=[tool(parameters={"type": "object"})]), "missing properties"),
    (body(tools=[tool(parameters={**closed(), "anyOf": []})]), "top level"),
    (body(response_format={"type": "xml"}), "response_format"),
    (strict(closed(), name="no spaces"), "name"),
    (strict({"type": "array", "items": {"type": "string"}}), "must be an object"),
    (strict({**closed(), "additionalProperties": True}), "additionalProperties"),
    (strict({**closed(a={"type": "string"}), "required": []}), "required"),
    (strict(closed(a={"type": "string", "default": ""})), "'default' is not permitted"),
    (strict(closed(a={"type": "string", "minLength": 1})), "'minLength' is not permitted"),
    (strict(closed(a={})), "must have a 'type'"),
    (strict(closed(a={"type": "array"})), "missing items"),
    (strict(closed(a={"$ref": "#/$defs/No"})), "lead somewhere"),
    (strict(closed(a={"type": "array", "items": {"type": "object"}})), "a.items"),
    *(
        (body({**MORE_KEYS, "role": role}), "extra'")
        for role in ("system", "developer", "assistant", "tool")
    ),
    (body({"role": "user", "content": [{}]}), "Invalid part"),
    (body({"role": "system", "content": [IMAGE]}), "only allowed for messages with role 'user'"),
    (body({"role": "user", "content": [IMAGE]}), "expected a data URL"),
    (body(USER, {**ASKED, "tool_calls": [{"id": "c"}]}), "type"),
    (body(USER, USER), "alternate"),
    (body(tools=[{}]), "type"),
    (body(tools=[tool(parameters=[])]), "must be an object"),
    (body(response_format={"type": "json_schema", "json_schema": {"name": "a"}}), "Missing"),
    (strict(closed(a={"$ref": "#/$defs/A", "type": "object"})), "keywords beside it"),
]
"""By every server, with words of the refusal."""
REFUSED_BY: list[tuple[ServerDialect, Any, str]] = [
    ("openai", body(model="gpt-6-luna", tools=[TOOL]), "use /v1/responses or set"),
    ("openai", body(model="gpt-5.4", tools=[TOOL], reasoning_effort="low"), "use /v1/responses"),
    ("openai", body(model="gpt-6.2-sol", tools=[TOOL]), "Please use /v1/responses instead"),
    ("openai", body(model="gpt-5", max_tokens=9), "Use 'max_completion_tokens' instead"),
    ("openai", body(model="o3", stop=["E"]), "'stop' is not supported"),
    ("openai", body(model="gpt-5.4", temperature=0.2), "Only the default (1) value"),
    ("mistral", body(USER, ASKED, ANSWER), "Tool call id was c1 but must be"),
    ("mistral", body(max_completion_tokens=9), "max_completion_tokens: Extra inputs"),
    ("mistral", body(USER, *SHORT, USER), "'user' after role 'tool'"),
    (
        "mistral",
        body({"role": "assistant", "content": "x", "reasoning_content": "y"}),
        "assistant.reasoning_content: Extra inputs",
    ),
    ("litellm", body(USER, ASKED, ANSWER), "without `tools=` param"),
    ("openai", body(top_k=3), "Unknown parameter: 'top_k'"),
    (
        "openai",
        body(
            USER,
            {**ASKED, "tool_calls": [{**CALL, "id": "c" * 41}]},
            {**ANSWER, "tool_call_id": "c" * 41},
        ),
        "maximum length 40",
    ),
    ("openai", body(tools=[TOOL] * 129), "array too long"),
    ("openai", taking({"type": "string", "enum": None}), "is not of type 'array'"),
    ("openai", taking({"pattern": "^\\p{L}$"}), "is not a 'regex'"),
    ("openai", taking({"type": ["array", "null"]}), "missing items"),
    ("openai", taking({"anyOf": [{"type": "object"}]}), "missing properties"),
    ("openai", taking({"type": "string", "pattern": "^(?!x)"}), "lookaround"),
    ("llamacpp", taking({"type": "string", "pattern": "[a-z]"}), "must start with"),
    ("llamacpp", taking({"type": "string", "pattern": "^\\d$"}), "unknown escape"),
    ("llamacpp", taking({"type": "string", "maxLength": 2000}), "sane defaults"),
    ("llamacpp", taking({"description": "Anything."}), "Unrecognized schema"),
    ("llamacpp", taking({"type": "any"}), "Unrecognized schema"),
    ("llamacpp", taking(True), "Unrecognized schema"),
    ("openai", body(tools=[tool(description="x" * 1025)]), "maximum length"),
    ("openrouter", body(USER, ASKED, ANSWER), "must define tools"),
    ("openrouter", body(*[part(cache_control=MARK)] * 5), "maximum of 4"),
    ("openrouter", body(part(text=" ", cache_control=MARK)), "empty text"),
    *(
        ("openai", body({"role": "assistant", "content": "x", key: "x"}), key)
        for key in ("reasoning_content", "reasoning_details")
    ),
]
ACCEPTED: list[dict[str, Any]] = [
    body(),
    body(USER, ASKED, ANSWER, USER, tools=[TOOL], tool_choice="none"),
    body(tools=[TOOL], tool_choice=chosen("a_b")),
    body(tools=[TOOL], tool_choice="required", temperature=1),
    body(model="gpt-6-luna", tools=[TOOL], reasoning_effort="none"),
    body(model="gpt-6-luna", reasoning_effort="low"),
    body(model="gpt-5.4", tools=[TOOL]),
    body(model="gpt-5.4", temperature=0.2, stop=["E"], reasoning_effort="none"),
    body(model="gpt-4.1", temperature=0.2, stop=["E"], max_tokens=9),
    strict(closed(a={"anyOf": [{"type": "string"}, {"type": "null"}]})),
]
