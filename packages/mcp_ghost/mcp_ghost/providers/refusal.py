"""What a refusal says is wrong: with a field of a request and what it would take, or with a tool.

The same refusal has many forms: OpenAI's "Unsupported parameter: 'x'" with a ``param``, Pydantic's
"Extra inputs are not permitted" (Anthropic, Mistral, vLLM), Google's "Unknown name", LiteLLM's list
of parameters.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import JSONObject
from mcp_ghost.tables import patterns

HARMLESS: ToolSchema = {
    "type": "function",
    "function": {"name": "nothing", "description": "Do it."},
}
"""What every provider takes that takes tools at all."""
_REFUSALS = frozenset({400, 422, 500})
"""llama.cpp said 500 where it cannot make a grammar."""
_says = partial(patterns, "mcp_ghost.providers", "phrases.toml", "refusal")
_NAME = (
    r"\b(?:function|tool|functiondeclaration)(?: name)?[\s:'\"`(]{1,3}NAME(?![\w-])"
    r"|[\"'`]NAME[\"'`]|(?<![\w-])NAME[\s'\"`]{1,2}(?:function|tool)"
)

_MEANING = frozenset(
    {"model", "messages", "tools", "contents", "system", "systemInstruction", "input"}
    | {"instructions", "generationConfig", "toolConfig"}
)
"""What a request says. It is never left out."""
_OPEN = frozenset(
    {"generationConfig", "generationConfig.thinkingConfig", "output_config", "reasoning", "text"}
)
"""Objects whose fields are looked at one by one."""
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def is_out_of_credit(said: str, named: Mapping[str, str]) -> bool:
    """Whether an error says that the account has used up what it has, which no waiting cures."""
    return _says()["out_of_credit"].search("\n".join([said, *named.values()])) is not None


def is_too_long(error: LLMStatusError) -> bool:
    """Whether a request is more than the model can read, or its server takes at once."""
    said = "\n".join([error.said, *error.named.values()])
    return error.status == 413 or _says()["too_long"].search(said) is not None


def fields_of(payload: JSONObject, within: str = "") -> Iterator[tuple[str, Any]]:
    """The fields that a request can do without, with their values; inner ones by their path."""
    for key, value in payload.items():
        path = within + key
        if path in _OPEN and isinstance(value, dict):
            yield from fields_of(value, f"{path}.")
        if path not in _MEANING:
            yield path, value


def is_elsewhere(said: str, param: str) -> bool:
    """Whether a refusal is about something within a message or a tool."""
    return bool(_says()["elsewhere"].search(said) or _says()["elsewhere"].search(param))


def names(field: str, said: str, param: str = "") -> bool:
    """Whether the refusal ``said``, which may be about a ``param``, names ``field``."""
    name = field.rpartition(".")[2]
    spelled = re.sub(r"_|(?<=[a-z])(?=[A-Z])", "[_ -]?", name)
    if param and re.search(rf"(?:^|\.){spelled}$", param, re.I):
        return True
    if is_elsewhere(said, param) or not _says()["refuses"].search(said):
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


def other_name(field: str, payload: JSONObject, said: str) -> str | None:
    """The name by which the server wants ``field``."""
    found = next((it for it in _says()["instead"].findall(said) if it not in payload), None)
    return found if found and "." not in field else None


def other_value(value: object, said: str) -> Any:  # noqa: ANN401  any JSON
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
    if error.status not in _REFUSALS or _says()["not_of_a_tool"].search(error.said):
        return []
    forms = [_NAME.replace("NAME", re.escape(name)) for name in names]
    found = [place for place, it in enumerate(forms) if re.search(it, error.said, re.I)]
    places = {int(one or other) for one, other in _says()["place"].findall(error.said)}
    return found or sorted(place for place in places if place < len(names))


def may_be_of_a_tool(error: LLMStatusError) -> bool:
    """Whether ``error`` may be about the definition of some tool that it does not name."""
    others = (_says()["too_many"], _says()["not_of_a_tool"])
    if error.status not in _REFUSALS or any(it.search(error.said) for it in others):
        return False
    return _says()["of_definitions"].search(error.said) is not None


async def found_by_halving(
    tools: Sequence[ToolSchema], takes: Callable[[Sequence[ToolSchema]], Awaitable[bool]]
) -> list[ToolSchema]:
    """Those of ``tools``, which are refused together, that are refused alone."""
    if len(tools) == 1:
        return [*tools]
    found: list[ToolSchema] = []
    for half in (tools[: len(tools) // 2], tools[len(tools) // 2 :]):
        if not await takes(half):
            found += await found_by_halving(half, takes)
    return found
