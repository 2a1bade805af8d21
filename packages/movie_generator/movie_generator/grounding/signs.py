"""Whether a number is below zero, as far as its text tells.

A dash before a number may be a minus; it may also join a range, introduce an item, interrupt a
sentence, or belong to a name. Where that is not certain, the sign is open, and nothing contradicts
it.
"""

import re
from collections.abc import Iterator

BELOW, OPEN, ABOVE = -1, 0, 1

_MINUS = re.compile(r"(?<![\w/-])minus $|(?:マイナス|氷点下|零下) ?$", re.IGNORECASE)
_MINUS_OF_DEGREES = re.compile(r"(?<![\w/-])(?:negative|moins|menos|meno) $", re.IGNORECASE)
"""Words that mean something else before other numbers: tested negative 12 times."""
_NO_MINUS = re.compile(
    r"(?:\b(?:or|oder|ou|o|of|and|und|et|plus|au|du|al|lo|pelo|ao|ni)|[/+]"
    r"|\d(?: (?!(?:to|and|bis|und|à|et|a|y)\b)[^\W\d_]{1,20})?)\s*$",
    re.IGNORECASE,
)
"""Before "minus": plus or minus 5, au moins 5, 500 crowns minus 50."""
_BELOW_ZERO = re.compile(
    r"(?:[ °]{0,2}(?:degrees?|grad|degrés?|grados?|gradi|graden|celsius|fahrenheit|c\b|f\b)){0,2} "
    r"(?:minus\b(?! \d)|(?:below|under|unter|sous|bajo|sotto|onder|(?:au|en)[ -]dessous de) ?"
    r"(?:zero|(?:the )?freezing|null|zéro|cero|nul|0)\b)",
    re.IGNORECASE,
)
_IN_RANGE = re.compile(r"(?:[\d°%²³+/.,]|° ?[cf]|\b(?:degrees?|grad))\s*$", re.IGNORECASE)
"""What a dash joins to what follows: 10 °C -12 °C."""
_BEFORE_MINUS = re.compile(r"(?:^|[\s(\[{\"':;|=<>~])$")
_DASH = re.compile(r"-\s?$|\bmin $")
"""Also the Dutch minus, which elsewhere is a minimum."""
_FROM_BELOW = re.compile(
    r"(?:-|\b(?:minus|moins|menos|meno|negative) |マイナス|氷点下|零下)\d{1,4}(?:[.,]\d{1,3})?"
    r"[^\d.;:!?\n]{1,20}$",
    re.IGNORECASE,
)
"""Minus 12 to 5 degrees: nobody says whether that ends below zero, too."""
_DOUBTFUL = re.compile(
    r"\b(?:minus|negativ\w*|below|beneath|under|sub|subzero|frost\w*|frozen|freez\w*|"
    r"unter\w*|kälte|gefrier\w*|moins|négati\w*|sous|dessous|gel\w*|froid\w*|menos|bajo|debajo|"
    r"helad\w*|abaixo|meno|sotto|gelo|onder|vorst|vries\w*|drop of|fall of|change of|difference|"
    r"colder|cooler|lower|less|warmer|higher|apart|by|um|south\w*|west\w*|latitude|longitude)\b"
    r"|マイナス|氷点下|零下|下回|差",
    re.IGNORECASE,
)
"""Words near a number that may say how far below something it is, or below what."""
_BEFORE, _BEHIND = 60, 40
"""Characters that are looked at."""


def zeros(text: str) -> Iterator[range]:
    """Where a folded text says ``below 0``: what counts is the number before."""
    for found in _BELOW_ZERO.finditer(text):
        if found[0].endswith("0"):
            yield range(found.end() - 1, found.end())


def sign(text: str, start: int, end: int, *, of_degrees: bool) -> int:
    """The sign of the number in a folded text: ``BELOW`` or ``ABOVE`` zero, or ``OPEN``.

    ``text[start:end]`` is the number with what is attached to it: ``-12``.
    """
    before = text[max(0, start - _BEFORE) : start]
    if _BELOW_ZERO.match(text, end):
        return BELOW
    minus = _MINUS.search(before) or (of_degrees and _MINUS_OF_DEGREES.search(before))
    if minus:
        return OPEN if _NO_MINUS.search(before[: minus.start()]) else BELOW
    if text[start] == "-":
        certain = _BEFORE_MINUS.search(before) and not _IN_RANGE.search(before)
        return BELOW if certain else OPEN
    around = before + " " + text[end : end + _BEHIND]
    if _DASH.search(before) or _FROM_BELOW.search(before) or _DOUBTFUL.search(around):
        return OPEN
    return ABOVE
