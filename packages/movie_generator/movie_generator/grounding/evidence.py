"""What a page says, as sentences are held against it.

Held against it are numbers with what they count, dates, names and quotations. Whether a sentence
puts together rightly what the page says apart, such as who did what, is beyond this.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from movie_generator.grounding.dates import Moment, moments
from movie_generator.grounding.figures import Figures, Years
from movie_generator.grounding.folding import Folded, bare, fold, folded
from movie_generator.grounding.language import is_caseless, language_of, languages_in
from movie_generator.grounding.names import (
    Words,
    capitalized,
    named_in,
    surnames,
    unknown_names,
    words_of,
)
from movie_generator.grounding.numerals import in_digits
from movie_generator.grounding.units import with_codes
from movie_generator.grounding.words import patterns

_QUOTED = re.compile(
    r"\"([^\"]{4,2000})\"|『([^』]{2,2000})』|「([^」]{6,2000}|[\u3400-\u9fff\u30a1-\u30faー]{2,5})」|(?<![^\s(])'(?!\d\d\b)([^']{12,600})'(?![^\W\d_])"
)
_CELLS = re.compile(r"\||(?<=\d)\s*\n\s*(?=\d)")
"""What divides two numbers that would look like one: 12 | 500."""
_PAUSE = re.compile("(?<![0-9])[—―](?=[0-9])")
"""A dash in a sentence that no other form of writing may turn into a minus."""
_ITEM_OR_MINUS = re.compile(r"^( {0,3})-(?=[ \t]+\d{1,3}(?:[.,]\d{1,2})?[ ]?°)", re.MULTILINE)
"""What would be lost as the mark of an item."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_STARS = re.compile("★+")
_LASTED = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d):([0-5]\d)(?![\d:])")
_TWICE = re.compile(r"\btwice\b", re.IGNORECASE)
_JAPANESE_ORDINAL = re.compile(r"第(\d+)")
_CODE = re.compile(r"(?<![\w-])([A-Z][A-Za-z]*)-?(\d+)(?![\w.,]\d|\w)")
_SCORE = re.compile(r"(?<![\d:.,])(\d{1,3})(?: ?: ?| zu |[対比])(\d)(?![\d:]|[.,]\d)")
"""A score, such as 3:1, but not a time of day."""
_FORMS = patterns("evidence")
_START = attrgetter("start")
LONGEST_SENTENCE = 5_000
"""Characters."""
_PRONOUN = re.compile(
    r"\b(?:s?he|they|er|sie|ils?|elles?|él|ella|ell[oa]s|ele|ela|lui|lei|hij|zij|ze)\b|彼"
)
"""Stands for a name before."""
_INSIDE = re.compile(r"(?<=[.!?,;])\s+(?=\S+\s+\S)")
"""Where who speaks may stand in a quotation."""


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
        text = _STARS.sub(lambda it: f" {len(it[0])} stars ", text)
        text = _LASTED.sub(r"\g<0> (\1 hours \2 minutes \3 seconds)", text)
        return folded(_CELLS.sub(" ; ", _with_clear_dashes(text)))

    @cached_property
    def _digits(self) -> str:
        return in_digits(with_codes(_TWICE.sub("2 times", self._plain)), self.language)

    @cached_property
    def _words(self) -> Words:
        return words_of(self._plain, self.language)

    @cached_property
    def _moments(self) -> list[Moment]:
        return [*moments(self._digits, languages_in(self.language), of_page=True)]

    @cached_property
    def _years(self) -> Years:
        return Years(self._digits, self._moments)

    @cached_property
    def _figures(self) -> Figures:
        return Figures(self._digits, self.language, self._moments, self._years)

    def has(self, words: str) -> bool:
        """Whether these words stand there, in that order, perhaps with gaps: ``...``."""
        return self._whole.find(words) is not None

    def unsupported(self, sentence: str, language: str = "") -> list[str]:
        """What of ``sentence`` does not stand on the page, in words for people and models.

        ``language`` is that of the whole script; of a few words nobody can tell.
        """
        if len(sentence) > LONGEST_SENTENCE:
            return [f"wording of more than {LONGEST_SENTENCE:,} characters"]
        text = self._years.completed(folded(_with_clear_dashes(sentence)))
        language = language or language_of(text) or self.language
        digits = in_digits(with_codes(text), language)
        if language == "ja" and self.language not in ("ja", "zh"):
            digits = _JAPANESE_ORDINAL.sub(r"\1th ", digits)
        found = [f"quotation “{quote}”" for quote in self._strange_quotes(text, language)]
        found += [
            f"quotation “{quote}” by this speaker" for quote in self._misattributed(text, language)
        ]
        found += [f"name “{name}”" for name in unknown_names(text, self._words, language)]
        found += [
            f"name “{it[0]}”"
            for it in _CODE.finditer(text)
            if it[2] not in self._codes.get(it[1], {it[2]})
        ]
        dates = [*moments(digits, (language,) if language else ())]
        found += [f"date “{date}”" for date in self._strange_dates(dates)]
        found += [f"number “{it}”" for it in self._figures.unsupported(digits, language, dates)]
        said = _SCORE.finditer(digits) if self._scores else ()
        found += [f"number “{it[0]}”" for it in said if frozenset(it.groups()) not in self._scores]
        if (
            language == "en"
            and self.language == "en"
            and _FORMS["first"].search(text)
            and not _FORMS["earliest"].search(self._plain)
        ):
            found.append("word “first”")
        return [*dict.fromkeys(found)]

    def _strange_quotes(self, text: str, language: str) -> Iterator[str]:
        if language != self.language:
            return  # translated
        for quote in _quotes(text):
            several = len(quote.split()) > 1 or is_caseless(quote)
            stands = bare(quote) in self._plain.casefold() or self.has(_INSIDE.sub(" ... ", quote))
            if several and not stands:
                yield quote.strip()

    @cached_property
    def _people(self) -> frozenset[str]:
        return surnames(self._words)

    def _misattributed(self, text: str, language: str) -> Iterator[str]:
        """The quotations of a sentence that somebody else speaks than it names.

        Who speaks is named in the paragraph of a quotation, or before it, as in: He said. Where
        nobody is named, and of the page's author or subject, nobody can tell.
        """
        said = _QUOTED.sub(" ", text)
        names = named_in(said, self._people) if language == self.language else set()
        top = self.text.lstrip().partition("\n\n")[0]
        if not names or named_in(folded(f"{self.head}\n{top}"), names):
            return
        for quote in _quotes(text):
            place, _ = self.folded.find(_INSIDE.sub(" ... ", quote)) or (0, 0)
            above, _, start = self.text[:place].rpartition("\n\n")
            before = folded(start)
            if before.count('"') % 2 == 0 and before.count("「") <= before.count("」"):
                continue  # the page's own words
            near = _QUOTED.sub(" ", folded(start + self.text[place:].partition("\n\n")[0]))
            if not named_in(near, self._people) or _PRONOUN.search(near):
                near = folded(above.rpartition("\n\n")[2]) + " " + near
            speakers = named_in(near, self._people)
            if speakers and not (speakers & names or capitalized(said) & capitalized(near)):
                yield quote.strip()

    @cached_property
    def _codes(self) -> dict[str, set[str]]:
        """Letters with a number to them, such as CO2: which numbers."""
        codes: dict[str, set[str]] = {}
        for found in _CODE.finditer(self._plain):
            codes.setdefault(found[1], set()).add(found[2])
        return codes

    @cached_property
    def _scores(self) -> set[frozenset[str]]:
        return {frozenset(it) for it in _SCORE.findall(self._digits)}

    @cached_property
    def _whole(self) -> Folded:
        return fold(f"{self.head}\n{self.text}")

    def _strange_dates(self, dates: list[Moment]) -> Iterator[str]:
        """A time that can be read in two ways has two moments in one place."""
        for _, its in groupby(sorted(dates, key=_START), key=_START):
            readings = [*its]
            if not any(map(self._has, readings)):
                yield readings[0].written

    def _has(self, date: Moment) -> bool:
        if any(date.agrees(it) for it in self._moments):
            return True
        year_only = date.year and not (date.month or date.day)
        if year_only or date.year not in self._years.named:
            return bool(year_only and date.year in self._years.named)
        # On a page, the year is said once: "In 2020, ...", and then only days.
        apart = replace(date, year=None)
        return any(
            it.year is None and apart.agrees(it) and self._years.around(it.start) == date.year
            for it in self._moments
        )


def _quotes(text: str) -> Iterator[str]:
    """The quotations in a folded text."""
    return (next(it for it in found.groups() if it) for found in _QUOTED.finditer(text))


def _with_clear_dashes(text: str) -> str:
    """``text`` with every dash before a number in a form that shows whether it may be a minus."""
    return _ITEM_OR_MINUS.sub(r"\1–", _PAUSE.sub("— ", text))
