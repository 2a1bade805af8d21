"""OpenAI's Responses API as the model server speaks it."""

import itertools
import re

from mcp_ghost.results import JSONObject
from mcp_ghost.testing import refusals
from mcp_ghost.testing.refusals import ServerDialect
from mcp_ghost.testing.replies import call_of
from mcp_ghost.testing.rules import first_objection, rules_of, signature
from mcp_ghost.testing.streams import responses_events
from mcp_ghost.testing.wires import Headers, Wire, text_of

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _read(body: JSONObject, _headers: Headers) -> JSONObject:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    head = body.get("instructions")
    messages: list[JSONObject] = [{"role": "system", "content": head}] if head else []
    for is_reply, row in itertools.groupby(items, _is_of_a_reply):
        run = [*row]
        messages += map(_read_items, [run] if is_reply else [[item] for item in run])
    chat: JSONObject = {"model": body["model"], "messages": messages}
    if "tools" in body:
        chat["tools"] = [
            {"type": tool["type"], "function": {k: v for k, v in tool.items() if k != "type"}}
            for tool in body["tools"]
        ]
    if "tool_choice" in body:
        choice = body["tool_choice"]
        named = isinstance(choice, dict) and choice["type"] == "function"
        chat["tool_choice"] = (
            {"type": "function", "function": {"name": choice["name"]}} if named else choice
        )
    if form := (body.get("text") or {}).get("format"):
        named = {key: value for key, value in form.items() if key != "type"}
        chat["response_format"] = {
            "type": form["type"],
            **({"json_schema": named} if named else {}),
        }
    return chat


def _is_of_a_reply(item: JSONObject) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call")


def _read_items(items: list[JSONObject]) -> JSONObject:
    first = items[0]
    if first.get("type") == "function_call_output":
        said = text_of(first["output"])
        return {"role": "tool", "tool_call_id": first["call_id"], "content": said}
    if first.get("role", "assistant") != "assistant":
        content = first["content"]
        parts = [
            {"type": "image_url", "image_url": {"url": part.get("image_url")}}
            if part["type"] == "input_image"
            else {"type": "text", "text": part["text"]}
            for part in (() if isinstance(content, str) else content)
        ]
        return {"role": first["role"], "content": parts or content}
    text = "\n\n".join(text_of(item["content"]) for item in items if "role" in item)
    made = (item for item in items if item.get("type") == "function_call")
    calls = [call_of(item["call_id"], item["name"], item["arguments"]) for item in made]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _write(completion: JSONObject) -> JSONObject:
    choice, usage = completion["choices"][0], completion["usage"]
    reason = _INCOMPLETE.get(choice["finish_reason"])
    key = completion["id"].replace("chatcmpl-", "")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    message, status = choice["message"], "incomplete" if reason else "completed"
    output: list[JSONObject] = []
    if thought := message.get("reasoning"):
        summary = [{"type": "summary_text", "text": thought}]
        sealed = {"encrypted_content": signature(thought), "status": status}
        output.append({"type": "reasoning", "id": f"rs_{key}", "summary": summary, **sealed})
    parts: list[JSONObject] = []
    if text := message.get("content"):
        parts = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    elif refused := message.get("refusal"):
        parts = [{"type": "refusal", "refusal": refused}]
    if parts:
        said = {"role": "assistant", "status": status, "content": parts}
        output.append({"type": "message", "id": f"msg_{key}", **said})
    for index, call in enumerate(message.get("tool_calls") or ()):
        place = {"type": "function_call", "id": f"fc_{key}_{index}", "status": status}
        output.append({**place, "call_id": call["id"], **call["function"]})
    return {
        "id": f"resp_{key}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": completion["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": thoughts},
            "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        },
    }


# --- what is refused


def _deserted(body: JSONObject) -> str | None:
    """Reasoning that is not followed by what the model did then."""
    items = body["input"] if isinstance(body["input"], list) else []
    for item, after in itertools.pairwise([*items, {"type": "nothing"}]):
        if item.get("type") == "reasoning" and not _is_of_a_reply(after):
            return str(item.get("id"))
    return None


RULES = rules_of("responses", {"deserted": _deserted})


def refusal(body: object, dialect: ServerDialect = "openai") -> str | None:
    """Why OpenAI would refuse ``body``, or None.

    Tools, schemas and forms of answers are held to the rules of chat completions.
    """
    objection = first_objection(RULES, body)
    if objection or not isinstance(body, dict):
        return objection or "The request is not a JSON object."
    return refusals.refusal({**_read(body, {}), "model": "m"}, dialect)


def responses_wire(dialect: ServerDialect) -> Wire:
    """OpenAI's Responses API, at OpenAI or where other dialects are spoken."""
    return Wire(
        lambda body, _: refusal(body, dialect),
        path=re.compile(r".*/responses"),
        read=_read,
        write=_write,
        events=responses_events,
    )
