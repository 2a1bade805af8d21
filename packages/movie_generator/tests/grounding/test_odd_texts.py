"""Texts that no careful writer sends: the check answers, soon, and lets nothing pass for them."""

from __future__ import annotations

import pytest

from movie_generator.grounding.evidence import LONGEST_SENTENCE, Evidence
from movie_generator.speech import sentences
from tests.support.work import growth

TEXT = "The bridge of the town is 412 metres long. It was opened on 3 May 1834, at 5."
SENTENCE = "At 6, Anna Lind saw 5 bridges of 8 miles, for the 4th time, on 3 May 1999."
HALF_A_PAIR = "\ud83d"


def test_a_number_with_more_digits_than_a_float_holds_supports_nothing_and_is_refused() -> None:
    endless = "9" * 400
    assert Evidence(TEXT).unsupported(f"It is {endless} metres long.", "en")
    page = Evidence(f"{TEXT} Its number is {endless}, and it weighs {endless} tons.")
    assert page.unsupported("It has 731 lamps and weighs 52 tons.", "en")


def test_half_a_surrogate_pair_is_a_character_as_any_other() -> None:
    page = Evidence(f"{TEXT} {HALF_A_PAIR}", head=HALF_A_PAIR)
    assert page.unsupported(f"{HALF_A_PAIR} It is 412 metres long.", "en") == []


def test_digits_of_another_script_are_told_from_each_other() -> None:
    page = Evidence("الجسر طوله ٣.٢ كم")
    assert page.unsupported("طوله ٣.٢ كم", "arabic") == []
    assert page.unsupported("طوله ١.٢ كم", "arabic")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["12:30 ", "A-", "3 May or ", "3. ", "Aa I ", "Mon 3 May ", "]("])
def test_a_page_of_one_thing_over_and_over_is_read_in_time_that_grows_with_its_length(
    part: str,
) -> None:
    def read(size: int) -> None:
        page = Evidence(f"{TEXT} {part * (size // len(part))}")
        assert page.unsupported(SENTENCE, "en")

    assert growth(read, 1_000) < 9


@pytest.mark.parametrize("part", ["⅓ ", "1 ", "1, ", "ﷺ ", "5 to 12 ", "午前"])
def test_a_sentence_longer_than_any_speaker_would_say_is_unsupported(part: str) -> None:
    text = part * 50_000
    assert len(text) > LONGEST_SENTENCE
    assert Evidence(TEXT).unsupported(text, "en") == ["wording of more than 5,000 characters"]


@pytest.mark.parametrize("part", [".", "Dr. ", "3. ", "a. ", "!", "\n"])
def test_sentences_are_told_apart_in_time_that_grows_with_their_length(part: str) -> None:
    def tell(size: int) -> None:
        text = f"A{part * (size // len(part))}"
        assert "".join(sentences(text)) == text
        assert all(sentences(text))

    assert growth(tell, 10_000) < 9
