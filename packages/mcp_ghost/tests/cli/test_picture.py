"""Pictures of calls: a value can be told from its picture, whatever it is."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_ghost.cli.picture import lines, picture, word

HOSTILE = [
    *("a", "b", " ", "  ", "\n", "\r", "\t", "\x1b[8m", "\x00", "\\n", "\\", '"', "…", "—", "⏎"),
    *(
        "│",
        "▸",
        "→",
        "⟨",
        "⟩",
        "⟨U+000A⟩",
        "⟨9 spaces⟩",
        "·",
        "\u200b",
        "\u202e",
        "\u2066",
        "\u00ad",
    ),
    *(
        "\u0430",
        "\u0301",
        "é",
        "\u2028",
        "\x85",
        "\ud800",
        "\U000e0041",
        "\ufeff",
        "ﬁ",
        "\uff21",
        "日本",
        "ー",
    ),
    *(
        "→ list of 2",
        "→ null",
        "# a comment\nrm -rf ~",
        " " * 20,
        "ש",
        "\u3164",
        "\ufe0f",
        "का",
        "é",
    ),
]


def read(rows: list[str]) -> dict[str, Any]:
    """The arguments of which ``rows`` are the picture."""
    left = rows[:]

    def text(drawn: str) -> str:
        drawn = re.sub(r"⟨(\d+) spaces⟩", lambda it: " " * int(it[1]), drawn.replace("·", " "))
        return re.sub(r"⟨U\+([0-9A-F]+)⟩", lambda it: chr(int(it[1], 16)), drawn)

    def entry() -> tuple[str, Any]:
        name, mark, drawn = re.split(
            " ([│→]) ?", left.pop(0).lstrip(" ").removeprefix("▸ "), maxsplit=1
        )
        if mark == "│":
            while drawn.endswith("⏎"):
                drawn = drawn[:-1] + "⟨U+000A⟩" + re.sub("^ *│ ?", "", left.pop(0))
            return text(name), text(drawn)
        if sized := re.fullmatch(r"(list|object) of (\d+)", drawn):
            parts = [entry() for _ in range(int(sized[2]))]
            return text(name), dict(parts) if sized[1] == "object" else [it for _, it in parts]
        return text(name), {"null": None, "true": True, "false": False}.get(drawn, drawn)

    found = []
    while left:
        found.append(entry())
    return dict(found)


def hostile(rng: random.Random, depth: int = 2) -> Any:  # noqa: ANN401
    kind = rng.random()
    if depth and kind < 0.15:
        return {text(rng): hostile(rng, depth - 1) for _ in range(rng.randrange(4))}
    if depth and kind < 0.3:
        return [hostile(rng, depth - 1) for _ in range(rng.randrange(4))]
    return rng.choice([None, True, False]) if kind < 0.4 else text(rng)


def text(rng: random.Random) -> str:
    return "".join(rng.choices(HOSTILE, k=rng.randrange(6)))


def test_ten_thousand_hostile_calls_can_be_told_from_their_pictures() -> None:
    rng = random.Random(7)
    for _ in range(10_000):
        call = {text(rng): hostile(rng) for _ in range(rng.randrange(3))}
        rows = picture(call)
        assert read(rows) == call, call
        assert not re.search(
            r"[\x00-\x1f\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2066-\u2069]", "".join(rows)
        )


VALUES = st.text() | st.none() | st.booleans()


@given(st.dictionaries(st.text(), st.recursive(VALUES, st.lists, max_leaves=10), max_size=5))
def test_any_call_can_be_told_from_its_picture(call: dict[str, Any]) -> None:
    assert read(picture(call)) == call


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        ("ls -la", ["ls -la"]),
        ("echo hello # a comment\nrm -rf ~", ["echo hello # a comment⏎", "rm -rf ~"]),
        ("a\r\nb", ["a⟨U+000D⟩⏎", "b"]),
        ("echo \x1b[8mrm", ["echo ⟨U+001B⟩[8mrm"]),
        ("report.txt\u00ad", ["report.txt⟨U+00AD⟩"]),
        (" a  b" + " " * 300 + "; rm", ["·a··b⟨300 spaces⟩; rm"]),
        ("p\u0430ypal", ["p⟨U+0430⟩ypal"]),
        ("Привет, Welt", ["Привет, Welt"]),
        ("मुझे", ["मुझे"]),
        ("Tシャツを買う。", ["Tシャツを買う。"]),
        ("שלום", ["שלום"]),
        ("rm ש -rf", ["rm ⟨U+05E9⟩ -rf"]),
        ("e\u0301 é", ["e⟨U+0301⟩ é"]),
        ("don\u2019t", ["don⟨U+2019⟩t"]),
    ],
)
def test_what_is_plain_stays_readable_and_what_is_not_is_named(
    value: str, drawn: list[str]
) -> None:
    assert lines(value) == drawn


def test_a_name_in_our_own_sentence_is_one_word() -> None:
    assert word("rm wants\n") == "rm⟨U+0020⟩wants⟨U+000A⟩"
