"""What providers refuse in a chat request: the rules of the strict model server.

Collected from OpenAI, OpenRouter and the providers behind it; each rule has stopped somebody's
agent in the field.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

ServerDialect: TypeAlias = Literal["generic", "openai", "openrouter"]
"""generic: what all refuse; openai: also every unknown parameter; openrouter: takes cache markers
in parts, and wants tool definitions beside a history with tool calls."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MESSAGE_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
_THINKING_KEYS = {"reasoning_content", "reasoning_details"}
_OPENAI_PARAMETERS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format",
    "temperature", "top_p", "stop", "max_tokens", "max_completion_tokens", "n", "seed", "user",
    "logprobs", "top_logprobs", "logit_bias", "frequency_penalty", "presence_penalty",
    "reasoning_effort", "metadata", "store", "service_tier", "stream", "stream_options",
}  # fmt: skip
_SCHEMA_KEYWORDS = {
    "type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "properties",
    "required", "additionalProperties", "items", "pattern", "format", "multipleOf", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}  # fmt: skip
_IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF",
}
"""What all of them take, with the bytes that it begins with."""
_MAX_IMAGE = 5 * 2**20
_MAX_BREAKPOINTS = 4
_MARK = b"loopback:"
_MAX_DESCRIPTION = 1024


def signature(text: str) -> str:
    """What the model server signs thinking or a call with, which must come back as they were."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return base64.b64encode(_MARK + digest.encode()).decode()


def is_untouched(given: str, text: str) -> bool:
    """Whether ``given`` can be a signature of ``text``; those of others are not known here."""
    try:
        ours = base64.b64decode(given).startswith(_MARK)
    except ValueError:
        return False
    return given == signature(text) if ours else bool(given)


def refusal(body: object, dialect: ServerDialect = "generic") -> str | None:
    """Why a provider would refuse ``body``, or None."""
    if not isinstance(body, dict):
        return "The request is not a JSON object."
    return next(_objections(body, dialect), None)


def _objections(body: JSONObject, dialect: ServerDialect) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "you must provide a model parameter"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "'messages' must be an array with at least one message"
        return
    if dialect == "openai":
        yield from (f"Unknown parameter: '{key}'." for key in body.keys() - _OPENAI_PARAMETERS)
    if "stream_options" in body and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    for index, message in enumerate(messages):
        yield from _message(message, f"messages[{index}]", dialect)
    yield from _markers(messages)
    yield from _order(messages)
    yield from _unanswered(messages)
    yield from _tools(body, dialect)
    yield from _response_format(body.get("response_format"))


def _message(message: object, at: str, dialect: ServerDialect) -> Iterator[str]:
    if not isinstance(message, dict) or message.get("role") not in _MESSAGE_KEYS:
        yield f"Invalid value: '{at}.role' must be one of {', '.join(_MESSAGE_KEYS)}."
        return
    allowed = _MESSAGE_KEYS[message["role"]]
    if message["role"] == "assistant" and dialect != "openai":
        allowed = allowed | _THINKING_KEYS
    for key in message.keys() - allowed:
        yield f"Unknown parameter: '{at}.{key}'."
    content = message.get("content")
    if content is None and not (message["role"] == "assistant" and message.get("tool_calls")):
        yield f"Invalid value for '{at}.content': expected a string, got null."
    elif isinstance(content, list):
        for part in content:
            yield from _part(part, f"{at}.content", dialect, message["role"])
    elif content is not None and not isinstance(content, str):
        yield f"Invalid type for '{at}.content': expected a string or parts."
    if "tool_calls" in message:
        yield from _history_calls(message["tool_calls"], f"{at}.tool_calls")


def image_fault(type_: object, data: object) -> str | None:
    """What is wrong with an image, base64 and its type; every provider refuses the same."""
    if type_ not in _IMAGES:
        return f"unsupported image type {type_}"
    try:
        start = base64.b64decode(str(data), validate=True)[:12]
    except ValueError:
        return "invalid base64 data"
    if len(str(data)) > _MAX_IMAGE:
        return f"image exceeds 5 MB maximum: {len(str(data))} bytes > {_MAX_IMAGE} bytes"
    if not start.startswith(_IMAGES[str(type_)]):
        return f"the image does not look like {type_}"
    return None


def _image(part: JSONObject, at: str, role: str) -> Iterator[str]:
    if role != "user":
        yield (
            f"Invalid '{at}'. Image URLs are only allowed for messages with role 'user', but this "
            f"message with role '{role}' contains an image URL."
        )
    url = str((part.get("image_url") or {}).get("url"))
    inline = re.fullmatch(r"data:([^;,]*);base64,(.*)", url, re.DOTALL)
    fault = image_fault(inline[1], inline[2]) if inline else None
    if fault or not (inline or url.startswith("https://")):
        yield f"Invalid '{at}.image_url': {fault or 'expected a data URL or an address'}."


def _part(part: object, at: str, dialect: ServerDialect, role: str) -> Iterator[str]:
    if not isinstance(part, dict) or "type" not in part:
        yield f"Invalid part in '{at}'."
    elif part["type"] == "image_url":
        yield from _image(part, at, role)
    elif part["type"] == "text" and not isinstance(part.get("text"), str):
        yield f"Missing text of a part in '{at}'."
    elif "cache_control" in part and dialect != "openrouter":
        yield f"Unknown parameter: '{at}.cache_control'."
    elif "cache_control" in part and not part.get("text", "").strip():
        yield f"cache_control cannot be set for empty text blocks ('{at}')."


def _history_calls(calls: object, at: str) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield f"Invalid '{at}': expected an array with at least one call."
        return
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        yield f"The ids in '{at}' are missing or not unique."
    for call in calls:
        function = call.get("function") or {}
        if call.get("type") != "function":
            yield f"Invalid type in '{at}'."
        if not _NAME.fullmatch(str(function.get("name"))):
            yield f"Invalid '{at}.function.name': does not match '^[a-zA-Z0-9_-]{{1,64}}$'."
        if not _is_object(function.get("arguments")):
            yield f"Invalid '{at}.function.arguments': expected the text of a JSON object."


def _is_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _markers(messages: list[JSONObject]) -> Iterator[str]:
    contents = [m["content"] for m in messages if isinstance(m.get("content"), list)]
    marked = sum("cache_control" in part for content in contents for part in content)
    if marked > _MAX_BREAKPOINTS:
        yield f"A maximum of {_MAX_BREAKPOINTS} blocks with cache_control may be provided."


def _order(messages: list[JSONObject]) -> Iterator[str]:
    """OpenAI takes any order; the chat templates of several open models do not."""
    roles = [message["role"] for message in messages]
    if ("user", "user") in itertools.pairwise(roles):
        yield "Conversation roles must alternate user/assistant/user/assistant/..."


def _unanswered(messages: list[JSONObject]) -> Iterator[str]:
    """Each call is answered once, directly after its message; nothing else is."""
    open_ids: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_ids:
                yield f"messages[{index}]: no preceding tool call has this 'tool_call_id'."
            open_ids.discard(message.get("tool_call_id", ""))
        elif open_ids:
            break
        else:
            open_ids = {call["id"] for call in message.get("tool_calls") or ()}
    if open_ids:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            f"to each 'tool_call_id'; missing: {', '.join(sorted(open_ids))}."
        )


def _tools(body: JSONObject, dialect: ServerDialect) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            yield "'tool_choice' is only allowed when 'tools' are specified."
        if dialect == "openrouter" and any(m.get("tool_calls") for m in body["messages"]):
            yield "Requests which include tool calls or results must define tools."
        return
    if not isinstance(tools, list) or not tools:
        yield "Invalid 'tools': empty array. Expected an array with at least one tool."
        return
    for index, tool in enumerate(tools):
        yield from _tool(tool, f"tools[{index}]", dialect)
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield "Tool names must be unique."
    choice = body.get("tool_choice", "auto")
    chosen = choice["function"]["name"] if isinstance(choice, dict) else choice
    if chosen not in {"auto", "none", "required", *names}:
        yield f"'tool_choice' names no tool: {chosen}."


def _tool(tool: JSONObject, at: str, dialect: ServerDialect) -> Iterator[str]:
    function = tool.get("function") or {}
    if tool.get("type") != "function":
        yield f"Invalid '{at}.type'."
    if not _NAME.fullmatch(str(function.get("name"))):
        yield f"Invalid '{at}.function.name': does not match '^[a-zA-Z0-9_-]{{1,64}}$'."
    if dialect == "openai" and len(function.get("description", "")) > _MAX_DESCRIPTION:
        yield f"Invalid '{at}.function.description': maximum length {_MAX_DESCRIPTION}."
    parameters = function.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        yield f"Invalid schema for '{at}': schema must be of 'type: \"object\"'."
    elif not isinstance(parameters.get("properties"), dict):
        yield f"Invalid schema for '{at}': object schema missing properties."
    elif parameters.keys() & {"anyOf", "oneOf", "allOf", "enum", "not"}:
        yield f"Invalid schema for '{at}': no alternatives at the top level."


def _response_format(response_format: object) -> Iterator[str]:
    if response_format is None:
        return
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    if not isinstance(response_format, dict) or kind not in ("text", "json_object", "json_schema"):
        yield "Invalid 'response_format'."
    elif kind == "json_schema":
        named = response_format.get("json_schema") or {}
        if not _NAME.fullmatch(str(named.get("name"))):
            yield "Invalid 'response_format.json_schema.name'."
        schema = named.get("schema")
        if not isinstance(schema, dict):
            yield "Missing 'response_format.json_schema.schema'."
        elif named.get("strict"):
            if schema.get("type") != "object":
                yield "Invalid schema for response_format: the top level must be an object."
            yield from _strict(schema, schema.get("$defs", {}), "()")


def _strict(schema: object, definitions: JSONObject, at: str) -> Iterator[str]:
    if not isinstance(schema, dict) or not schema.keys() & {"type", "enum", "anyOf", "$ref"}:
        yield f"Invalid schema for response_format: in context={at}, schema must have a 'type'."
        return
    for keyword in schema.keys() - _SCHEMA_KEYWORDS:
        yield f"Invalid schema for response_format: in context={at}, '{keyword}' is not permitted."
    target = schema.get("$ref", "").removeprefix("#/$defs/")
    if "$ref" in schema and (len(schema) > 1 or target not in definitions):
        yield f"In context={at}, $ref cannot have keywords beside it and must lead somewhere."
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield f"In context={at}, 'additionalProperties' must be supplied and false."
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            yield f"In context={at}, 'required' must include every key in properties."
    if schema.get("type") == "array" and "items" not in schema:
        yield f"In context={at}, array schema missing items."
    children = {**schema.get("properties", {}), **schema.get("$defs", {})}
    children |= {str(index): each for index, each in enumerate(schema.get("anyOf", ()))}
    children |= {"items": schema["items"]} if "items" in schema else {}
    for name, child in children.items():
        yield from _strict(child, definitions, f"{at}.{name}")


def is_recursive(schema: object, definitions: JSONObject, inside: tuple[str, ...] = ()) -> bool:
    """Whether a definition that ``schema`` refers to leads back to itself."""
    if isinstance(schema, list):
        return any(is_recursive(each, definitions, inside) for each in schema)
    if not isinstance(schema, dict):
        return False
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in inside:
        return True
    if name and is_recursive(definitions.get(name), definitions, (*inside, name)):
        return True
    parts = [value for key, value in schema.items() if key != "$defs"]
    return any(is_recursive(value, definitions, inside) for value in parts)
