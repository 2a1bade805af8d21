"""Gemini's generateContent: neutral messages into a request, a reply body into an LLMResponse."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mcp_ghost.errors import LLMMalformedCallError, LLMReplyError
from mcp_ghost.messages import LLMResponse, Message, ToolCall, ToolSchema
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import common
from mcp_ghost.providers.gemini_schema import gemini_parameters
from mcp_ghost.providers.hosted import GEMINI
from mcp_ghost.providers.parameters import FOR_GEMINI
from mcp_ghost.providers.streaming import Assembler, Delta
from mcp_ghost.results import JSONObject

# From version 3 on, a call in the history without its signature is refused, unless it says this.
_WANTS_SIGNATURES = re.compile(r"gemini-(?:[3-9]|\d\d)")
_NO_SIGNATURE = "skip_thought_signature_validator"
_TOP_LEVEL = frozenset({"safetySettings", "cachedContent", "labels", "serviceTier", "store"})
_GENERATION = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_LEVELS = {"none": "minimal", "xhigh": "high", "max": "high"}
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192} | dict.fromkeys(
    ("high", "xhigh", "max"), 24576
)
"""Tokens, for models before version 3, which know no levels."""
_NOT_HERE = frozenset({"parallel_tool_calls", "user", "metadata", "min_p"})
"""Options that other providers take and that mean nothing here."""
_FINISH_REASON = {"": None, "STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
_ADVICE = {
    "MALFORMED_FUNCTION_CALL": "It wrote a tool call that cannot be read.",
    "UNEXPECTED_TOOL_CALL": "It called a tool where none was on offer.",
    "TOO_MANY_TOOL_CALLS": "It made too many tool calls at once.",
    "MISSING_THOUGHT_SIGNATURE": "A call in the history has lost its thought signature.",
    "MALFORMED_RESPONSE": "Its answer cannot be read; try again.",
    "RECITATION": "The answer would repeat a source word by word.",
    "LANGUAGE": "The language is not supported.",
    "SPII": "The answer may contain sensitive personal data.",
    **dict.fromkeys(
        ("SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "ESCALATION"),
        "Google's filters withheld the answer; rephrase the request.",
    ),
}

_NESTED = 10
"""Objects and lists; a reply has fewer down to the arguments of a call."""
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
"""The model can be told of these, and do better."""


class Gemini(common.HostedProvider):
    """Google's Gemini API, and at another address whatever speaks its format."""

    name, key_variables, base_url, base_url_variable, default_model = GEMINI[:5]
    most_tools = 512  # https://github.com/google-gemini/gemini-cli/issues/19083

    def encode(self, request: common.LLMRequest) -> common.WireRequest:
        messages, model, names = request.messages, request.model, request.names
        tools, tool_choice, given = request.tools, request.tool_choice, request.given
        head, rest = common.head_and_rest(messages)
        signed = _WANTS_SIGNATURES.search(model) is not None
        turns = _turns(rest, names, signed=signed)
        contents = common.alternating(turns, "parts", {"text": common.OPENING})
        payload: JSONObject = {"contents": contents}
        if system := [part for message in head for part in _parts(message)]:
            payload["systemInstruction"] = {"parts": system}
        constrained = "response_format" in given
        if not tools and not constrained and any(common.calls_of(messages)):
            tools, tool_choice = request.known_tools or common.minimal_tools(messages), "none"
        if tools:
            payload["tools"] = [{"functionDeclarations": [_tool(tool, names) for tool in tools]}]
        if tools and tool_choice is not None:
            config: JSONObject = {"mode": "ANY"}
            if isinstance(tool_choice, dict):
                config["allowedFunctionNames"] = [names.encode(tool_choice["function"]["name"])]
            elif tool_choice != "required":
                config["mode"] = tool_choice.upper()
            payload["toolConfig"] = {"functionCallingConfig": config}
        payload |= {key: value for key, value in given.items() if key in _TOP_LEVEL}
        payload |= _generation_config(given, signed=signed)
        name = model if "/" in model else f"models/{model}"
        base = request.base_url.partition("?")[0].rstrip("/")
        # Vertex AI has its version further ahead.
        version = "" if re.search(r"/v\d\w*$|/publishers/google$", base) else "/v1beta"
        headers = {"x-goog-api-key": request.api_key} if request.api_key else {}
        return common.WireRequest(f"{version}/{quote(name)}:generateContent", payload, headers)

    def streamed(self, wire: common.WireRequest) -> common.WireRequest:
        path = wire.path.removesuffix(":generateContent") + ":streamGenerateContent?alt=sse"
        return replace(wire, path=path)

    def assembler(self) -> Assembler:
        return _Assembler()

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        body = _as_documented(body)
        if error := common.reported(body):
            raise error
        if blocked := common.at(body, "promptFeedback", "blockReason"):
            told = common.at(body, "promptFeedback", "blockReasonMessage")
            why = f"{blocked}): {told}" if told else f"{blocked})"
            raise LLMReplyError(f"Gemini's filters blocked the prompt ({why}. Rephrase it.")
        candidate = next(iter(common.dicts_in(body.get("candidates"))), None)
        if candidate is None:
            raise common.without("candidates", body)
        parts = common.blocks_in(common.at(candidate, "content", "parts"))
        said = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        thinking = [part["text"] for part in parts if "text" in part and part.get("thought")]
        called = common.dicts_in([part.get("functionCall") for part in parts])
        calls = common.tool_calls(
            ((call.get("id"), call.get("name"), call.get("args") or {}) for call in called), names
        )
        reason = str(candidate.get("finishReason") or "")
        if reason in _ADVICE or (reason not in _FINISH_REASON and not said and not calls):
            advice = _ADVICE.get(reason, "Nothing came back.")
            told = candidate.get("finishMessage")
            words = f"Gemini gave no usable answer ({reason}). {advice}"
            kind = LLMMalformedCallError if reason in _MALFORMED else LLMReplyError
            error = kind(f"{words} It says: {told}" if told else words)
            error.usage = LLMResponse(None, model, usage=_usage(body.get("usageMetadata"))).spent
            raise error
        finish_reason = _FINISH_REASON.get(reason, reason.lower())
        return common.reply(
            said,
            calls,
            model=str(body.get("modelVersion") or model),
            usage=_usage(body.get("usageMetadata")),
            finish_reason="tool_calls" if calls and finish_reason == "stop" else finish_reason,
            reasoning="\n".join(thinking) or None,
            provider_state=_state(parts, calls),
        )


