"""Requests in Gemini's format, refused and accepted."""

from __future__ import annotations

import base64
from typing import Any

from mcp_ghost.testing.gemini import call_text
from mcp_ghost.testing.rules import signature

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


def allowed(name: str, mode: str) -> dict[str, Any]:
    config = {"mode": mode, "allowedFunctionNames": [name]}
    return body(**declared(), toolConfig={"functionCallingConfig": config})


def schema(**property_: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return body(**declared({"type": "OBJECT", "properties": {"p": property_}}))


def model(*parts: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"role": "model", "parts": list(parts)}


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
BAD_IMAGE = {"mimeType": "image/tiff", "data": PNG}


def answered(response: Any, **call: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """A call of Gemini's and its response."""
    asked = model({**SIGNED, "functionCall": {**CALL, **call}})
    said = {"role": "user", "parts": [{"functionResponse": {"name": "a_b", **response}}]}
    return body(USER, asked, said)


REFUSED: list[tuple[Any, str]] = [
    ("text", "Invalid JSON"),
    (body(tools=[{"functionDeclarations": [{"name": "a_b"}] * 513}]), "At most 512"),
    (schema(type="OBJECT", properties={"page-size": NUMBER}), "parameter name"),
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
    (allowed("a_b", "AUTO"), "mode is ANY"),
    (allowed("c", "ANY"), "should be declared"),
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
    (answered({}, extra=1), '"extra"'),
    (answered({"extra": 1}), '"extra"'),
    (answered({"name": "a b"}), "function name"),
    (answered({"response": "x"}), "Struct"),
    (answered({"parts": [{"text": "x"}]}), '"text"'),
    (answered({"parts": [{"inlineData": BAD_IMAGE}]}), "unsupported image"),
    (body({"parts": [{"inlineData": {**BAD_IMAGE, "x": 1}}]}), '"x"'),
    (body({"parts": [{"inlineData": BAD_IMAGE}]}), "unsupported image"),
    ({**answered({"parts": []}), "model": OLD}, "not supported"),
    (schema(type="ARRAY", items=[]), "Schema"),
    (body(tools={}), "v1beta.Tool"),
    (schema(type="NUMBER", format="int32"), "format"),
    (schema(type="INTEGER", format="float"), "format"),
    (schema(type="BOOLEAN", format="x"), "format"),
    (
        body(**declared(), generationConfig=JSON, model="gemini-2.5-flash"),
        "mime type",
    ),
]
"""With words of the refusal; a request to NEW unless it names a model."""
ACCEPTED: list[tuple[dict[str, Any], str]] = [
    (body(), NEW),
    (allowed("a_b", "ANY"), NEW),
    (body({"parts": [TEXT]}, systemInstruction={"parts": [TEXT]}), NEW),
    (body(USER, ASKED, {"role": "user", "parts": [RESPONSE, TEXT]}, **declared()), NEW),
    (body(USER, model({"functionCall": CALL}), ANSWER), OLD),
    (
        body(USER, model({**SIGNED, "thoughtSignature": SKIP}), ANSWER),
        NEW,
    ),
    (schema(type="ARRAY", items={"anyOf": [NUMBER, {"type": "STRING"}]}), NEW),
]
