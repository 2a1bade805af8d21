"""Languages: which one a text is in, and the words and regular expressions of the check for each.

Which one it is, its script tells and its small words. What the check goes by is kept as data.
"""

import re
import unicodedata
from collections import Counter
from contextlib import suppress

from babel import Locale, UnknownLocaleError, localedata
from babel.core import get_global

from mcp_ghost.tables import table

WORDS = table("movie_generator", "grounding/words.toml")
UNITS = table("movie_generator", "grounding/units.toml")
_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in WORDS["small"].items()
}
SMALL = frozenset[str]().union(*_WORDS.values())
"""Words that hold sentences together and name nothing."""
_WORD = re.compile(r"[^\W\d_]+")
OF_SCRIPTS = {script: tuple(its.split()) for script, its in WORDS["of_scripts"].items()}
"""Languages of a text of which `language_of` says only the script."""
_OF_LETTERS = {code: frozenset(its.split()) for code, its in WORDS["letters"].items()}
"""Scripts by their codes (ISO 15924): as Unicode names their letters."""
_JAPANESE = re.compile(r"[\u3040-\u30ff]")


def language_of(text: str) -> str:
    """Such as ``en`` or ``ja``; of other scripts the name in Unicode; if unsure, nothing."""
    sample = text[:20_000]
    letters = Counter(_script(character) for character in sample if character.isalpha())
    if not letters:
        return ""
    if len(_JAPANESE.findall(sample)) * 20 > sum(letters.values()):
        return "ja"
    script = letters.most_common(1)[0][0]
    if script == "CJK":
        return "ja" if _JAPANESE.search(sample) else "zh"
    if script != "LATIN":
        return "ko" if script == "HANGUL" else script.lower()
    words = [word.casefold() for word in _WORD.findall(sample)]
    counts = {it: sum(word in small for word in words) for it, small in _WORDS.items()}
    best = max(counts, key=lambda it: counts[it])
    return best if counts[best] * 12 >= len(words) else ""


def locales(languages: tuple[str, ...]) -> list[Locale]:
    """What CLDR knows of ``languages`` and of English, which everybody uses."""
    return [Locale(it) for it in dict.fromkeys((*languages, "en")) if localedata.exists(it)]


def is_caseless(text: str) -> bool:
    """Whether most of the letters know no capitals."""
    letters = [character for character in text if character.isalpha()]
    return sum(it.lower() == it.upper() for it in letters) * 2 > len(letters)


def language_name(language: str) -> str:
    """The English name of a language: "Japanese" for ``ja``, "Portuguese (Brazil)" for ``pt-BR``.

    Raises:
        ValueError: There is no such language.
    """
    with suppress(UnknownLocaleError, ValueError, TypeError):
        if name := Locale.parse(language, sep="-").english_name:
            return name
    raise ValueError(f"{language!r} is not a language; write a code such as en, ja or pt-BR")


def is_in(text: str, language: str) -> bool:
    """Whether ``text`` may be in ``language``; of a few words, and of many languages, it may."""
    kinds = Counter(_script(it) for it in text if it.isalpha())
    letters = kinds.total()
    if letters < 20:  # of so few, nobody can tell
        return True
    code = language.partition("-")[0].lower()
    tags = language.replace("-", "_")
    likely = get_global("likely_subtags")
    known = likely.get(tags) or likely.get(tags.partition("_")[0]) or ""
    scripts = (it for it in (*tags.split("_"), *known.split("_")) if it in _OF_LETTERS)
    expected = _OF_LETTERS.get(next(scripts, ""), frozenset())
    if expected and sum(kinds[it] for it in expected) * 2 < letters:
        return False
    kana = kinds["HIRAGANA"] + kinds["KATAKANA"]
    if code in ("ja", "zh"):
        return (kana * 20 > letters) == (code == "ja")
    words = [word.casefold() for word in _WORD.findall(text)]
    if "LATIN" not in expected or len(words) < 8:
        return True
    counts = {it: sum(word in small for word in words) for it, small in _WORDS.items()}
    # Languages that are not counted share small words with their neighbours.
    others = [it for it in counts if it != code] if code in counts else ["en", "de"]
    best = max(counts[it] for it in others)
    return best * 6 < len(words) or best <= 3 * counts.get(code, 0)


def _script(character: str) -> str:
    return unicodedata.name(character, "?").split()[0]
