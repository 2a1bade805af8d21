"""What Gemini's generateContent refuses: the rules of the strict model server on that wire."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_ghost.testing.refusals import image_fault, is_recursive, is_untouched

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_REQUEST = {
    "model", "contents", "tools", "toolConfig", "systemInstruction", "generationConfig",
    "safetySettings", "cachedContent", "serviceTier", "store",
}  # fmt: skip
_GENERATION = {
    "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema",
    "responseModalities", "candidateCount", "maxOutputTokens", "temperature", "topP", "topK",
    "seed", "presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs",
    "thinkingConfig", "mediaResolution", "speechConfig", "enableEnhancedCivicAnswers",
}  # fmt: skip
_DATA = {"text", "inlineData", "fileData", "functionCall", "functionResponse"}
_PART = {*_DATA, "thought", "thoughtSignature"}
_SCHEMA = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems",
    "properties", "required", "minProperties", "maxProperties", "minLength", "maxLength",
    "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
}  # fmt: skip
_TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}
_FORMATS = {"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"}}
_FORMATS["INTEGER"] = {"int32", "int64"}
_MODES = {"AUTO", "ANY", "NONE", "VALIDATED"}
_WITHOUT_CHECK = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}


def wants_signatures(model: str) -> bool:
    """Whether calls of ``model`` are signed and numbered."""
    return re.search(r"gemini-(?:[3-9]|\d\d)", model) is not None


def call_text(call: JSONObject) -> str:
    """What of ``call`` is signed."""
    return json.dumps([call.get("name"), call.get("args") or {}], sort_keys=True)


def refusal(body: object, model: str, headers: Mapping[str, str]) -> str | None:
    """Why Gemini would refuse the request, or None."""
    if "key=" in urlsplit(headers.get(":path", "")).query:
        return "This server wants the key in the header x-goog-api-key: addresses are logged."
    if ":stream" in headers.get(":path", "") and "alt=sse" not in headers[":path"]:
        return "This server streams only with alt=sse; without it, Gemini sends one JSON array."
    if not isinstance(body, dict):
        return "Invalid JSON payload received."
    return next(_objections(body, model), None)


def _objections(body: JSONObject, model: str) -> Iterator[str]:
    yield from _unknown(body, _REQUEST, "request")
    yield from _unknown(body.get("generationConfig") or {}, _GENERATION, "generation_config")
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
        return
    system = body.get("systemInstruction")
    for at, content in [*enumerate(contents), *([("system", system)] if system else [])]:
        yield from _content(content, f"contents[{at}]")
    yield from _turns(contents)
    yield from _signatures(contents, model)
    yield from _media_of_results(contents, model)
    yield from _tools(body, model)
    yield from _form(body.get("generationConfig") or {})


def _unknown(given: JSONObject, known: set[str], at: str) -> Iterator[str]:
    for key in given.keys() - known:
        yield f"Invalid JSON payload received. Unknown name \"{key}\" at '{at}': Cannot find field."


def _content(content: object, at: str) -> Iterator[str]:
    if not isinstance(content, dict) or content.get("role", "user") not in ("user", "model"):
        yield f"{at}: Please use a valid role: user, model."
        return
    yield from _unknown(content, {"role", "parts"}, at)
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        yield f"* GenerateContentRequest.{at}.parts: contents.parts must not be empty."
        return
    for index, part in enumerate(parts):
        yield from _part(part, f"{at}.parts[{index}]")


def _part(part: JSONObject, at: str) -> Iterator[str]:
    yield from _unknown(part, _PART, at)
    if len(part.keys() & _DATA) != 1:
        yield f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one field"
    elif "text" in part and not part["text"] and "thoughtSignature" not in part:
        yield f"* GenerateContentRequest.{at}: the text is empty"
    yield from _inline(part, at)
    for kind, field in (("functionCall", "args"), ("functionResponse", "response")):
        if kind not in part:
            continue
        media = {"parts"} if kind == "functionResponse" else set()
        yield from _unknown(part[kind], {"id", "name", field, *media}, f"{at}.{kind}")
        for inner in part[kind].get("parts") or ():
            yield from _unknown(inner, {"inlineData"}, f"{at}.{kind}.parts")
            yield from _inline(inner, f"{at}.{kind}.parts")
        if not _NAME.fullmatch(str(part[kind].get("name"))):
            yield f"* GenerateContentRequest.{at}.{kind}.name: Invalid function name."
        if not isinstance(part[kind].get(field, {}), dict):
            yield f"Invalid value at '{at}.{kind}.{field}' (type.googleapis.com/Struct)"


def _inline(part: JSONObject, at: str) -> Iterator[str]:
    if "inlineData" not in part:
        return
    inline = part["inlineData"]
    yield from _unknown(inline, {"mimeType", "data", "displayName"}, f"{at}.inline_data")
    if fault := image_fault(inline.get("mimeType"), inline.get("data")):
        yield f"* GenerateContentRequest.{at}.inline_data: {fault}"


def _of(content: JSONObject, kind: str) -> list[JSONObject]:
    return [part[kind] for part in content["parts"] if kind in part]


def _turns(contents: list[JSONObject]) -> Iterator[str]:
    """Roles alternate; calls follow a user's turn and are answered at once, all of them."""
    roles = [content.get("role", "user") for content in contents]
    if any(one == other for one, other in itertools.pairwise(roles)):
        yield "Please ensure that multiturn requests alternate between user and model."
    calls: list[JSONObject] = []
    for index, content in enumerate(contents):
        responses = _of(content, "functionResponse")
        if responses and not calls:
            yield "Please ensure that function response turn comes after a function call turn."
        if len(responses) != len(calls):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        if sorted(_keys(responses)) != sorted(_keys(calls)):
            yield "Please ensure that function responses match their calls by name and id."
        calls = _of(content, "functionCall")
        if calls and (index == 0 or roles[index] != "model"):
            yield "Please ensure that function call turn comes immediately after a user turn."
    if calls:
        yield "Please ensure that function call turns are followed by function responses."


