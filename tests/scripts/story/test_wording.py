"""The words of a variant: good English in every form, and distinct to the parser."""

import re
import tomllib
from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest

from scripts.story.source import SOURCE, TemplateError
from scripts.story.wording import WORDS, Wording, indefinite_article, plural

LISTS = tomllib.loads(WORDS.read_text(encoding="utf-8"))
DICTIONARY_LETTERS = 9


def alternatives() -> Iterator[tuple[str, list[str]]]:
    for words in (LISTS["words"], *LISTS["sets"].values()):
        yield from words.items()


def wording(**chosen: str) -> Wording:
    """Words that were chosen by name: the first seed that has them."""
    for seed in range(1000):
        words = Wording(Random(seed))
        if all(words(key) == phrase for key, phrase in chosen.items()):
            return words
    raise AssertionError(f"no wording has {chosen}")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("oilskin", "cape"),
        ("an oilskin", "a cape"),
        ("An oilskin", "A cape"),
        ("Oilskin", "Cape"),
        ("OILSKIN", "CAPE"),
        ("a nest", "an eyrie"),
        ("A NEST", "AN EYRIE"),
        ("portraits", "likenesses"),
        ("Portraits", "Likenesses"),
        ("a portrait", "a likeness"),
        ("Great\n   Kettle", "Noble Urn"),
        ("a Great Kettle", "a Noble Urn"),
        ("kettle", "urn"),
        ("KETTLE", "URN"),
        ("Commodore", "Bishop"),
        ("a commodore", "a bishop"),
    ],
)
def test_a_word_is_changed_with_its_article_number_and_capitals(text: str, changed: str) -> None:
    words = wording(
        oilskin="cape", nest="eyrie", portrait="likeness", kettle="urn", Commodore="Bishop"
    )

    assert words(text) == changed


def test_a_word_that_is_in_no_list_is_an_error() -> None:
    with pytest.raises(TemplateError, match="has no word for 'grapefruit'"):
        Wording(Random(1))("a grapefruit")


@pytest.mark.parametrize(
    ("phrase", "article"),
    [("urn", "an"), ("ewer", "a"), ("enamel ewer", "an"), ("herb plot", "a"), ("eyeglass", "an")],
)
def test_articles_go_by_the_sound(phrase: str, article: str) -> None:
    assert indefinite_article(phrase) == article


@pytest.mark.parametrize(
    ("one", "more"), [("galosh", "galoshes"), ("raspberry", "raspberries"), ("tray", "trays")]
)
def test_plurals_are_regular(one: str, more: str) -> None:
    assert plural(one) == more


def test_the_parser_knows_a_thing_by_its_name_and_by_its_synonyms() -> None:
    words = wording(kipper="seed cake", Thrupp="Quill", jar="phial", sunbeam="sunray")

    assert words.names("kipper") == ["seed", "cake"]
    assert words.names("Thrupp's") == ["quill's"]
    assert words.names("jar of sunbeam") == ["phial", "of", "sunray"]


def test_words_that_are_chosen_together_come_in_equal_numbers() -> None:
    for name, words in LISTS["sets"].items():
        assert len({len(others) for others in words.values()}) == 1, name


def test_there_is_a_choice_and_the_original_is_not_among_it() -> None:
    for word, others in alternatives():
        assert len(others) >= 3, word
        names = [other.partition(":")[0].lower() for other in others]
        assert word.lower() not in names, word


def test_the_words_of_different_things_differ_in_the_letters_that_the_parser_keeps() -> None:
    words = {
        word.lower()
        for key, others in alternatives()
        if key[0].islower() or len(key.split()) < 3
        for other in others
        for word in re.findall(r"[\w']+", other)
    }
    words |= {
        word for file in SOURCE.parent.rglob("*.inf") for word in dictionary(file.read_text())
    }
    for one, other in combinations(sorted(words), 2):
        same = one[:DICTIONARY_LETTERS] == other[:DICTIONARY_LETTERS]
        assert not same or one.startswith(other.rstrip("s")) or other.startswith(one.rstrip("s")), (
            one,
            other,
        )


def dictionary(source: str) -> Iterator[str]:
    """The words for things that no variant changes."""
    unmarked = re.sub(r"\{\{.*?\}\}", "", source, flags=re.S)
    for listed in re.findall(r"\bname ((?:'[^']+'\s*)+)", unmarked):
        yield from (word.replace("^", "'") for word in re.findall(r"'([^']+)'", listed))
