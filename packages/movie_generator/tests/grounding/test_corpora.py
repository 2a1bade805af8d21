"""What the check lets pass, and what it refuses wrongly, on pages of our own making.

Those in files were written without knowledge of the check. It was improved after each of them but
`unseen.json`: only that one says how it does on pages that it has not seen. Whoever improves the
check by those pages gives them a number and writes others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest

from movie_generator.grounding.evidence import Evidence
from movie_generator.grounding.language import language_of
from tests.support import DATA
from tests.support import grounding_corpus as corpus
from tests.support.grounding_corpus import Case

PAGES = DATA / "grounding"
PASSING = {
    "Milford won by three goals to one.",  # its words stand on the page, apart
    "Councillor Nkemelu couldn't come.",
    "En el guardarropa hubo colas de media jornada.",  # a unit in words that are not a number
    "Die Bauarbeiten leitete ein Ingenieur namens August Rehmann.",  # in German, nouns are capitalized
    "Die meisten Hitzetage zählte man in Karlsruhe, nämlich vierunddreißig.",
    "Gebacken wurde es früher im Gemeindebackhaus von Niederkirchen.",
    "For a pet, the landlord may ask for an extra deposit of up to two weeks' rent.",
    "On exposed headlands the gusts could hit eighty-five knots.",  # as many miles per hour stand there
    "The interim dividend is five and a quarter pounds a share.",  # in a table of pence and pounds
    "Die Firma sitzt übrigens in Hannover.",
    "Umgebaut hat die Anlage die Firma Steurer und Wolf.",
    "Die Strecke ist 2.140 Kilometer lang.",  # or 2.140, which is as many as 2,140 metres
    "La fête de la tomme a lieu chaque année en novembre.",
    "El concurso le dio un premio de quinientos duros y una prueba en la emisora.",
}
"""Planted facts that the check cannot tell."""


def written(name: str) -> Iterator[Case]:
    """The pages of a file, each with what is true and what is false of it."""
    for it in json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8")):
        yield Case(it["page"][:30], it["page"], tuple(it["true"]), tuple(it["false"]))


def judged(made: Iterable[Case]) -> tuple[list[str], list[str]]:
    """The truths that are refused, and the planted facts that pass."""
    refused: list[str] = []
    passed: list[str] = []
    for case in made:
        evidence = Evidence(case.page)
        language = language_of("\n".join(case.true))
        refused += [it for it in case.true if evidence.unsupported(it, language)]
        passed += [it for it in case.false if not evidence.unsupported(it, language)]
    return refused, passed


@pytest.mark.soak
def test_of_200_facts_planted_on_50_pages_none_passes_and_no_truth_is_refused() -> None:
    made = [*corpus.cases()]
    assert len(made) == 50
    assert sum(len(case.false) for case in made) >= 200
    assert judged(made) == ([], [])


@pytest.mark.parametrize(
    ("name", "truths", "refusals"),
    [
        ("second", 76, 0),
        ("third", 100, 4),
        ("fourth", 50, 4),
        ("fifth", 200, 3),
        ("sixth", 200, 1),
        ("seventh", 150, 0),
        ("eighth", 150, 0),
        ("ninth", 300, 4),
        ("tenth", 300, 2),
        ("eleventh", 300, 3),
    ],
)
def test_planted_facts_do_not_pass_and_few_truths_are_refused(
    name: str, truths: int, refusals: int
) -> None:
    made = [*written(name)]
    assert sum(len(case.true) for case in made) == truths
    refused, passed = judged(made)
    assert not {*passed} - PASSING
    assert len(refused) <= refusals, refused


def test_on_pages_that_the_check_was_not_made_by_it_does_nearly_as_well() -> None:
    refused, passed = judged(written("unseen"))
    assert len(refused) <= 6, refused
    assert len(passed) <= 5, passed
