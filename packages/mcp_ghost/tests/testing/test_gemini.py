"""The strict model server refuses on Gemini's wire what Gemini refuses."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_ghost.testing.refusals import signature
from mcp_ghost.testing.refusals_gemini import call_text, refusal

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
TEXT = {"text": "Go on."}
USER = {"role": "user", "parts": [TEXT]}
CALL: dict[str, Any] = {"name": "a_b", "args": {}}
SIGNED = {"functionCall": CALL, "thoughtSignature": signature(call_text(CALL))}
RESPONSE = {"functionResponse": {"name": "a_b", "response": {"output": "done"}}}
SKIP = "skip_thought_signature_validator"
ASKED = {"role": "model", "parts": [SIGNED]}
ANSWER = {"role": "user", "parts": [RESPONSE]}
NUMBER = {"type": "NUMBER"}


def body(*contents: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"contents": list(contents or [USER]), **fields}


def declared(parameters: Any = None, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    given = {} if parameters is None else {"parameters": parameters}
    return {"tools": [{"functionDeclarations": [{"name": "a_b", **given, **fields}]}]}


def formed(**config: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return body(generationConfig=config)


JSON = {"responseMimeType": "application/json"}
RECURSIVE = {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}


def schema(**property_: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return body(**declared({"type": "OBJECT", "properties": {"p": property_}}))


def model(*parts: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"role": "model", "parts": list(parts)}


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ("text", "Invalid JSON"),
        ({}, "contents is not specified"),
        (body(contents=[]), "contents is not specified"),
        (body(system_prompt="x"), 'Unknown name "system_prompt"'),
        (body(generationConfig={"max_tokens": 1}), 'Unknown name "max_tokens"'),
        (body({"role": "assistant", "parts": [TEXT]}), "valid role"),
        (body({**USER, "name": "x"}), 'Unknown name "name"'),
        (body({"role": "user", "parts": []}), "must not be empty"),
        (body({"role": "user", "parts": [{}]}), "one field"),
        (body({"role": "user", "parts": [{**TEXT, **RESPONSE}]}), "one field"),
        (body({"role": "user", "parts": [{"text": ""}]}), "empty"),
        (body({"role": "user", "parts": [{**TEXT, "type": "text"}]}), 'Unknown name "type"'),
        (body(USER, USER), "alternate"),
        (body(USER, ASKED), "followed by"),
        (body(USER, ASKED, USER), "number of function response parts"),
        (body(USER, ASKED, {"role": "user", "parts": [RESPONSE] * 2}), "number of function"),
        (body(ANSWER), "after a function call turn"),
        (body(ASKED, ANSWER), "immediately after a user turn"),
        (
            body(USER, ASKED, {"role": "user", "parts": [{"functionResponse": {"name": "c"}}]}),
            "match their calls",
        ),
        (body(USER, model({"functionCall": {**CALL, "name": "a b"}}), ANSWER), "function name"),
        (body(USER, model({"functionCall": {**CALL, "args": "x"}}), ANSWER), "Struct"),
        (body(USER, model({"functionCall": CALL}), ANSWER), "missing a thought_signature"),
        (
            body(USER, model({**SIGNED, "functionCall": {**CALL, "args": {"x": 1}}}), ANSWER),
            "Corrupted",
        ),
        (body(toolConfig={"functionCallingConfig": {"mode": "NONE"}}), "without function_decl"),
        (body(**declared(name="a b")), "function name"),
        (body(**declared(strict=True)), 'Unknown name "strict"'),
        (body(**declared({"type": "OBJECT", "properties": {}})), "non-empty for OBJECT"),
        (body(tools=[*declared()["tools"], *declared()["tools"]]), "Duplicate"),
        (
            body(**declared(), toolConfig={"functionCallingConfig": {"mode": "SOME"}}),
            "mode",
        ),
        (
            body(**declared(), toolConfig={"functionCallingConfig": {"allowedFunctionNames": "a"}}),
            "mode is ANY",
        ),
        (schema(), "type: must be specified"),
        (schema(type="string"), "type: must be specified"),
        (schema(**{"$ref": "#/x"}), 'Unknown name "$ref"'),
        (schema(type="STRING", additionalProperties=False), "additionalProperties"),
        (schema(type="STRING", format="uri"), "format"),
        (schema(type="INTEGER", enum=["1"]), "enum"),
        (schema(type="STRING", enum=[""]), "enum"),
        (schema(type="ARRAY"), "items: missing"),
        (schema(type="ARRAY", items={"type": "ARRAY"}), "items: missing"),
        (schema(type="OBJECT", properties={}, required=["x"]), "not defined: x"),
        (schema(anyOf=[NUMBER], description="x"), "only field"),
        (schema(anyOf=[{}]), "type: must be specified"),
        (schema(type=["STRING", "NULL"]), "type: must be specified"),
        (formed(responseMimeType="text/html"), "response_mime_type"),
        (formed(responseJsonSchema={}), "only supported with"),
        (formed(**JSON, responseJsonSchema={}, responseSchema={}), "Only one"),
        (formed(**JSON, responseJsonSchema=[]), "Invalid value"),
        (formed(**JSON, responseJsonSchema=RECURSIVE), "circular"),
    ],
)
def test_what_gemini_refuses_is_refused(refused: Any, why: str) -> None:  # noqa: ANN401  any JSON
    assert why in (refusal(refused, NEW, {}) or "accepted")


def test_a_stream_is_asked_for_as_events() -> None:
    where = {":path": "/v1beta/models/gemini-3.5-flash:streamGenerateContent"}
    assert "alt=sse" in (refusal(body(), NEW, where) or "")


def test_a_key_in_the_address_is_refused() -> None:
    headers = {":path": "/v1beta/models/m:generateContent?key=abc"}
    assert "x-goog-api-key" in (refusal(body(), NEW, headers) or "accepted")


def test_older_models_take_no_schema_beside_tools() -> None:
    constrained = body(**declared(), generationConfig={"responseMimeType": "application/json"})
    assert "mime type" in (refusal(constrained, OLD, {}) or "accepted")
    assert refusal(constrained, NEW, {}) is None


@pytest.mark.parametrize(
    ("accepted", "version"),
    [
        (body(), NEW),
        (body({"parts": [TEXT]}, systemInstruction={"parts": [TEXT]}), NEW),
        (body(USER, ASKED, {"role": "user", "parts": [RESPONSE, TEXT]}, **declared()), NEW),
        (body(USER, model({"functionCall": CALL}), ANSWER), OLD),
        (
            body(USER, model({**SIGNED, "thoughtSignature": SKIP}), ANSWER),
            NEW,
        ),
        (schema(type="ARRAY", items={"anyOf": [NUMBER, {"type": "STRING"}]}), NEW),
    ],
)
def test_what_is_right_is_accepted(accepted: dict[str, Any], version: str) -> None:
    assert refusal(accepted, version, {}) is None
