"""Replies piece by piece, as each provider sends them: a whole reply in, its events out."""

import json
import re
from collections.abc import Iterator

from mcp_ghost.results import JSONObject

_WORDS = re.compile(r"\S+\s*|\s+")
_PIECES = re.compile(r".{1,7}", re.DOTALL)


def openai_events(body: JSONObject, request: JSONObject) -> Iterator[bytes]:
    """Chunks with a delta each, the usage if it was asked for, and a mark at the end."""
    choice = body["choices"][0]
    head = {key: body[key] for key in ("id", "created", "model")}
    head |= {"object": "chat.completion.chunk"}
    for delta in _deltas(choice["message"]):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield _event({**head, "choices": [end]})
    if (request.get("stream_options") or {}).get("include_usage"):
        yield _event({**head, "choices": [], "usage": body["usage"]})
    yield b"data: [DONE]\n\n"


def _deltas(message: JSONObject) -> Iterator[JSONObject]:
    yield {"role": "assistant", "content": ""}
    thoughts = [key for key in message if key.startswith("reasoning")]
    for key in [*thoughts, *(message.keys() - {"role", "tool_calls", *thoughts})]:
        value = message[key]
        for piece in _WORDS.findall(value) if isinstance(value, str) else [value]:
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = {**call["function"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": index, "function": function}]}
        for piece in _PIECES.findall(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def anthropic_events(body: JSONObject, _request: JSONObject) -> Iterator[bytes]:
    """A message that begins, blocks that grow, and how it ends."""
    begun = {**body, "content": [], "stop_reason": None}
    begun["usage"] = {**body["usage"], "output_tokens": 1}
    yield _event({"type": "message_start", "message": begun})
    yield _event({"type": "ping"})
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    for index, block in enumerate(body["content"]):
        bare = {key: empty.get(key, value) for key, value in block.items()}
        yield _event({"type": "content_block_start", "index": index, "content_block": bare})
        for delta in _block_deltas(block):
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    end = {key: body[key] for key in ("stop_reason", "stop_sequence")}
    usage = {"output_tokens": body["usage"]["output_tokens"]}
    yield _event({"type": "message_delta", "delta": end, "usage": usage})
    yield _event({"type": "message_stop"})


def _block_deltas(block: JSONObject) -> Iterator[JSONObject]:
    for field in ("text", "thinking"):
        for piece in _WORDS.findall(block.get(field) or ""):
            yield {"type": f"{field}_delta", field: piece}
    if "signature" in block:
        yield {"type": "signature_delta", "signature": block["signature"]}
    if "input" in block:
        given = block["input"]
        text = given if isinstance(given, str) else json.dumps(given)
        for piece in _PIECES.findall(text):
            yield {"type": "input_json_delta", "partial_json": piece}


def gemini_events(body: JSONObject, _request: JSONObject) -> Iterator[bytes]:
    """Replies of their own, with the next part in each, and the reason of the end in the last."""
    candidate = body["candidates"][0]
    head = {key: body[key] for key in ("usageMetadata", "modelVersion", "responseId")}
    for part in candidate["content"]["parts"]:
        words = _WORDS.findall(part.get("text") or "")
        for piece in [{**part, "text": word} for word in words] or [part]:
            said = {"index": 0, "content": {"role": "model", "parts": [piece]}}
            yield _event({"candidates": [said], **head})
    last = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}}
    yield _event({"candidates": [{**last, "finishReason": candidate["finishReason"]}], **head})


def responses_events(body: JSONObject, _request: JSONObject) -> Iterator[bytes]:
    """A response that begins, items whose parts grow, and the whole of it at the end."""
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    pieces: list[JSONObject] = [
        {"type": f"response.{it}", "response": begun} for it in ("created", "in_progress")
    ]
    for index, item in enumerate(body["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        bare = {**item, "status": "in_progress"}
        bare |= {
            key: type(item[key])() for key in ("content", "summary", "arguments") if key in item
        }
        pieces.append({"type": "response.output_item.added", "output_index": index, "item": bare})
        pieces += ({**piece, **place} for piece in _item_pieces(item))
        pieces.append({"type": "response.output_item.done", "output_index": index, "item": item})
    pieces.append({"type": f"response.{body['status']}", "response": body})
    for number, piece in enumerate(pieces):
        yield _event({**piece, "sequence_number": number})


_PARTS: dict[str, tuple[str, str, str, JSONObject]] = {
    "output_text": ("output_text", "text", "content", {"logprobs": []}),
    "refusal": ("refusal", "refusal", "content", {}),
    "summary_text": ("reasoning_summary_text", "text", "summary", {}),
}
"""Of each part: what its events are called, its field, its list, and what they hold besides."""


def _item_pieces(item: JSONObject) -> Iterator[JSONObject]:
    for number, part in enumerate([*item.get("summary", ()), *item.get("content", ())]):
        name, field, place, more = _PARTS[part["type"]]
        at = {f"{place}_index": number}
        frame = "response.content_part" if place == "content" else "response.reasoning_summary_part"
        yield {"type": f"{frame}.added", **at, "part": {**part, field: ""}}
        for word in _WORDS.findall(part[field]):
            yield {"type": f"response.{name}.delta", **at, "delta": word, **more}
        yield {"type": f"response.{name}.done", **at, field: part[field], **more}
        yield {"type": f"{frame}.done", **at, "part": part}
    if "arguments" in item:
        for piece in _PIECES.findall(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", "delta": piece}
        whole = {key: item[key] for key in ("name", "arguments")}
        yield {"type": "response.function_call_arguments.done", **whole}


def _event(piece: JSONObject) -> bytes:
    name = f"event: {piece['type']}\n" if "type" in piece else ""
    return f"{name}data: {json.dumps(piece)}\n\n".encode()
