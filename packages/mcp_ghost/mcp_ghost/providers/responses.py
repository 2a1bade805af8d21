"""OpenAI's Responses API, and the provider that speaks it beside chat completions.

Pure functions. Nothing is stored there: a conversation is sent whole, with the items of earlier
replies as they came, since reasoning is encrypted and tied to what followed it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_ghost.errors import LLMReplyError
from mcp_ghost.messages import LLMResponse, Message, ToolCall, text_in
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import common, openai
from mcp_ghost.providers.streaming import Assembler, Delta
from mcp_ghost.results import JSONObject

_NOT_HERE = frozenset({"stop", "seed", "usage"})
"""Parameters of chat completions that this API does not have; OpenRouter tells the usage anyway."""
_LEAST_TOKENS = 16
"""For ``max_output_tokens``: OpenAI refuses fewer."""
# They refuse what is said of reasoning.
_PLAIN_MODEL = ("gpt-3", "gpt-4", "chatgpt")
_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
"""Of ids: OpenAI refuses those of another kind, and other servers and proxies give any."""


class EitherOpenAI(openai.OpenAI):
    """OpenAI, asked on the wire that a request names; a reply shows by its form which it is on."""

    def encode(self, request: common.LLMRequest) -> common.WireRequest:
        if request.wire != "responses":
            return super().encode(request)
        names, model, dialect = request.names, request.model, openai.dialect_of(request.base_url)
        head, rest = common.head_and_rest(request.messages)
        payload: JSONObject = {"model": model, "store": False}
        if instructions := "\n\n".join(filter(str.strip, map(text_in, head))):
            payload["instructions"] = instructions
        items: list[JSONObject] = []
        for message in _merged(rest):
            items += _items(message, request, len(items))
        payload["input"] = items or [{"type": "message", "role": "user", "content": common.OPENING}]
        if request.tools:
            # Not strict unless a tool says so: that is the default here, and few schemas are.
            tools = (openai.tool_of(tool, names, dialect, model) for tool in request.tools)
            functions = [{"type": "function", "strict": False, **it["function"]} for it in tools]
            payload["tools"] = functions
            choice = request.tool_choice
            if isinstance(choice, dict):
                choice = {"type": "function", "name": names.encode(choice["function"]["name"])}
            payload |= {"tool_choice": choice} if choice is not None else {}
        payload |= _options(request.given, dialect, model)
        return common.WireRequest(openai.RESPONSES_PATH, payload, openai.authorization(request))

    def assembler(self) -> Assembler:
        return _EitherAssembler()

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        if not is_response(body):
            return super().decode(body, names, model=model)
        usage = openai.usage_in(body.get("usage"), "input_tokens", "output_tokens")
        # Whatever has a code of its own kind is the fault of the request.
        if failure := common.reported(body, otherwise=400):
            if usage:
                failure.usage = LLMResponse(None, "", usage=usage).spent
            raise failure
        if body.get("status") in ("failed", "cancelled"):
            raise LLMReplyError(
                f"The model server gave its reply the status '{body['status']}' and no reason."
            )
        output = common.dicts_in(body.get("output"))
        items = [it for it in output if isinstance(it.get("type"), str)]
        uses = (item for item in items if item.get("type") == "function_call")
        calls = common.tool_calls(
            ((use.get("call_id"), use.get("name"), use.get("arguments")) for use in uses), names
        )
        finish_reason = "tool_calls" if calls else "stop"
        if body.get("status") == "incomplete":
            reason = str(common.at(body, "incomplete_details", "reason") or "incomplete")
            finish_reason = "length" if reason == "max_output_tokens" else reason
        return common.reply(
            _said(items),
            calls,
            model=str(body.get("model") or model),
            usage=usage,
            finish_reason=finish_reason,
            reasoning="\n".join(filter(None, map(_thought, items))) or None,
            cost=common.cost_of(common.at(body, "usage", "cost")),
            provider_state=_state(items, calls),
        )


def is_response(body: Mapping[str, Any]) -> bool:
    """Whether the body of a reply has the form of this wire."""
    return body.get("object") == "response" or isinstance(body.get("output"), list)


# --- encoding


def _merged(messages: Sequence[Message]) -> list[Message]:
    """Leave out replies that say nothing, and join two of the user's, as chat templates want."""
    merged: list[Message] = []
    for message in messages:
        said = common.text_of(message.get("content")).strip() or message.get("tool_calls")
        if message["role"] == "assistant" and not said:
            continue
        if message["role"] == "user" and merged and merged[-1]["role"] == "user":
            before = merged.pop()["content"]
            message = {"role": "user", "content": openai.joined(before, message["content"])}
        merged.append(message)
    return merged


