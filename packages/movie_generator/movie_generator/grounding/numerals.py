"""Numbers in words as digits, in the languages that text2num knows, and in kanji."""

import re
import unicodedata

from text_to_num import find_numbers

from mcp_ghost.tables import compiled
from movie_generator.grounding.language import WORDS

_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*|[^\w\s]")
# "a second", "per second": a time. "the second", "twenty-second": a place in an order.
_BEFORE_ORDINALS = frozenset("the its his her their our".split())
_NEVER = {it: frozenset(words.split()) for it, words in WORDS["never"].items()}
_PARTS = "half third quarter fourth fifth sixth seventh eighth ninth tenth".split()
_PART = {name: 2 + number - (number > 2) for number, name in enumerate(_PARTS)}
_COUNT: dict[str, int] = WORDS["counts"]
_FRACTION = re.compile(
    rf"\b(?:(a|an|one|two|three|four|five|seven|nine)[- ])?({'|'.join(_PARTS)})(s)?\b"
    r"(?! past| to \w+)(?=( of| as| the)?)",
    re.IGNORECASE,
)
_PIECE = re.compile(
    rf"\b(?:(a|one|two|three)[- ])?(?:({'|'.join(_PARTS)})s? of an?|(half|quarter)) "
    r"(?=(?:second|minute|hour|day|week|month|year|decade|century|mile|inch|pound|gallon|"
    r"(?:kilo)?met(?:re|er)|lit(?:re|er)|million|billion)\b)",
    re.IGNORECASE,
)
_FORMS = compiled(WORDS["patterns"]["numerals"])
_AND_A_HALF = re.compile(r" (?:and|&) a (?:(half)|quarter)\b", re.IGNORECASE)
_WITH_PART = re.compile(r"\b(\d+|one)( [a-z]+)? ([§¶])", re.IGNORECASE)
"""With the mark of a half or of a quarter, which stands there until the rest is in digits."""
_YEAR_IN_TWO = re.compile(r"(?:1\d|20)\|(?:[ -]*oh?[ -]*\|\d|[ -]\|\d\d)")
"""What has been read of ``eighteen thirty-four`` and ``nineteen oh five``: 18| |34, 19| oh |5."""
_MYRIADS = {"万": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_HANGUL = re.compile(r"\d[\d,.]*[천만억조](?:\s?\d[\d,]*[백천만억]?)*")
_HANGUL_SCALES = str.maketrans("백천만억조", "百千万億兆", " ")
_SAYINGS = {it: re.compile(forms, re.IGNORECASE) for it, forms in WORDS["sayings"].items()}
_CLOCKS = {it: re.compile(forms, re.IGNORECASE) for it, forms in WORDS["clocks"].items()}
_SCALES = frozenset({1e2, 1e3, 1e6, 1e9, 1e12})


def in_digits(text: str, language: str) -> str:
    """``text`` with its numbers in digits: ``205`` for cardinals, ``21th`` for ordinals."""
    if sayings := _SAYINGS.get(language):
        text = sayings.sub("~", text)
    if language in ("ja", "zh"):
        text = _FORMS["part_of"].sub(
            lambda it: f"{100 * (kanji_value(it[2]) or 1) / (kanji_value(it[1]) or 1):.6g}%", text
        )
        digits = _FORMS["kanji"].sub(_kanji, text)
        return re.sub(r"(\d)割(?:(\d)分)?", lambda it: f"{it[1]}{it[2] or 0}%", digits)
    if language == "ko":
        return _HANGUL.sub(lambda it: f"{kanji_value(it[0].translate(_HANGUL_SCALES)):.15g}", text)
    if language not in _NEVER:
        return text
    text = _FORMS["roman_century"].sub(
        lambda it: f"{roman_value(next(filter(None, it.groups())))}th century", text
    )
    text = _FORMS["per_cent"].sub("%", text)
    text = _FORMS["quarter_hours"].sub(lambda it: f"{45 if it[1] or it[2] else 15} min", text)
    if language == "en":
        text = _AND_A_HALF.sub(lambda it: " §" if it[1] else " ¶", text)
        text = _FORMS["short_hundred"].sub(r"\1 hundred ", _PIECE.sub(_piece, text))
        text = _FORMS["decade"].sub(r"\1 \2ty's", text)  # eighteen nineties: 1890's
        text = _FORMS["dozen"].sub(lambda it: f"{12 * _COUNT.get(it[1].casefold(), 0.5):.0f}", text)
        text = re.sub(r"(?i)\bhalf (?:a|an) (?!dozen)", "0.5 ", text)
        text = _FRACTION.sub(_share, text)
    digits = _spelled(text, language)
    digits = _FORMS["scaled_half"].sub(r"\g<1>5\2", digits)
    digits = _WITH_PART.sub(
        lambda it: f"{1 if it[1].isalpha() else it[1]}.{5 if it[3] == '§' else 25}{it[2] or ''}",
        digits,
    )
    digits = _FORMS["one"].sub(r"1.\2 \1", digits)
    digits = _FORMS["price"].sub(lambda it: f"{it[1]}.{it[3] or it[4]} {it[2]}", digits)
    digits = _FORMS["halves"].sub(r"\1.5 \2", digits)
    clock = _CLOCKS.get(language)
    return clock.sub(_time, digits) if clock else digits


class _Token(str):
    """A word, with the methods that text2num calls."""

    __slots__ = ()

    def text(self) -> str:
        return str(self)

    def nt_separated(self, _previous: str) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return self[0].isdigit()


def _spelled(text: str, language: str) -> str:
    places = [it.span() for it in _TOKEN.finditer(text)]
    words = [_Token(text[start:end].casefold()) for start, end in places]
    found: list[tuple[int, int, str]] = []
    for number in find_numbers(words, language, threshold=0):
        start, stop = places[number.start][0], places[number.end - 1][1]
        written = text[start:stop].casefold()
        before = words[number.start - 1] if number.start else ""
        is_weekday = text.startswith("-feira", stop)
        if written in _NEVER[language] or is_weekday or any(it.isdigit() for it in written):
            continue
        if written == "second" and before not in _BEFORE_ORDINALS:
            continue
        previous, end, value = found[-1] if found else (0, 0, "")
        adjoins = bool(number.start) and end == places[number.start - 1][1]
        adjoins = adjoins or before[:1].isdigit() or before in {"§", "¶"}
        if number.value in _SCALES and adjoins:  # 1.2 million
            continue
        digits = f"{number.value:.10g}" + ("th" if number.is_ordinal else "")
        read = f"{value}|{text[end:start].casefold()}|{digits}"
        if language == "en" and _YEAR_IN_TWO.fullmatch(read):
            start, digits = previous, value + digits.zfill(2)
            found.pop()
        found.append((start, stop, digits))
    parts: list[str] = []
    end = 0
    for start, stop, digits in found:
        parts += [text[end:start], digits]
        end = stop
    return "".join(parts) + text[end:]


def _time(found: re.Match[str]) -> str:
    """``half past 6`` as ``6:30``."""
    named = found.groupdict()
    before = bool(named["to"] or named.get("before"))
    minutes = int(named.get("minutes") or (30 if named["half"] else 15))
    if before and not named["half"]:
        minutes = 60 - minutes
    return f"{(int(named['hour']) - before) % 24}:{minutes:02}"


def roman_value(written: str) -> int:
    """The value of ``XVII``."""
    values = [{"X": 10, "V": 5, "I": 1}[it] for it in written]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-it if it < after else it for it, after in pairs)


