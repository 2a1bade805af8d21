"""Text for people: foreign text made harmless, numbers made short."""

import re
import unicodedata
from collections.abc import Iterable

_CURSOR_AND_COLOURS = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_TITLES_AND_DATA = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
_OTHER_ESCAPES = r"\x1b[ -/]*[0-~]?"
_ESCAPE_SEQUENCE = re.compile(f"{_CURSOR_AND_COLOURS}|{_TITLES_AND_DATA}|{_OTHER_ESCAPES}")
_LINE_ENDS = re.compile("\r\n?|\v|\f|\x85|\u2028|\u2029")
_EMPTY_LINES = re.compile(r"\n\s*\n")
_HARMFUL = frozenset({"Cc", "Cf", "Cs"})
"""Control, format (such as reversed writing) and surrogate characters."""
_OF_WORDS = frozenset(
    "\u00ad\u061c\u06dd\u070f\u0890\u0891\u08e2\u200b\u200c\u200d\u200e\u200f\u2060"
    "\u0600\u0601\u0602\u0603\u0604\u0605"
)
"""Format characters without which words are misspelt, as in Persian, and emoji fall apart."""


_JOINS = (
    "\ufe00-\ufe0f\U000e0100-\U000e01ef\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    + "".join(sorted(_OF_WORDS))
)
"""Selectors, joiners and fillers: single ones and pairs belong to words and emoji."""
_UNSEEN = re.compile(
    rf"(?P<says>[\U000e0000-\U000e007f]+|[{_JOINS}]{{3,}}"
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4000}(?:\x07|\x1b\\))"
    rf"|\x1b\[[0-?]*[ -/]*[@-~]?|{_OTHER_ESCAPES}"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2061-\u206f\ufeff\ufff9-\ufffb]"
)
"""What shows nothing; what ``says`` something to a model all the same is named."""


def seen(text: str) -> str:
    """``text`` as a person sees it, for a model; where a hidden message was, a mark says so."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(
        lambda it: f"⟨{counted(len(it[0]), 'hidden character')}⟩" if it["says"] else "", text
    )


def harmless(text: object) -> str:
    """``text`` without anything that a terminal would obey; tabs and all lines stay."""
    if (said := str(text)).isprintable():
        return said
    without_sequences = _ESCAPE_SEQUENCE.sub("", said)
    lines = _LINE_ENDS.sub("\n", without_sequences)
    harmful = {it for it in {*lines} - _OF_WORDS if unicodedata.category(it) in _HARMFUL}
    return lines.translate(dict.fromkeys(map(ord, harmful - {"\n", "\t"})))


def plain(text: object) -> str:
    """``text`` harmless and tidy: no tabs, and never more than one empty line."""
    return _EMPTY_LINES.sub("\n\n", harmless(text).expandtabs(4)).strip("\n")


def one_line(text: object, limit: int = 400) -> str:
    """``text`` harmless, on one line, with at most ``limit`` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def address(url: str) -> str:
    """``url`` without a user, password or query, any of which may hold a key."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = re.split(r"[?#]", rest)[0].partition("/")
    return one_line(f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}")


def counted(number: int, noun: str) -> str:
    """For example ``1 turn``, ``1,200 turns`` or ``2 memories``."""
    if number == 1:
        return f"1 {noun}"
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{number:,} {noun[:-1]}ies" if ends_in_y else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """For example ``4 ms``, ``1.2 s``, ``3 min 5 s`` or ``2 h 4 min``."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def tokens(
    prompt_tokens: int = 0, cached_tokens: int = 0, completion_tokens: int = 0, **_: int
) -> str:
    """For example ``1,203 tokens in (1,024 cached), 48 out``; other figures are left out."""
    from_cache = f" ({cached_tokens:,} cached)" if cached_tokens else ""
    return f"{counted(prompt_tokens, 'token')} in{from_cache}, {completion_tokens:,} out"


def dollars(cost: float) -> str:
    """For example ``$0.0004`` or ``$1.25``."""
    return f"${cost:.2f}" if cost >= 0.1 else f"${cost:.2g}" if cost >= 0.0001 else "<$0.0001"


def reason(error: Exception) -> str:
    """Say why a file cannot be used, without the number and the name that Python adds."""
    return str(getattr(error, "strerror", None) or error)


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Such as ``did you mean 'map' or 'maps'?``; empty where nothing known is near."""
    from difflib import get_close_matches  # which --help need not wait for

    names = sorted({*known} - {wrong, ""})
    longer = [name for name in names if wrong and name.lower().startswith(wrong.lower())]
    nearest = longer or get_close_matches(wrong, names, n=1)
    return f"did you mean {' or '.join(map(repr, nearest[:3]))}?" if nearest else ""
