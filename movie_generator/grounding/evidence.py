"""What a page says, as sentences are held against it.

Held against it are numbers with what they count, dates, names and quotations. Whether a sentence
puts together rightly what the page says apart, such as who did what, is beyond this.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from movie_generator.grounding.dates import Moment, moments
from movie_generator.grounding.folding import Folded, bare, fold, folded
from movie_generator.grounding.language import is_caseless, is_small, language_of
from movie_generator.grounding.names import Words, unknown_names, words_of
from movie_generator.grounding.numerals import in_digits
from movie_generator.grounding.quantities import (
    Quantity,
    quantities,
    same,
    stem,
    together,
)
from movie_generator.grounding.units import SHARE, units

_QUOTED = re.compile(
    r"\"([^\"]{4,2000})\"|『([^』]{2,2000})』|「([^」]{6,2000})」|(?<![^\s(])'(?!\d\d\b)([^']{12,600})'(?![^\W\d_])"
)
_CELLS = re.compile(r"\||(?<=\d)\s*\n\s*(?=\d)")
"""What divides two numbers that would look like one: 12 | 500."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_ROMAN = re.compile(r"\b[A-Z][a-z]+ (I{1,3}|IV|VI{0,3}|IX|XI{0,3}|XIV|XVI{0,3})\b")
_ROMAN_VALUES = {
    it: n
    for n, it in enumerate(
        "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII".split(), 1
    )
}
_OF_TALK = frozenset(
    "thing way point question reason word side step idea part example fact lesson answer choice"
    " sentence minute second moment".split()
)
_CENTURY = re.compile(
    r"(?<![\d.,])(\d{1,2})(?:(?:th|st|nd|rd)?[ -]{0,2}(?:century|siècle|siglo|secolo|século)|"
    r"(?:th|st|nd|rd)[ -]{0,2}centuries)\b|"
    r"(\d{1,2})世紀|\b(\d{1,2})\. jahrhundert",
    re.IGNORECASE,
)
_DECADE = re.compile(
    r"\b(1\d|20)?(\d0)(?:'?s|er)\b|\b(1\d|20)(\d0)年代"
    r"|(?:années|años|anni) (1\d|20)?(\d0)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:later|after|earlier|before|afterwards|apart|between|for|over|nach|später|lang|"
    r"après|plus tard|pendant|durant|después|durante|hacía|tras)\b|後|ぶり",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\d(?:[\d.,]*\d)?(?: [^\W\d_]+){0,2} ((?:an?|per|each|every) (second|minute|hour|day|week|month|year))\b",
    re.IGNORECASE,
)
_PERIODS = {
    period: re.compile(forms, re.IGNORECASE)
    for period, forms in {
        "second": r"second|\bs\b|\bsec|fps|hertz|hz\b",
        "minute": r"minute|\bmin\b|[rb]pm\b",
        "hour": r"hour|\bhr?\b|[mk]ph\b|kmh\b|knots",
        "day": r"da(?:y|ily)|night|mornings|evenings",
        "week": r"week|\bwk\b|(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
        "month": r"month|\bmo\b",
        "year": r"year|\byr|annual|annum|p\.a\.|season",
    }.items()
}
_SHARE_OF = re.compile(r"\b(\d+|one)(?: times?)? (?:out of|in) (?:every )?(\d+)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d.,])(1\d{3}|20\d{2})(?![\d]|[.,]\d)")
_YEARS = re.compile(r"(?<![\d.,])(1\d|20)\d\d[-/](\d\d)(?![\d.,-])")
_PEOPLE = frozenset("people person mensch menschen leute personne gen persona gente".split())
"""What counts these may count deaths, guests or members on the page."""
_TIMES = frozenset("time mal foi vece volte vez".split())
_SHORT_YEAR = re.compile(r"(?<![\w.,])'(\d\d)(?![\w'])")
_ANNIVERSARIES = frozenset(
    "birthday anniversary jubilee geburtstag jubiläum anniversaire cumpleaño aniversario".split()
)
_FIRST = re.compile(
    r"\b(?:the|its|his|her|their|world's|country's) (?:very |world's )?first "
    r"(?!of|thing|question|step|point|glance|place|part|time|idea|half|reason|lesson)([a-z]+)",
    re.IGNORECASE,
)
_EARLIEST = re.compile(
    r"\b(?:first|1st|earliest|inaugural|original|oldest|pioneer\w*|debut|began|"
    r"opening|never before|founding|maiden|initial\w*)\b",
    re.IGNORECASE,
)


