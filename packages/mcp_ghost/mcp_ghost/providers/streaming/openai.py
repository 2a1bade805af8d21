"""OpenAI's chunks, as it and the many others send them: deltas of one message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.common import arguments_in, at, dicts_in, parsed_object, text_of
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.providers.streaming.events import Delta

_OPEN, _CLOSE = "<think>", "</think>"
_NOTHING = {"role": "assistant", "content": None}
_TEXTS = ("refusal", "reasoning", "reasoning_content")


class OpenAIAssembler:
    """See :class:`mcp_ghost.providers.streaming.events.Assembler`."""

    def __init__(self) -> None:
        self._body: JSONObject = {}
        self._message: JSONObject = dict(_NOTHING)
        self._calls: list[JSONObject] = []
        self._at: dict[str, JSONObject] = {}
        """The call that grows at each index."""
        self._choice: object = None
        """The index of the choice that is read; of others, nothing is."""
        self._finish_reason: object = None
        self._tags = _Tags()

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""
        return self._finish_reason is not None or bool(self._body.get("error"))

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        """What a piece adds."""
        said = {key: it for key, it in piece.items() if key != "choices" and it is not None}
        self._body |= said
        if "error" in (piece.get("object"), piece.get("type")):  # vLLM's, and of events so named
            self._body["error"] = piece.get("error") or piece
        choices = dicts_in(piece.get("choices"))
        if self._choice is None and choices:
            self._choice = choices[0].get("index") or 0
        choice = next((it for it in choices if (it.get("index") or 0) == self._choice), None)
        if choice is None:
            return
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        if choice.get("error"):
            self._body["error"] = choice["error"]
        delta = choice.get("delta")
        if not delta and not self._calls and self._message == _NOTHING:
            delta = choice.get("message")  # all at once
        if isinstance(delta, dict):
            yield from self._grow(delta)

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""
        if self._body.get("error"):
            return self._body
        message = {**self._message, **({"tool_calls": self._calls} if self._calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason}
        return {**self._body, "choices": [choice]}

    def _grow(self, delta: JSONObject) -> Iterator[Delta]:
        for key in _TEXTS:
            if isinstance(more := delta.get(key), str) and more:
                self._message[key] = str(self._message.get(key) or "") + more
                yield "text" if key == "refusal" else "thinking", more
        content = delta.get("content")
        if isinstance(content, str) and content:
            yield from self._tags.split(content)
        for part in dicts_in(content):  # Mistral's; those of thinking hold parts of text
            if thought := text_of(part.get("thinking")):
                yield "thinking", thought
            elif isinstance(part.get("text"), str) and part["text"]:
                yield "text", part["text"]
        if content:
            self._message["content"] = _joined(self._message["content"], content)
        for detail in dicts_in(delta.get("reasoning_details")):
            _merge_detail(self._message.setdefault("reasoning_details", []), detail)
        calls = dicts_in(delta.get("tool_calls"))
        if not calls and (older := delta.get("function_call")):  # OpenAI's form before tools
            calls = [{"index": 0, "function": older}]
        for call in calls:
            self._grow_call(call)

    def _grow_call(self, more: JSONObject) -> None:
        """Add to the call that ``more`` belongs to, or begin another one.

        OpenAI numbers its calls, and gives id and name only with the first piece of each. Others
        repeat them with every piece, use one index for all calls or a new one for each piece, or
        send what they have sent already.
        """
        function = at(more, "function") or more  # some servers leave the inner object out
        name = str(at(function, "name") or "")
        said = arguments_in(function)
        arguments = said if isinstance(said, str) else "" if said is None else json.dumps(said)
        index = str(more["index"]) if more.get("index") is not None else None
        call = self._call_of(more.get("id"), index)
        if call is None or self._is_another(call, more.get("id"), name, arguments, index):
            call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        known = call["function"]
        call["id"] = call["id"] or more.get("id") or ""
        if more.get("extra_content"):
            call["extra_content"] = more["extra_content"]
        if name != known["name"]:
            known["name"] += name
        if arguments and parsed_object(known["arguments"]) == {}:  # stood for those to come
            known["arguments"] = ""
        if not (_is_whole(known["arguments"]) and _is_whole(arguments)):
            known["arguments"] += arguments

    def _call_of(self, call_id: object, index: str | None) -> JSONObject | None:
        """The call with that id or, of a piece without a new one, at that index."""
        same = [it for it in self._calls if call_id and it["id"] == call_id]
        if same or index is not None:
            return same[-1] if same else self._at.get(index or "")
        return self._calls[-1] if self._calls and not call_id else None

    def _is_another(
        self, call: JSONObject, call_id: object, name: str, arguments: str, index: str | None
    ) -> bool:
        """Whether a piece that names a tool begins a call beside ``call``."""
        known = call["function"]
        if not name or not known["name"]:
            return False
        is_whole, has_other_id = _is_whole(known["arguments"]), call_id and call["id"] != call_id
        if name != known["name"]:
            return is_whole or index is None or bool(has_other_id and call["id"])
        if has_other_id and call["id"]:  # unless each piece has an id of its own
            return is_whole or not (known["arguments"] or arguments)
        other = parsed_object(arguments) if is_whole and known["arguments"] != "{}" else None
        return other is not None and other != parsed_object(known["arguments"])


def _is_whole(arguments: str) -> bool:
    return arguments.rstrip().endswith("}") and parsed_object(arguments) is not None


class _Tags:
    """Tells thinking that stands between tags at the start from the answer after it."""

    def __init__(self) -> None:
        self._held = ""
        self._where = "start"

    def split(self, more: str) -> Iterator[Delta]:
        """What is new; what may be a part of a tag is held back."""
        self._held += more
        if self._where == "start":
            start = self._held.lstrip()
            if _OPEN.startswith(start) and start != _OPEN:
                return
            self._where = "inside" if start.startswith(_OPEN) else "outside"
            if self._where == "inside":
                self._held = start.removeprefix(_OPEN)
        if self._where == "inside":
            yield from self._inside()
        if self._where == "outside" and self._held:
            said, self._held = self._held, ""
            yield "text", said

    def _inside(self) -> Iterator[Delta]:
        thought, close, after = self._held.partition(_CLOSE)
        if close:
            self._held, self._where = after.lstrip(), "outside"
        else:  # the last characters may begin the tag
            kept = next((n for n in range(len(_CLOSE), 0, -1) if thought.endswith(_CLOSE[:n])), 0)
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            yield "thinking", thought


def _joined(one: Any, other: Any) -> Any:  # noqa: ANN401  texts or parts
    if one is None:
        return other
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    return [*_as_parts(one), *_as_parts(other)]


def _as_parts(content: Any) -> list[Any]:  # noqa: ANN401  text or parts
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _merge_detail(details: list[JSONObject], more: JSONObject) -> None:
    """OpenRouter's pieces of one detail have its index; their texts follow each other."""
    same = [it for it in details if it.get("index") == more.get("index") is not None]
    if not same or same[-1].get("type") != more.get("type"):
        details.append(dict(more))
        return
    for key, value in more.items():
        if key in ("text", "summary", "data") and isinstance(value, str):
            same[-1][key] = str(same[-1].get(key) or "") + value
        elif value is not None:
            same[-1][key] = value
