"""What is said: sentence by sentence, and how long it takes, by estimate."""

import re

_WORDS_A_SECOND = 2.5
"""150 a minute, as audio books are read (en.wikipedia.org/wiki/Words_per_minute)."""
_SIGNS_A_SECOND = 5.0
"""Of Chinese, Japanese and Korean: 300 a minute, as news are read."""
_LETTERS_A_WORD = 9
"""At most, on average; where words are not divided, as in Thai, letters tell how many there are."""
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
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def seconds(text: str) -> float:
    """The time for ``text``, at least half a second for anything that is said."""
    signs = len(_SIGNS.findall(text))
    others = _SIGNS.sub(" ", text).split()
    letters = sum(it.isalnum() for word in others for it in word)
    words = max(sum(any(map(str.isalnum, it)) for it in others), letters / _LETTERS_A_WORD)
    spoken = signs / _SIGNS_A_SECOND + words / _WORDS_A_SECOND
    return max(0.5, spoken) if text.strip() else 0.0


def is_dense(text: str) -> bool:
    """Whether ``text`` is mostly of signs that stand for syllables or words."""
    return len(_SIGNS.findall(text)) * 2 > len(text)


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each with the white space behind it."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        space = _SPACE.match(text, end.end())
        stop = space.end() if space else end.end()
        before = text[max(start, end.end() - _NEAR) : end.end()]
        word = _LAST_WORD.search(before)
        last = word[1].casefold() if word else ""
        # What looks like an end may be inside a sentence: "Dr. Lind", "the 3. of May".
        short = (len(last) == 1 and last.isalpha()) or (len(last) <= 2 and last.isdigit())
        goes_on = short or last in _ABBREVIATIONS
        if text[stop : stop + 1].islower():
            goes_on = not before.endswith("\n")
        if stop > start and not goes_on:
            found.append(text[start:stop])
            start = stop
    return [*found, text[start:]] if text[start:].strip() else found
