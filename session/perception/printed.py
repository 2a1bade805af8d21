"""What the game's words name. What only repeats the player's own words names nothing."""

import re
from collections.abc import Iterable, Set
from functools import lru_cache

_WORD = re.compile(r"\w+(?:'\w+)*")
_LITTLE = frozenset({"a", "an", "and", "for", "from", "in", "of", "on", "the", "to", "with"})
_KEPT = 4096
"""Words and names whose stems are remembered: more than a game has, and each turn asks anew."""


def stems(text: str) -> set[str]:
    """Return the words in ``text``, without the s of a plural."""
    return set(_in_order(text))


def phrases(text: str, echo: Set[str] = frozenset()) -> set[str]:
    """Return the words in ``text``, and each two side by side with little words between them.

    What is made of words of ``echo`` alone is left out.
    """
    words = _in_order(text)
    said, before = set(words) - echo, -1
    for at, word in enumerate(words):
        if word in _LITTLE:
            continue
        if before >= 0 and not {words[before], word} <= echo:
            said.add(" ".join(words[before : at + 1]))
        before = at
    return said


def says(text: str, name: str) -> bool:
    """Tell whether a text has a name in it, word for word."""
    words, wanted = _WORD.findall(text.lower()), _WORD.findall(name.lower())
    if not wanted:
        return False
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def said_here(text: str, room_name: str) -> str:
    """Return the part of an answer that is about the room where the player is at its end.

    It begins with the last line that is the room's name, as games head a description; all of it
    where there is none.
    """
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip()
        if room_name and line.startswith(room_name):
            rest = line[len(room_name) :]
            if not rest or rest.startswith((",", " (")):
                return "\n".join(lines[number:])
    return text


def is_named(name: str, others: Iterable[str], printed: Set[str]) -> bool:
    """Tell whether ``printed`` names the thing: by a noun of its own, or else by its whole name."""
    nouns = _nouns(name)
    if nouns.isdisjoint(printed):
        return False
    shared = {noun for other in others if other != name for noun in _nouns(other)}
    return bool(nouns - shared & printed & nouns) or _telling(name) <= printed


def as_printed(name: str, printed: Set[str]) -> str:
    """Return a name as far as it was printed in one piece, for its author knows more of it."""
    if _telling(name) <= printed:
        return name
    words: list[str] = []
    for word in reversed(name.split()):
        told = _telling(" ".join((word, *words)))
        if told and told <= printed:
            words.insert(0, word)
        elif words:
            break
    while words and words[0] in _LITTLE:
        del words[0]
    return " ".join(words)


@lru_cache(_KEPT)
def _nouns(name: str) -> frozenset[str]:
    """Return the last word of ``name``, and the one before "of"."""
    words = _in_order(name)
    before = words.index("of") - 1 if "of" in words[1:] else -1
    return frozenset({words[-1], words[before]} if words else ())


@lru_cache(_KEPT)
def _telling(name: str) -> frozenset[str]:
    """Return what has to be printed before a name is: its words, and each two side by side."""
    return frozenset(phrases(name) - _LITTLE)


def _in_order(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower())]


@lru_cache(_KEPT)
def _stem(word: str) -> str:
    plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural else word
