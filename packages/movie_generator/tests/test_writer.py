"""Of a script that was written again, only what was wrong is taken."""

from __future__ import annotations

import pytest

from movie_generator.grounding.check import faults
from movie_generator.grounding.evidence import Evidence
from movie_generator.models import VideoScript
from movie_generator.writer import merged

PAGE = Evidence(
    "On 3 March 1834 Anna Lind opened the Harlow Bridge, which is 412 metres long. It was built "
    "for the people of the town, and it is the oldest one that they have. It cost 9,000 pounds."
)


def script(*texts: str, readings: tuple[str, ...] = (), **changes: object) -> VideoScript:
    pairs = zip(texts, readings or texts, strict=True)
    narrations = [{"text": text, "reading": reading, **changes} for text, reading in pairs]
    sections = [{"title": "T", "narrations": [it]} for it in narrations]
    return VideoScript.model_validate({"title": "B", "description": "d", "sections": sections})


def repaired(first: VideoScript, again: VideoScript) -> VideoScript:
    return merged(first, again, faults(first, PAGE, "en"))


@pytest.mark.parametrize(
    ("first", "again", "left"),
    [
        (["It is 421 metres long.", "Lind opened it."], ["It is 412 metres long.", "Someone did."],
         ["It is 412 metres long.", "Lind opened it."]),
        (["It is old.", "It is 421 metres long."], ["It is old."], ["It is old."]),
        (["It is 421 metres long.", "It is old."], ["It is old."], ["It is old."]),
        (["It is old.", "It is 421 metres long."],
         ["A new start.", "It is old.", "It is 412 metres long."],
         ["It is old.", "It is 412 metres long."]),
        (["It is old. It is 421 metres long. Lind opened it."],
         ["It was old. It is 412 metres long. Lind opened it then."],
         ["It is old. It is 412 metres long. Lind opened it."]),
        (["It is old. It is 421 metres long. Lind opened it."], ["It is old. Lind opened it."],
         ["It is old. Lind opened it."]),
        (["It is old. It is 421 metres long."], ["It is old. It is 412 metres long."],
         ["It is old. It is 412 metres long."]),
    ],
)  # fmt: skip
def test_what_was_right_stays_as_it_was(
    first: list[str], again: list[str], left: list[str]
) -> None:
    made = repaired(script(*first), script(*again))
    assert [it.text for section in made.sections for it in section.narrations] == left
    assert [it.reading for section in made.sections for it in section.narrations] == left


def test_titles_pictures_and_what_nobody_complained_of_are_not_replaced() -> None:
    again = script("It is 412 metres long.").model_copy(update={"title": "Else", "sections": []})
    first = script("It is old.")
    assert repaired(first, again) == first


def test_a_narration_whose_reading_cannot_be_divided_is_replaced_as_a_whole() -> None:
    first = script(
        "It is old. It is 421 metres long.", readings=("It is old and 421 metres long.",)
    )
    again = script("It is very old. It is 412 metres long.", readings=("It is old and long.",))
    (section,) = repaired(first, again).sections
    assert section.narrations[0].text == "It is very old. It is 412 metres long."
    assert section.narrations[0].reading == "It is old and long."


def test_where_only_the_source_was_wrong_the_words_stay() -> None:
    first = script("It is old.", source={"quote": "nowhere at all"})
    again = script("Something else.", source={"quote": "the oldest one"})
    narration = repaired(first, again).sections[0].narrations[0]
    assert narration.text == "It is old."
    assert narration.source
    assert narration.source.quote == "the oldest one"
