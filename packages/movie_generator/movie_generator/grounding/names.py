"""Names: what is written with a capital where nothing else asks for one.

In German every noun has a capital, so there only words in a row, or after a title, are names. Where
letters know no capitals, a name is what stands before a form of address, or is in other letters.
"""

import re
import sys
from collections.abc import Iterator, Sequence, Set
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import hunspell
from hunspell import Hunspell

from mcp_ghost.tables import compiled
from movie_generator.grounding.folding import without_accents
from movie_generator.grounding.language import WORDS, is_caseless
from movie_generator.grounding.numerals import in_digits
from movie_generator.grounding.units import units

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_TITLES = frozenset(WORDS["names"]["titles"].split())
_FUNCTION = frozenset(WORDS["names"]["function"].split())
_RELATED = {word: its.split() for its in WORDS["names"]["places"] for word in its.split()}
_SHAPES = frozenset(WORDS["names"]["shapes"].split())
"""What a place is may be said with its name."""
_NO_GERMAN_NAME = frozenset(WORDS["names"]["no_german"].split())
_WITHOUT_CASES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Languages whose names keep their form."""
_BRITISH: dict[str, str] = WORDS["british"]
_FORMS = compiled(WORDS["patterns"]["names"])
_INFLECTED = re.compile(r"(?:e|er|es|en|em|s)$")
_ADJECTIVE = re.compile(r"(?:ians?|eans?|ans?|ese|ish|ic|i|ns?|ers?)$")
_PLACE_ENDS = frozenset({"", "a", "y", "ia", "land", "lands", "e", "o", "en", "any", "al"})
_INSIDE_NAMES = frozenset("of and for the de la du des für und".split())
_LONGEST_NAME = 8
"""Words that may have initials."""
_HIRAGANA = "".join(map(chr, range(0x3041, 0x3097)))
_DOTTED = re.compile(r"[\u30a1-\u30ffー]+(?:[・=][\u30a1-\u30ffー]+)+")


class Words:
    """The words of a folded page, as names are looked for among them."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.language = language
        self.capitals: dict[str, list[int]] = {}
        """Words with a capital, without accents: where each stands among all words."""
        self.lower: set[str] = set()
        self.initials: set[str] = set()
        """Of words in a row that have capitals."""
        run: list[str] = []
        previous_end = 0
        for number, found in enumerate(_WORD.finditer(text)):
            word = found[0]
            if word[0].isupper() or is_caseless(word):
                for part in {word, re.sub(r"'s?$", "", word)}:
                    self.capitals.setdefault(without_accents(part), []).append(number)
            else:
                self.lower.add(without_accents(word))
            joined = text[previous_end : found.start()].strip() in ("", "-", "&")
            if word[0].isupper():
                run = [*run[:_LONGEST_NAME], word] if joined else [word]
                letters = "".join(it[0] for it in run)
                if len(run) <= _LONGEST_NAME:
                    self.initials |= {letters[at:].casefold() for at in range(len(letters) - 1)}
            elif not joined or word not in _INSIDE_NAMES:
                run = []
            previous_end = found.end()

    @cached_property
    def surnames(self) -> frozenset[str]:
        """What people's names end with, or begin with where no letters are capitals."""
        if self.language == "ja":
            return frozenset(it[0][:2] for it in _FORMS["addressed"].finditer(self.text))
        runs = _runs(self.text, self.language, self)
        return frozenset(run[-1].casefold() for run in runs if len(run) > 1)

    def places(self, word: str) -> Sequence[int]:
        """Where a name stands, in whatever form."""
        key = without_accents(word)
        ends = [it for it in ("'s", "'", "s", "es") if len(key.removesuffix(it)) > 2]
        for form in (key, *map(key.removesuffix, ends), f"{key}s"):
            if form in self.capitals:
                return self.capitals[form]
        if related := _RELATED.get(key):
            return next((self.capitals[it] for it in related if it in self.capitals), ())
        if self.language not in _WITHOUT_CASES and len(key) > 3:  # Лондон, Лондоне
            start = key[: max(3, len(key) - 3)]
            alike = (it for it in self.capitals if it.startswith(start))
            alike = (it for it in alike if abs(len(it) - len(key)) <= 3)
            return self.capitals.get(next(alike, ""), ())
        start = key[: max(4, len(key) - 2)]
        if any(it.startswith(start) and _FORMS["demonym"].search(it) for it in self.lower):
            return (0,)
        alike = (it for it in self.capitals if _same_place(key, it))
        return self.capitals.get(next(alike, ""), ())


def _same_place(one: str, other: str) -> bool:
    """Whether one is the adjective of the other: Chilean, Chile."""
    for adjective, place in ((one, other), (other, one)):
        if end := _ADJECTIVE.search(adjective):
            base = adjective[: end.start()]
            if len(base) >= 3 and place.startswith(base) and place[len(base) :] in _PLACE_ENDS:
                return True
    return False