def _items(message: Message, request: common.LLMRequest, start: int) -> list[JSONObject]:
    """What ``message`` is here; ``start`` is the number of items before it."""
    names, role, content = request.names, message["role"], message.get("content")
    if role == "assistant":
        text = common.text_of(content)
        calls = {
            call["id"]: {
                "type": "function_call",
                "call_id": common.wire_id(call["id"]),
                "name": names.encode(call["function"]["name"]),
                "arguments": openai.arguments_of(call["function"].get("arguments"), names),
            }
            for call in message.get("tool_calls") or ()
        }
        # As the reply was, if it has to come back and nobody has edited it.
        state = common.state_of(message, "responses")
        placed = [item["call_id"] for item in state if item["type"] == "function_call"]
        if state and placed == [*calls] and _said(state) == text:
            return [{**item, **calls.get(item.get("call_id"), {})} for item in state]
        part = {"type": "output_text", "text": text, "annotations": []}
        said = {"type": "message", "id": f"msg_{start}", "role": role, "status": "completed"}
        return [*([{**said, "content": [part]}] if text.strip() else []), *calls.values()]
    shown = common.images_of(message)
    if role == "tool":
        output = _parts(content) if shown else common.result_text(message)
        called = common.wire_id(message["tool_call_id"])
        return [{"type": "function_call_output", "call_id": called, "output": output}]
    if role == "system" and openai.dialect_of(request.base_url) == "openai":
        role = "developer"
    words = _parts(content) if shown else text_in(message)
    return [{"type": "message", "role": role, "content": words}]


def _parts(content: object) -> list[JSONObject]:
    return [
        {
            "type": "input_image",
            "image_url": str(part["image_url"]["url"]),
            "detail": part["image_url"].get("detail", "auto"),
        }
        if part.get("type") == "image_url"
        else {"type": "input_text", "text": part["text"]}
        for part in common.parts_of(content)
    ]


