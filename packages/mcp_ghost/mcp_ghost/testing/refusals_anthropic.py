"""What Anthropic's messages API refuses: the rules of the strict model server on that wire."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mcp_ghost.testing.refusals import image_fault, is_recursive, is_untouched

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PARAMETERS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "temperature", "top_p",
    "top_k", "stop_sequences", "stream", "metadata", "thinking", "output_config", "service_tier",
    "container", "cache_control", "inference_geo", "speed", "diagnostics", "user_profile_id",
}  # fmt: skip
_BLOCKS = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control"},
    "tool_use": {"id", "name", "input", "cache_control"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
_EFFORTS = {"low", "medium", "high", "xhigh", "max"}
_SCHEMA = {
    "type", "title", "description", "default", "enum", "const", "anyOf", "allOf", "$ref", "$defs",
    "definitions", "properties", "required", "additionalProperties", "items", "minItems", "format",
    "pattern",
}  # fmt: skip
_TOOL = {"name", "description", "input_schema", "cache_control", "type", "strict"}
_CHOICES = {"auto", "any", "tool", "none"}
_NO_SAMPLING = re.compile(r"claude-(?:opus-4-[7-9]|[a-z]+-(?:[5-9]|\d\d)(?!\d))")
_MAX_BREAKPOINTS = 4
_LONGEST = (
    (re.compile(r"claude-3-(?:opus|sonnet|haiku)"), 4096),
    (re.compile(r"claude-3-5-"), 8192),
    (re.compile(r"claude-opus-4(?:-[01])?(?:-\d{8})?$"), 32_000),
    (re.compile(r"claude-(?:3-7|sonnet-4(?:-0|-\d{8})?$|[a-z]+-4-5)"), 64_000),
    (re.compile(r"claude-"), 128_000),
)
"""The first that fits a model says how many tokens a reply of it may have."""


def refusal(body: object, headers: Mapping[str, str]) -> str | None:
    """Why Anthropic would refuse the request, or None."""
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    if not isinstance(body, dict):
        return "The request body is not valid JSON."
    return next(_objections(body), None)


def _objections(body: JSONObject) -> Iterator[str]:
    yield from (f"{key}: Extra inputs are not permitted" for key in body.keys() - _PARAMETERS)
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: Field required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: Field required"
    else:
        yield from _length(str(body.get("model")), body["max_tokens"])
    if not isinstance(body.get("stream", False), bool):
        yield "stream: Input should be a valid boolean"
    yield from _sampling(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from _system(body.get("system", "-"))
    for index, message in enumerate(messages):
        yield from _message(message, f"messages.{index}")
    yield from _order(messages)
    yield from _pairs(messages)
    yield from _thinking(messages, body.get("thinking") or {})
    yield from _tools(body)
    yield from _output(body.get("output_config") or {})
    yield from _markers(body)


def _length(model: str, tokens: int) -> Iterator[str]:
    longest = next((most for pattern, most in _LONGEST if pattern.search(model)), tokens)
    if tokens > longest:
        yield (
            f"max_tokens: {tokens} > {longest}, which is the maximum allowed number of output "
            f"tokens for {model}"
        )


def _sampling(body: JSONObject) -> Iterator[str]:
    if "temperature" in body and "top_p" in body:
        yield "`temperature` and `top_p` cannot both be specified for this model."
    if not 0 <= body.get("temperature", 1) <= 1:
        yield "temperature: range: 0..1"
    for key in ("temperature", "top_p", "top_k"):
        if key in body and _NO_SAMPLING.search(str(body.get("model"))):
            yield f"`{key}` is deprecated for this model."


def _system(system: object) -> Iterator[str]:
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list):
        yield "system: Input should be a valid string or list"
        return
    for index, block in enumerate(blocks):
        yield from _block(block, f"system.{index}", {"text"})


def _message(message: object, at: str) -> Iterator[str]:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(message, dict) or role not in ("user", "assistant"):
        yield f"{at}.role: Input should be 'user' or 'assistant'"
        return
    for key in message.keys() - {"role", "content"}:
        yield f"{at}.{key}: Extra inputs are not permitted"
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        yield f"{at}: all messages must have non-empty content"
        return
    only_here = {
        "user": {"text", "image", "tool_result"},
        "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    }
    for index, block in enumerate(content):
        yield from _block(block, f"{at}.content.{index}", only_here[str(role)])


def _block(block: object, at: str, allowed: set[str]) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or kind not in allowed:
        yield f"{at}: Input tag '{kind}' does not match any of the expected tags"
        return
    for key in block.keys() - _BLOCKS[kind] - {"type"}:
        yield f"{at}.{kind}.{key}: Extra inputs are not permitted"
    if kind == "text" and not str(block.get("text", "")).strip():
        yield "messages: text content blocks must be non-empty"
    elif kind == "tool_use":
        if not _ID.fullmatch(str(block.get("id"))):
            yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if not _NAME.fullmatch(str(block.get("name"))):
            yield f"{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if not isinstance(block.get("input"), dict):
            yield f"{at}.tool_use.input: Input should be a valid dictionary"
    elif kind == "tool_result" and isinstance(block.get("content"), list):
        for index, inner in enumerate(block["content"]):
            yield from _block(inner, f"{at}.tool_result.content.{index}", {"text", "image"})
            if block.get("is_error") and inner.get("type") != "text":
                yield f"{at}.tool_result: all content must be type `text` if `is_error` is true"
    elif kind == "image":
        source = block.get("source") or {}
        if source.get("type") != "base64" or source.keys() != {"type", "media_type", "data"}:
            yield f"{at}.image.source: Input does not match any of the expected tags"
        elif fault := image_fault(source["media_type"], source["data"]):
            yield f"{at}.image.source.base64: {fault}"
    elif kind == "thinking" and not is_untouched(
        str(block.get("signature") or ""), str(block.get("thinking"))
    ):
        yield f"{at}: Invalid `signature` in `thinking` block"


def _order(messages: list[JSONObject]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if roles[0] != "user":
        yield 'messages: first message must use the "user" role'
    if any(one == other for one, other in itertools.pairwise(roles)):
        yield 'messages: roles must alternate between "user" and "assistant"'
    if roles[-1] == "assistant" and _last_text(messages[-1]) != _last_text(messages[-1]).rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _last_text(message: JSONObject) -> str:
    content = message["content"]
    return content if isinstance(content, str) else str(content[-1].get("text", ""))


def _blocks_of(message: JSONObject, kind: str) -> list[JSONObject]:
    content = message["content"]
    return [block for block in content if isinstance(block, dict) and block["type"] == kind]


def _pairs(messages: list[JSONObject]) -> Iterator[str]:
    """Each use is answered once, at the start of the next message; nothing else is."""
    open_ids: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        answered = [block["tool_use_id"] for block in _blocks_of(message, "tool_result")]
        if missing := [each for each in open_ids if each not in answered]:
            yield (
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}."
            )
        for each in answered:
            if each not in open_ids or answered.count(each) > 1:
                yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result`: {each}."
        if any(block["type"] != "tool_result" for block in message["content"][: len(answered)]):
            yield f"messages.{index}: `tool_result` blocks must come first."
        open_ids = [block["id"] for block in _blocks_of(message, "tool_use")]
        if seen & set(open_ids) or len(set(open_ids)) < len(open_ids):
            yield f"messages.{index}: `tool_use` ids must be unique"
        seen |= set(open_ids)
    if open_ids:
        yield f"`tool_use` ids were found without `tool_result` blocks: {', '.join(open_ids)}."


def _thinking(messages: list[JSONObject], thinking: JSONObject) -> Iterator[str]:
    if thinking.get("type") != "enabled" or len(messages) < 2:
        return
    before = messages[-2]
    if _blocks_of(before, "tool_use") and "thinking" not in before["content"][0]["type"]:
        yield (
            f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or "
            "`redacted_thinking`, but found another block."
        )


def _tools(body: JSONObject) -> Iterator[str]:
    tools = body.get("tools")
    messages = body["messages"]
    if not tools:
        if any(_blocks_of(m, "tool_use") or _blocks_of(m, "tool_result") for m in messages):
            yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
        if "tool_choice" in body:
            yield "tool_choice: may only be specified while providing tools."
        return
    for index, tool in enumerate(tools):
        yield from _tool(tool, f"tools.{index}.custom")
    names = [tool.get("name") for tool in tools]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    choice = body.get("tool_choice", {"type": "auto"})
    if choice.get("type") not in _CHOICES:
        yield "tool_choice: Input tag does not match any of the expected tags"
    if choice.get("type") == "tool" and choice.get("name") not in names:
        yield f"tool_choice: Tool '{choice.get('name')}' not found in provided tools"
    if choice.get("type") == "none" and "disable_parallel_tool_use" in choice:
        yield "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted"


def _tool(tool: JSONObject, at: str) -> Iterator[str]:
    for key in tool.keys() - _TOOL:
        yield f"{at}.{key}: Extra inputs are not permitted"
    if not _NAME.fullmatch(str(tool.get("name"))):
        yield f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    schema = tool.get("input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield f"{at}.input_schema.type: Field required"
    elif schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield f"{at}.input_schema: does not support oneOf, allOf, or anyOf at the top level"


def _output(config: JSONObject) -> Iterator[str]:
    for key in config.keys() - {"effort", "format"}:
        yield f"output_config.{key}: Extra inputs are not permitted"
    if config.get("effort", "high") not in _EFFORTS:
        yield f"output_config.effort: Input should be one of {', '.join(sorted(_EFFORTS))}"
    form = config.get("format")
    if form is None:
        return
    if form.keys() != {"type", "schema"} or form["type"] != "json_schema":
        yield "output_config.format: Input tag does not match any of the expected tags"
        return
    at = "output_config.format.schema"
    if is_recursive(form["schema"], form["schema"].get("$defs") or {}):
        yield f"{at}: Recursive schemas are not supported"
    yield from _schema(form["schema"], at)


def _schema(schema: object, at: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{at}: Input should be an object"
        return
    for keyword in schema.keys() - _SCHEMA:
        yield f"{at}: For '{schema.get('type')}' type, property '{keyword}' is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false"
    if schema.get("minItems", 0) not in (0, 1):
        yield f"{at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if any(isinstance(value, dict | list) for value in schema.get("enum", ())):
        yield f"{at}: Complex types are not supported in enum"
    for inner in ("properties", "$defs"):
        for name, each in (schema.get(inner) or {}).items():
            yield from _schema(each, f"{at}.{name}")
    for each in schema.get("anyOf") or ():
        yield from _schema(each, f"{at}.anyOf")
    if "items" in schema:
        yield from _schema(schema["items"], f"{at}.items")


def _markers(body: JSONObject) -> Iterator[str]:
    places = [*(body.get("tools") or ()), *_listed(body.get("system"))]
    places += [block for message in body["messages"] for block in _listed(message["content"])]
    marked = sum("cache_control" in place for place in places)
    if marked > _MAX_BREAKPOINTS:
        yield (
            f"A maximum of {_MAX_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {marked}."
        )


def _listed(content: object) -> list[JSONObject]:
    return content if isinstance(content, list) else []
