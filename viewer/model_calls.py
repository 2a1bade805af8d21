"""Calls of models, read a turn at a time: what was sent, and what came back."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from mcp_ghost.results import JSONObject
from session.record.index import Span
from session.record.request_deltas import RequestDeltas, SplitText
from session.record.schema import Entry, LoggedEvent, ModelCall, parse

_MARKED = 64
"""Calls after which it is noted what the next ones build on; as many are read for one turn."""
_MISSING = "It cannot be read: it builds on a request that the log does not hold."


class ModelCalls:
    """Where the calls of an episode stand in its log, and what each builds on."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._of_turn: dict[int, list[int]] = defaultdict(list)
        self._deltas = RequestDeltas()
        self._marks: list[Mapping[str, SplitText]] = [{}]
        """The latest requests before every 64th call."""

    def add(self, turn: int, span: Span) -> None:
        """Note the next call of the log."""
        self._of_turn[turn].append(len(self._spans))
        self._spans.append(span)

    def of_turn(self, turn: int, read: Callable[[Span], Entry | None]) -> list[JSONObject]:
        """Return the calls of a turn, in order; ``read`` gets what is at a place in the log."""
        wanted = self._of_turn.get(turn, [])
        if not wanted:
            return []
        mark = min(wanted[0] // _MARKED, len(self._marks) - 1)
        self._deltas.latest = dict(self._marks[mark])
        found = []
        for number in range(mark * _MARKED, wanted[-1] + 1):
            if number == len(self._marks) * _MARKED:
                self._marks.append(dict(self._deltas.latest))
            entry = read(self._spans[number])
            event = entry and entry.event
            fields = event.fields if isinstance(event, LoggedEvent) else {}
            if number in wanted:
                found.append(_call_json(fields, self._deltas))
            else:
                with suppress(ValueError, KeyError, TypeError, IndexError):
                    self._deltas.follow(str(fields["role"]), fields["request"])
        return found


def _call_json(fields: Mapping[str, Any], deltas: RequestDeltas) -> JSONObject:
    event = parse(fields, deltas).event if fields else None
    if not isinstance(event, ModelCall):
        return {"role": str(fields.get("role") or "Model"), "unreadable": _MISSING}
    request = event.request
    tools = request.get("tools") or ()
    return {
        **event.model_dump(mode="json", include={"role", "provider", "where", "error"}),
        **event.model_dump(mode="json", include={"left_out", "tries", "milliseconds"}),
        "model": request.get("model"),
        "options": _options_json(request),
        "tool_choice": request.get("tool_choice"),
        "tools": [str(it.get("function", it).get("name", "")) for it in tools],
        "schemas": [it.get("function", it) for it in tools],
        "messages": [_message_json(it) for it in request.get("messages") or ()],
        "reply": _reply_json(event),
    }


def _options_json(request: Mapping[str, Any]) -> JSONObject:
    """Return the options as they were sent; logs from before that was recorded hold those given."""
    options: JSONObject = {}
    for name, value in (request.get("sent") or request.get("options") or {}).items():
        inner = value if isinstance(value, dict) else {}
        if "properties" in str(inner):
            options[name] = "a JSON schema"  # of which that is enough here: the page has it all
        else:
            options |= {f"{name}.{each}": inner[each] for each in inner} or {name: value}
    return {name: value for name, value in options.items() if name not in ("model", "tool_choice")}


def _reply_json(call: ModelCall) -> JSONObject | None:
    reply = call.reply
    if reply is None:
        return None
    return {
        "model": reply.model,
        "text": reply.content or reply.text or "",
        "reasoning": reply.reasoning or "",
        "calls": [
            _tool_call(it.function.name, it.function.arguments) for it in reply.tool_calls or ()
        ],
        "finish_reason": reply.finish_reason,
        "usage": reply.spent.__dict__,
    }


def _message_json(message: Mapping[str, Any]) -> JSONObject:
    calls = [it.get("function", {}) for it in message.get("tool_calls") or ()]
    return {
        "role": str(message.get("role", "")),
        "text": _text(message.get("content")),
        "calls": [_tool_call(it.get("name"), it.get("arguments")) for it in calls],
    }


def _text(content: object) -> str:
    """Return the text of a message; of anything else in it, what it is."""
    if not isinstance(content, list):
        return str(content or "")
    parts = (part if isinstance(part, dict) else {"text": str(part)} for part in content)
    return "\n".join(str(part.get("text") or f"[{part.get('type', 'part')}]") for part in parts)


def _tool_call(name: object, arguments: object) -> JSONObject:
    return {"name": str(name or ""), "arguments": str(arguments or "")}
