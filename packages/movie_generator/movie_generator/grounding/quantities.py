"""The numbers of a text, with what they count."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product, takewhile

from movie_generator.grounding.language import is_small
from movie_generator.grounding.units import (
    DEGREES,
    PARTS,
    SHARE,
    Units,
    kind_and_factor,
    sign_units,
    units,
)
from movie_generator.grounding.words import WORDS, patterns

_NUMBER = re.compile(
    r"(?<![A-Za-z\u00c0-\u1fff\d_.,])[+-]?"
    r"(\d{1,3}(?:[ ,.']\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(th|st|nd|rd|s|º|ª|ème|er|e|\.(?= [a-zäöü]))?(?![\d])"
)
_COMMAS_BETWEEN_THOUSANDS = {("en",), ("ja",), ("zh",)}
"""Languages in which 31,000 is not a decimal fraction."""
_SCALES = {
    name: float(value) for value, names in WORDS["scales"].items() for name in names.split("|")
}
_SCALE = re.compile(
    rf"[ -]?(?:de )?({'|'.join(map(re.escape, sorted(_SCALES, key=len, reverse=True)))})(?![^\W_])",
    re.IGNORECASE,
)
_SMALL = ("k", "m", "mn", "bn", "tn")
_FORMS = patterns("quantities")
_ROUNDED = 0.25
"""How far "about" may reach, as a part of the page's number."""
_CLAUSE_END = re.compile(r"[.;:!?,\n|](?!\d)")
_SENTENCE_END = re.compile(r"[.;:!?\n](?!\d)")
_RANGE = re.compile(r"(?:\s?-\s?| (?:to|and|or|bis|und|à|et|a|y) )(\d+(?:[.,]\d+)?)")
"""What makes ``3-4 days`` say that the three are days, too."""
_HOUR, _MINUTE = "duration-hour", "duration-minute"
_AND = re.compile(r",? ?(?:and |und |et |y )?")
_CLOCK = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d)(?![\d:])")
_JOINT = re.compile(r" (?:de |d'|di |do |da )")
"""Between a scale and what it counts: 5 millones de euros, 5 millions d'euros."""
_BETWEEN = re.compile(r"[ -]([A-Za-zà-ÿ]{3,})(?=[ -][^\W\d_])")
"""A word between a number and its unit: 31 lane miles, 4 whole minutes."""
BELOW, OPEN, ABOVE = -1, 0, 1
"""Where a number lies, as seen from zero. A dash before it may be a minus; it may also join a
range, introduce an item, interrupt a sentence, or belong to a name. Where that is not certain, the
sign is open, and nothing contradicts it."""
_MINUS = re.compile(r"(?<![\w/-])minus $|(?:マイナス|氷点下|零下) ?$", re.IGNORECASE)
_MINUS_OF_DEGREES = re.compile(r"(?<![\w/-])(?:negative|moins|menos|meno) $", re.IGNORECASE)
"""Words that mean something else before other numbers: tested negative 12 times."""
_SIGN_FORMS = patterns("signs")
_IN_RANGE = re.compile(r"(?:[\d°%²³+/.,]|° ?[cf]|\b(?:degrees?|grad))\s*$", re.IGNORECASE)
"""What a dash joins to what follows: 10 °C -12 °C."""
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


def quantities(text: str, languages: tuple[str, ...]) -> Iterator[Quantity]:
    """The numbers of a folded text whose numerals are digits."""
    known = units(languages)
    # Of "12 degrees below 0", only the 12 counts.
    zeros = {it.end() - 1 for it in _SIGN_FORMS["below_zero"].finditer(text)}
    for found in _NUMBER.finditer(text):
        if found.start() in zeros:
            continue
        values = _readings(found[1], languages)
        end = found.end()
        scale = _SCALE.match(text, end)
        if scale and scale[1].casefold() in _SMALL:
            has_sign = known.before.search(text, max(0, found.start() - 5), found.start())
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
        counted = tuple(map(stem, takewhile(lambda it: not is_small(it), behind_it)))
        before = _CLAUSE_END.split(text[max(0, start - 30) : start])[-1]
        behind = _SENTENCE_END.split(text[its_end : its_end + 50])[0]
        rounded = _FORMS["approximate"].search(text[max(0, start - 20) : start])
        rounded = rounded or _FORMS["approximate_behind"].match(text, its_end)
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
            side=_side(rounded[0].strip()) if rounded else 0,
            counted=() if unit else counted,
            nearby=frozenset(map(stem, around)),
            is_of_degrees=of_degrees,
            sign=sign(text, *found.span(), of_degrees=of_degrees),
        )


def together(found: list[Quantity], text: str) -> Iterator[Quantity]:
    """What two of them in a row mean as one: 2 hours and 50 minutes, or 2:50."""
    for one, other in pairwise(found):
        if not (_HOUR in one.units and _MINUTE in other.units):
            continue
        if _AND.fullmatch(text[one.place + len(one.written) : other.place]):
            hours = {a + b / 60 for a in one.values for b in other.values}
            yield replace(one, values=frozenset(hours), digits=3)
    for clock in _CLOCK.finditer(text):
        value = int(clock[1]) + int(clock[2]) / 60
        for unit in (_HOUR, _MINUTE) if value % 1 else ():
            only = frozenset({unit})
            yield Quantity(clock[0], frozenset({value}), only, digits=3, place=clock.start())


def _side(word: str) -> int:
    if found := re.search(r"(以上|余り|あまり|超|強)|(近|弱|足らず|未満)", word):
        return 1 if found[1] else -1
    return bool(_FORMS["at_least"].search(word)) - bool(_FORMS["at_most"].search(word))


