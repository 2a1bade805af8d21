"""Stories whose answer to a line costs more than a turn may."""

from tests.support.tiny_story import HANG, READ_KEY, READ_LINE, build, endlessly, loop, pack, say

HALL, ON = say("Hall\n"), say("On.\n")

HANGING = build(code=HALL + loop(HANG))
"""Jumps to where it is."""

HANGING_LATER = build(code=HALL + READ_LINE + ON + READ_LINE + HANG)
"""Answers once."""

# copy_table 0x0500 0x0501 -2500: forwards, as the sign says, and so byte by byte
_COPY = b"\xfd\x03\x05\x00\x05\x01\xf6\x3c"
COPYING = build(code=HALL + READ_KEY + endlessly(_COPY), version=5)
"""Does thousands of steps with each of its instructions."""

_ABBREVIATION = "x" * 3000
_LONG_TEXT = b"\xb2" + pack([1, 0] * 3000)

SHOUTING = build(code=HALL + loop(_LONG_TEXT), abbreviations=[_ABBREVIATION])
"""Prints nine million letters with one instruction."""

PRINTING = build(code=HALL + loop(endlessly(_LONG_TEXT)), abbreviations=[_ABBREVIATION])
"""Does so again and again."""
