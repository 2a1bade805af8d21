"""Units of measure and currencies by the words that Unicode's CLDR knows for them."""

import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import groupby

from babel import Locale
from babel.numbers import get_currency_name, get_currency_symbol
from babel.units import format_unit

from movie_generator.grounding.language import UNITS, is_caseless, locales

_FACTORS: dict[str, float] = UNITS["factors"]
_CURRENCIES: list[str] = UNITS["currencies"].split()
_LOCAL_SIGN = re.compile(
    r"(?<![\w$-])(Rs|RM|Rp|[KUT]S?h|[KUT]Sh|GH₵|R\$|NT\$|MX\$|S\$|HK\$|S/|zł"
    r"|[QRN](?=\d{2,}(?:[.,]\d{3})*(?![\w-])|\d[\d.,]* ?(?:k|m|mn|bn|thousand|million|billion)\b))"
    r"\.?\s?(?=\d)|([₦฿₱₪₫₴₵৳₺])\s?(?=\d)"
)
_NO_WORDS = {"in", "a", "m.", "as", "try", "pen", "mad", "cop", "clp", "all", "ron", "sol", "soles"}
_WORD_END = r"(?![A-Za-z0-9\u00c0-\u1fff])"
SIGNS = {it.casefold(): frozenset({it}) for it in _CURRENCIES}
SIGNS |= {sign: frozenset(codes.split()) for sign, codes in UNITS["signs"].items()}
"""What may stand before a number: which currencies it may mean."""
MONEY = re.compile(rf"({'|'.join(map(re.escape, SIGNS))})\s?$", re.IGNORECASE)
SHARE = frozenset({"share"})
_UNLIKE = ("temperature", "electric", "light")
"""Temperatures have other zeros; volts, amperes and ohms measure different things."""
DEGREES = frozenset({"temperature-celsius", "temperature-fahrenheit", "angle-degree"})
_PARTS = {"currency-cent": {*SIGNS["$"], "EUR"}, "currency-penny": {"GBP"}}
"""Of which currencies they are hundredths."""


def factors(one: str, other: str) -> tuple[float, float] | None:
    """What numbers in two units are multiplied by to be compared; None where they cannot be."""
    if other in _PARTS.get(one, ()):
        return 0.01, 1.0
    if one in _PARTS.get(other, ()):
        return 1.0, 0.01
    kind = one.partition("-")[0]
    alike = one in _FACTORS and other in _FACTORS and other.partition("-")[0] == kind
    if alike and kind not in _UNLIKE:
        return _FACTORS[one], _FACTORS[other]
    return (1.0, 1.0) if one == other else None


class Units:
    """The units as a language and English write them."""

    def __init__(self, language: str) -> None:
        self.words: dict[str, frozenset[str]] = defaultdict(frozenset)
        """What may follow a number, in lower case: which units it may mean."""
        for locale in locales((language,)):
            for word, unit in _words(locale):
                self.words[word] |= {unit}
        # Between letters a word has an end; in Japanese, anything may follow. The end is said once
        # for all words of a length: to compile it takes a millisecond, and there are a thousand.
        listed = sorted(self.words, key=lambda it: (len(it), is_caseless(it)), reverse=True)
        groups = groupby(listed, is_caseless)
        alike = [(caseless, "|".join(map(re.escape, its))) for caseless, its in groups]
        ends = [some if caseless else f"(?:{some}){_WORD_END}" for caseless, some in alike]
        self.after = re.compile(rf"[ -]?({'|'.join(ends)})(?!-round\b)", re.IGNORECASE)


units = cache(Units)


def with_codes(text: str) -> str:
    """``text`` with the codes of currencies for the signs of their countries: GTQ 5 for Q5."""
    return _LOCAL_SIGN.sub(lambda it: f"{UNITS['local_signs'][it[1] or it[2]]} ", text)


def _words(locale: Locale) -> list[tuple[str, str]]:
    language = locale.language
    found = [(word, "share") for word in (*UNITS["share"].get(language, ()), "%")]
    for word in UNITS["degrees"].get(language, ()):
        found += [(word, scale) for scale in sorted(DEGREES)]
    for unit in _FACTORS:
        for length in ("long", "short"):
            for count in (1, 2, 5):
                text = format_unit(count, unit, length=length, locale=locale)
                # Without the number, and as folded text has it: km2.
                word = unicodedata.normalize("NFKC", re.sub(r"[0-9]", "", text).strip()).casefold()
                found += [(word, unit)] if word else []
                if language == "de" and word.endswith("er"):
                    found.append((f"{word}n", unit))  # mit Millilitern
    more = UNITS["more"].get(language, {})
    found += [(word, unit) for unit, its in more.items() for word in its]
    for code in _CURRENCIES:
        for count in (1, 2, 5):
            name = get_currency_name(code, count, locale).casefold()
            # In some languages the noun comes first: couronne suédoise.
            noun = name.split()[0 if language in ("fr", "es", "pt", "it") else -1]
            found += [(name, code), (noun, code)]
        found += [(code.casefold(), code), (get_currency_symbol(code, locale).casefold(), code)]
    if language != "en":  # where a ton is a metric one
        found = [it for it in found if it[1] != "mass-ton"]
    words = _NO_WORDS | ({"real", "won", "bit", "bits"} if language == "en" else set())
    return [(word, unit) for word, unit in found if word not in words]
