"""The saved script: whatever its texts hold, it loads back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from movie_generator import Narration, ScriptSection, VideoScript

PIECES = [
    *("\x85", "\ufeff", "\u2028", "\u2029", "\x00", "\x1b", "\x7f", "\x9f", "\ufffe", "\uffff"),
    *(
        "\U0001f600",
        "\U000e0001",
        "\u202e",
        "\ud83d",
        "\ude00",
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\r\n",
    ),
    *("yes", "no", "null", "~", "1e3", "0x1f", "012", "1_000", "2020-01-01", "12:30:45", "=", "<<"),
    *(
        "---",
        "...",
        "#",
        " # ",
        "- ",
        "? ",
        ": ",
        "'",
        '"',
        "%",
        "@",
        "&a",
        "*a",
        "!!str",
        "|",
        ">",
    ),
    *("a" * 300, "word " * 60, "\N{HIRAGANA LETTER A}" * 150),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=8).map("".join)


def script(text: str) -> VideoScript:
    section = ScriptSection(
        title=text,
        narrations=[Narration(text=text, reading=text, persona_id=text)],
        slide_prompt=text,
    )
    return VideoScript(title=text, description=text, sections=[section])


@pytest.mark.parametrize("name", ["script.yaml", "script.json"])
@settings(max_examples=30)
@given(text=TEXTS)
@example(text="a\x85b")
@example(text="\ufeffa")
@example(text="\x7f")
@example(text="\ud83d")
def test_whatever_a_script_says_it_loads_back_equal(name: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        script(text).save(path)
        assert VideoScript.load(path) == script(text)


def test_half_a_character_becomes_the_mark_of_a_missing_one() -> None:
    assert script("\ud83d\ude00 \ud83d!").title == "\ufffd\ufffd \ufffd!"
    assert script("\U0001f600").title == "\U0001f600"
