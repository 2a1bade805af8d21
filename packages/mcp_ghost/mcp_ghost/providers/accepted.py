"""What a model accepts of a chat request: which fields, how long a reply, and whether images.

No table of models stays right for long, so the refusal itself is read.
"""

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_ghost.errors import LLMConnectionError, LLMStatusError
from mcp_ghost.providers.common import Wire
from mcp_ghost.providers.refusal import fields_of, is_elsewhere, names, other_name, other_value
from mcp_ghost.results import JSONObject
from mcp_ghost.tables import patterns

_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
_says = partial(patterns, "mcp_ghost.providers", "phrases.toml", "accepted")
_room = partial(patterns, "mcp_ghost.providers", "phrases.toml", "room")
_mentions = partial(patterns, "mcp_ghost.providers", "phrases.toml", "mentions")
_wants = partial(patterns, "mcp_ghost.providers", "phrases.toml", "wants")
"""What some models want of a request, and no field says."""
_HOW = {
    "tools": "with definitions of the tools in the history",
    "tool_call_id": "with ids of nine letters or digits",
    "turns": "with a reply between a tool's result and the user's words",
    "system": "with instructions as words of the user",
    "images": "without images",
    "reasoning": "without the reasoning of earlier replies",
}
"""How a request goes on that is given what it wants, or is left without the last two."""
# Which of two that exclude each other is left out: the first here.
_LEAST_NEEDED = ("top_p", "top_k", "generationConfig.topP", "parallel_tool_calls", "stream_options")
_IN_MESSAGES = (
    "cache_control",
    "reasoning_content",
    "reasoning_details",
    "extra_content",
    "strict",
)
"""Fields that messages and tools can do without."""
_IN_SCHEMAS = re.compile(r"parameters|schema|\.input\b")
_HUNG_UP = "without sending a response"
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The fields that say how long a reply may be."""
_NO_SUCH_ADDRESS = frozenset({404, 405, 501})
_OF_MODEL = re.compile(r"model|deployment", re.I)
_LEAST_ROOM = 1024
"""Tokens for a reply; where there is less, the conversation has to become shorter."""


@dataclass
class Accepted:
    """What one model was found to accept."""

    without: frozenset[str] = frozenset()
    """The fields that it refused."""
    longest: int | None = None
    """The longest reply in tokens, once it has said so."""
    wire: Wire | None = None
    """The one that its refusal of the other named."""
    left: frozenset[Wire] = frozenset()
    """Those that it refused."""
    thinks_with_tools: bool = True
    """Whether chat completions take tools for it unless it is told not to think."""

    renamed: dict[str, str] = field(default_factory=dict)
    """What it calls fields."""
    instead: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What it takes in the place of a field's value."""
    wants: set[str] = field(default_factory=set)
    """What it wants of messages and tools: of ``_wants``; "images" and "reasoning" are left out,
    and "max_tokens" is always said."""
    refused_tools: set[str] = field(default_factory=set)
    """The names of tools that it does not take."""

    def of(self, payload: JSONObject) -> JSONObject:
        """As much of ``payload`` as the model accepts."""
        kept = dict(payload)
        if self.without or self.renamed or self.instead:
            kept = {
                self.renamed.get(key, key): self._kept(value, key)
                for key, value in payload.items()
                if key not in self.without
            }
        if "stream" in self.without:
            kept.pop("stream_options", None)
        if "turns" in self.wants and "messages" in kept:
            messages: list[JSONObject] = []
            for message in kept["messages"]:
                if message["role"] == "user" and messages and messages[-1]["role"] == "tool":
                    messages.append({"role": "assistant", "content": "OK."})
                messages.append(message)
            kept["messages"] = messages
        if "max_tokens" in self.wants and not any(name in kept for name in _LENGTHS):
            kept["max_tokens"] = self.longest
        for name in _LENGTHS:
            if name in kept and self.longest is not None:
                kept[name] = min(kept[name], self.longest)
        if not self.thinks_with_tools and "tools" in kept and "messages" in kept:
            kept["reasoning_effort"] = "none"
        if "response_format" in self.without and "provider" in kept:
            # Or the demand that a provider must know all fields would still count this one.
            kept["provider"] = {**kept["provider"], "require_parameters": False}
        return kept

    def _kept(self, value: Any, path: str) -> Any:  # noqa: ANN401  any JSON
        """``value``, which is at ``path``, without the parts that were refused."""
        if (path, repr(value)) in self.instead:
            return self.instead[path, repr(value)]
        if isinstance(value, list):
            return [self._kept(it, f"{path}.*") for it in value]
        if not isinstance(value, dict):
            return value
        is_deep = path.startswith(("messages.", "tools.", "system.", "input."))
        return {
            key: self._kept(value[key], f"{path}.{key}")
            for key in value
            if f"{path}.{key}" not in self.without
            and not (is_deep and f"*.{key}" in self.without and not _IN_SCHEMAS.search(path))
        }

    def turn(self, path: str, error: LLMStatusError, *, may_turn: bool) -> dict[str, str]:
        """Take in that a request at ``path`` belongs on the other wire, or on this one as told.

        Nothing where ``error`` is about something else, or the other wire was no better.
        """
        other = named_wire(path, error)
        here: Wire = "chat" if other == "responses" else "responses"
        is_named = _says()["no_effort"].search(error.said) is not None
        is_offer = here == "chat" and self.thinks_with_tools and is_named
        self.thinks_with_tools &= not is_offer
        is_open = other not in self.left or (other == "chat" and not self.thinks_with_tools)
        if other and may_turn and is_open and here not in self.left:
            self.left |= {here}
            self.wire = other
            return {"wire": f"on the {other} wire"}
        if other and not is_offer:  # neither will do: the next call begins anew
            self.wire, self.left = None, frozenset()
        return {"reasoning_effort": "with reasoning_effort 'none' beside tools"} if is_offer else {}

    def turn_from_silence(self, path: str, error: LLMConnectionError) -> bool:
        """Turn to chat where a stand-in for OpenAI hangs up on a request on the other wire."""
        if not path.endswith("/responses") or self.left or _HUNG_UP not in str(error):
            return False
        self.left, self.wire = frozenset({"responses"}), "chat"
        return True

    def learn(self, payload: JSONObject, error: LLMStatusError) -> dict[str, str]:
        """Take in which fields of ``payload`` are refused, if any, and how they are sent then."""
        if error.status not in {402, *_REFUSALS} or _says()["reasoning"].search(error.said):
            return {}
        said, param = error.said, error.named.get("param", "")
        if " " in param:  # MiMo's whole reason: https://github.com/AQBot-Desktop/AQBot/issues/93
            said, param = f"{said}: {param}", ""
        limit = _longest(said)
        for name in _LENGTHS if limit else ():
            if payload.get(name, 0) > limit:
                self.longest = limit
                return {name: f"with {name} of at most {limit}"}
        if error.status not in _REFUSALS:
            is_open = limit >= _LEAST_ROOM and "messages" in payload and self.longest is None
            if not is_open or any(name in payload for name in _LENGTHS):
                return {}
            self.longest = limit  # without a length, it counts the longest that the model writes
            self.wants.add("max_tokens")
            return {"max_tokens": f"with max_tokens of {limit}"}
        for wish, pattern in _wants().items():
            if wish not in self.wants and pattern.search(said):
                self.wants.add(wish)
                return {wish: _HOW[wish]}
        fields = dict(fields_of(payload))
        refused: list[str] = []
        for path in fields:
            field_name = path.removeprefix("generationConfig.")
            mention = _mentions().get(path) or _mentions().get(field_name)
            is_mentioned = mention and mention.search(said) and not is_elsewhere(said, param)
            if is_mentioned or names(path, said, param):
                refused.append(path)
        # What is wrong with a part of an object is not wrong with all of it.
        refused = [it for it in refused if not any(part.startswith(f"{it}.") for part in refused)]
        if about := [path for path in refused if param and names(path, "", param)]:
            refused = about
        elif len(refused) > 1 and _says()["together"].search(said):
            refused = [next((it for it in _LEAST_NEEDED if it in refused), refused[-1])]
        learned = {path: self._corrected(path, fields[path], payload, said) for path in refused}
        for name in _IN_MESSAGES if not learned else ():
            path = f"*.{name}"
            if path not in self.without and f'"{name}"' in json.dumps(payload) and name in said:
                self.without |= {path}
                learned[path] = f"without {name}"
        return {path: how for path, how in learned.items() if how}

    def leave_out(self, error: LLMStatusError, *, has_images: bool) -> dict[str, str]:
        """Take in, once, whether ``error`` is about images or what models attach to replies."""
        for what, statuses in {"images": _IMAGE_REFUSALS, "reasoning": _REFUSALS}.items():
            is_there = has_images if what == "images" else what not in self.wants
            if is_there and error.status in statuses and _says()[what].search(error.said):
                self.wants.add(what)
                return {what: _HOW[what]}
        return {}

    def _corrected(self, path: str, value: object, payload: JSONObject, said: str) -> str:
        """How a refused field is sent from now on, if at all."""
        original = {new: old for old, new in self.renamed.items()}.get(path, path)
        name = other_name(path, payload, said)
        if name and name not in self.without and original not in self.renamed:
            self.renamed[original] = name
            return f"with {name} in the place of {path}"
        near = other_value(value, said)
        if near is not None and not any(original == known for known, _ in self.instead):
            self.instead[original, repr(value)] = near
            return f"with {path} {near!r} in the place of {value!r}"
        if path in _LENGTHS and "context" in said:  # the conversation has to become shorter
            return ""
        other = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
        if path == original and path in other:
            self.renamed[path] = other[path]
            return f"with {other[path]} in the place of {path}"
        self.without |= {original}
        return f"without {path}"


def named_wire(path: str, error: LLMStatusError) -> Wire | None:
    """The other of OpenAI's wires, if ``error`` says that a request at ``path`` belongs there."""
    said = error.said
    if path.endswith("/chat/completions") and error.status in _REFUSALS:
        return "responses" if _says()["not_chat"].search(said) else None
    if not path.endswith("/responses"):
        return None
    names_chat = error.status in _REFUSALS and _says()["not_responses"].search(said)
    return "chat" if is_no_address(error) or names_chat else None


def is_no_address(error: LLMStatusError) -> bool:
    """Whether ``error`` says that nothing is at this address, not that the model is unknown."""
    return error.status in _NO_SUCH_ADDRESS and not _OF_MODEL.search(error.said)


def _longest(said: str) -> int:
    """The number of tokens that ``said`` names as the most, or leaves room for; 0 for none."""
    if found := _says()["longest"].search(said):
        return int(next(filter(None, found.groups())))
    for pattern in _room().values():
        if found := pattern.search(said):
            numbers = {name: int(it) for name, it in found.groupdict().items()}
            room = numbers["all"] - numbers["used"] + numbers.get("reply", 0)
            return room if room >= _LEAST_ROOM else 0
    return 0
