"""OpenAI's chat format in front of an engine that only knows text and grammars.

llama.cpp's own tool calling fails with very small models, so `tools` becomes a schema that the
decoder enforces (one object per tool, or the reply), and the object that comes back becomes
`tool_calls` or `content` again. Pure functions: no process, no socket.
"""

import json
import textwrap
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from local_model.schema import JsonSchema, SchemaError, bounded_schema, closed

JSONObject: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["text", "json", "choice", "choice_text"]

ROLES = ("system", "developer", "user", "assistant", "tool")
DEFAULT_MAX_TOKENS = 256
MAX_REPLY = 400
MAX_DESCRIPTION = 123  # with the dots of a shortened one
# The wording of these two decides how often a small model calls a tool: like this in 10 to 35 %
# of its answers; with the tool named first, or without the second one, in nearly all or none.
HOW_TO_CHOOSE = 'To answer, start with {"reply":. To use a tool first, start with {"tool":.'
CHOICE = 'Start with {"reply": or {"tool":.'
SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "seed", "stop",
    "frequency_penalty", "presence_penalty", "repeat_penalty",
)  # fmt: skip
_dump = partial(json.dumps, ensure_ascii=False)


class RequestError(ValueError):
    """Raised when a request cannot be served; becomes an HTTP answer in OpenAI's error shape."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "invalid_request",
        kind: str = "invalid_request_error",
        status: int = 400,
    ) -> None:
        super().__init__(message)
        self.code, self.kind, self.status = code, kind, status

    def body(self) -> JSONObject:
        """Return the error in OpenAI's shape."""
        return {"error": {"message": str(self), "type": self.kind, "code": self.code}}


@dataclass(frozen=True)
class EngineRequest:
    """What the engine is asked, and how to read its answer."""

    payload: JSONObject
    mode: Mode
    """text: as it is; json: one value; choice, choice_text: a call, or a reply in JSON or text."""


def plan_request(request: JSONObject, model: str = "") -> EngineRequest:
    """Turn an OpenAI chat request into one for the engine.

    Beyond OpenAI's fields, `guided_json` (vLLM's name) gives the schema of the reply in a request
    that also offers tools.

    Raises:
        RequestError: the request is malformed, for another model than ``model``, or asks for what
            this one cannot do.
    """
    if model and (asked := request.get("model", model)) != model:
        raise RequestError(
            f"There is no model {asked} on this machine, only {model}.",
            code="model_not_found",  # as OpenAI says it
            status=404,
        )
    if request.get("stream") or request.get("n") not in (None, 1):
        raise RequestError("The embedded model gives one complete answer: leave out stream and n.")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages must be a list with at least one message.")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise RequestError(f"Every message needs a role, one of {', '.join(ROLES)}.")
    tools = _tools(request)
    reply = _reply_schema(request)
    try:
        mode, branches = _output(request, messages, tools, reply)
    except SchemaError as error:
        raise RequestError(f"A schema in the request cannot be filled in: {error}.") from error
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or DEFAULT_MAX_TOKENS
    if not isinstance(limit, int) or limit < 1:
        raise RequestError("max_tokens must be a positive whole number.")
    payload: JSONObject = {
        "messages": render_messages(messages, tools, reminder=CHOICE if len(branches) > 1 else ""),
        "max_tokens": limit,
        "cache_prompt": True,
        **{key: request[key] for key in SAMPLING if request.get(key) is not None},
    }
    if branches:
        # `response_format` would do the same, but lets the model fill its budget with white space,
        # and sends the text through a parser that sometimes fails on it.
        schema = {"anyOf": branches} if len(branches) > 1 else branches[0]
        style = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        grammar = json.dumps({**schema, "x-guidance": style})  # in llguidance's language
        payload["grammar"] = f"%llguidance {{}}\nstart: %json {grammar}"
    return EngineRequest(payload, mode)


def read_answer(asked: EngineRequest, answer: JSONObject, *, model: str) -> JSONObject:
    """Turn the engine's answer into an OpenAI chat completion.

    Raises:
        RequestError: the engine refused the prompt, or wrote what does not fit the schema.
    """
    if error := answer.get("error"):
        if error.get("type") == "exceed_context_size_error":
            raise RequestError(
                f"This model's context is {error['n_ctx']} tokens and the messages are "
                f"{error['n_prompt_tokens']}. Shorten them.",
                code="context_length_exceeded",
            )
        status = int(error.get("code") or 500)
        kind = "invalid_request_error" if status < 500 else "server_error"
        text = str(error.get("message"))
        raise RequestError(text, code="engine_error", kind=kind, status=status)
    choice = answer["choices"][0]
    text, finish = choice["message"]["content"] or "", choice["finish_reason"]
    message: JSONObject = {"role": "assistant", "content": text}
    if asked.mode != "text" and finish != "length":
        try:
            value = json.loads(text)
        except ValueError as error:
            raise RequestError(
                "The embedded model's answer does not fit the schema it was given: "
                f"{text[:80]!r}. Simplify the schema.",
                code="schema_not_enforced", kind="server_error", status=502,
            ) from error  # fmt: skip
        if asked.mode != "json" and "tool" in value:
            call = {"name": value["tool"], "arguments": _dump(value["arguments"])}
            calls = [{"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": call}]
            message, finish = {**message, "content": None, "tool_calls": calls}, "tool_calls"
        elif asked.mode == "choice":
            message["content"] = _dump(value["reply"])
        elif asked.mode == "choice_text":
            message["content"] = value["reply"]
    return {
        "id": answer["id"],
        "object": "chat.completion",
        "created": answer["created"],
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": answer["usage"],
    }