# --- encoding


def _turns(
    messages: Sequence[Message], names: ToolNames, *, signed: bool
) -> Iterator[tuple[str, list[JSONObject]]]:
    called: dict[str, JSONObject] = {}
    seen: list[JSONObject] = []
    for message in messages:
        if seen and message["role"] != "tool":
            yield "user", seen
            seen = []
        if message["role"] == "assistant":
            yield "model", _model_parts(message, called, names, signed=signed)
        elif message["role"] == "tool":
            # Gemini ties a result to its call by name, and by id where it gave one.
            call = called.get(message["tool_call_id"], {})
            name = call.get("name") or names.encode(str(message.get("name") or "tool"))
            text = common.result_text(message)
            result = common.parsed_object(text) or text
            key = "error" if message.get("is_error") else "output"
            response: JSONObject = {"name": name, "response": {key: result}}
            images = [_part(part) for part in common.images_of(message)]
            if signed and images:  # before version 3, they stand beside it
                response["parts"] = images
            response |= {"id": call["id"]} if "id" in call else {}
            yield "user", [{"functionResponse": response}]
            seen += [] if signed else images
        else:
            yield "user", _parts(message)
    yield "user", seen


def _parts(message: Message) -> list[JSONObject]:
    return [_part(part) for part in common.parts_of(message.get("content"))]


def _part(part: JSONObject) -> JSONObject:
    if part.get("type") != "image_url":
        return {"text": str(part.get("text") or "")}
    url = str(part["image_url"]["url"])
    if match := common.DATA_URL.fullmatch(url):
        return {"inlineData": {"mimeType": match[1], "data": match[2]}}
    return {"fileData": {"fileUri": url}}


def _model_parts(
    message: Message, called: dict[str, JSONObject], names: ToolNames, *, signed: bool
) -> list[JSONObject]:
    """Text, then calls, in the order of the reply where it is known; ``called`` gets the calls."""
    state = common.state_of(message, Gemini.name)
    known = {entry["call"]: entry for entry in state if "call" in entry}
    calls: dict[str, JSONObject] = {}
    for each in message.get("tool_calls") or ():
        entry, function = known.get(each["id"], {}), each["function"]
        given = common.object_of(function.get("arguments"))
        args = names.encode_arguments(given, FOR_GEMINI.names)
        call: JSONObject = {"name": names.encode(function["name"]), "args": args}
        call |= {"id": entry["id"]} if "id" in entry else {}
        called[each["id"]] = call
        calls[each["id"]] = {"functionCall": call, **_signature(entry)}
    if signed and calls:  # of several calls at once only the first is signed
        next(iter(calls.values())).setdefault("thoughtSignature", _NO_SIGNATURE)
    text = common.text_of(message.get("content"))
    texts = [entry["text"] for entry in state if "text" in entry and not entry.get("thought")]
    if state and known.keys() == calls.keys() and "".join(texts) == text:
        return [calls[entry["call"]] if "call" in entry else entry for entry in state]
    return [*([{"text": text}] if text.strip() else []), *calls.values()]


def _signature(part: JSONObject) -> JSONObject:
    return {key: part[key] for key in ("thoughtSignature",) if key in part}


