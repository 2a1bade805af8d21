"""The text encoding of the Z-machine: packed characters, abbreviations, alphabets, ZSCII."""

from collections.abc import Iterator
from functools import lru_cache

_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    " \n0123456789.,!?_#'\"/\\-:()",
)
# Standard 1.1, table 1: ZSCII 155 upwards where the story has no table of its own.
_EXTRA = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"
_FIRST_EXTRA = 155


class TextDecoder:
    """Decodes the texts of one story (Z-Machine Standards Document 1.1, section 3)."""

    def __init__(self, data: bytes) -> None:
        """Read the story's abbreviations and alphabets; `data` is the whole image."""
        self._data = data
        self._version = data[0]
        self._abbreviations = self._word(0x18)
        self._extra = self._extra_characters()
        self._alphabets = self._own_alphabets() or _ALPHABETS

    def _word(self, address: int) -> int:
        return int.from_bytes(self._data[address : address + 2], "big")

    def _own_alphabets(self) -> tuple[str, ...] | None:
        table = self._word(0x34) if self._version >= 5 else 0
        if not table:
            return None
        letters = "".join(self.character(code) for code in self._data[table : table + 78])
        # The first two characters of the third row keep their fixed meaning (3.5.5.1).
        return letters[:26], letters[26:52], " \n" + letters[54:78]

    def _extra_characters(self) -> str:
        extension = self._word(0x36) if self._version >= 5 else 0
        table = self._word(extension + 6) if extension and self._word(extension) >= 3 else 0
        if not table:
            return _EXTRA
        first = table + 1
        return "".join(chr(self._word(first + 2 * i)) for i in range(self._data[table]))

    def character(self, code: int) -> str:
        """The character that a ZSCII code prints, "" for none (3.8)."""
        if code == 13:
            return "\n"
        if 32 <= code <= 126:
            return chr(code)
        index = code - _FIRST_EXTRA
        return self._extra[index] if 0 <= index < len(self._extra) else ""

    def text(self, address: int, *, limit: int | None = None) -> str:
        """The text at a byte address, at most `limit` bytes of it."""
        return "".join(self._decode(self._characters(address, limit), nested=False))

    def _characters(self, address: int, limit: int | None) -> Iterator[int]:
        end = min(len(self._data) - 1, address + limit if limit else len(self._data))
        while address < end:
            word = self._word(address)
            yield from (word >> 10 & 31, word >> 5 & 31, word & 31)
            if word & 0x8000:
                return
            address += 2

    def _decode(self, codes: Iterator[int], *, nested: bool) -> Iterator[str]:
        alphabet = 0
        for code in codes:
            if code in (4, 5):
                alphabet = code - 3
                continue
            if code == 0:
                yield " "
            elif code <= 3:
                if not nested:  # an abbreviation inside an abbreviation is illegal (3.3.1)
                    yield self._abbreviation(32 * (code - 1) + next(codes, 0))
            elif alphabet == 2 and code == 6:
                yield self.character(next(codes, 0) << 5 | next(codes, 0))
            else:
                yield self._alphabets[alphabet][code - 6]
            alphabet = 0

    @lru_cache(maxsize=96)  # noqa: B019 - 96 short texts, and one decoder a story
    def _abbreviation(self, number: int) -> str:
        address = 2 * self._word(self._abbreviations + 2 * number)
        return "".join(self._decode(self._characters(address, None), nested=True))
