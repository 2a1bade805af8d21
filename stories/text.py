"""The text of a Z-machine story: Z-characters in memory, and what they stand for.

Section 3 of the Z-Machine Standards Document 1.1. What is read may be damaged or made to do harm,
so nothing here reads beyond the story, follows an abbreviation twice, or goes on without end.
"""

from collections.abc import Iterator

LATIN = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"
"""ZSCII 155 and up, where a story has no table of its own (3.8.5.3)."""
_FIRST_EXTRA = 155
_MOST_EXTRA = 97
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    " \n0123456789.,!?_#'\"/\\-:()",
)
_PUNCTUATION_OF_VERSION_1 = " 0123456789.,!?_#'\"/\\<-:()"
_NAMED = {0: "", 9: "   ", 11: "  ", 13: "\n"}
"""Characters that are not printed as they are; a tab is three spaces in Zork I."""
_ESCAPE = 6
_FIRST_LETTER = 6
_MOST_WORDS = 2**11
"""Of one text that no list names the length of."""
_MOST_ABBREVIATED = 2**6


class TextDecoder:
    """Decodes the texts of one story, as they are in its file."""

    def __init__(self, data: bytes, version: int, abbreviations: int, alphabet: int) -> None:
        """Use the tables at these addresses; 0 where a story has none."""
        self._data = data
        self._version = version
        self._abbreviations = abbreviations
        self.extra = _extra_characters(data) if version >= 5 else LATIN
        """The characters for ZSCII 155 and up."""
        self._alphabets = _ALPHABETS
        if version == 1:
            self._alphabets = (*_ALPHABETS[:2], _PUNCTUATION_OF_VERSION_1)
        elif alphabet:
            rows = [
                "".join(self._character(code) or "?" for code in data[start : start + 26])
                for start in range(alphabet, alphabet + 78, 26)
            ]
            self._alphabets = (rows[0], rows[1], " \n" + rows[2][2:])

    def _character(self, code: int) -> str:
        if 32 <= code <= 126:
            return chr(code)
        extra = code - _FIRST_EXTRA
        return self.extra[extra] if 0 <= extra < len(self.extra) else _NAMED.get(code, "")

    def decode(self, address: int, words: int = _MOST_WORDS, *, abbreviate: bool = True) -> str:
        """Decode the text at a byte address, at most so many words; "" where there is none."""
        text: list[str] = []
        alphabet = locked = 0
        waiting: list[int] = []  # for the rest of an abbreviation or of an escape, with its start
        for character in self._z_characters(address, words):
            if waiting:
                waiting.append(character)
                if waiting[0] != _ESCAPE:
                    if abbreviate:
                        text.append(self._abbreviation(32 * (waiting[0] - 1) + character))
                    waiting = []
                elif len(waiting) == 3:
                    text.append(self._character(waiting[1] << 5 | waiting[2]))
                    waiting = []
            elif character >= _FIRST_LETTER:
                if alphabet == 2 and character == _ESCAPE:
                    waiting = [character]
                else:
                    letters = self._alphabets[alphabet]
                    text.append(letters[character - _FIRST_LETTER : character - _FIRST_LETTER + 1])
                alphabet = locked
            elif character == 0:
                text.append(" ")
            elif self._version == 1 and character == 1:
                text.append("\n")
            elif character <= (3 if self._version >= 3 else 1):
                waiting = [character]
            elif self._version >= 3:
                alphabet = character - 3
            else:  # 2 and 3 shift for one character, 4 and 5 until the next shift (3.2.2)
                alphabet = (locked + 1 + character % 2) % 3
                locked = alphabet if character >= 4 else locked
        return "".join(text)

    def _abbreviation(self, number: int) -> str:
        entry = self._abbreviations + 2 * number
        word = int.from_bytes(self._data[entry : entry + 2], "big")
        if not self._abbreviations or not word:
            return ""
        return self.decode(2 * word, _MOST_ABBREVIATED, abbreviate=False)

    def _z_characters(self, address: int, words: int) -> Iterator[int]:
        for start in range(address, min(address + 2 * words, len(self._data) - 1), 2):
            word = self._data[start] << 8 | self._data[start + 1]
            yield word >> 10 & 31
            yield word >> 5 & 31
            yield word & 31
            if word & 0x8000:
                return


def _extra_characters(data: bytes) -> str:
    """Return the characters of the story's own table, or the usual ones (11.1.7, 3.8.5.4)."""
    extension = int.from_bytes(data[0x36:0x38], "big")
    if not extension or int.from_bytes(data[extension : extension + 2], "big") < 3:
        return LATIN
    table = int.from_bytes(data[extension + 6 : extension + 8], "big")
    if not table or table >= len(data):
        return LATIN
    count = min(data[table], _MOST_EXTRA)
    pairs = data[table + 1 : table + 1 + 2 * count]
    return "".join(chr(int.from_bytes(pairs[i : i + 2], "big")) for i in range(0, len(pairs), 2))
