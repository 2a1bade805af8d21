"""What a page says, as sentences are held against it.

Held against it are numbers with what they count, dates, names and quotations. Whether a sentence
puts together rightly what the page says apart, such as who did what, is beyond this.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from mcp_ghost.tables import compiled
from movie_generator.grounding.dates import moments
from movie_generator.grounding.figures import Figures
from movie_generator.grounding.folding import Folded, bare, folded
from movie_generator.grounding.language import WORDS, is_caseless, language_of
from movie_generator.grounding.names import Words, capitalized, named_in, unknown_names
from movie_generator.grounding.numerals import in_digits
from movie_generator.grounding.units import with_codes

_CELLS = re.compile(r"\||(?<=\d)\s*\n\s*(?=\d)")
"""What divides two numbers that would look like one: 12 | 500."""
_PAUSE = re.compile("(?<![0-9])[—―](?=[0-9])")
"""A dash in a sentence that no other form of writing may turn into a minus."""
_ITEM_OR_MINUS = re.compile(r"^( {0,3})-(?=[ \t]+\d{1,3}(?:[.,]\d{1,2})?[ ]?°)", re.MULTILINE)
"""What would be lost as the mark of an item."""
_LASTED = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d):([0-5]\d)(?![\d:])")
_CODE = re.compile(r"(?<![\w-])([A-Z][A-Za-z]*)-?(\d+)(?![\w.,]\d|\w)")
_SCORE = re.compile(r"(?<![\d:.,])(\d{1,3})(?: ?: ?| zu |[対比])(\d)(?![\d:]|[.,]\d)")
"""A score, such as 3:1, but not a time of day."""
_FORMS = compiled(WORDS["patterns"]["evidence"])
_START = attrgetter("start")
LONGEST_SENTENCE = 5_000
"""Characters."""
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
        return Folded(self.text)

    @cached_property
    def language(self) -> str:
        """Of the page."""
        return language_of(self.text)

    @cached_property
    def _plain(self) -> str:
        text = re.sub(r"\b(?:https?://|www\.)\S+", " ", f"{self.head}\n{self.text}")
        text = re.sub("★+", lambda it: f" {len(it[0])} stars ", text)
        text = _LASTED.sub(r"\g<0> (\1 hours \2 minutes \3 seconds)", text)
        return folded(_CELLS.sub(" ; ", _with_clear_dashes(text)))

    @cached_property
    def _words(self) -> Words:
        return Words(self._plain, self.language)

    @cached_property
    def _figures(self) -> Figures:
        text = with_codes(re.sub(r"(?i)\btwice\b", "2 times", self._plain))
        return Figures(in_digits(text, self.language), self.language)

    def has(self, words: str) -> bool:
        """Whether these words stand there, in that order, perhaps with gaps: ``...``."""
        return self._whole.find(words) is not None

    def unsupported(self, sentence: str, language: str = "") -> list[str]:
        """What of ``sentence`` does not stand on the page, in words for people and models.

        ``language`` is that of the whole script; of a few words nobody can tell.
        """
        if len(sentence) > LONGEST_SENTENCE:
            return [f"wording of more than {LONGEST_SENTENCE:,} characters"]
        text = self._figures.completed(folded(_with_clear_dashes(sentence)))
        language = language or language_of(text) or self.language
        digits = in_digits(with_codes(text), language)
        if language == "ja" and self.language not in ("ja", "zh"):
            digits = re.sub(r"第(\d+)", r"\1th ", digits)
        quotes = [next(filter(None, its)) for its in _FORMS["quoted"].findall(text)]
        if language != self.language:  # the page's are translated
            quotes = []
        found: list[str] = []
        for quote in quotes:
            several = len(quote.split()) > 1 or is_caseless(quote)
            stands = bare(quote) in self._plain.casefold() or self.has(_INSIDE.sub(" ... ", quote))
            if several and not stands:
                found.append(f"quotation “{quote.strip()}”")
        found += [f"quotation “{it}” by this speaker" for it in self._misattributed(text, quotes)]
        found += [f"name “{name}”" for name in unknown_names(text, self._words, language)]
        for code in _CODE.finditer(text):
            if code.groups() not in self._codes and code[1] in dict(self._codes):
                found.append(f"name “{code[0]}”")
        dates = [*moments(digits, (language,))]
        for _, its in groupby(sorted(dates, key=_START), key=_START):
            readings = [*its]
            if not any(map(self._figures.has_date, readings)):
                found.append(f"date “{readings[0].written}”")
        found += [f"number “{it}”" for it in self._figures.unsupported(digits, language, dates)]
        said = _SCORE.finditer(digits) if self._scores else ()
        found += [f"number “{it[0]}”" for it in said if frozenset(it.groups()) not in self._scores]
        claims = language == self.language == "en" and _FORMS["first"].search(text)
        if claims and not _FORMS["earliest"].search(self._plain):
            found.append("word “first”")
        return [*dict.fromkeys(found)]

    def _misattributed(self, text: str, quotes: list[str]) -> Iterator[str]:
        """The quotations of a sentence that somebody else speaks than it names."""
        # Who speaks is named in the paragraph of a quotation, or before it, as in: He said. Where
        # nobody is named, and of the page's author or subject, nobody can tell.
        said = _FORMS["quoted"].sub(" ", text)
        names = named_in(said, self._words.surnames)
        top = self.text.lstrip().partition("\n\n")[0]
        if not names or named_in(folded(f"{self.head}\n{top}"), names):
            return
        for quote in quotes:
            place, _ = self.folded.find(_INSIDE.sub(" ... ", quote)) or (0, 0)
            above, _, start = self.text[:place].rpartition("\n\n")
            before = folded(start)
            if before.count('"') % 2 == 0 and before.count("「") <= before.count("」"):
                continue  # the page's own words
            near = _FORMS["quoted"].sub(" ", folded(start + self.text[place:].partition("\n\n")[0]))
            if not named_in(near, self._words.surnames) or _FORMS["pronoun"].search(near):
                near = folded(above.rpartition("\n\n")[2]) + " " + near
            speakers = named_in(near, self._words.surnames)
            if speakers and not (speakers & names or capitalized(said) & capitalized(near)):
                yield quote.strip()

    @cached_property
    def _codes(self) -> set[tuple[str, str]]:
        """Letters with a number to them, such as CO2."""
        return {*_CODE.findall(self._plain)}

    @cached_property
    def _scores(self) -> set[frozenset[str]]:
        return {frozenset(it) for it in _SCORE.findall(self._figures.text)}

    @cached_property
    def _whole(self) -> Folded:
        return Folded(f"{self.head}\n{self.text}")


def _with_clear_dashes(text: str) -> str:
    """``text`` with every dash before a number in a form that shows whether it may be a minus."""
    return _ITEM_OR_MINUS.sub(r"\1–", _PAUSE.sub("— ", text))
