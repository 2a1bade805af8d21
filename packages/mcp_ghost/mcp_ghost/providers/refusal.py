"""What a refusal says is wrong: with a field of a request and what it would take, or with a tool.

The same refusal has many forms: OpenAI's "Unsupported parameter: 'x'" with a ``param``, Pydantic's
"Extra inputs are not permitted" (Anthropic, Mistral, vLLM), Google's "Unknown name", LiteLLM's list
of parameters. No provider documents all of its wordings, so new ones are to be expected.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import JSONObject

HARMLESS: ToolSchema = {
    "type": "function",
    "function": {"name": "nothing", "description": "Do it."},
}
"""What every provider takes that takes tools at all."""
_REFUSALS = frozenset({400, 422, 500})
"""llama.cpp said 500 where it cannot make a grammar."""
# Something else than the definition of a tool: "messages[3].tool_calls[0].function.name".
_NOT_OF_A_TOOL = re.compile(
    r"\b(?:messages?|contents|input)\W{0,3}\d|tool_choice|response.?format", re.I
)
_TOO_MANY = re.compile(
    r"array too long|too many (?:tools|functions)|number of items|at most \d+ (?:tool|function)",
    re.I,
)
# "tools[3]", "tools.3.custom", "('body', 'tools', 3, ...)"; LM Studio: "path":[3,"function", ...];
# Gemini: "tools[0].function_declarations[3]", where the first number says nothing.
_PLACE = re.compile(
    r"\btools\W{1,4}(?:0\W{1,3}function_?declarations\W{1,4})?(\d{1,4})\b(?!\W{1,3}function_?decl)"
    r"|\bpath\W{1,4}(\d{1,4})\W{1,3}function\b",
    re.I,
)
_NAME = (
    r"\b(?:function|tool|functiondeclaration)(?: name)?[\s:'\"`(]{1,3}NAME(?![\w-])"
    r"|[\"'`]NAME[\"'`]|(?<![\w-])NAME[\s'\"`]{1,2}(?:function|tool)"
)
_OF_DEFINITIONS = re.compile(
    r"schema|grammar|declaration|propert|regex|parameters|invalid.{0,40}\b(?:tool|function|argument)"
    r"|\b(?:tool|function)s?\b.{0,40}invalid",
    re.I | re.DOTALL,
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
_REFUSES = re.compile(
    r"not (?:be |an? )?(?:supported|support|permitted|allowed|available|recogni[sz]ed|valid"
    r"|accepted|enabled|compatible|implemented|match)|n't support|unsupported|unknown"
    r"|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|invalid|deprecated|additional propert"
    r"|cannot|can't|no longer|must (?:be|not|contain)|incompatible|illegal|should be"
    r"|too (?:large|long|high|many|small)|only (?:the default|allowed|be)|at (?:most|least)"
    r"|(?:less|greater) than|range|maximum|minimum|param",
    re.I,
)
_ELSEWHERE = re.compile(
    r"\b(?:messages|tools|functions|contents|input)(?:\.|\[)\d|schema for (?:function|tool)", re.I
)
_INSTEAD = re.compile(
    r"(?:use|try|to|with|by|of|mean) [`'\"]?(\w+_\w+)[`'\"]?(?: instead|\s*[.?]?\s*$)", re.I
)
_NUMBER = r"[`'\"]?(-?\d+(?:\.\d+)?)"
_MOST = re.compile(
    r"(?:<=|less than or equal to|at most|maximum(?: value)?(?: allowed)?(?: is| of|:)?|up to"
    rf"|no (?:more|greater) than|not exceed|maximum length) *{_NUMBER}",
    re.I,
)
_LEAST = re.compile(
    r"(?:>=|greater than or equal to|at least|minimum(?: value)?(?: allowed)?(?: is| of|:)?"
    rf"|no (?:less|fewer) than) *{_NUMBER}",
    re.I,
)
_RANGE = re.compile(
    rf"(?:range|between|from|within|in)[^\d\n-]{{0,40}}{_NUMBER}(?: \(inclusive\))?"
    rf" ?(?:,|to|and|\.\.+|-) ?{_NUMBER}(?P<open> \(exclusive\))?",
    re.I,
)
# Gemini: "'minimal' is not a supported thinking level for this model. Allowed values are: medium,
# low, high.", https://github.com/fishjar/kiss-translator/pull/1051
_VALUES = re.compile(
    r"(?:(?:supported|allowed|valid|possible|permitted|accepted|available) "
    r"(?:values|options|levels)"
    r"|one of|should be|must be|expected)(.+)",
    re.I | re.DOTALL,
)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


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
    return bool(_ELSEWHERE.search(said) or _ELSEWHERE.search(param))


def names(field: str, said: str, param: str = "") -> bool:
    """Whether the refusal ``said``, which may be about a ``param``, names ``field``."""
    name = field.rpartition(".")[2]
    spelled = re.sub(r"_|(?<=[a-z])(?=[A-Z])", "[_ -]?", name)
    if param and re.search(rf"(?:^|\.){spelled}$", param, re.I):
        return True
    if is_elsewhere(said, param) or not _REFUSES.search(said):
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
    found = next((it for it in _INSTEAD.findall(said) if it not in payload), None)
    return found if found and "." not in field else None


def other_value(value: object, said: str) -> Any:  # noqa: ANN401  any JSON
    """The value nearest to ``value`` that the server says it takes; None for none."""
    if isinstance(value, list):
        found = _MOST.search(said)
        most = int(float(found[1])) if found else 0
        return value[:most] if 0 < most < len(value) else None
    if isinstance(value, str) and value in _EFFORTS:
        told = _VALUES.search(said)
        # Groq's "one of `none` or `default`" (https://github.com/earendil-works/pi/issues/1745):
        # the default is what comes without the field.
        if told is None or (value != "none" and re.search(r"\bdefault\b", told[1])):
            return None
        known = [it for it in _EFFORTS if re.search(rf"\b{it}\b", told[1], re.I) and it != value]
        place = _EFFORTS.index(value)
        return min(known, key=lambda it: abs(_EFFORTS.index(it) - place), default=None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    least, most_of = _LEAST.search(said), _MOST.search(said)
    low, high = float(least[1]) if least else None, float(most_of[1]) if most_of else None
    if found := _RANGE.search(said):
        low, high = float(found[1]), float(found[2]) - bool(found["open"])
    near = value if low is None else max(value, low)
    near = near if high is None else min(near, high)
    if near == value:
        return None
    return int(near) if isinstance(value, int) and float(near).is_integer() else near


def named_tools(error: LLMStatusError, names: Sequence[str]) -> list[int]:
    """The places of those among ``names``, which are on the wire, that ``error`` refuses."""
    if error.status not in _REFUSALS or _NOT_OF_A_TOOL.search(error.said):
        return []
    patterns = [_NAME.replace("NAME", re.escape(name)) for name in names]
    found = [place for place, it in enumerate(patterns) if re.search(it, error.said, re.I)]
    places = {int(one or other) for one, other in _PLACE.findall(error.said)}
    return found or sorted(place for place in places if place < len(names))


def may_be_of_a_tool(error: LLMStatusError) -> bool:
    """Whether ``error`` may be about the definition of some tool that it does not name."""
    is_of_one = _OF_DEFINITIONS.search(error.said) and not _TOO_MANY.search(error.said)
    return error.status in _REFUSALS and bool(is_of_one) and not _NOT_OF_A_TOOL.search(error.said)


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
