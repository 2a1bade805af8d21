"""Whether a number is below zero, as far as its text tells.

A dash before a number may be a minus; it may also join a range, introduce an item, interrupt a
sentence, or belong to a name. Where that is not certain, the sign is open, and nothing contradicts
it.
"""

import re
from collections.abc import Iterator

from movie_generator.grounding.words import patterns

BELOW, OPEN, ABOVE = -1, 0, 1

_MINUS = re.compile(r"(?<![\w/-])minus $|(?:マイナス|氷点下|零下) ?$", re.IGNORECASE)
_MINUS_OF_DEGREES = re.compile(r"(?<![\w/-])(?:negative|moins|menos|meno) $", re.IGNORECASE)
"""Words that mean something else before other numbers: tested negative 12 times."""
_PATTERNS = patterns("signs")
_NO_MINUS = _PATTERNS["no_minus"]
_BELOW_ZERO = _PATTERNS["below_zero"]
_IN_RANGE = re.compile(r"(?:[\d°%²³+/.,]|° ?[cf]|\b(?:degrees?|grad))\s*$", re.IGNORECASE)
"""What a dash joins to what follows: 10 °C -12 °C."""
_BEFORE_MINUS = re.compile(r"(?:^|[\s(\[{\"':;|=<>~])$")
_DASH = re.compile(r"-\s?$|\bmin $")
"""Also the Dutch minus, which elsewhere is a minimum."""
_FROM_BELOW = _PATTERNS["from_below"]
_DOUBTFUL = _PATTERNS["doubtful"]
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
