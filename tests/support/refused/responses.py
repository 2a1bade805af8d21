"""Requests in the format of OpenAI's Responses API, refused and accepted."""

from __future__ import annotations

from typing import Any

from mcp_ghost.testing.rules import signature
from tests.support.refused import openai

USER = {"type": "message", "role": "user", "content": "Go on."}
CALL = {"type": "function_call", "call_id": "c1", "name": "a_b", "arguments": "{}"}
ANSWER = {"type": "function_call_output", "call_id": "c1", "output": "done"}
TOOL = {"type": "function", "strict": False, **openai.TOOL["function"]}  # type: ignore[dict-item]  # a literal
SUMMARY = [{"type": "summary_text", "text": "Hm."}]
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": SUMMARY,
    "encrypted_content": signature("Hm."),
}
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "ftp://a"}


def body(*items: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"model": "m", "store": False, "input": list(items or [USER]), **fields}


def said(*parts: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"type": "message", "role": "assistant", "content": list(parts), **fields}


def strict(schema: dict[str, Any], name: str = "Answer") -> dict[str, Any]:
    form = {"type": "json_schema", "name": name, "strict": True, "schema": schema}
    return body(text={"format": form})


REFUSED: list[tuple[Any, str]] = [
    ("text", "not a JSON object"),
    ({"input": [USER]}, "'model'"),
    ({"model": "m"}, "'input'"),
    ({"model": "m", "input": []}, "'input'"),
    (body(messages=[]), "Unknown parameter: 'messages'"),
    (body(response_format={"type": "json_object"}), "Unknown parameter: 'response_format'"),
    (body(stop="END"), "Unknown parameter: 'stop'"),
    (body(max_tokens=99), "Unknown parameter: 'max_tokens'"),
    (body(reasoning_effort="low"), "Unknown parameter: 'reasoning_effort'"),
    (body({"type": "tool", "content": "x"}), "input[0].type"),
    (body({**USER, "role": "tool"}), "must be one of user"),
    (body({**USER, "cache_control": {}}), "cache_control"),
    (body({**USER, "content": None}), "a string or parts"),
    (body({**USER, "content": [{"type": "text", "text": "x"}]}), "supported values are input_text"),
    (body(said({"type": "input_text", "text": "x"})), "supported values are output_text"),
    (body({**USER, "content": [{"type": "input_text"}]}), "Missing"),
    (
        body({**USER, "content": [{"type": "input_text", "text": "x", "cache_control": {}}]}),
        "cache_control",
    ),
    (body({**USER, "content": [IMAGE]}), "expected a data URL"),
    (body(USER, CALL, {**ANSWER, "output": [IMAGE]}), "input[2].output[0].image_url"),
    (body(said(id="item_1")), "begins with 'msg'"),
    (body(USER, {**CALL, "id": "item_1"}, ANSWER), "begins with 'fc'"),
    (body(USER, {**THOUGHT, "id": "1"}, CALL, ANSWER), "begins with 'rs'"),
    (body(said(id="msg_1"), USER, said(id="msg_1")), "Duplicate item found with id msg_1"),
    (body(USER, {**CALL, "function": {}}, ANSWER), "Unknown parameter: 'input[1].function'"),
    (body(USER, {**CALL, "call_id": "x" * 65}, ANSWER), "maximum length 64"),
    (body(USER, CALL, {**ANSWER, "tool_call_id": "c1"}), "tool_call_id"),
    (body(USER, CALL, {**ANSWER, "output": {}}), "a string or parts"),
    (body(USER, CALL), "No tool output found for function call c1"),
    (body(USER, CALL, USER), "No tool output found"),
    (body(USER, ANSWER), "No tool call found"),
    (body(USER, CALL, ANSWER, ANSWER), "No tool call found"),
    (body(USER, {key: THOUGHT[key] for key in THOUGHT if key != "summary"}, CALL, ANSWER), "summ"),
    (body(USER, {**THOUGHT, "thought": "x"}, CALL, ANSWER), "Unknown parameter"),
    (
        body(USER, {key: THOUGHT[key] for key in ("type", "id", "summary")}, CALL, ANSWER),
        "not persisted",
    ),
    (body(USER, {**THOUGHT, "summary": []}, CALL, ANSWER), "could not be verified"),
    (body(USER, THOUGHT), "without its required following item"),
    (body(USER, THOUGHT, USER), "without its required following item"),
    (body(tools=[openai.TOOL]), "Unknown parameter: 'tools[0].function'"),
    (body(max_output_tokens=15), ">= 16"),
    (body(model="gpt-4.1", reasoning={"effort": "low"}), "'reasoning.effort' is not supported"),
    (body(model="gpt-4.1", include=["reasoning.encrypted_content"]), "Encrypted content is not"),
    (body(model="gpt-5.4", temperature=1), "'temperature' is not supported"),
    (strict(openai.closed(), name="no spaces"), "name"),
    # What the rules of chat completions say of it.
    (body(USER, {**CALL, "name": "a.b"}, ANSWER), "does not match"),
    (body(USER, {**CALL, "arguments": "{x"}, ANSWER), "JSON object"),
    (body(USER, {**CALL, "arguments": {}}, ANSWER), "Invalid type for 'input[1].arguments'"),
    (body(tools=[]), "empty array"),
    (body(tools=[{**TOOL, "name": "a.b"}]), "does not match"),
    (body(tools=[TOOL, TOOL]), "unique"),
    (body(tools=[TOOL], tool_choice={"type": "function", "name": "c"}), "names no tool"),
    (body(tools=[{**TOOL, "parameters": {"type": "object"}}]), "missing properties"),
    (strict({"type": "array", "items": {"type": "string"}}), "must be an object"),
    (strict(openai.closed(a={"type": "string", "default": ""})), "'default' is not permitted"),
    (body(USER, USER), "alternate"),
]
ACCEPTED: list[dict[str, Any]] = [
    body(),
    {"model": "m", "input": "Go on."},
    body(USER, CALL, ANSWER),
    body(USER, THOUGHT, said({"type": "output_text", "text": "x"}, id="msg_1"), CALL, ANSWER),
    body(tools=[TOOL], tool_choice={"type": "function", "name": "a_b"}, instructions="Be brief."),
    body(model="gpt-5.4", tools=[TOOL], reasoning={"effort": "low", "summary": "auto"}),
    body(model="gpt-5.4", temperature=1, reasoning={"effort": "none"}),
    strict(openai.closed(a={"anyOf": [{"type": "string"}, {"type": "null"}]})),
]
