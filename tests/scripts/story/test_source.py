"""Marks in the source of the bundled story: the original is what they hold, and all are known."""

import re
import tomllib
from pathlib import Path

import pytest

from scripts.story.source import SOURCE, TemplateError, render, render_folder
from scripts.story.variant import TEXTS, Variant
from scripts.story.wording import WORDS
from tests.support import ROOT
from workshop.story.build_story import original

PARTS = [SOURCE, *sorted((SOURCE.parent / SOURCE.stem).glob("*.inf"))]
SEEDS = range(1, 6)
DIRECTION = r"north|east|south|west"
# The dial has all four winds in every variant; HELP explains how to go anywhere.
SAYS_ALL_DIRECTIONS = re.compile(
    rf"north, east, south and west|^({DIRECTION})$|NORTH \(or N\)", re.IGNORECASE
)
# Other meanings of these words, which no variant changes.
OTHER_MEANINGS = re.compile(
    r"can('t| drown| hear|'t see| see| do)|old letters|smaller letters|but fish|Puddle-Stirrer"
    r"|may point|points? to|hundred points|A card beside|It leads|They lead|for bags"
    r"|>weatherworks/[a-z]+|nobody you can|clothes pegs"
)


def test_the_original_is_the_source_without_its_marks() -> None:
    source = "Take {{a kipper}} {{hall>kitchen: west}}{{moves: }} { code; }"

    assert render(source, original) == "Take a kipper west { code; }"


def test_a_variant_is_asked_for_the_label_and_the_text() -> None:
    asked = []

    def value(label: str | None, text: str) -> str:
        asked.append((label, text))
        return "x"

    assert render("{{a kipper}}, {{wind: west}}, {{lady's mantle: b}}", value) == "x, x, x"
    assert asked == [(None, "a kipper"), ("wind", "west"), ("lady's mantle", "b")]


@pytest.mark.parametrize("source", ["a {{b", "a}} b", "{{a {{b}} c}}"])
def test_a_mark_that_is_not_closed_is_named(source: str) -> None:
    with pytest.raises(TemplateError, match="is not closed, or stands in another"):
        render(source, original)


def test_a_mark_that_no_list_knows_is_named() -> None:
    for label, text in ((None, "grapefruit"), ("text.attic", "x"), ("hall>attic", "north")):
        with pytest.raises(TemplateError, match=r"grapefruit|attic"):
            Variant(1)(label, text)


def test_every_mark_of_the_source_has_a_value_in_every_variant(tmp_path: Path) -> None:
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        render_folder(SOURCE, folder, Variant(seed))


def test_every_word_and_text_of_the_lists_is_used() -> None:
    unused = set(tomllib.loads(TEXTS.read_text())["texts"])
    words = tomllib.loads(WORDS.read_text())
    unused |= {*words["words"], *(key for each in words["sets"].values() for key in each)}
    texts = TEXTS.read_text()
    for part in (*(file.read_text() for file in PARTS), texts):
        marks = " ".join(" ".join(mark.split()) for mark in re.findall(r"\{\{.*?\}\}", part, re.S))
        unused = {each for each in unused if each.lower() not in marks.lower()}

    assert not unused


def strings_outside_marks() -> list[str]:
    found = []
    for file in PARTS:
        code = re.sub(r"(?m)^\s*!.*$", "", file.read_text())
        found += re.findall(r'"([^"]*)"', re.sub(r"\{\{.*?\}\}", "@", code, flags=re.S))
    return found


def test_no_text_outside_a_mark_speaks_of_a_direction_or_has_a_word_that_changes() -> None:
    words = tomllib.loads(WORDS.read_text())
    keys = {*words["words"], *(key for each in words["sets"].values() for key in each)}
    changing = re.compile(rf"\b({'|'.join(map(re.escape, keys))})s?\b", re.IGNORECASE)
    for text in strings_outside_marks():
        said = SAYS_ALL_DIRECTIONS.sub("", " ".join(text.split()))
        assert not re.search(rf"\b({DIRECTION})\b", said, re.IGNORECASE), text
        assert not changing.search(OTHER_MEANINGS.sub("", said)), text


def test_the_readme_explains_the_marks() -> None:
    readme = (ROOT / "stories" / "README.md").read_text()
    assert "{{kipper}}" in readme
    assert "words.toml" in readme
    assert "texts.toml" in readme
