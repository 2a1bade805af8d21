"""What a variant of the bundled story calls things: its words, in the forms that the text needs."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from scripts.story.source import TemplateError

WORDS = Path(__file__).resolve().parents[2] / "stories" / "weatherworks" / "words.toml"
_ARTICLE = re.compile(r"(an?) (.+)", re.IGNORECASE)
_SOUNDS_LIKE_A_CONSONANT = ("ewer", "eu", "one", "uni", "use")
_SMALL = frozenset({"of", "the"})


class Wording:
    """The words that a variant uses in place of the original's."""

    def __init__(self, random: Random) -> None:
        """Choose them."""
        words = tomllib.loads(WORDS.read_text(encoding="utf-8"))
        self._phrases: dict[str, str] = {}
        self._synonyms: dict[str, list[str]] = {}
        """Further words for a thing, which are never printed."""
        self._keys: dict[str, str] = {}
        for word, others in words["words"].items():
            self._choose(word, random.choice(others))
        for chosen_together in words["sets"].values():
            index = random.randrange(len(next(iter(chosen_together.values()))))
            for word, others in chosen_together.items():
                self._choose(word, others[index])

    def _choose(self, word: str, other: str) -> None:
        phrase, _, synonyms = other.partition(": ")
        self._phrases[word] = phrase
        self._synonyms[word] = synonyms.split()
        self._keys[word.lower()] = word

    def __iter__(self) -> Iterator[str]:
        """The words of the original that are changed."""
        return iter(self._phrases)

    def __contains__(self, text: str) -> bool:
        return self._find(text) is not None

    def __call__(self, text: str) -> str:
        """The variant's words for the original's, with article, number and capitals as there.

        Raises: TemplateError when the words are not in the list.
        """
        text = " ".join(text.split())
        match = None if text.lower() in self._keys else _ARTICLE.fullmatch(text)
        article, noun = (match[1], match[2]) if match else ("", text)
        if (found := self._find(noun)) is None:
            raise TemplateError(f"{WORDS.name} has no word for {noun!r}")
        phrase = _cased_like(noun, *found)
        if not article:
            return phrase
        article = _cased_like(article, "a", indefinite_article(phrase))
        return f"{article.upper() if phrase.isupper() else article} {phrase}"

    def _find(self, text: str) -> tuple[str, str] | None:
        """The word of the list that this is a form of, and what stands for it."""
        if key := self._keys.get(text.lower()):
            return key, self._phrases[key]
        for key, phrase in self._phrases.items():
            if text.lower() == plural(key).lower():
                return plural(key), plural(phrase)
        return None

    def names(self, text: str) -> list[str]:
        """The words by which the parser knows what the original calls this, none twice."""
        return list(dict.fromkeys(word.lower() for word in self._names(text)))

    def _names(self, text: str) -> Iterator[str]:
        if text.endswith("'s") and text not in self:
            yield self(text.removesuffix("'s")) + "'s"
        elif text in self:
            yield from self(text).split()
            yield from self._synonyms.get(self._keys.get(text.lower(), ""), ())
            for key, phrase in self._phrases.items():
                if plural(key).lower() == text.lower():
                    yield from phrase.split()
        else:
            for word in text.split():
                yield from self.names(word) if word not in _SMALL else [word]


def plural(phrase: str) -> str:
    """More than one of them; the lists hold no word that does otherwise."""
    if phrase.endswith(("s", "x", "ch", "sh")):
        return phrase + "es"
    if re.search("[^aeiou]y$", phrase):
        return phrase.removesuffix("y") + "ies"
    return phrase + "s"


def indefinite_article(phrase: str) -> str:
    """A or an, as it sounds."""
    word = phrase.lower()
    return "an" if word[0] in "aeiou" and not word.startswith(_SOUNDS_LIKE_A_CONSONANT) else "a"


def _cased_like(text: str, key: str, phrase: str) -> str:
    if text == key or not text[0].isupper():
        return phrase if text == key else phrase.lower()
    if text.isupper() and len(text) > 1:
        return phrase.upper()
    if len(text.split()) > 1 and text.istitle():
        return titled(phrase)
    return phrase[0].upper() + phrase[1:]


def titled(phrase: str) -> str:
    """The name of a room."""
    return " ".join(word if word in _SMALL else word.capitalize() for word in phrase.split())
