"""The numbers of a text, with what they count."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product, takewhile
from typing import Self

from mcp_ghost.tables import compiled
from movie_generator.grounding.language import SMALL, WORDS
from movie_generator.grounding.units import DEGREES, MONEY, SHARE, SIGNS, Units, factors, units

_SCALES = {
    name: float(value) for value, names in WORDS["scales"].items() for name in names.split("|")
}
_SCALE = re.compile(
    rf"[ -]?(?:de )?({'|'.join(map(re.escape, sorted(_SCALES, key=len, reverse=True)))})(?![^\W_])",
    re.IGNORECASE,
)
_FORMS = compiled(WORDS["patterns"]["quantities"])
_ROUNDED = 0.25
"""How far "about" may reach, as a part of the page's number."""
_RANGE = re.compile(r"(?:\s?-\s?| (?:to|and|or|bis|und|à|et|a|y) )(\d+(?:[.,]\d+)?)")
"""What makes ``3-4 days`` say that the three are days, too."""
_HOUR, _MINUTE = "duration-hour", "duration-minute"
_CLOCK = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d)(?![\d:])")
_JOINT = re.compile(r" (?:de |d'|di |do |da )")
"""Between a scale and what it counts: 5 millones de euros, 5 millions d'euros."""
_BETWEEN = re.compile(r"[ -]([A-Za-zà-ÿ]{3,})(?=[ -][^\W\d_])")
"""A word between a number and its unit: 31 lane miles, 4 whole minutes."""
BELOW, OPEN, ABOVE = -1, 0, 1
"""Where a number lies, as seen from zero. A dash before it may be a minus; it may also join a
range, introduce an item, interrupt a sentence, or belong to a name. Where that is not certain, the
sign is open, and nothing contradicts it."""
_BEFORE_MINUS = re.compile(r"(?:^|[\s(\[{\"':;|=<>~\u3040-\u30ff\u3400-\u9fff])$")
_DASH = re.compile(r"-\s?$|\bmin $")
"""Also the Dutch minus, which elsewhere is a minimum."""


@dataclass(frozen=True)
class Quantity:
    """One number."""

    written: str
    """With its unit, for people."""
    values: frozenset[float]
    """More than one where a mark may stand for decimals or for thousands."""
    units: frozenset[str]
    """Which it may be in; none: it counts something, or nothing."""
    digits: int
    """How many of them say something."""
    place: int
    is_ordinal: bool = False
    is_rounded: bool = False
    """Said to be not exact."""
    side: int = 0
    """Where the exact number then is: 1 above, -1 below, 0 on either side."""
    counted: tuple[str, ...] = ()
    """The words behind it."""
    nearby: frozenset[str] = frozenset()
    """Those around it."""
    is_of_degrees: bool = False
    """Of a temperature, or of an angle."""
    sign: int = OPEN
    """Whether it is below zero."""

    def is_same(self, on_page: Self) -> bool:
        """Whether the page has that number, in that unit or in one that means the same."""
        for one, other in [*product(self.units, on_page.units)] or [("", "")]:
            if both := factors(one, other):
                for value, its_value in product(self.values, on_page.values):
                    if self._is_near(value, both[0], its_value * both[1], converted=one != other):
                        return True
        return False

    def _is_near(self, value: float, factor: float, on_page: float, *, converted: bool) -> bool:
        said = value * factor
        difference = abs(said - on_page)
        if not math.isfinite(difference):  # of more digits than a float has room for
            return False
        if difference <= 1e-4 * abs(on_page):
            return True
        if (on_page - said) * self.side < 0 and not converted:
            return False
        slack = min(4, _ROUNDED * on_page) if self.is_rounded else 0.5
        if self.units == SHARE and said * 100 % 1 and difference <= slack:
            return True  # a third is 33 %, and about a third 35
        if converted and self.digits >= 2 and difference <= 0.01 * abs(on_page):
            return True
        if not self.is_rounded or not value:
            return False
        if self.units == SHARE and said == 50:  # more than half
            return difference <= 10
        # One more in the last digit that says something: 100 for 2,300.
        step = float(10 ** (math.floor(math.log10(abs(value))) - max(self.digits, 1) + 1))
        if value % 1 == 1 / 2 or value in (1 / 4, 3 / 4):
            step = min(value, 1) / 4  # almost one and a half
        return difference < step * factor and difference <= _ROUNDED * abs(on_page)

    def sign_agrees(self, on_page: Self) -> bool:
        """Whether what is said to be below zero may be so on the page, and the other way round."""
        # Below zero is a temperature, or a number of which nothing says what it counts; other
        # numbers are told by words: fell by 3 %, lost 5 points.
        if self.sign == BELOW and (self.is_of_degrees or not (self.units or self.counted)):
            return on_page.sign != ABOVE
        if self.sign == ABOVE and self.is_of_degrees:
            return on_page.sign != BELOW or not (on_page.is_of_degrees or not on_page.units)
        return True


