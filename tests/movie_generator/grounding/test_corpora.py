"""What the check lets pass, and what it refuses wrongly, on pages of our own making."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from movie_generator.grounding.evidence import Evidence
from movie_generator.grounding.language import language_of
from tests.movie_generator.grounding import corpus, fourth_corpus, second_corpus, third_corpus
from tests.movie_generator.grounding.corpus import Case

PASSING = {
    "Milford won by three goals to one.",  # its words stand on the page, apart
    "Councillor Nkemelu couldn't come.",
    "Das Land Steiermark schießt 1,8 Millionen Euro zu.",  # in German, every noun has a capital
    "Trainer Jonas Krause nimmt es mit Humor.",
}
"""Planted facts beyond what the check can see."""


@pytest.mark.parametrize(
    ("made", "pages", "planted", "refusals"),
    [
        pytest.param(corpus.cases(), 50, 200, 0, marks=pytest.mark.soak, id="first"),
        pytest.param(second_corpus.cases(), 20, 60, 0, id="second"),
        pytest.param(third_corpus.cases(), 20, 60, 5, id="third"),
        pytest.param(fourth_corpus.cases(), 10, 30, 5, id="fourth"),
    ],
)
def test_planted_facts_do_not_pass_and_few_truths_are_refused(
    made: Iterable[Case], pages: int, planted: int, refusals: int
) -> None:
    passed: list[str] = []
    refused: list[str] = []
    told = [0, 0]
    for case in made:
        evidence = Evidence(case.page)
        language = language_of("\n".join(case.true))
        passed += [it for it in case.false if not evidence.unsupported(it, language)]
        refused += [it for it in case.true if evidence.unsupported(it, language)]
        told = [told[0] + 1, told[1] + len(case.false)]
    assert told[0] == pages
    assert told[1] >= planted
    assert not {*passed} - PASSING
    assert len(refused) <= refusals, refused
