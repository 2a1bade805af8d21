"""Pictures of foreign values: no two look alike, and none looks like words of this program.

Every character either stands for itself or is named between the brackets ⟨ and ⟩. A value's own
brackets, rules and arrows are named too, so from a picture one could always tell the value.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

LINE_END = "⏎"
_SPACES = re.compile(r"^ +| +$| {2,}")
_MOST_DOTS = 8
_WORD = re.compile(r"[^\W\d_]+")
_TYPOGRAPHY = frozenset("“”„«»—€£§°")
"""Signs that look like no sign of ASCII."""
_UNSEEN = re.compile(
    "[\u01c0-\u01c3\u034f\u1100-\u11ff\u17b4\u17b5\u180b-\u180f\u3164\ua960-\ua97f\ud7b0-\ud7ff"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and accents that show nothing, join their neighbours, or look like ``!`` or ``|``."""
_ACCENTS_AT_MOST = 2


def picture(values: Mapping[str, object]) -> list[str]:
    """Draw the arguments of a call, in rows; those of a text that goes on end in ``⏎``."""
    return [row for name, value in values.items() for row in _rows(name, value, "")]


def lines(text: str) -> list[str]:
    """Draw each line of ``text``; all but the last end in ``⏎``."""
    drawn = [_line(it) for it in text.split("\n")]
    return [*(it + LINE_END for it in drawn[:-1]), drawn[-1]]


def word(text: str) -> str:
    """Draw ``text`` as one word, for the middle of a sentence of ours."""
    return _line(text).replace(" ", _named(" "))


def _rows(name: str, value: object, indent: str) -> Iterator[str]:
    lead = f"{indent}▸ {_line(name)}"
    parts: Sequence[tuple[str, object]] = ()
    if isinstance(value, str):
        first, *others = lines(value)
        yield f"{lead} │ {first}"
        yield from (f"{indent}  │ {line}" for line in others)
    elif isinstance(value, Mapping):
        parts = [(str(key), it) for key, it in value.items()]
        yield f"{lead} → object of {len(parts)}"
    elif isinstance(value, Sequence):
        parts = [(str(number), it) for number, it in enumerate(value, start=1)]
        yield f"{lead} → list of {len(parts)}"
    else:
        yield f"{lead} → {_line(json.dumps(value, default=repr))}"
    for key, it in parts:
        yield from _rows(key, it, indent + "  ")


def _line(text: str) -> str:
    """Draw ``text`` on one line; spaces that might be overlooked are dots, or counted."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_characters(text))
    return _SPACES.sub(_counted, text)


def _counted(spaces: re.Match[str]) -> str:
    number = len(spaces[0])
    return "·" * number if number <= _MOST_DOTS else f"⟨{number} spaces⟩"


def _characters(text: str) -> Iterator[str]:
    lookalikes = {at for found in _WORD.finditer(text) for at in _foreign_in(found)}
    directions = [unicodedata.bidirectional(char) for char in text]
    is_turned = {"R", "AL"} & {*directions} and "L" in directions
    before, accents = "", 0
    for at, char in enumerate(text):
        accents = accents + 1 if unicodedata.category(char)[0] == "M" else 0
        if accents:
            is_plain = 0 < accents <= _ACCENTS_AT_MOST and _is_accent_of(before, char)
        else:
            is_plain = _is_plain(char) and at not in lookalikes
            is_plain = is_plain and not (is_turned and directions[at] in ("R", "AL"))
        yield char if is_plain else _named(char)
        before = before + char if accents and is_plain else char if is_plain else ""


def _foreign_in(found: re.Match[str]) -> list[int]:
    """Where a word with Latin letters has narrow ones of another script, such as Cyrillic."""
    others = [
        at
        for at, char in enumerate(found[0], start=found.start())
        if not _is_latin(char) and unicodedata.east_asian_width(char) != "W"
    ]
    return others if any(map(_is_latin, found[0])) else []


def _is_latin(char: str) -> bool:
    return char < "\u0250" or "\u1e00" <= char < "\u1f00"


def _is_plain(char: str) -> bool:
    if char.isascii() or char in _TYPOGRAPHY:
        return char.isprintable()
    if unicodedata.normalize("NFKC", char) != char or _UNSEEN.match(char):
        return False
    kind, is_wide = unicodedata.category(char), unicodedata.east_asian_width(char) == "W"
    if kind in ("Lu", "Ll", "Lo"):
        return _is_latin(char) or "LATIN" not in unicodedata.name(char, "LATIN")
    return is_wide and (kind in ("Lm", "So") or kind[0] == "P")


def _is_accent_of(letter: str, accent: str) -> bool:
    """Whether ``accent`` belongs to a letter of a script that writes with such accents."""
    if not letter or _is_latin(letter[0]) or _UNSEEN.match(accent):
        return False
    return unicodedata.normalize("NFC", letter + accent) == letter + accent


def _named(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"