def _unit(text: str, start: int, end: int, known: Units) -> tuple[frozenset[str], int, int]:
    """Which it may be, where it ends, and where the number with it begins."""
    sign = known.before.search(text, max(0, start - 5), start)
    if sign and not re.search(r"[^\W_]{2}$", text[max(0, sign.start() - 1) : sign.start() + 1]):
        return sign_units(sign[1]), end, sign.start()
    after = known.after.match(text, end)
    if after is None and (between := _BETWEEN.match(text, end)) and not is_small(between[1]):
        after = known.after.match(text, between.end())
        after = after if after and len(after[1]) >= len("feet") else None
    if after:
        return known.words[after[1].casefold()], after.end(), start
    compound = _FORMS["compound"].match(text, end)
    if compound and (its := known.words.get(compound[1].casefold())):
        return its, compound.end(), start
    return frozenset(), end, start


def _readings(written: str, languages: tuple[str, ...]) -> frozenset[float]:
    as_thousands = frozenset({float(re.sub(r"\D", "", written))})
    mark = re.search(r"\D(?=\d+$)", written)
    if mark is None or mark[0] in " '" or mark[0] in written[: mark.start()]:
        return as_thousands
    whole, part = written[: mark.start()], written[mark.end() :]
    as_decimal = frozenset({float(re.sub(r"\D", "", whole) + "." + part)})
    if len(part) != 3 or not whole.isdigit():
        return as_decimal
    if mark[0] == "," and whole != "0" and languages in _COMMAS_BETWEEN_THOUSANDS:
        return as_thousands
    return as_decimal | as_thousands


def stem(word: str) -> str:
    """``word`` without the end that its plural has."""
    word = word.casefold()
    for end, instead in {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh"}.items():
        if word.endswith(end) and len(word) > len(end) + 1:
            return word[: -len(end)] + instead
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def same(said: Quantity, on_page: Quantity) -> bool:
    """Whether the page has that number, in that unit or in one that means the same."""
    for one, other in [*product(said.units, on_page.units)] or [("", "")]:
        kind, factor = kind_and_factor(one)
        its_kind, its_factor = kind_and_factor(other)
        if its_kind in PARTS.get(kind, ()):
            factor = 0.01
        elif kind in PARTS.get(its_kind, ()):
            its_factor = 0.01
        elif kind != its_kind:
            continue
        for a, b in product(said.values, on_page.values):
            step = _step(a, said) * factor
            if _equal(a * factor, b * its_factor, said, step, converted=one != other):
                return True
    return False


def signs_agree(said: Quantity, on_page: Quantity) -> bool:
    """Whether what is said to be below zero may be so on the page, and the other way round.

    Below zero is a temperature, or a number of which nothing says what it counts; other numbers
    are told by words: fell by 3 %, lost 5 points.
    """
    if said.sign == BELOW and (said.is_of_degrees or not (said.units or said.counted)):
        return on_page.sign != ABOVE
    if said.sign == ABOVE and said.is_of_degrees:
        return on_page.sign != BELOW or not (on_page.is_of_degrees or not on_page.units)
    return True


def _equal(
    said: float, on_page: float, quantity: Quantity, step: float, *, converted: bool
) -> bool:
    difference = abs(said - on_page)
    if not math.isfinite(difference):  # of more digits than a float has room for
        return False
    if difference <= 1e-4 * abs(on_page) + 1e-9:
        return True
    if (on_page - said) * quantity.side < 0 and not converted:
        return False
    if (
        quantity.units == SHARE
        and said * 100 % 1
        and difference <= (min(4, _ROUNDED * on_page) if quantity.is_rounded else 0.5)
    ):
        return True  # a third is 33 %, and about a third 35
    if quantity.units == SHARE and said == 50 and quantity.is_rounded:
        return difference <= 10  # more than half
    if converted and quantity.digits >= 2 and difference <= 0.01 * abs(on_page):
        return True
    return quantity.is_rounded and difference < step and difference <= _ROUNDED * abs(on_page)


def _step(value: float, quantity: Quantity) -> float:
    """One more in the last digit that says something: 100 for 2,300."""
    if not value or math.isinf(value):
        return 0.0
    if value % 1 == 1 / 2 or value in (1 / 4, 3 / 4):
        return min(value, 1) / 4  # almost one and a half
    return float(10 ** (math.floor(math.log10(abs(value))) - max(quantity.digits, 1) + 1))


def sign(text: str, start: int, end: int, *, of_degrees: bool) -> int:
    """The sign of the number in a folded text: ``BELOW`` or ``ABOVE`` zero, or ``OPEN``.

    ``text[start:end]`` is the number with what is attached to it: ``-12``.
    """
    before = text[max(0, start - 60) : start]
    if _SIGN_FORMS["below_zero"].match(text, end):
        return BELOW
    minus = _MINUS.search(before) or (of_degrees and _MINUS_OF_DEGREES.search(before))
    if minus:
        return OPEN if _SIGN_FORMS["no_minus"].search(before[: minus.start()]) else BELOW
    if text[start] == "-":
        certain = _BEFORE_MINUS.search(before) and not _IN_RANGE.search(before)
        return BELOW if certain else OPEN
    around = before + " " + text[end : end + 40]
    is_open = _DASH.search(before) or _SIGN_FORMS["from_below"].search(before)
    return OPEN if is_open or _SIGN_FORMS["doubtful"].search(around) else ABOVE