def _piece(found: re.Match[str]) -> str:
    """``a quarter of a century`` as ``0.25 century``."""
    count = _COUNT.get((found[1] or "a").casefold(), 1)
    return f"{count / _PART[(found[2] or found[3]).casefold()]:.4g} "


def _share(found: re.Match[str]) -> str:
    """``two thirds`` and ``a quarter of`` as a share; ``a third bridge`` stays an ordinal."""
    count = (found[1] or "").casefold()
    name = found[2].casefold()
    compared = _FORMS["compared"].search(found.string, max(0, found.start() - 10), found.start())
    means_share = found[3] or found[4] or name == "half" or compared
    if not means_share or (name != "half" and not count):
        return found[0]
    return f"{100 * _COUNT.get(count, 1) / _PART[name]:.6g}%"


def _kanji(found: re.Match[str]) -> str:
    written = found[0]
    counted = _FORMS["counters"].match(found.string, found.end())
    if len(written) == 1 and (not counted or written == "一"):
        return written
    value = kanji_value(written)
    return written if value is None else f"{value:.15g}"


def kanji_value(written: str) -> float | None:
    """The value of kanji numerals with or without digits among them: ``1万2千``, ``二〇二四``."""
    if re.fullmatch(r"[〇零一二三四五六七八九]+", written):
        return float("".join(f"{unicodedata.numeric(it):.0f}" for it in written))
    total = section = 0.0
    number: float | None = None
    for part in re.findall(r"\d[\d,]*(?:\.\d+)?|\D", written.rstrip(",.")):
        if part[0].isdigit():
            number = float(part.replace(",", ""))
        elif part in _MYRIADS:
            total += ((section + (number or 0)) or 1) * _MYRIADS[part]
            section, number = 0.0, None
        elif part in "十百千":
            section += (1 if number is None else number) * unicodedata.numeric(part)
            number = None
        else:
            number = unicodedata.numeric(part)
    return total + section + (number or 0)
