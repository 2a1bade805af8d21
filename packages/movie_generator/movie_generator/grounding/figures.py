"""The numbers, years and dates of a page, as those of a sentence are held against them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from mcp_ghost.tables import compiled
from movie_generator.grounding.dates import Moment, moments
from movie_generator.grounding.language import OF_SCRIPTS, SMALL, WORDS
from movie_generator.grounding.numerals import roman_value
from movie_generator.grounding.quantities import BELOW, Quantity, quantities, stem, together
from movie_generator.grounding.units import SHARE, units

_ROMAN = re.compile(r"\b[A-Z][a-z]+ (I{1,3}|IV|VI{0,3}|IX|XI{0,3}|XIV|XVI{0,3})\b")
_OF_TALK = frozenset(WORDS["names"]["talk"].split())
_FORMS = compiled(WORDS["patterns"]["figures"])
_PERIODS = {it: re.compile(forms, re.IGNORECASE) for it, forms in WORDS["periods"].items()}
_SHARE_OF = re.compile(r"\b(\d+|one)(?: times?)? (?:out of|in) (?:every )?(\d+)\b", re.IGNORECASE)
_PEOPLE = frozenset("people person mensch menschen leute personne gen persona gente".split())
"""What counts these may count deaths, guests or members on the page."""
_TIMES = frozenset("time mal foi vece volte vez".split())
_ANNIVERSARIES = frozenset(
    "birthday anniversary jubilee geburtstag jubiläum anniversaire cumpleaño aniversario".split()
)
_SCALES = {"k": 1e3, "t": 1e3, "m": 1e6, "b": 1e9}
"""Of what such a table's head says, by the first letter."""
_FURTHER = re.compile("[ -]?[^\\W\\d_]")
_OTHER_SCALES = (1e3, 1e4, 1e6, 1e8, 1e9, 1e12)
"""Of words such as млн or 억; numbers below the first are written out."""
_HALF = re.compile(r"\bhal(?:f|ves|ved)\b|\b0[.,]5\b", re.IGNORECASE)
_OLD = re.compile(r"\byears?[- ]old\b|\byears of age\b", re.IGNORECASE)
_YEARS = frozenset({"duration-year"})
_BEHIND = re.compile(r" ([^\W\d_]{3,})")
_FAR = 20
_OF_THOSE = frozenset({"them", "whom", "these", "those", "other"})
"""What counts refers to something named before."""
_YEAR = re.compile(r"(?<![\d.,])(1\d{3}|20\d{2})(?![\d]|[.,]\d)")
_CLOSING = re.compile(r"(?<![\d.,])(1\d|20)\d\d[-/](\d\d)(?![\d.,-])")
_SHORT = re.compile(r"(?<![\w.,])'(\d\d)(?![\w'])")