def render_messages(
    messages: Sequence[JSONObject], tools: Sequence[JSONObject] = (), *, reminder: str = ""
) -> list[JSONObject]:
    """Return the conversation as system, user and assistant text, the tools in the system message.

    Neighbours with one role become one message: some chat templates refuse anything else.
    """
    names: dict[str, str] = {}
    lines = [_as_text(message, names) for message in messages]
    if tools:
        told = ["Tools:"]
        for tool in tools:  # without placeholders: a small model copies them
            meaning = tool.get("description") or ""
            meaning = textwrap.shorten(meaning, MAX_DESCRIPTION, placeholder="...")
            told.append(f"- {tool['name']}: {meaning}")
        at = 1 if lines and lines[0][0] == "system" else 0
        lines.insert(at, ("system", "\n".join([*told, HOW_TO_CHOOSE])))
    if reminder:
        lines.append(("user", reminder))
    merged: list[JSONObject] = []
    for role, text in lines:
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += "\n\n" + text
        else:
            merged.append({"role": role, "content": text})
    return merged


def _tools(request: JSONObject) -> list[JSONObject]:
    """Return the functions offered, each with a name; none under tool_choice "none"."""
    if request.get("tool_choice") == "none":
        return []
    try:
        functions = [tool["function"] for tool in request.get("tools") or ()]
        if all(isinstance(function["name"], str) for function in functions):
            return functions
    except (KeyError, TypeError):
        pass
    raise RequestError('Every tool must look like {"type": "function", "function": {"name": ...}}.')


def _reply_schema(request: JSONObject) -> JsonSchema | None:
    wanted = request.get("response_format") or {"type": "text"}
    if request.get("guided_json"):
        schema = request["guided_json"]
    elif wanted.get("type") == "json_schema":
        schema = wanted.get("json_schema", {}).get("schema")
    elif wanted.get("type") == "json_object":
        raise RequestError("The embedded model needs a schema: use response_format json_schema.")
    else:
        return None
    if isinstance(schema, dict):
        return schema
    raise RequestError("The schema of the reply must be a JSON object.")


def _output(
    request: JSONObject,
    messages: Sequence[JSONObject],
    tools: Sequence[JSONObject],
    reply: JsonSchema | None,
) -> tuple[Mode, list[JsonSchema]]:
    """Decide what the model may write: anything, one JSON value, a tool call or a reply."""
    choice = request.get("tool_choice")
    forced = choice not in (None, "auto", "none")
    if forced and not tools:
        raise RequestError("tool_choice asks for a tool, but no tools are given.")
    if not tools:
        return ("json", [bounded_schema(reply)]) if reply else ("text", [])
    latest = next((it["role"] for it in reversed(messages) if it["role"] in ("tool", "user")), "")
    if forced and choice != "required":
        name = choice.get("function", {}).get("name") if isinstance(choice, dict) else choice
        tools = [tool for tool in tools if tool["name"] == name]
        if not tools:
            raise RequestError(f"tool_choice names {name!r}, which is not among the tools.")
    elif not forced and latest == "tool":
        tools = ()  # a model this small that may call again once a tool has answered calls for ever
    branches: list[JsonSchema] = []
    for tool in tools:
        arguments = bounded_schema({"type": "object", **(tool.get("parameters") or {})})
        branches.append(closed({"tool": {"const": tool["name"]}, "arguments": arguments}))
    if not forced:
        text = {"type": "string", "minLength": 1, "maxLength": MAX_REPLY}
        branches.append(closed({"reply": bounded_schema(reply or text)}))
    mode: Mode = "choice" if reply else "choice_text"
    return mode, branches


def _as_text(message: JSONObject, names: dict[str, str]) -> tuple[str, str]:
    """Return one message as role and text; `names` collects which call id belongs to which tool."""
    text, role = message.get("content") or "", message["role"]
    if isinstance(text, list):
        texts: list[Any] = [part.get("text") if isinstance(part, dict) else part for part in text]
        if not all(isinstance(it, str) for it in texts):
            raise RequestError(
                "The embedded model reads text only: a message contains a part of another type."
            )
        text = "\n".join(texts)
    if role == "tool":
        name = names.get(message.get("tool_call_id", ""), message.get("name") or "the tool")
        return "user", f"Result of {name}: {text}"
    if role == "developer":
        return "system", text
    calls = (message.get("tool_calls") or ()) if role == "assistant" else ()
    parts = [text] if text else []
    for call in calls:
        try:
            names[call["id"]] = call["function"]["name"]
            name, arguments = json.dumps(names[call["id"]]), call["function"]["arguments"]
            # In the words that the model itself would have used.
            parts.append(f'{{"tool": {name}, "arguments": {arguments}}}')
        except (KeyError, TypeError) as error:
            raise RequestError("A tool call in messages lacks its id or its function.") from error
    return role, "\n".join(parts)
