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
        words = tomllib.loads(WORDS.read_text(encoding="utf-8"))
        self._words: list[str] = []
        self._forms: dict[str, tuple[str, str, list[str]]] = {}
        """A word of the original, or more than one of them, in small letters -> as it is written,
        what stands for it, and further words for that, which are never printed."""
        for word, others in words["words"].items():
            self._choose(word, random.choice(others))
        for chosen_together in words["sets"].values():
            index = random.randrange(len(next(iter(chosen_together.values()))))
            for word, others in chosen_together.items():
                self._choose(word, others[index])

    def _choose(self, word: str, other: str) -> None:
        phrase, _, synonyms = other.partition(": ")
        self._words.append(word)
        self._forms[word.lower()] = word, phrase, synonyms.split()
        several = plural(word)
        self._forms.setdefault(several.lower(), (several, plural(phrase), phrase.split()))

    def __iter__(self) -> Iterator[str]:
        """The words of the original that are changed."""
        return iter(self._words)

    def __contains__(self, text: str) -> bool:
        return text.lower() in self._forms

    def __call__(self, text: str) -> str:
        """The variant's words for the original's, with article, number and capitals as there.

        Raises: TemplateError when the words are not in the list.
        """
        text = " ".join(text.split())
        match = None if text in self else _ARTICLE.fullmatch(text)
        article, noun = (match[1], match[2]) if match else ("", text)
        if noun not in self:
            raise TemplateError(f"{WORDS.name} has no word for {noun!r}")
        key, phrase, _ = self._forms[noun.lower()]
        phrase = cased_like(noun, key, phrase)
        if not article:
            return phrase
        article = cased_like(article, "a", indefinite_article(phrase))
        return f"{article.upper() if phrase.isupper() else article} {phrase}"

    def names(self, text: str) -> list[str]:
        """The words by which the parser knows what the original calls this, none twice."""
        return list(dict.fromkeys(word.lower() for word in self._names(text)))

    def _names(self, text: str) -> Iterator[str]:
        if text.endswith("'s") and text not in self:
            yield self(text.removesuffix("'s")) + "'s"
        elif text in self:
            yield from self(text).split()
            yield from self._forms[text.lower()][2]
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


def cased_like(text: str, key: str, phrase: str) -> str:
    """A phrase that stands for ``key``, with capitals as in ``text``."""
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
