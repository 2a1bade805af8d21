"""Texts that say the same: compared by the words that carry their meaning.

Two texts are near-duplicates when all such words of one stand in the other too and make up at
least half of it. A word that each has alone ("red" and "blue", "3" and "5") tells them apart, and
so does what is denied, a condition, or the order of steps. Told apart wrongly, a thing is kept
twice, which costs a line; taken for the same wrongly, it would be lost.
"""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ENDINGS = ("ing", "ed", "es", "s", "e")
_DENYING = "not no never cannot without nothing nobody neither nor"
_CONDITIONS = frozenset(("only", "unless", "until", "except"))
_STEPS = frozenset(("then", "befor", "after", "first"))  # without their endings
_ARTICLES = frozenset(("a", "an", "the", "some", "my", "your"))
_TAKING = frozenset(("tak", "get", "grab", "fetch", "obtain", "collect", "acquir"))
_EMPTY = """a an the this that these those some any there here it its they them their he him his she
her i me my we you your yourself player one is are was were be been being am has have had do does
did can could may might will would shall should must seem appear and or but so also as which who
what where of to at by for with from into onto contain hold reveal show see seen find found look
lie sit stand room location place again very now just currently"""
_NEGATIONS, _EMPTY_WORDS = frozenset(_DENYING.split()), frozenset(_EMPTY.split())


def near_duplicates(first: str, second: str) -> bool:
    """Tell whether one of the texts says all that the other does, and not much more."""
    one, other = content_words(first), content_words(second)
    less, more = sorted((frozenset(one), frozenset(other)), key=len)
    if not less or not less <= more or 2 * len(less) < len(more):
        return False
    if (more - less) & _CONDITIONS or (len(less) == 1 and len(more) > 1):
        return False
    return not more & _STEPS or _shared(one, less) == _shared(other, less)


def says_more(new: str, old: str) -> bool:
    """Tell whether ``new``, a near-duplicate of ``old``, has words that ``old`` lacks."""
    return len(set(content_words(new))) > len(set(content_words(old)))


@lru_cache(maxsize=8192)  # each text is held against many others
def content_words(text: str) -> tuple[str, ...]:
    """Return the words that carry the meaning, without their endings; what is denied is marked."""
    words: list[str] = []
    denied = ""
    for word in _WORD.findall(text.casefold().replace("\u2019", "'")):
        stem = _stem(word)
        if word in _NEGATIONS or word.endswith("n't"):
            denied = "not "
        elif not {word, stem} & _EMPTY_WORDS:
            words.append(denied + ("get" if stem in _TAKING else stem))
            denied = ""
    return tuple(words)


def same_thing(name: str, other: str) -> bool:
    """Tell whether two names may mean one thing: the words of one are all in the other."""
    words, others = name_words(name), name_words(other)
    return bool(words and others) and (words <= others or others <= words)


def name_words(name: str) -> frozenset[str]:
    """Return the words of a thing's or a room's name."""
    return frozenset(_WORD.findall(name.casefold())) - _ARTICLES


def _shared(words: tuple[str, ...], shared: frozenset[str]) -> list[str]:
    """Return the ``shared`` words in the order in which they first come."""
    return list(dict.fromkeys(word for word in words if word in shared))


def _stem(word: str) -> str:
    """Roughly: "opening", "opens" and "opened" come to one."""
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and not (ending == "s" and rest.endswith("s")):
            doubled = ending in ("ing", "ed") and rest[-1] == rest[-2] and rest[-1] not in "ls"
            return rest[:-1] if doubled else rest
    return word
