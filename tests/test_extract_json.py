"""The JSON object in a model's answer: found as JSON says, in linear time."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_utils import extract_json
from tests.support.work import growth

PIECES = [
    *'{}[]:,"\\ \n',
    *"abuz019-.eE",
    "true",
    "null",
    "NaN",
    '{"a":',
    '"b"',
    '{"a":1}',
    "\\u00e4",
    "é",
]
"""Of texts that are almost JSON."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"action": "look"}', {"action": "look"}),
        ('```json\n{"action": "look"}\n```', {"action": "look"}),
        ('I would {look}: {"action": {"verb": "go"}} - fine?', {"action": {"verb": "go"}}),
        ('{"action": "wait"} or rather {"action": "look"} {}', {"action": "look"}),
        ('{"thinking": "two\nlines"}', {"thinking": "two\nlines"}),
        ('{"a": "}{"}', {"a": "}{"}),
        ("{}", {}),
        ("go north", None),
        ("{'action': 'look'}", None),
        ('{"action": "lo', None),
        ("[1, 2]", None),
        ("", None),
        ('{"a":' * 5000, None),
    ],
)
def test_the_object_in_a_reply_is_found(text: str, found: dict[str, Any] | None) -> None:
    assert extract_json(text) == found


@pytest.mark.parametrize(
    "piece",
    [
        '{"a":',
        '{"a":[',
        '{"a":"',
        '{"a":1,"b":',
        '{"a":{}}',
        '{":"{":"',
        '{"',
        "{",
        "{ ",
        "{}",
        '\\{"',
    ],
)
@pytest.mark.parametrize("before", ["", '{"a":"'])
def test_four_times_the_text_takes_four_times_as_long(before: str, piece: str) -> None:
    def read(size: int) -> None:
        extract_json(before + piece * (size // len(piece)))

    assert growth(read, 15_000) < 9


def test_brackets_around_a_long_text_are_not_each_read_to_its_end() -> None:
    assert growth(lambda size: extract_json('{"a":' * (size // 60) + "[" + "1," * size), 10_000) < 9


@pytest.mark.fuzz
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join)))
def test_what_is_found_is_what_trying_every_bracket_finds(text: str) -> None:
    assert repr(extract_json(text)) == repr(tried_at_every_bracket(text))


@pytest.mark.fuzz
@given(
    st.text("{}[]: ,ab", max_size=20),
    st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=3),
    st.booleans(),
)
def test_an_object_after_any_prose_is_found(
    prose: str, value: dict[str, Any], is_ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert repr(extract_json(f"{prose}\n{text} ")) == repr(json.loads(text))


def tried_at_every_bracket(text: str) -> dict[str, Any] | None:
    """The same, by a decoder that begins anew at every bracket: in quadratic time."""
    decoder = json.JSONDecoder(strict=False)
    found: dict[str, Any] | None = None
    start = text.find("{")
    while start >= 0:
        end = start + 1
        with suppress(ValueError):
            value, end = decoder.raw_decode(text, start)
            found = value or found or {}
        start = text.find("{", end)
    return found
