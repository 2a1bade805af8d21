"""What a refusal says is wrong with a request, and what its model was found to accept.

The same refusal has many forms: OpenAI's "Unsupported parameter: 'x'" with a ``param``, Pydantic's
"Extra inputs are not permitted" (Anthropic, Mistral, vLLM), Google's "Unknown name", LiteLLM's list
of parameters. No table of models stays right for long, so the refusal itself is read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_ghost.errors import LLMConnectionError, LLMError, LLMStatusError
from mcp_ghost.media import has_images
from mcp_ghost.messages import Message, ToolSchema
from mcp_ghost.providers.common import Wire
from mcp_ghost.results import JSONObject
from mcp_ghost.tables import patterns

HARMLESS: ToolSchema = {
    "type": "function",
    "function": {"name": "nothing", "description": "Do it."},
}
"""What every provider takes that takes tools at all."""
_TOOL_REFUSALS = frozenset({400, 422, 500})
"""llama.cpp said 500 where it cannot make a grammar."""
_NAME = (
    r"\b(?:function|tool|functiondeclaration)(?: name)?[\s:'\"`(]{1,3}NAME(?![\w-])"
    r"|[\"'`]NAME[\"'`]|(?<![\w-])NAME[\s'\"`]{1,2}(?:function|tool)"
)

CONVERSATION = frozenset(
    {"messages", "system", "contents", "systemInstruction", "input", "instructions", "tools"}
)
"""Fields of payloads that say what the neutral request says, whatever the wire."""
_MEANING = CONVERSATION | {"model", "generationConfig", "toolConfig"}
"""What is never left out."""
_OPEN = frozenset(
    {"generationConfig", "generationConfig.thinkingConfig", "output_config", "reasoning", "text"}
)
"""Objects whose fields are looked at one by one."""
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
_says = partial(patterns, "mcp_ghost.providers", "phrases.toml", "refusal")
_room = partial(patterns, "mcp_ghost.providers", "phrases.toml", "room")
_mentions = partial(patterns, "mcp_ghost.providers", "phrases.toml", "mentions")
_wants = partial(patterns, "mcp_ghost.providers", "phrases.toml", "wants")
"""What some models want of a request, and no field says."""
_HOW = {
    "tools": "with definitions of the tools in the history",
    "tool_call_id": "with ids of nine letters or digits",
    "turns": "with a reply between a tool's result and the user's words",
    "system": "with instructions as words of the user",
    "effort": "with reasoning_effort 'none' beside tools",
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
    renamed: dict[str, str] = field(default_factory=dict)
    """What it calls fields."""
    instead: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What it takes in the place of a field's value."""
    wants: set[str] = field(default_factory=set)
    """What it wants of messages and tools: of ``_wants``; "images" and "reasoning" are left out,
    "max_tokens" is always said, and by "effort" it is told not to think beside tools."""
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
        if "effort" in self.wants and "tools" in kept and "messages" in kept:
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

    def turn(self, path: str, error: LLMError, *, may_turn: bool) -> dict[str, str]:
        """Take in that a request at ``path`` belongs on the other wire, or on this one as told.

        Nothing where ``error`` is about something else, or the other wire was no better.
        """
        other = named_wire(path, error)
        here: Wire = "chat" if other == "responses" else "responses"
        is_named = _says()["no_effort"].search(str(error)) is not None
        is_offer = here == "chat" and "effort" not in self.wants and is_named
        self.wants |= {"effort"} if is_offer else set()
        is_open = other not in self.left or (other == "chat" and "effort" in self.wants)
        if other and may_turn and is_open and here not in self.left:
            self.left |= {here}
            self.wire = other
            return {"wire": f"on the {other} wire"}
        if other and not is_offer:  # neither will do: the next call begins anew
            self.wire, self.left = None, frozenset()
        return {"reasoning_effort": _HOW["effort"]} if is_offer else {}

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
        fields = dict(_fields_of(payload))
        refused = [path for path in fields if _names(path, said, param)]
        # What is wrong with a part of an object is not wrong with all of it.
        refused = [it for it in refused if not any(part.startswith(f"{it}.") for part in refused)]
        if about := [path for path in refused if _names(path, "", param)]:
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

    def leave_out(self, messages: Sequence[Message], error: LLMStatusError) -> dict[str, str]:
        """Take in, once, whether ``error`` is about images or what models attach to replies."""
        for what, statuses in {"images": _IMAGE_REFUSALS, "reasoning": _REFUSALS}.items():
            is_there = has_images(messages) if what == "images" else what not in self.wants
            if is_there and error.status in statuses and _says()[what].search(error.said):
                self.wants.add(what)
                return {what: _HOW[what]}
        return {}

    def _corrected(self, path: str, value: object, payload: JSONObject, said: str) -> str:
        """How a refused field is sent from now on, if at all."""
        original = {new: old for old, new in self.renamed.items()}.get(path, path)
        name = next((it for it in _says()["instead"].findall(said) if it not in payload), None)
        is_new = "." not in path and original not in self.renamed
        if name and is_new and name not in self.without:
            self.renamed[original] = name
            return f"with {name} in the place of {path}"
        near = _other_value(value, said)
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


