"""How long it takes to say a text, by estimate."""

import re

_WORDS_A_SECOND = 2.5
"""150 a minute, as audio books are read (en.wikipedia.org/wiki/Words_per_minute)."""
_SIGNS_A_SECOND = 5.0
"""Of Chinese, Japanese and Korean: 300 a minute, as news are read."""
_LETTERS_A_WORD = 9
"""At most, on average; where words are not divided, as in Thai, letters tell how many there are."""
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def seconds(text: str) -> float:
    """The time for ``text``, at least half a second for anything that is said."""
    signs = len(_SIGNS.findall(text))
    others = _SIGNS.sub(" ", text).split()
    letters = sum(it.isalnum() for word in others for it in word)
    words = max(sum(any(map(str.isalnum, it)) for it in others), letters / _LETTERS_A_WORD)
    spoken = signs / _SIGNS_A_SECOND + words / _WORDS_A_SECOND
    return max(0.5, spoken) if text.strip() else 0.0