def _options(given: JSONObject, dialect: openai.Dialect, model: str) -> JSONObject:
    form = given.pop("response_format", None)
    reasoning = openai.REASONING_MODEL.search(model) is not None
    kept = openai.options_of(given, dialect, model, constrained=form is not None)
    for key in _NOT_HERE | openai.SAMPLING if reasoning else _NOT_HERE:
        kept.pop(key, None)
    longest = [kept.pop(key) for key in ("max_tokens", "max_completion_tokens") if key in kept]
    if longest:
        kept["max_output_tokens"] = max(longest[0], _LEAST_TOKENS)
    thinking = kept.pop("reasoning", {})
    if effort := kept.pop("reasoning_effort", None):
        thinking = {"effort": effort}
    if reasoning and thinking.get("effort") != "none":
        thinking = {**thinking, "summary": "auto"}
    kept |= {"reasoning": thinking} if thinking else {}
    if not model.rpartition("/")[2].startswith(_PLAIN_MODEL):
        kept["include"] = ["reasoning.encrypted_content"]
    if isinstance(form, dict):
        kept["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    return kept


# --- decoding


def _said(items: Sequence[JSONObject]) -> str:
    """The answer; what the model remarks on its way to one is not part of it."""
    messages = [item for item in items if item.get("type") == "message"]
    final = [item for item in messages if item.get("phase") == "final_answer"]
    texts = (common.text_of(item.get("content")) for item in final or messages)
    return "\n\n".join(filter(str.strip, texts))


def _thought(item: JSONObject) -> str:
    """What a reasoning item tells: its text, if the server shows it, or else its summary."""
    if item.get("type") != "reasoning":
        return ""
    texts = common.blocks_in(item.get("content")) or common.blocks_in(item.get("summary"))
    return "\n".join(str(part.get("text") or "") for part in texts)


def _state(items: Sequence[JSONObject], calls: Sequence[ToolCall]) -> JSONObject | None:
    """The reply as it was, if there is more to it than text and calls; of calls only their place.

    Reasoning that is neither encrypted nor shown cannot come back where nothing is stored, and
    what followed it is refused under its id, so that nothing is kept of such a reply.
    """
    plain = all(
        it.get("type") in ("message", "function_call") and not it.get("phase") for it in items
    )
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    if plain or not all(it.get("encrypted_content") or it.get("content") for it in thoughts):
        return None
    remaining, kept = iter(calls), list[JSONObject]()
    for item in items:
        kind, given = str(item.get("type")), str(item.get("id") or "")
        said = {key: it for key, it in item.items() if it is not None and key != "id"}
        if kind == "function_call":
            said = {"type": kind, "call_id": next(remaining).id}
        if _ID.fullmatch(given) and given.startswith(_PREFIXES.get(kind, "")):
            said["id"] = given
        kept.append(said)
    return {"responses": kept}


# --- streaming

# "response.done" is what ChatGPT's address for Codex says.
_LAST = ("response.completed", "response.done", "response.incomplete", "response.failed")
_TEXTS = {
    "response.output_text": ("content", "output_text", "text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_text": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_text", "text"),
}
"""Of each text that grows: the list of an item where it is a part, its type, its field."""
_MOST_PARTS = 1000
"""Of one item; a server that counts further is not believed."""


class _EitherAssembler(Assembler):
    """Takes a reply on either of OpenAI's wires: the first piece shows which."""

    is_complete = False

    def __init__(self) -> None:
        self._chat: Assembler | None = None
        self._response: JSONObject = {}
        self._items: dict[int, JSONObject] = {}

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        kind = str(piece.get("type") or "")
        has_begun = self._chat or self._response or self._items
        # What has another type only keeps the connection alive.
        if not has_begun and "output" not in piece and ("choices" in piece or (piece and not kind)):
            self._chat = openai.OpenAIAssembler()
        if self._chat:
            yield from self._chat.add(piece)
            self.is_complete = self._chat.is_complete
        elif isinstance(response := piece.get("response"), dict):
            self._response |= response
            self.is_complete = kind in _LAST
        elif kind == "error" or piece.get("error"):
            self._response["error"] = piece.get("error") or {**piece, "type": None}
            self.is_complete = True
        elif "output" in piece:  # all of it in one piece
            self._response, self.is_complete = dict(piece), True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            if isinstance(item := piece.get("item"), dict):
                self._items[self._place(piece)] = dict(item)
        elif kind.startswith("response.function_call_arguments."):
            call = self._item(piece, "function_call")
            before, more = str(call.get("arguments") or ""), str(piece.get("delta") or "")
            call["arguments"] = piece.get("arguments") or common.grown(before, more)
            call |= {key: piece[key] for key in ("name", "call_id") if piece.get(key)}
        elif kind == "response.reasoning_summary_part.added" and piece.get("summary_index"):
            yield "thinking", "\n"
        elif (known := kind.rpartition(".")[0]) in _TEXTS:
            place, type_, field = _TEXTS[known]
            thinks = "reasoning" in known
            item = self._item(piece, "reasoning" if thinks else "message")
            parts = item[place] = common.dicts_in(item.get(place))
            number = _number(piece, "summary_index" if place == "summary" else "content_index")
            while len(parts) <= number:
                parts.append({"type": type_, field: ""})
            part = parts[number] = dict(parts[number])
            before, more = str(part.get(field) or ""), str(piece.get("delta") or "")
            part[field] = piece.get(field) or before + more  # or the whole of it
            if more:
                yield "thinking" if thinks else "text", more

    def body(self) -> JSONObject:
        if self._chat or not (self._response or self._items):
            return self._chat.body() if self._chat else {}
        # Some servers send the items only before the reply, others a call twice, at two places.
        items = {
            repr([item.get("call_id", place), item.get("name"), item.get("arguments")]): item
            for place, item in sorted(self._items.items())
        }
        output = self._response.get("output") or [*items.values()]
        return {**self._response, "object": "response", "output": output}

    def _item(self, piece: JSONObject, kind: str) -> JSONObject:
        return self._items.setdefault(self._place(piece), {"type": kind})

    def _place(self, piece: JSONObject) -> int:
        """Where the item of ``piece`` is in the reply; some servers say only which it is."""
        known = common.at(piece, "item", "id") or piece.get("item_id")
        if known is None or "output_index" in piece:
            return _number(piece, "output_index")
        same = [place for place, item in self._items.items() if item.get("id") == known]
        return same[0] if same else len(self._items)


def _number(piece: JSONObject, field: str) -> int:
    value = piece.get(field)
    return value if isinstance(value, int) and 0 <= value < _MOST_PARTS else 0
