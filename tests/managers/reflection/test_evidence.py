"""What a reflection says, held against what the game said."""

from __future__ import annotations

import pytest

from managers.reflection.evidence import EvidenceFinder
from tests.support.records import record

SAID = "The gate won't move.\nA brass plate says: PULL TWICE!"
GROUNDS = EvidenceFinder(
    "aaaaaa",
    [record(4, "open gate", 1, 1, response=SAID), record(5, "pull", 1, 1, response="Creak.")],
)


@pytest.mark.parametrize(
    "quote",
    ["The gate won't move", "GATE   WON T MOVE", "move. A brass", "pull twice", f'"{SAID}"'],
)
def test_case_punctuation_and_line_breaks_do_not_matter(quote: str) -> None:
    assert GROUNDS.was_said(4, quote)


@pytest.mark.parametrize(
    "quote",
    ["The gate moves", "he gate won", "gate", "", "...", "A brass gate"],
)
def test_other_words_parts_of_words_and_a_single_word_were_not_said(quote: str) -> None:
    assert not GROUNDS.was_said(4, quote)


def test_a_single_word_is_a_quote_where_it_is_all_that_was_said() -> None:
    assert GROUNDS.was_said(5, "creak")
    assert not GROUNDS.was_said(6, "creak")


def test_evidence_quotes_the_game_whatever_the_model_quoted() -> None:
    true = GROUNDS.evidence(4, '"a brass plate"')
    invented = GROUNDS.evidence(4, "The gate swings open.")
    assert true is not None
    assert invented is not None
    assert true.quote == "a brass plate"
    assert invented.quote == " ".join(SAID.split())
    assert (true.episode, true.turn) == ("aaaaaa", 4)


def test_a_turn_that_is_not_there_gives_no_evidence() -> None:
    assert GROUNDS.evidence(3, "The gate") is None
