"""Text as it is compared: without Markdown, typographic variants and the shape of white space.

A folded text knows where each of its characters stood, so that what is found in it can be shown in
the page's own text.
"""

import re
import unicodedata

_VARIANTS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\ufeff\u200e\u200f", ""),
        "…": "...",
        "٬": ",",
        "٫": ".",
        "٪": "%",
        # Halves of pairs, which UTF-8 cannot hold.
        **{chr(half): "\ufffd" for half in range(0xD800, 0xE000)},
    }
)
# What Markdown adds to the words: where a link leads, and marks around words and before lines.
_MARKUP = re.compile(
    r"\]\([^)\s]{0,2000}+(?:\s\"[^\"\n]{0,200}\")?\)|\\(?=[^\w\s])|!?\[|\]|[*`|]+"
    r"|(?<!\w)_+|_+(?!\w)|^[ ]{0,3}(?:#{1,6}|>|[-+])[ \t]+",
    re.MULTILINE,
)
_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75", "⅓": ".333", "⅔": ".667"}
_GAP = re.compile(r"\s*(?:\[[^\]]{0,100}\]|\.\.\.)\s*")


class Folded:
    """A text without marks, in one form of each character, with single blanks."""

    def __init__(self, text: str) -> None:
        characters: list[str] = []
        self.places: list[int] = []
        """Where each of its characters stood."""
        end = 0
        for mark in [*_MARKUP.finditer(text), None]:
            for place in range(end, mark.start() if mark else len(text)):
                shown = text[place].translate(_VARIANTS)
                if shown in _FRACTIONS:  # 1½ is 1.5, and NFKC would make it 11/2
                    whole = "" if characters and characters[-1].isdigit() else "0"
                    shown = whole + _FRACTIONS[shown]
                for character in unicodedata.normalize("NFKC", shown):
                    blank = character.isspace()
                    if blank and (not characters or characters[-1] == " "):
                        continue
                    characters.append(" " if blank else character.translate(_VARIANTS))
                    self.places.append(place)
            if mark and mark[0].strip() in {"|", "||"} and characters and characters[-1] != " ":
                characters.append(" ")
                self.places.append(mark.start())
            end = mark.end() if mark else end
        self.text = "".join(characters)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Where, in the original, stands what ``quote`` repeats, perhaps with gaps: ``...``."""
        parts = [part for it in _GAP.split(quote.translate(_VARIANTS)) if (part := bare(it))]
        if not parts:
            return None
        lower = self.text.casefold() if len(self.text.casefold()) == len(self.text) else self.text
        first, *others = map(re.escape, parts)
        # Each part is looked for once (an atomic group), so that the time stays linear, and not far
        # from the one before.
        behind = (rf"(?>.{{0,400}}?{part})" for part in others)
        found = re.search(first + "".join(behind), lower, re.DOTALL)
        return found and (self.places[found.start()], self.places[found.end() - 1] + 1)


def folded(text: str) -> str:
    """The text of ``Folded``, composed: what its parts mean together."""
    return unicodedata.normalize("NFKC", Folded(text).text)


def bare(text: str) -> str:
    """A quotation as it is looked for: in lower case, without the marks at its ends."""
    return Folded(text).text.strip(" \t\n.,;:!?\"'").casefold()


def without_accents(word: str) -> str:
    """``word`` in lower case and in letters without accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
