from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.text import address, dollars, duration, one_line, plain

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@given(st.text())
def test_plain_text_never_holds_what_a_terminal_obeys(text: str) -> None:
    assert not CONTROL.search(plain(text))
    assert plain(plain(text)) == plain(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[1;31mb\x1b[0mc", "abc"),
        ("a\x1b]8;;http://evil\x1b\\b", "ab"),
        ("a\x1bPdata\x1b\\b", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\x1b(Bb\x1b=c", "abc"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("one\n\n \n\ntwo\n", "one\n\ntwo"),
        ("tab\tstop", "tab stop"),
        ("lone \ud800 half", "lone  half"),
        ("کتاب\u200cها", "کتاب\u200cها"),  # noqa: RUF001  books in Persian
        ("👩\u200d👧 Bundes\u00adkanzler", "👩\u200d👧 Bundes\u00adkanzler"),
        ("\u202eback\u2066wards\u2069", "backwards"),
    ],
)
def test_escape_sequences_go_and_lines_stay(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_long_text_is_cut_where_it_can_be_seen() -> None:
    assert one_line("word " * 100, 20) == "word word word word…"


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (0.00004, "<$0.0001"),
        (0.00042, "$0.00042"),
        (0.05, "$0.05"),
        (0.5, "$0.50"),
        (12.3, "$12.30"),
    ],
)
def test_costs_look_like_prices(cost: float, shown: str) -> None:
    assert dollars(cost) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0036, "4 ms"),
        (1.24, "1.2 s"),
        (59.97, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7440, "2 h 4 min"),
    ],
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        ("http://me:secret@host:8000/v1?key=secret#x", "http://host:8000/v1"),
        ("http://secret@host", "http://host"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert address(url) == shown