def _tool(tool: ToolSchema, names: ToolNames) -> JSONObject:
    function = tool["function"]
    # A description is required, so a tool without one is described by its name.
    described = {"description": function.get("description") or function["name"]}
    declared: JSONObject = {"name": names.encode(function["name"]), **described}
    parameters = gemini_parameters(function.get("parameters"), function["name"])
    return declared | ({"parameters": parameters} if parameters else {})


def _generation_config(options: Mapping[str, Any], *, signed: bool) -> JSONObject:
    config: JSONObject = dict(options.get("generationConfig") or {})
    for key, value in options.items():
        if key == "stop":
            config["stopSequences"] = [value] if isinstance(value, str) else value
        elif key == "reasoning_effort" and signed:
            config["thinkingConfig"] = {"thinkingLevel": _LEVELS.get(value, value)}
        elif key == "reasoning_effort":
            config["thinkingConfig"] = {"thinkingBudget": _BUDGETS.get(value)}
        elif key == "response_format":
            config["responseMimeType"] = "application/json"
            if schema := common.schema_in(value):
                config["responseJsonSchema"] = schema
        elif key not in _TOP_LEVEL and key not in _NOT_HERE and key != "generationConfig":
            config[_GENERATION.get(key, key)] = value
    return {"generationConfig": config} if config else {}


# --- decoding


def _as_documented(body: Mapping[str, Any]) -> JSONObject:
    """``body`` with the names of Google's REST API.

    Gateways on Google's Python SDK write them with underscores, and Code Assist, behind Gemini CLI,
    wraps each reply in an object.
    """
    inner = body.get("response")
    is_wrapped = "candidates" not in body and isinstance(inner, dict)
    found: JSONObject = _renamed(inner if is_wrapped else dict(body), _NESTED)
    return found


def _renamed(value: Any, levels: int) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, list) and levels:
        return [_renamed(it, levels - 1) for it in value]
    if not isinstance(value, dict) or not levels:
        return value
    return {
        re.sub("_([a-z])", lambda it: it[1].upper(), key): (
            it if key == "args" else _renamed(it, levels - 1)
        )
        for key, it in value.items()
    }


def _state(parts: Iterable[JSONObject], calls: Iterable[ToolCall]) -> JSONObject | None:
    """What must come back as it was: signatures in their places, and ids that Gemini gave."""
    entries: list[JSONObject] = []
    remaining = iter(calls)
    for part in parts:
        if isinstance(call := part.get("functionCall"), dict):
            given = {"id": call["id"]} if call.get("id") else {}
            entries.append({"call": next(remaining).id, **given, **_signature(part)})
        elif "thoughtSignature" in part or ("text" in part and not part.get("thought")):
            entries.append(part)
    telling = any("id" in entry or "thoughtSignature" in entry for entry in entries)
    return {Gemini.name: entries} if telling else None


def _usage(usage: object) -> dict[str, int] | None:
    """Thoughts are paid for as output."""
    if not isinstance(usage, dict):
        return None
    prompt = common.count(usage.get("promptTokenCount"), usage.get("toolUsePromptTokenCount"))
    completion = common.count(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount"))
    cached = usage.get("cachedContentTokenCount")
    return common.usage_of(prompt, completion, usage.get("totalTokenCount"), cached)


# --- streaming


class _Assembler(Assembler):
    def __init__(self) -> None:
        self._body: JSONObject = {}
        self._candidate: JSONObject = {}
        self._parts: list[JSONObject] = []
        self._index: object = None
        """Of the candidate that is read; of others, nothing is."""

    @property
    def is_complete(self) -> bool:
        is_blocked = common.at(self._body, "promptFeedback", "blockReason")
        return bool(self._candidate.get("finishReason") or is_blocked or self._body.get("error"))

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        piece = _as_documented(piece)
        self._body |= {
            key: it for key, it in piece.items() if key != "candidates" and it is not None
        }
        candidates = common.blocks_in(piece.get("candidates"))
        if self._index is None and candidates:
            self._index = candidates[0].get("index") or 0
        first = next((it for it in candidates if (it.get("index") or 0) == self._index), None)
        if first is None:
            return
        said = {key: it for key, it in first.items() if key != "content" and it is not None}
        self._candidate |= said
        for part in common.blocks_in(common.at(first, "content", "parts")):
            is_words = part.keys() <= {"text", "thought"}
            if is_words and not part.get("text"):
                continue  # it only carries the reason of the end
            if common.at(part, "functionCall", "id") and part in self._parts:
                continue  # sent twice
            if is_words and self._parts and {**self._parts[-1], "text": ""} == {**part, "text": ""}:
                self._parts[-1]["text"] += part["text"]
            else:
                self._parts.append(part)
            if part.get("text"):
                yield "thinking" if part.get("thought") else "text", part["text"]

    def body(self) -> JSONObject:
        if not self._candidate and not self._parts:
            return self._body
        content = {"role": "model", "parts": self._parts}
        return {**self._body, "candidates": [{**self._candidate, "content": content}]}