_OLD = re.compile(r"\byears?[- ]old\b|\byears of age\b", re.IGNORECASE)
_INSIDE = re.compile(r"(?<=[.!?,;])\s+(?=\S+\s+\S)")
"""Where who speaks may stand in a quotation."""
_AT = re.compile(
    r"\b(?:at|until|till|by|from|before|after|to|and|um|bis|ab|von|vor|nach|à|dès|jusqu'à|las?) $",
    re.IGNORECASE,
)
_HOURS = 24
_CLOCK = frozenset({"uhr", "heure", "o"})
_LABEL = re.compile(
    r"\b(?:section|article|page|chapter|step|part|phase|level|version|no\\.|§|artikel|kapitel|"
    r"seite|teil|abschnitt|chapitre|étape|partie|artículo|capítulo|página|paso|parte) ?$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r" ([^\W\d_]{3,})")
_FAR = 20
_FEW = 3
_OF_THOSE = frozenset({"them", "whom", "these", "those", "other"})
"""What counts refers to something named before."""


@dataclass(frozen=True)
class Evidence:
    """The text that the writer was given."""

    text: str
    """In which sources have their places."""
    head: str = ""
    """Title, description and what images show."""

    @cached_property
    def folded(self) -> Folded:
        """The text as it is compared."""
        return fold(self.text)

    @cached_property
    def language(self) -> str:
        """Of the page."""
        return language_of(self.text)

    @cached_property
    def _plain(self) -> str:
        text = _ADDRESS.sub(" ", f"{self.head}\n{self.text}")
        return folded(_CELLS.sub(" ; ", text))

    @cached_property
    def _lower(self) -> str:
        return self._plain.casefold()

    @cached_property
    def _digits(self) -> str:
        return in_digits(self._plain, self.language)

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        return (self.language,) if self.language else ()

    @cached_property
    def _words(self) -> Words:
        return words_of(self._plain, self.language)

    @cached_property
    def _quantities(self) -> list[Quantity]:
        found = [*quantities(self._digits, self._languages)]
        return [*found, *together(found, self._digits)]

    @cached_property
    def _moments(self) -> list[Moment]:
        return [*moments(self._digits, self._languages, of_page=True)]

    @cached_property
    def _years(self) -> list[int]:
        """In the order in which they are named."""
        named = [int(it) for it in _YEAR.findall(self._digits)]
        closing = [int(f"{it[1]}{it[2]}") for it in _YEARS.finditer(self._digits)]
        return named + closing + [it.year for it in self._moments if it.year]

    def unsupported(self, sentence: str, language: str = "") -> list[str]:
        """What of ``sentence`` does not stand on the page, in words for people and models.

        ``language`` is that of the whole script; of a few words nobody can tell.
        """
        text = _SHORT_YEAR.sub(self._whole_year, folded(sentence))
        language = language or language_of(text) or self.language
        digits = in_digits(text, language)
        found = [f"quotation “{quote}”" for quote in self._strange_quotes(text, language)]
        found += [f"name “{name}”" for name in unknown_names(text, self._words, language)]
        dates = [*moments(digits, (language,) if language else ())]
        found += [f"date “{date}”" for date in self._strange_dates(dates)]
        found += [f"number “{it}”" for it in self._strange_numbers(digits, language, dates)]
        if (
            language == "en"
            and self.language == "en"
            and _FIRST.search(text)
            and not _EARLIEST.search(self._plain)
        ):
            found.append("the word “first”")
        return [*dict.fromkeys(found)]

    def _whole_year(self, short: re.Match[str]) -> str:
        """``'72`` as the year of the page that ends so."""
        return next((f"{it}" for it in self._years if f"{it}".endswith(short[1])), short[0])

    def _strange_quotes(self, text: str, language: str) -> Iterator[str]:
        if language != self.language:
            return  # translated
        for found in _QUOTED.finditer(text):
            quote = next(it for it in found.groups() if it)
            several = len(quote.split()) > 1 or is_caseless(quote)
            if several and not (
                bare(quote) in self._lower
                or self._whole.find(quote)
                or self._whole.find(_INSIDE.sub(" ... ", quote))
            ):
                yield quote.strip()

    @cached_property
    def _whole(self) -> Folded:
        return fold(f"{self.head}\n{self.text}")

    def _strange_dates(self, dates: list[Moment]) -> Iterator[str]:
        by_place: dict[int, list[Moment]] = {}
        for date in dates:
            by_place.setdefault(date.start, []).append(date)
        for readings in by_place.values():
            if not any(self._has(reading) for reading in readings):
                yield readings[0].written

    def _has(self, date: Moment) -> bool:
        if any(date.agrees(it) for it in self._moments):
            return True
        year_only = date.year and not (date.month or date.day)
        return bool(year_only and date.year in self._years)

    def _strange_numbers(self, text: str, language: str, dates: list[Moment]) -> Iterator[str]:
        taken = [range(it.start, it.end) for it in dates]
        for found in _CENTURY.finditer(text):
            taken.append(range(*found.span()))
            if not self._has_century(int(next(it for it in found.groups() if it))):
                yield found[0]
        for found in _DECADE.finditer(text):
            taken.append(range(*found.span()))
            if not self._has_decade(*_decade(found.groups())):
                yield found[0]
        if language == self.language == "en":
            yield from self._strange_periods(text)
        said = [*quantities(text, (language,) if language else ())]
        taken += self._shares(text, said)
        for quantity in said:
            inside = any(quantity.place in it or (quantity.place + 1) in it for it in taken)
            if not inside and not self._supports(quantity, text):
                yield quantity.written

    def _strange_periods(self, text: str) -> Iterator[str]:
        """Where it says ``742 crowns a month``, and the page nothing of months."""
        for found in _EVERY.finditer(text):
            if not _PERIODS[found[2].casefold()].search(self._digits):
                yield found[0].strip()

    def _shares(self, text: str, said: list[Quantity]) -> Iterator[range]:
        """Where it says ``3 out of 4`` and the page has 75 %."""
        rounded = {it.place for it in said if it.is_rounded}
        for found in _SHARE_OF.finditer(text):
            part, whole = float(found[1]) if found[1].isdigit() else 1.0, float(found[2])
            if not 0 < part < whole:
                continue
            share = Quantity(
                found[0],
                frozenset({100 * part / whole}),
                SHARE,
                digits=2,
                place=found.start(),
                is_rounded=found.start() in rounded,
            )
            if any(same(share, it) for it in self._quantities if it.units):
                yield range(*found.span())

    def _has_century(self, century: int) -> bool:
        named = {int(it) for found in _CENTURY.findall(self._digits) for it in found if it}
        return century in named or any((year - 1) // 100 + 1 == century for year in self._years)

    def _has_decade(self, century: str | None, decade: int) -> bool:
        named = [_decade(its) for its in _DECADE.findall(self._digits)]
        years = [(str(year // 100), year % 100 // 10 * 10) for year in self._years]
        return any(
            decade == its and (not century or not c or c == century) for c, its in named + years
        )

    def _supports(self, said: Quantity, text: str) -> bool:
        if said.is_ordinal:
            return self._has_ordinal(said)
        if not said.units and said.values & {1.0, *map(float, self._years)}:
            return True
        alike = [
            it for it in self._quantities if same(said, it) and (it.units or not it.is_ordinal)
        ]
        if said.units:
            is_age = bool(_OLD.search(text[said.place : said.place + _FAR]))
            right = [it for it in alike if it.units]
            right = right or [it for it in alike if is_age or self._stands_alone(it)]
            if right and (right[0].units or is_age or self._names_unit(said)):
                return True
            return self._lies_between(said, text)
        noun = said.counted[0] if said.counted else ""
        noun = "" if noun in _TIMES else noun
        if noun in _OF_TALK and max(said.values) < 6:
            return not any(noun in it.counted for it in self._quantities) or bool(alike)
        if self._is_hour(said, text) or self._is_enumerated(said, noun):
            return True
        if not alike:
            return self._lies_between(said, text)
        return not noun or self._counts_that(said, alike)

    def _is_hour(self, said: Quantity, text: str) -> bool:
        """Whether it is a time of day, such as "until 6", that the page has."""
        counts = {*said.counted[:1]} - _CLOCK
        if counts or not _AT.search(text[: said.place]) or max(said.values) > _HOURS:
            return False
        minutes = {int(hour) % 24 * 60 for hour in (*said.values, *(it + 12 for it in said.values))}
        return any(it.minutes & minutes for it in self._moments)

    def _is_enumerated(self, said: Quantity, noun: str) -> bool:
        """Whether it may sum up what the page lists one by one: "her sons, Ole and Per"."""
        if said.values.isdisjoint({2.0, 3.0}) or said.is_rounded:
            return False
        return not noun or (noun in self._stems and noun not in self._counted)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(it) for it in re.findall(r"[^\W\d_]+", self._lower))

    def _counts_that(self, said: Quantity, alike: list[Quantity]) -> bool:
        """Whether the number counts what it counts on the page, as far as words can tell."""
        nouns = [it for it in said.counted if it in self._counted and it not in _PEOPLE]
        if any(it.nearby & {*nouns, *_OF_THOSE} for it in alike) or (
            any(not it.units for it in alike) and not nouns
        ):
            return True
        if any(not it.units and self._stands_alone(it) for it in alike):
            return True
        return not nouns and any(not it.units or it.nearby & set(said.counted) for it in alike)

    @cached_property
    def _counted(self) -> frozenset[str]:
        return frozenset(
            it for quantity in self._quantities for it in quantity.counted[:2] if len(it) > 2
        )

    @cached_property
    def _named_units(self) -> frozenset[str]:
        """Units that the page names anywhere, such as in the head of a table."""
        words = units(self._languages).words
        named = {it.casefold() for it in re.findall(r"[^\W\d_]+|[%€$£¥°]", self._plain)}
        return frozenset(unit for word in named & words.keys() for unit in words[word])

    def _stands_alone(self, number: Quantity) -> bool:
        """Whether no word says what it counts or numbers, as in a table."""
        end = number.place + len(number.written)
        in_date = any(it.start <= number.place < it.end for it in self._moments)
        word = _BEHIND.match(self._digits, end)
        counts = bool(word) and word[1].islower() and not is_small(word[1])
        return not (in_date or counts or _LABEL.search(self._digits[: number.place]))

    def _names_unit(self, said: Quantity) -> bool:
        return bool(said.units & self._named_units)

    def _has_ordinal(self, said: Quantity) -> bool:
        if any(it.is_ordinal and it.values & said.values for it in self._quantities):
            return True
        romans = {float(_ROMAN_VALUES[it]) for it in _ROMAN.findall(self._plain)}
        equal = [it for it in self._quantities if it.values & said.values]
        # In the 4th minute, after 4 minutes.
        if any(it.units & said.units for it in equal):
            return True
        if _ANNIVERSARIES & {*said.counted} and any("duration-year" in it.units for it in equal):
            return True
        bare_number = any(not it.units for it in equal)
        few = max(said.values) <= _FEW  # who tells of two things may call one the second
        return bool(romans & said.values) or ((few or bare_number) and not self._has_other_ordinals)

    @cached_property
    def _has_other_ordinals(self) -> bool:
        return any(it.is_ordinal for it in self._quantities)

    def _lies_between(self, said: Quantity, text: str) -> bool:
        """Whether it is the time between two years that the page names one after the other."""
        if "duration-year" not in said.units:
            return False
        gaps: set[int] = set()
        if _LATER.search(text) or said.is_rounded:
            gaps = {abs(a - b) for a, b in zip(self._years, self._years[1:], strict=False)}
        # In 1909, when he was 55: one of the years is the sentence's own.
        named = {int(it) for it in _YEAR.findall(text)} & {*self._years}
        gaps |= {abs(a - b) for a in named for b in self._years}
        between = Quantity(
            "", frozenset(map(float, gaps)), frozenset({"duration-year"}), digits=0, place=0
        )
        return same(said, between)


def _decade(groups: tuple[str | None, ...]) -> tuple[str, int]:
    """Its century, or nothing, and its first year in that."""
    return "".join(it or "" for it in groups[::2]), int("".join(it or "" for it in groups[1::2]))
