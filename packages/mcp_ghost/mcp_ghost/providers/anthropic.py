"""Anthropic's messages API: neutral messages into a request, a reply body into an LLMResponse."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_ghost.errors import LLMReplyError
from mcp_ghost.messages import LLMResponse, Message, ToolSchema
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import common
from mcp_ghost.providers.hosted import ANTHROPIC
from mcp_ghost.providers.parameters import FOR_ANTHROPIC, parameters
from mcp_ghost.providers.streaming import Assembler, Delta
from mcp_ghost.results import JSONObject, parsed

DEFAULT_MAX_TOKENS = 64_000
"""The API wants a limit with every request; a model that writes less says how much."""
_VERSION = "2023-06-01"
_NOT_HERE = ("parallel_tool_calls", "min_p", "seed")
"""Options that other providers take and that mean nothing here, or are said elsewhere."""
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_WITHOUT_SAMPLING = re.compile(r"claude-(?:opus-4-[7-9]|[a-z]+-(?:[5-9]|\d\d)(?!\d))")
"""Models that refuse all of these; the others do while they think."""
_EFFORTS = {"minimal": "low"} | {name: name for name in ("low", "medium", "high", "xhigh", "max")}
_FINISH_REASON = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class Anthropic(common.HostedProvider):
    """Anthropic, and at another address whatever speaks its format."""

    name, key_variables, base_url, base_url_variable, default_model = ANTHROPIC[:5]

    def encode(self, request: common.LLMRequest) -> common.WireRequest:
        messages, names, tools = request.messages, request.names, request.tools
        options = request.given
        head, rest = common.head_and_rest(messages)
        marked = common.breakpoints(messages, ("system", "user", "tool"))
        blocks = [_blocks(it, names, index in marked) for index, it in enumerate(messages)]
        system = [block for each in blocks[: len(head)] for block in each]
        roles = ("assistant" if it["role"] == "assistant" else "user" for it in rest)
        turns = zip(roles, blocks[len(head) :], strict=True)
        opening = {"type": "text", "text": common.OPENING}
        payload: JSONObject = {"model": request.model, "max_tokens": DEFAULT_MAX_TOKENS}
        payload["messages"] = common.alternating(turns, "content", opening)
        payload |= {"system": system} if system else {}
        if tools or any(common.calls_of(messages)):
            # A history that calls tools needs definitions even where none is on offer.
            offered = tools or request.known_tools or common.minimal_tools(messages)
            payload["tools"] = [_tool(tool, names) for tool in offered]
            asked = request.tool_choice if tools else "none"
            choice: JSONObject = {"type": "any" if asked == "required" else asked or "auto"}
            if isinstance(asked, dict):
                choice = {"type": "tool", "name": names.encode(asked["function"]["name"])}
            if options.get("parallel_tool_calls") is False and choice["type"] != "none":
                choice["disable_parallel_tool_use"] = True
            payload["tool_choice"] = choice
        payload |= _options(options, request.model)
        headers = {"anthropic-version": _VERSION}
        headers |= {"x-api-key": request.api_key} if request.api_key else {}
        # Addresses with and without the version are both in use.
        base = request.base_url.partition("?")[0].rstrip("/")
        path = "/messages" if base.endswith("/v1") else "/v1/messages"
        return common.WireRequest(path, payload, headers)

    def assembler(self) -> Assembler:
        return _Assembler()

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        if failure := common.reported(body):
            raise failure
        content = body.get("content")
        if not isinstance(content, list | str | dict):
            raise common.without("content", body)
        blocks = [block for block in common.blocks_in(content) if block.get("type")]
        said = "".join(b.get("text", "") for b in blocks if b["type"] == "text")
        thinking = [str(b["thinking"]) for b in blocks if b.get("thinking")]
        uses = (block for block in blocks if block["type"] == "tool_use")
        calls = common.tool_calls(
            ((use.get("id"), use.get("name"), use.get("input") or {}) for use in uses), names
        )
        stop = body.get("stop_reason")
        if stop == "refusal" and not said and not calls:
            error = LLMReplyError("Claude refused to answer this request (stop reason 'refusal').")
            error.usage = LLMResponse(None, model, usage=_usage(body.get("usage"))).spent
            raise error
        remaining = iter(calls)
        kept = [  # the reply as it was; of calls only their place
            {"type": "tool_use", "id": next(remaining).id} if it["type"] == "tool_use" else it
            for it in blocks
            if it["type"] != "text" or it.get("text", "").strip()
        ]
        is_signed = any(it["type"] not in ("text", "tool_use") for it in kept)
        return common.reply(
            said,
            calls,
            model=str(body.get("model") or model),
            usage=_usage(body.get("usage")),
            finish_reason=_FINISH_REASON.get(str(stop), str(stop)) if stop else None,
            reasoning="\n".join(thinking) or None,
            provider_state={Anthropic.name: kept} if is_signed else None,
        )


# --- encoding


def _blocks(message: Message, names: ToolNames, marked: bool) -> list[JSONObject]:
    """The blocks of a message; blank text is refused, so it is left out."""
    content = message.get("content")
    if message["role"] == "assistant":
        text = common.text_of(content).rstrip()
        said: list[JSONObject] = [{"type": "text", "text": text}] if text else []
        calls: dict[str, JSONObject] = {}
        for call in message.get("tool_calls") or ():
            function, call_id = call["function"], common.wire_id(call["id"])
            given = common.object_of(function.get("arguments"))
            arguments = names.encode_arguments(given, FOR_ANTHROPIC.names)
            named = {"type": "tool_use", "id": call_id, "name": names.encode(function["name"])}
            calls[call["id"]] = {**named, "input": arguments}
        # In the order of the reply where it must come back as it was.
        state = common.state_of(message, Anthropic.name)
        placed = {block["id"] for block in state if block["type"] == "tool_use"}
        texts = [block["text"] for block in state if block["type"] == "text"]
        if placed != set(calls) or "".join(texts).rstrip() != text:  # somebody edited the message
            kept = [block for block in state if block["type"] not in ("text", "tool_use")]
            return [*kept, *said, *calls.values()]
        return [calls[block["id"]] if block["type"] == "tool_use" else block for block in state]
    if message["role"] == "tool":
        called = common.wire_id(message["tool_call_id"])
        result: JSONObject = {"type": "tool_result", "tool_use_id": called}
        if isinstance(content, list):
            result["content"] = [_block(part) for part in common.parts_of(content)]
        elif content:
            result["content"] = common.result_text(message)
        if message.get("is_error"):
            result["is_error"] = True
        blocks = [result]
    else:
        blocks = [_block(part) for part in common.parts_of(content)]
    if marked:
        blocks[-1]["cache_control"] = message["cache_control"]
    return blocks


def _block(part: JSONObject) -> JSONObject:
    if part.get("type") == "image_url":
        url = str(part["image_url"]["url"])
        source = {"type": "url", "url": url}
        if match := common.DATA_URL.fullmatch(url):
            source = {"type": "base64", "media_type": match[1], "data": match[2]}
        return {"type": "image", "source": source}
    return {key: value for key, value in part.items() if key != "cache_control"}


def _tool(tool: ToolSchema, names: ToolNames) -> JSONObject:
    function, name = tool["function"], tool["function"]["name"]
    encoded: JSONObject = {"name": names.encode(name)}
    if description := function.get("description"):
        encoded["description"] = description
    encoded["input_schema"] = parameters(function.get("parameters"), FOR_ANTHROPIC, name)
    return encoded


def _options(options: Mapping[str, object], model: str) -> JSONObject:
    kept: JSONObject = {key: value for key, value in options.items() if key not in _NOT_HERE}
    if "temperature" in kept:  # most models take only one of the two
        kept.pop("top_p", None)
    effort = _EFFORTS.get(str(kept.pop("reasoning_effort", None)))
    if effort or _WITHOUT_SAMPLING.search(model):
        kept = {key: value for key, value in kept.items() if key not in _SAMPLING}
    if effort:
        kept |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    if stop := kept.pop("stop", None):
        kept["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if schema := common.schema_in(kept.pop("response_format", None)):
        form = {"format": {"type": "json_schema", "schema": schema}}
        kept["output_config"] = {**kept.get("output_config", {}), **form}
    return kept


# --- decoding


def _usage(usage: object) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    cached, written = map(usage.get, ("cache_read_input_tokens", "cache_creation_input_tokens"))
    prompt = common.count(usage.get("input_tokens"), cached, written)
    return common.usage_of(prompt, usage.get("output_tokens"), None, cached)


# --- streaming

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The field of a block that a delta adds to, which has the same name in both."""