@dataclass(frozen=True)
class Figures:
    """Those of one page, with what they count."""

    text: str
    """Folded, its numerals in digits."""
    language: str

    @cached_property
    def moments(self) -> list[Moment]:
        """The dates in it."""
        return [*moments(self.text, OF_SCRIPTS.get(self.language, (self.language,)), of_page=True)]

    @cached_property
    def years(self) -> list[int]:
        """In the order in which they are named."""
        named = [int(it) for it in _YEAR.findall(self.text)]
        closing = [int("".join(it)) for it in _CLOSING.findall(self.text)]
        return named + closing + [it.year for it in self.moments if it.year]

    def has_date(self, date: Moment) -> bool:
        """Whether the page says it, perhaps in two places: "In 2020, ...", and then only days."""
        if any(date.agrees(it) for it in self.moments):
            return True
        if date.year not in self.years or not (date.month or date.day):
            return date.year in self.years
        apart = replace(date, year=None)
        for it in self.moments:
            if it.year is None and apart.agrees(it):
                before = _YEAR.findall(self.text, max(0, it.start - 300), it.start)
                behind = _YEAR.findall(self.text, it.start, it.start + 100)
                if [*reversed(before), *behind][:1] == [f"{date.year}"]:  # the nearest
                    return True
        return False

    def completed(self, text: str) -> str:
        """``text`` with ``'72`` as the year of the page that ends so."""
        years = [*map(str, self.years)]
        return _SHORT.sub(
            lambda it: next((year for year in years if year.endswith(it[1])), it[0]), text
        )

    def _spans(self, text: str) -> Iterator[tuple[range, bool]]:
        """Where ``text`` names a century or a decade, and whether the page knows it."""
        for found in _FORMS["century"].finditer(text):
            centuries = {int("".join(it)) for it in _FORMS["century"].findall(self.text)}
            centuries |= {(year - 1) // 100 + 1 for year in self.years}
            yield range(*found.span()), int("".join(found.groups(""))) in centuries
        for found in _FORMS["decade"].finditer(text):
            said = "".join(found.groups(""))  # 1990, or only 90
            decades = {"".join(it) for it in _FORMS["decade"].findall(self.text)}
            decades |= {f"{year // 10}0" for year in self.years}
            yield range(*found.span()), any(it.endswith(said) or it == said[-2:] for it in decades)

    def _lie_between(self, said: Quantity, text: str) -> bool:
        """Whether ``said`` is the time between two years that follow each other on the page."""
        if not _YEARS & said.units:
            return False
        gaps: set[int] = set()
        if _FORMS["later"].search(text) or said.is_rounded:
            gaps = {abs(a - b) for a, b in pairwise(self.years)}
        # In 1909, when he was 55: one of the years is the sentence's own.
        named = {int(it) for it in _YEAR.findall(text)} & {*self.years}
        gaps |= {abs(a - b) for a in named for b in self.years}
        return said.is_same(replace(said, values=frozenset(gaps), units=_YEARS))

    @cached_property
    def _quantities(self) -> list[Quantity]:
        found = [*quantities(self.text, self.language)]
        return [*found, *together(found, self.text), *_shares(self.text, found)]

    def unsupported(self, text: str, language: str, dates: list[Moment]) -> Iterator[str]:
        """The numbers of a sentence that the page does not have, as they are written.

        ``text`` is folded, its numerals in digits; the numbers of ``dates`` are left out.
        """
        taken = [range(it.start, it.end) for it in dates]
        for span, is_known in self._spans(text):
            taken.append(span)
            if not is_known:
                yield text[span.start : span.stop]
        if language == self.language == "en":  # 742 crowns a month, where no month is named
            for found in _FORMS["every"].finditer(text):
                if not _PERIODS[found[2].casefold()].search(self.text):
                    yield found[0].strip()
        said = [*quantities(text, language)]
        measured = [it for it in self._quantities if it.units]
        shares = (it for it in _shares(text, said) if any(map(it.is_same, measured)))
        taken += [range(it.place, it.place + len(it.written)) for it in shares]
        for quantity in said:
            inside = any(quantity.place in it or (quantity.place + 1) in it for it in taken)
            if not inside and not self._supports(quantity, text):
                yield quantity.written

    def _supports(self, said: Quantity, text: str) -> bool:
        if said.is_ordinal:
            return self._has_ordinal(said)
        # 1日, 1か月 or the like, for which other languages have "a day" or "each".
        is_time = all(unit.startswith("duration") for unit in said.units)
        if is_time and 1.0 in said.values and not said.written.isascii():
            return True
        if self._is_foreign and self._has_in_other_words(said):
            return True
        if not said.units and said.values & {1.0, *self.years}:
            return True
        alike = [it for it in self._quantities if said.is_same(it) and said.sign_agrees(it)]
        alike = [it for it in alike if it.units or not (it.is_ordinal or self._dated.get(it.place))]
        if said.units == SHARE and 50.0 in said.values and _HALF.search(self.text):
            return True
        if said.units and self._scales:  # which an amount in a table may be in
            alone = (it for it in self._quantities if not it.units and self._stands_alone(it))
            if _is_scaled(said, alone, self._scales):
                return True
        if said.units:
            is_age = bool(_OLD.search(text[said.place : said.place + _FAR]))
            right = [it for it in alike if it.units]
            right = right or [it for it in alike if is_age or self._stands_alone(it)]
            if right and (right[0].units or is_age or said.units & self._named_units):
                return True
            return self._lie_between(said, text)
        noun = next(iter({*said.counted[:1]} - _TIMES), "")
        if noun in _OF_TALK and max(said.values) < 6:
            return not any(noun in it.counted for it in self._quantities) or bool(alike)
        if self._is_hour(said, text):
            return True
        if said.values & {2, 3} and not said.is_rounded and said.sign != BELOW:
            # It may sum up what the page lists one by one: "her sons, Ole and Per".
            is_listed = noun in self._stems and noun not in self._counted
            if is_listed if noun else not said.counted:
                return True
        if not alike:
            return self._lie_between(said, text)
        return not noun or self._counts_that(said, alike)

    @cached_property
    def _is_foreign(self) -> bool:
        """Whether the page's words for units and large numbers are unknown here."""
        if self.language:
            return self.language == "ko" or len(self.language) > 2  # the name of a script
        return len(re.findall(r"[^\W\d_]+", self.text)) > 50  # of a few, nobody can tell

    def _has_in_other_words(self, said: Quantity) -> bool:
        """Whether the page has the number, with a unit or a "million" in words of its own."""
        alike = (it for it in self._quantities if said.sign_agrees(it))
        bare = [it for it in alike if not (it.units and said.units)]
        plain = replace(said, units=frozenset())
        scales = [it for it in _OTHER_SCALES if min(said.values) >= it]
        scaled = [it for it in bare if _FURTHER.match(self.text, it.place + len(it.written))]
        return any(plain.is_same(it) for it in bare) or _is_scaled(plain, scaled, scales)

    @cached_property
    def _scales(self) -> set[float]:
        """What the heads of tables say that all is in, such as millions."""
        found = (next(it for it in its if it) for its in _FORMS["scaled"].findall(self.text))
        return {_SCALES[it[0].casefold()] for it in found}

    def _is_hour(self, said: Quantity, text: str) -> bool:
        """Whether it is a time of day, such as "until 6", that the page has."""
        counts = {*said.counted[:1]} - {"uhr", "heure", "o"}
        if counts or not _FORMS["at"].search(text[: said.place]) or max(said.values) > 24:
            return False
        hours = {int(it) % 12 * 60 for it in said.values}
        told = {minute % 720 for it in self.moments for minute in it.minutes}
        if re.search(r"(?i)\b(?:before|vor|avant|antes de las?) $", text[: said.place]):
            return any((minute - hour) % 720 > 720 - 60 for minute in told for hour in hours)
        return bool(hours & told)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(it) for it in re.findall(r"[^\W\d_]+", self.text.casefold()))

    def _counts_that(self, said: Quantity, alike: list[Quantity]) -> bool:
        """Whether the number counts what it counts on the page, as far as words can tell."""
        nouns = [it for it in said.counted if it in self._counted and it not in _PEOPLE]
        if any(it.nearby & {*nouns, *_OF_THOSE} for it in alike):
            return True
        if any(not it.units and self._stands_alone(it) for it in alike):
            return True
        telling = {it for it in said.nearby if len(it) > 3 and it not in SMALL}
        if any(len(it.nearby & telling) > 1 for it in alike if not it.units):
            return True  # other words for the same, among the same words
        return not nouns and any(not it.units or it.nearby & set(said.counted) for it in alike)

    @cached_property
    def _counted(self) -> frozenset[str]:
        nouns = (noun for it in self._quantities for noun in it.counted[:2])
        return frozenset(noun for noun in nouns if len(noun) > 2)

    @cached_property
    def _named_units(self) -> frozenset[str]:
        """Units that the page names anywhere, such as in the head of a table."""
        words = units(self.language).words
        named = {it.casefold() for it in re.findall(r"[^\W\d_]+|[%€$£¥°]", self.text)}
        return frozenset(unit for word in named & words.keys() for unit in words[word])

    def _stands_alone(self, number: Quantity) -> bool:
        """Whether no word says what it counts or numbers, as in a table."""
        end = number.place + len(number.written)
        word = _BEHIND.match(self.text, end)
        counted = word and word[1].islower() and word[1] not in SMALL
        counted = counted or self.text.startswith(" of ", end)
        before = self.text[max(0, number.place - _FAR) : number.place]
        # The number of a step: 3. Cook it.
        is_item = self.text.startswith(". ", end) and re.search(r"(?:^|[.!?:;)]) ?$", before)
        is_numbered = is_item or _FORMS["label"].search(before)
        return not (number.place in self._dated or counted or is_numbered)

    @cached_property
    def _dated(self) -> dict[int, bool]:
        """The places in dates, and whether they belong to a day, not only to a time of day."""
        places: dict[int, bool] = {}
        for it in self.moments:
            for place in range(it.start, it.end):
                places[place] = places.get(place, False) or not it.minutes
        return places

    def _has_ordinal(self, said: Quantity) -> bool:
        ordinals = [it for it in self._quantities if it.is_ordinal]
        if any(it.values & said.values for it in ordinals):
            return True
        equal = [it for it in self._quantities if it.values & said.values]
        its_units = said.units | (_YEARS if _ANNIVERSARIES & {*said.counted} else frozenset())
        if any(
            it.units & its_units
            or it.nearby & {*said.counted[:1]}  # in the 4th minute, minute 4
            or self.text.startswith(".,", it.place + len(it.written))  # (51., penalty)
            for it in equal
        ):
            return True
        # Three and another one: the fourth.
        if _FORMS["another"].search(self.text) and any(
            it.values & {value - 1 for value in said.values} for it in self._quantities
        ):
            return True
        if said.values & {roman_value(it) for it in _ROMAN.findall(self.text)}:
            return True
        few = max(said.values) <= 3  # who tells of two things may call one the second
        return not ordinals and (few or any(not it.units for it in equal))


def _is_scaled(said: Quantity, numbers: Iterable[Quantity], scales: Iterable[float]) -> bool:
    """Whether one of ``numbers`` is what is said in thousands, in millions or the like."""
    parts = [replace(said, values=frozenset(it / by for it in said.values)) for by in scales]
    return any(part.is_same(number) for number in numbers for part in parts)


def _shares(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """``3 out of 4`` as 75 %; ``found`` are the numbers of the text."""
    rounded = {it.place for it in found if it.is_rounded}
    for it in _SHARE_OF.finditer(text):
        part, whole = float(it[1]) if it[1].isdigit() else 1.0, float(it[2])
        if 0 < part < whole:
            share = frozenset({100 * part / whole})
            is_rounded = it.start() in rounded
            yield Quantity(it[0], share, SHARE, digits=2, place=it.start(), is_rounded=is_rounded)
