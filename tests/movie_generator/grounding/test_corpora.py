"""What the check lets pass, and what it refuses wrongly, on pages of our own making."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from movie_generator.grounding.evidence import Evidence
from movie_generator.grounding.language import language_of
from tests.movie_generator.grounding import corpus, second_corpus
from tests.movie_generator.grounding.corpus import Case


@pytest.mark.parametrize(
    ("made", "pages", "planted"), [(corpus.cases(), 50, 200), (second_corpus.cases(), 20, 60)]
)
def test_no_planted_fact_passes_and_few_truths_are_refused(
    made: Iterable[Case], pages: int, planted: int
) -> None:
    passed: list[str] = []
    refused: list[str] = []
    told = [0, 0, 0]
    for case in made:
        evidence = Evidence(case.page)
        language = language_of("\n".join(case.true))
        passed += [it for it in case.false if not evidence.unsupported(it, language)]
        refused += [it for it in case.true if evidence.unsupported(it, language)]
        told = [told[0] + 1, told[1] + len(case.true), told[2] + len(case.false)]
    assert told[0] == pages
    assert told[2] >= planted
    assert passed == []
    assert len(refused) <= 0.02 * told[1], refused