class _Assembler(Assembler):
    is_complete = False

    def __init__(self) -> None:
        self._message: JSONObject = {}
        self._blocks: list[JSONObject] = []
        self._at: dict[str, JSONObject] = {}
        """The block that grows at each index; the arguments of a call, as JSON."""

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        index = str(piece.get("index"))
        match piece.get("type"):
            case "message_start":
                self._message = dict(_dict(piece.get("message")))
                # Of one that is sent all at once.
                self._blocks += common.blocks_in(self._message.get("content"))
            case "content_block_start":
                block = self._at[index] = dict(_dict(piece.get("content_block")))
                self._blocks.append(block)
                yield from _said(str(block.get("type")), block)
            case "content_block_delta":
                delta = _dict(piece.get("delta"))
                latest = self._blocks[-1] if self._blocks and index == "None" else None
                if (known := self._at.get(index, latest)) is None:  # begun without saying so
                    known = self._at[index] = {"type": "text", "text": ""}
                    self._blocks.append(known)
                if delta.get("type") == "input_json_delta":
                    said = delta.get("partial_json") or ""
                    more = said if isinstance(said, str) else json.dumps(said)
                    before = known.get("input")
                    known["input"] = common.grown(before if isinstance(before, str) else "", more)
                elif field := _GROWS.get(str(delta.get("type"))):
                    known[field] = str(known.get(field) or "") + str(delta.get(field) or "")
                    yield from _said(field, delta)
            case "message_delta":
                delta = _dict(piece.get("delta"))
                self._message |= {key: it for key, it in delta.items() if it is not None}
                usage = {**_dict(self._message.get("usage")), **_dict(piece.get("usage"))}
                self._message["usage"] = usage
                self.is_complete = bool(self._message.get("stop_reason"))
            case "message_stop":
                self.is_complete = True
            case "message":  # as it would have come at once
                self._message, self._blocks = piece, common.blocks_in(piece.get("content"))
                self.is_complete = True
            case _ if piece.get("error"):  # proxies leave the type out
                self._message, self.is_complete = piece, True

    def body(self) -> JSONObject:
        if self._message.get("error"):
            return self._message
        sent: list[JSONObject] = []
        for block in self._blocks:
            if isinstance(text := block.get("input"), str):  # it stays text where it was cut off
                block["input"] = parsed(text, text) if text.strip() else {}
            # Some send a call twice, under one id.
            sent += [] if block.get("id") and block in sent else [block]
        return {**self._message, "content": sent}


def _said(kind: str, block: JSONObject) -> Iterator[Delta]:
    if kind in ("text", "thinking") and block.get(kind):
        yield "text" if kind == "text" else "thinking", str(block[kind])


def _dict(value: object) -> JSONObject:
    return value if isinstance(value, dict) else {}