def _keys(parts: list[JSONObject]) -> list[tuple[str, str]]:
    return [(str(part.get("name")), str(part.get("id"))) for part in parts]


def _media_of_results(contents: list[JSONObject], model: str) -> Iterator[str]:
    """Media within a function's response are new in version 3."""
    if not wants_signatures(model) and any(
        response.get("parts")
        for content in contents
        for response in _of(content, "functionResponse")
    ):
        yield f"Multimodal function responses are not supported by {model}."


def _signatures(contents: list[JSONObject], model: str) -> Iterator[str]:
    """In the current turn, the first call of each step is signed as it came."""
    if not wants_signatures(model):
        return
    asked = [i for i, c in enumerate(contents) if c.get("role") != "model" and _of(c, "text")]
    for index, content in enumerate(contents[asked[-1] if asked else 0 :]):
        part = next((part for part in content["parts"] if "functionCall" in part), None)
        if part is None:
            continue
        given = str(part.get("thoughtSignature") or "")
        if not given:
            yield f"Function call is missing a thought_signature in functionCall parts ({index})."
        elif given not in _WITHOUT_CHECK and not is_untouched(
            given, call_text(part["functionCall"])
        ):
            yield "Corrupted thought signature."


def _tools(body: JSONObject, model: str) -> Iterator[str]:
    tools = body.get("tools")
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if not tools:
        if config:
            yield "Function calling config is set without function_declarations."
        return
    declared = [each for tool in tools for each in tool.get("functionDeclarations") or ()]
    for index, each in enumerate(declared):
        yield from _declaration(each, f"tools[0].function_declarations[{index}]")
    names = [each.get("name") for each in declared]
    if len(set(names)) < len(names):
        yield "Duplicate function declaration found."
    if config.get("mode", "AUTO") not in _MODES:
        yield "Invalid value at 'tool_config.function_calling_config.mode'"
    allowed = config.get("allowedFunctionNames") or []
    if allowed and (config.get("mode") != "ANY" or not set(allowed) <= set(names)):
        yield "allowed_function_names should be declared, and set only when mode is ANY."
    mime_type = (body.get("generationConfig") or {}).get("responseMimeType", "text/plain")
    if mime_type != "text/plain" and not wants_signatures(model):
        yield f"Function calling with a response mime type: '{mime_type}' is unsupported"


def _form(config: JSONObject) -> Iterator[str]:
    """The form of the answer: a mime type, and one schema in either of two fields."""
    given = config.keys() & {"responseSchema", "responseJsonSchema"}
    mime_type = config.get("responseMimeType", "text/plain")
    if mime_type not in ("text/plain", "application/json", "text/x.enum"):
        yield f"* GenerateContentRequest.generation_config.response_mime_type: {mime_type}"
    if given and mime_type == "text/plain":
        yield "A response schema is only supported with response_mime_type application/json."
    if len(given) > 1:
        yield "Only one of response_schema and response_json_schema may be set."
    schema = config.get("responseJsonSchema", {})
    if not isinstance(schema, dict):
        yield "Invalid value at 'generation_config.response_json_schema'"
    elif is_recursive(schema, schema.get("$defs") or {}):
        yield "* generation_config.response_json_schema: references must not be circular"


def _declaration(each: JSONObject, at: str) -> Iterator[str]:
    yield from _unknown(each, {"name", "description", "parameters", "behavior"}, at)
    if not _NAME.fullmatch(str(each.get("name"))):
        yield f"* GenerateContentRequest.{at}.name: Invalid function name."
    if "parameters" in each:
        parameters = each["parameters"]
        if parameters.get("type") != "OBJECT" or not parameters.get("properties"):
            yield f"* {at}.parameters.properties: should be non-empty for OBJECT type"
        yield from _schema(parameters, f"{at}.parameters")


def _schema(schema: object, at: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"Invalid value at '{at}' (type.googleapis.com/Schema)"
        return
    yield from _unknown(schema, _SCHEMA, at)
    kind = str(schema.get("type"))
    if "anyOf" in schema:
        if schema.keys() - {"anyOf"}:
            yield f"{at}: when using any_of, it must be the only field set"
        for index, each in enumerate(schema["anyOf"]):
            yield from _schema(each, f"{at}.anyOf[{index}]")
        return
    if kind not in _TYPES:
        yield f"* {at}.type: must be specified"
    if "format" in schema and schema["format"] not in _FORMATS.get(kind, ()):
        yield f"* {at}.format: only certain formats are supported for {kind} type"
    yield from _members(schema, at)


def _members(schema: JSONObject, at: str) -> Iterator[str]:
    if "enum" in schema:
        values = schema["enum"]
        if schema.get("type") != "STRING" or not all(isinstance(v, str) and v for v in values):
            yield f"* {at}.enum: only allowed for STRING type, and not empty"
    if schema.get("type") == "ARRAY" and "items" not in schema:
        yield f"* {at}.items: missing field."
    if "items" in schema:
        yield from _schema(schema["items"], f"{at}.items")
    properties = schema.get("properties") or {}
    for name in set(schema.get("required") or ()) - set(properties):
        yield f"* {at}.required: property is not defined: {name}"
    for name, each in properties.items():
        yield from _schema(each, f"{at}.properties[{name}]")
