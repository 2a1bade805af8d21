"""What a server says is wrong with one field of a request, and the value that it would take.

The same refusal has many forms: OpenAI's "Unsupported parameter: 'x'" with a ``param``, Pydantic's
"Extra inputs are not permitted" (Anthropic, Mistral, vLLM), Google's "Unknown name", LiteLLM's list
of parameters. No provider documents all of its wordings, so new ones are to be expected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_ghost.results import JSONObject

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
    if spelled != name:
        return re.search(rf"(?<![\w.]){spelled}(?!\w)|\.{spelled}(?!\w)", said, re.I) is not None
    # A word that also stands in sentences has to be marked as a name.
    return (
        re.search(
            rf"[`'\"][\w.]*\b{name}[`'\"]|(?:^|[.:;]\s?)[`'\"]?{name}[`'\"]?:"
            rf"|(?:parameter|argument|supplied|field|input|key|property|name|option)s?\W{{1,4}}{name}\b"
            rf"|\b{name} (?:parameter|field|argument|option|is not|are not|is deprecated|not supp)"
            rf"|\bsupport (?:the )?{name}\b|model: {name}$",
            said,
            re.I,
        )
        is not None
    )


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