def is_out_of_credit(said: str, named: Mapping[str, str]) -> bool:
    """Whether an error says that the account has used up what it has, which no waiting cures."""
    return _says()["out_of_credit"].search("\n".join([said, *named.values()])) is not None


def is_too_long(error: LLMStatusError) -> bool:
    """Whether a request is more than the model can read, or its server takes at once."""
    said = "\n".join([error.said, *error.named.values()])
    return error.status == 413 or _says()["too_long"].search(said) is not None


def _fields_of(payload: JSONObject, within: str = "") -> Iterator[tuple[str, Any]]:
    """The fields that a request can do without, with their values; inner ones by their path."""
    for key, value in payload.items():
        path = within + key
        if path in _OPEN and isinstance(value, dict):
            yield from _fields_of(value, f"{path}.")
        if path not in _MEANING:
            yield path, value


def _names(path: str, said: str, param: str) -> bool:
    """Whether the refusal ``said``, which may be about a ``param``, names the field at ``path``."""
    name = path.rpartition(".")[2]
    spelled = re.sub(r"_|(?<=[a-z])(?=[A-Z])", "[_ -]?", name)
    if param and re.search(rf"(?:^|\.){spelled}$", param, re.I):
        return True
    if any(_says()["elsewhere"].search(it) for it in (said, param)):  # in a message or a tool
        return False
    mention = _mentions().get(path.removeprefix("generationConfig."))
    if mention and mention.search(said):
        return True
    if not _says()["refuses"].search(said):
        return False
    pattern = rf"(?<![\w.]){spelled}(?!\w)|\.{spelled}(?!\w)"
    if spelled == name:  # a word that also stands in sentences has to be marked as a name
        pattern = (
            rf"[`'\"][\w.]*\b{name}[`'\"]|(?:^|[.:;]\s?)[`'\"]?{name}[`'\"]?:"
            rf"|(?:parameter|argument|supplied|field|input|key|property|name|option)s?\W{{1,4}}{name}\b"
            rf"|\b{name} (?:parameter|field|argument|option|is not|are not|is deprecated|not supp)"
            rf"|\bsupport (?:the )?{name}\b|model: {name}$"
        )
    return re.search(pattern, said, re.I) is not None


def _other_value(value: object, said: str) -> Any:  # noqa: ANN401  any JSON
    """The value nearest to ``value`` that the server says it takes; None for none."""
    if isinstance(value, list):
        found = _says()["most"].search(said)
        most = int(float(found[1])) if found else 0
        return value[:most] if 0 < most < len(value) else None
    if isinstance(value, str) and value in _EFFORTS:
        told = _says()["values"].search(said)
        # Groq's "one of `none` or `default`" (https://github.com/earendil-works/pi/issues/1745):
        # the default is what comes without the field.
        if told is None or (value != "none" and re.search(r"\bdefault\b", told[1])):
            return None
        known = [it for it in _EFFORTS if re.search(rf"\b{it}\b", told[1], re.I) and it != value]
        place = _EFFORTS.index(value)
        return min(known, key=lambda it: abs(_EFFORTS.index(it) - place), default=None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    least, most_of = _says()["least"].search(said), _says()["most"].search(said)
    low, high = float(least[1]) if least else None, float(most_of[1]) if most_of else None
    if found := _says()["range"].search(said):
        low, high = float(found[1]), float(found[2]) - bool(found["open"])
    near = value if low is None else max(value, low)
    near = near if high is None else min(near, high)
    if near == value:
        return None
    return int(near) if isinstance(value, int) and float(near).is_integer() else near


def named_tools(error: LLMStatusError, names: Sequence[str]) -> list[int]:
    """The places of those among ``names``, which are on the wire, that ``error`` refuses."""
    if error.status not in _TOOL_REFUSALS or _says()["not_of_a_tool"].search(error.said):
        return []
    forms = [_NAME.replace("NAME", re.escape(name)) for name in names]
    found = [place for place, it in enumerate(forms) if re.search(it, error.said, re.I)]
    places = {int(one or other) for one, other in _says()["place"].findall(error.said)}
    return found or sorted(place for place in places if place < len(names))


def may_be_of_a_tool(error: LLMStatusError) -> bool:
    """Whether ``error`` may be about the definition of some tool that it does not name."""
    others = (_says()["too_many"], _says()["not_of_a_tool"])
    if error.status not in _TOOL_REFUSALS or any(it.search(error.said) for it in others):
        return False
    return _says()["of_definitions"].search(error.said) is not None


def named_wire(path: str, error: LLMError) -> Wire | None:
    """The other of OpenAI's wires, if ``error`` says that a request at ``path`` belongs there."""
    said = error.said if isinstance(error, LLMStatusError) and error.status in _REFUSALS else ""
    if path.endswith("/chat/completions"):
        return "responses" if _says()["not_chat"].search(said) else None
    if not path.endswith("/responses"):
        return None
    is_missing = isinstance(error, LLMStatusError) and is_no_address(error)
    hung_up = isinstance(error, LLMConnectionError) and _HUNG_UP in str(error)  # as stand-ins do
    return "chat" if is_missing or hung_up or _says()["not_responses"].search(said) else None


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
