"""A text, sentence by sentence."""

import re

_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st sr jr sen rep gov gen col capt lt sgt rev hon no nr vol fig ca approx vs "
    "inc ltd co corp dept est etc e.g i.e cf al bzw z.b usw "
    "mio mrd tel str ing m mme mlle sra".split()
)
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*(?=\s+\S)|[。！？!?]+[」』）\"”]*|\n+")
_LAST_WORD = re.compile(r"([\w.]+)\.$")
_SPACE = re.compile(r"\s*")
_NEAR = 20
"""Characters before an end that tell of an abbreviation."""


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each with the white space behind it."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        space = _SPACE.match(text, end.end())
        stop = space.end() if space else end.end()
        if _goes_on(text[max(start, end.end() - _NEAR) : end.end()], text[stop : stop + 1]):
            continue
        found.append(text[start:stop])
        start = stop
    return [*found, text[start:]] if text[start:].strip() else found


def _goes_on(before: str, follows: str) -> bool:
    """Whether what looks like an end is inside a sentence: ``Dr. Lind``, ``the 3. of May``."""
    word = _LAST_WORD.search(before)
    if follows.islower():
        return not before.endswith("\n")
    if word is None:
        return False
    last = word[1].casefold()
    one_letter = len(last) == 1 and last.isalpha()
    return last in _ABBREVIATIONS or one_letter or (len(last) <= 2 and last.isdigit())