def quantities(text: str, language: str) -> Iterator[Quantity]:
    """The numbers of a folded text whose numerals are digits."""
    known = units(language)
    # Of "12 degrees below 0", only the 12 counts.
    zeros = {it.end() - 1 for it in _FORMS["below_zero"].finditer(text)}
    for found in _FORMS["number"].finditer(text):
        if found.start() in zeros:
            continue
        values = _readings(found[1], language)
        end = found.end()
        scale = _SCALE.match(text, end)
        if scale and scale[1].casefold() in ("k", "m", "mn", "bn", "tn"):
            has_sign = MONEY.search(text, max(0, found.start() - 5), found.start())
            is_apart = text[end] == " " and not text.startswith(("€", "$", "£"), scale.end())
            if is_apart or (scale[1] == "m" and not has_sign):  # but 3,4 M€
                scale = None
        if scale:
            factor = _SCALES[scale[1].casefold()]
            values = frozenset(value * factor for value in values)
            end = scale.end()
        joint = _JOINT.match(text, end) if scale or found[1].endswith("000") else None
        unit, its_end, start = _unit(text, found.start(), joint.end() if joint else end, known)
        if joint and not unit:
            its_end = end
        if not unit and (upper := _RANGE.match(text, end)):
            unit, _, _ = _unit(text, upper.start(1), upper.end(), known)
            if upper[1].endswith("000") and max(values) < 1_000:
                values |= {value * 1_000 for value in values}  # 2 to 3 thousand
        words = _FORMS["word"].match(text, its_end)
        behind_it = filter(None, words.groups()) if words else ()
        counted = tuple(map(stem, takewhile(lambda it: it not in SMALL, behind_it)))
        before = re.split(r"[.;:!?,\n|](?!\d)", text[max(0, start - 30) : start])[-1]
        behind = re.split(r"[.;:!?\n](?!\d)", text[its_end : its_end + 50])[0]
        rounded = _FORMS["approximate"].search(text[max(0, start - 20) : start])
        rounded = rounded or _FORMS["approximate_behind"].match(text, its_end)
        hedge = rounded[0].strip() if rounded else ""
        around = re.findall(r"[^\W\d_]+", f"{before} {behind}")
        of_degrees = bool(unit & DEGREES) or text.startswith("°", found.end())
        yield Quantity(
            text[start:its_end].strip(),
            values,
            unit,
            len(re.sub(r"\D", "", found[1]).strip("0")),
            start,
            is_ordinal=bool(found[2]) and found[2] != "s",
            is_rounded=rounded is not None,
            side=bool(_FORMS["at_least"].search(hedge)) - bool(_FORMS["at_most"].search(hedge)),
            counted=() if unit else counted,
            nearby=frozenset(map(stem, around)),
            is_of_degrees=of_degrees,
            sign=_sign(text, *found.span(), of_degrees=of_degrees),
        )


def together(found: list[Quantity], text: str) -> Iterator[Quantity]:
    """What two of them in a row mean as one: 2 hours and 50 minutes, or 2:50."""
    for one, other in pairwise(found):
        is_time = _HOUR in one.units and _MINUTE in other.units
        between = text[one.place + len(one.written) : other.place]
        if is_time and re.fullmatch(",? ?(?:and |und |et |y )?", between):
            hours = {a + b / 60 for a in one.values for b in other.values}
            yield replace(one, values=frozenset(hours), digits=3)
    for clock in _CLOCK.finditer(text):
        value = int(clock[1]) + int(clock[2]) / 60
        for unit in (_HOUR, _MINUTE) if value % 1 else ():
            only = frozenset({unit})
            yield Quantity(clock[0], frozenset({value}), only, digits=3, place=clock.start())


def _unit(text: str, start: int, end: int, known: Units) -> tuple[frozenset[str], int, int]:
    """Which it may be, where it ends, and where the number with it begins."""
    sign = MONEY.search(text, max(0, start - 5), start)
    if sign and not re.search(r"[^\W_]{2}$", text[max(0, sign.start() - 1) : sign.start() + 1]):
        return SIGNS[sign[1].casefold()], end, sign.start()
    after = known.after.match(text, end)
    if after is None and (between := _BETWEEN.match(text, end)) and between[1] not in SMALL:
        after = known.after.match(text, between.end())
        after = after if after and len(after[1]) >= len("feet") else None
    if after:
        return known.words[after[1].casefold()], after.end(), start
    compound = _FORMS["compound"].match(text, end)
    if compound and (its := known.words.get(compound[1].casefold())):
        return its, compound.end(), start
    return frozenset(), end, start


def _readings(written: str, language: str) -> frozenset[float]:
    as_thousands = frozenset({float(re.sub(r"\D", "", written))})
    mark = re.search(r"\D(?=\d+$)", written)
    if mark is None or mark[0] in " '" or mark[0] in written[: mark.start()]:
        return as_thousands
    whole, part = written[: mark.start()], written[mark.end() :]
    as_decimal = frozenset({float(re.sub(r"\D", "", whole) + "." + part)})
    if len(part) != 3 or not whole.isdigit():
        return as_decimal
    if mark[0] == "," and whole != "0" and language in ("en", "ja", "zh"):
        return as_thousands  # 31,000 is no decimal fraction there
    return as_decimal | as_thousands


def stem(word: str) -> str:
    """``word`` without the end that its plural has."""
    word = word.casefold()
    for end, instead in {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh"}.items():
        if word.endswith(end) and len(word) > len(end) + 1:
            return word[: -len(end)] + instead
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _sign(text: str, start: int, end: int, *, of_degrees: bool) -> int:
    """Where the number ``text[start:end]`` lies: ``BELOW`` or ``ABOVE`` zero, or ``OPEN``."""
    before = text[max(0, start - 60) : start]
    if _FORMS["below_zero"].match(text, end):
        return BELOW
    minus = _FORMS["minus"].search(before)
    if of_degrees and not minus:
        minus = _FORMS["minus_of_degrees"].search(before)
    if minus:
        return OPEN if _FORMS["no_minus"].search(before[: minus.start()]) else BELOW
    if text[start] == "-":
        certain = _BEFORE_MINUS.search(before) and not _FORMS["in_range"].search(before)
        return BELOW if certain else OPEN
    around = before + " " + text[end : end + 40]
    is_open = _DASH.search(before) or _FORMS["from_below"].search(before)
    return OPEN if is_open or _FORMS["doubtful"].search(around) else ABOVE
