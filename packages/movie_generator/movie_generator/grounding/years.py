"""The years of a page, and what they say of decades, centuries and the time between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from movie_generator.grounding.dates import Moment
from movie_generator.grounding.quantities import Quantity, same
from movie_generator.grounding.words import patterns

_PATTERNS = patterns("years")
_CENTURY = _PATTERNS["century"]
_DECADE = _PATTERNS["decade"]
_LATER = _PATTERNS["later"]
_YEAR = re.compile(r"(?<![\d.,])(1\d{3}|20\d{2})(?![\d]|[.,]\d)")
_REACH = 300
"""Characters."""
_CLOSING = re.compile(r"(?<![\d.,])(1\d|20)\d\d[-/](\d\d)(?![\d.,-])")
_SHORT = re.compile(r"(?<![\w.,])'(\d\d)(?![\w'])")


@dataclass(frozen=True)
class Years:
    """Those of one page, as sentences are held against them."""

    text: str
    """Folded, its numerals in digits."""
    moments: list[Moment]
    """The dates in it."""

    @cached_property
    def named(self) -> list[int]:
        """In the order in which they are named."""
        named = [int(it) for it in _YEAR.findall(self.text)]
        closing = [int(f"{it[1]}{it[2]}") for it in _CLOSING.finditer(self.text)]
        return named + closing + [it.year for it in self.moments if it.year]

    def around(self, place: int) -> int | None:
        """The year that was named last before ``place``, or soon behind it."""
        before = _YEAR.findall(self.text, max(0, place - _REACH), place)
        behind = _YEAR.findall(self.text, place, place + _REACH // 3)
        return int(before[-1]) if before else int(behind[0]) if behind else None

    def completed(self, text: str) -> str:
        """``text`` with ``'72`` as the year of the page that ends so."""

        def whole(short: re.Match[str]) -> str:
            return next((f"{it}" for it in self.named if f"{it}".endswith(short[1])), short[0])

        return _SHORT.sub(whole, text)

    def spans(self, text: str) -> Iterator[tuple[range, bool]]:
        """Where ``text`` names a century or a decade, and whether the page knows it."""
        for found in _CENTURY.finditer(text):
            century = int(next(it for it in found.groups() if it))
            yield range(*found.span()), self._has_century(century)
        for found in _DECADE.finditer(text):
            yield range(*found.span()), self._has_decade(*_decade(found.groups()))

    def _has_century(self, century: int) -> bool:
        named = {int(it) for found in _CENTURY.findall(self.text) for it in found if it}
        return century in named or any((year - 1) // 100 + 1 == century for year in self.named)

    def _has_decade(self, century: str | None, decade: int) -> bool:
        named = [_decade(its) for its in _DECADE.findall(self.text)]
        years = [(str(year // 100), year % 100 // 10 * 10) for year in self.named]
        return any(
            decade == its and (not century or not c or c == century) for c, its in named + years
        )

    def lie_between(self, said: Quantity, text: str) -> bool:
        """Whether ``said`` is the time between two years that follow each other on the page."""
        if "duration-year" not in said.units:
            return False
        gaps: set[int] = set()
        if _LATER.search(text) or said.is_rounded:
            gaps = {abs(a - b) for a, b in zip(self.named, self.named[1:], strict=False)}
        # In 1909, when he was 55: one of the years is the sentence's own.
        named = {int(it) for it in _YEAR.findall(text)} & {*self.named}
        gaps |= {abs(a - b) for a in named for b in self.named}
        between = Quantity(
            "", frozenset(map(float, gaps)), frozenset({"duration-year"}), digits=0, place=0
        )
        return same(said, between)


def _decade(groups: tuple[str | None, ...]) -> tuple[str, int]:
    """Its century, or nothing, and its first year in that."""
    return "".join(it or "" for it in groups[::2]), int("".join(it or "" for it in groups[1::2]))