def unknown_names(sentence: str, page: Words, language: str) -> Iterator[str]:
    """The names in a folded sentence that the page does not have."""
    if is_caseless(sentence):
        yield from _unknown_addressed(sentence, page)
    if language in ("ja", "zh"):
        text = without_accents(page.text)
        for name in re.findall(r"(?<![A-Za-z])[A-Z][A-Za-z]{2,}", sentence):
            if name.casefold() not in text and name.casefold() not in page.initials:
                yield name
        return
    if language != page.language or not language:
        return  # names are translated: Wien, Vienna
    for run in _runs(sentence, language, page):
        shapes = _SHAPES if len(run) > 1 else frozenset()
        missing = [it for it in run if it.casefold() not in shapes and not page.places(it)]
        if language == "de":
            some = 0 < len(missing) < len(run)
            if len(run) < 2 or (some and not _has_other_surname(run, missing, page)):
                continue  # Harlow Brücke may be how the writer calls the bridge
        is_short = len(run) == 1 and run[0].isupper() and run[0].casefold() in page.initials
        if missing and not is_short:
            yield " ".join(run)
        for one, other in () if missing else pairwise(run):
            is_word = page.language == "en" and _is_english(one.casefold())
            if is_word or {without_accents(one), without_accents(other)} & page.lower:
                continue
            near = {place + by for place in page.places(other) for by in range(-3, 4)}
            if near.isdisjoint(page.places(one)):  # names on the page, but never near each other
                yield f"{one} {other}"
                break


def named_in(text: str, surnames: Set[str]) -> set[str]:
    """Which of ``surnames`` a folded text has."""
    if is_caseless(text):
        return {it for it in surnames if it in text}
    return {*surnames} & {re.sub(r"'s?$", "", it).casefold() for it in _WORD.findall(text)}


def capitalized(text: str) -> set[str]:
    """The words of a folded text that may be names."""
    words = (it for it in _WORD.findall(text) if it[0].isupper())
    return {it for it in words if it.casefold() not in _FUNCTION | _TITLES}


def _runs(sentence: str, language: str, page: Words) -> Iterator[list[str]]:
    """Words of a name that stand in a row; some rows are empty."""
    run: list[str] = []
    end = 0
    starts = True
    shouted = sentence.upper() == sentence
    for found in _WORD.finditer(sentence):
        word = found[0]
        above, between = sentence[max(0, end - 40) : end], sentence[end : found.start()]
        if between.strip(" -") or not between:
            is_title = _FORMS["abbreviated"].search(above)
            ends = re.search(r"[.!?:\"(¡¿]\s*$", between) and not is_title
            starts = starts or bool(ends)
            yield run
            run = []
        before = "" if run else above.rpartition(" ")[2]
        money = _FORMS["money"].match(sentence, found.end())
        if not money and _is_name(word, language, page, starts=starts, shouted=shouted):
            run.append(word)
            if language == "de" and before.casefold().strip(".") in _TITLES:
                yield [word, word]
        else:
            yield run
            run = []
        starts = False
        end = found.end()
    yield run


def _is_name(word: str, language: str, page: Words, *, starts: bool, shouted: bool) -> bool:
    key = word.casefold()
    plain = re.sub(r"'(?:s|ll|d|ve|re)?$", "", key)
    if not word[0].isupper() or plain in _FUNCTION or plain in _TITLES or len(plain) < 2:
        return False
    if language == "de" and (plain in _NO_GERMAN_NAME or plain in units("de").words):
        return False
    if language == "de" and starts:  # Rudolf Virchow, and not: Viele Menschen
        return not shouted and not (_INFLECTED.search(plain) or in_digits(plain, language) != plain)
    if language != "en":
        return not starts and not shouted
    proves_nothing = starts or shouted or (word.isupper() and len(word) > 2)
    if without_accents(plain) in page.lower:  # such as lottie_k
        return not proves_nothing and _is_english(plain)
    return not proves_nothing or bool(page.places(plain)) or not _is_english(plain)


def _has_other_surname(run: list[str], missing: list[str], page: Words) -> bool:
    """Whether the page has a word of it before another name, and never without one."""
    for first, last in pairwise(run):
        word = rf"(?<![^\W\d_]){re.escape(first)}(?![^\W\d_])(.{{0,2}})"
        follows = re.findall(word, page.text)
        if last in missing and follows and all(it[1:].isupper() for it in follows):
            return not first.endswith("er")  # Berliner may stand before any noun
    return False


def _unknown_addressed(sentence: str, page: Words) -> Iterator[str]:
    for found in [*_FORMS["addressed"].finditer(sentence), *_DOTTED.finditer(sentence)]:
        name = found[0]
        # The run may begin with a word that belongs to something else.
        written = len(name.rstrip(_HIRAGANA))
        last = min(written, len(name) - 1)
        parts = [re.escape(name[start:]) for start in range(max(1, last))]
        # What is short is a name by itself, and not the end of another one.
        for start in range(max(2, written - 2), len(parts)):
            parts[start] = r"(?<![\u4e00-\u9fff])" + parts[start]
        known = page.language != "ja" or re.search("|".join(parts), page.text)
        if not known and not _FORMS["no_name_before"].search(name):
            yield name


@cache
def _dictionary() -> Hunspell:
    files = Path(hunspell.__file__).parent / "dictionaries"  # whatever HUNSPELL_DATA names
    encoding = sys.getfilesystemencoding()
    return Hunspell("en_US", hunspell_data_dir=str(files), system_encoding=encoding)


def _is_english(word: str) -> bool:
    """Whether ``word``, in lower case, is an English word and not a name."""
    forms = {word, word.replace("'", "")}
    forms |= {re.sub(british, american, word) for british, american in _BRITISH.items()}
    try:
        return any(map(_dictionary().spell, forms))
    except UnicodeEncodeError:  # a letter that no word of the dictionary has
        return False
