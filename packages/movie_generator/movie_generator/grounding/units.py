"""Units of measure and currencies by the words that Unicode's CLDR knows for them."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_name, get_currency_symbol
from babel.units import format_unit

_FACTORS = {
    "length-kilometer": 1000,
    "length-meter": 1,
    "length-centimeter": 0.01,
    "length-millimeter": 0.001,
    "length-mile": 1609.344,
    "length-yard": 0.9144,
    "length-foot": 0.3048,
    "length-inch": 0.0254,
    "length-micrometer": 1e-6,
    "length-nanometer": 1e-9,
    "length-nautical-mile": 1852,
    "length-light-year": 9.4607e15,
    "mass-tonne": 1000,
    "mass-kilogram": 1,
    "mass-gram": 0.001,
    "mass-milligram": 1e-6,
    "mass-microgram": 1e-9,
    "mass-stone": 6.35029318,
    "mass-pound": 0.45359237,
    "mass-ounce": 0.028349523125,
    "mass-ton": 907.18474,
    "area-square-kilometer": 1e6,
    "area-square-meter": 1,
    "area-hectare": 1e4,
    "area-acre": 4046.8564224,
    "area-square-mile": 2589988.110336,
    "area-square-foot": 0.09290304,
    "volume-cubic-meter": 1000,
    "volume-liter": 1,
    "volume-hectoliter": 100,
    "volume-deciliter": 0.1,
    "volume-centiliter": 0.01,
    "volume-milliliter": 0.001,
    "volume-gallon": 3.785411784,
    "volume-quart": 0.946352946,
    "volume-pint": 0.473176473,
    "volume-cup": 0.2365882365,
    "volume-fluid-ounce": 0.0295735296,
    "volume-tablespoon": 0.0147867648,
    "volume-teaspoon": 0.0049289216,
    "volume-cubic-centimeter": 0.001,
    "volume-cubic-foot": 28.316846592,
    "volume-cubic-kilometer": 1e12,
    "duration-millisecond": 0.001,
    "duration-second": 1,
    "duration-minute": 60,
    "duration-hour": 3600,
    "duration-day": 86400,
    "duration-week": 604800,
    "duration-month": 2629800,
    "duration-year": 31557600,
    "duration-decade": 315576000,
    "duration-century": 3155760000,
    "speed-kilometer-per-hour": 1 / 3.6,
    "speed-meter-per-second": 1,
    "speed-mile-per-hour": 0.44704,
    "speed-knot": 0.514444,
    "power-watt": 1,
    "power-kilowatt": 1e3,
    "power-megawatt": 1e6,
    "power-gigawatt": 1e9,
    "power-horsepower": 745.7,
    "energy-kilowatt-hour": 860.42,
    "energy-kilocalorie": 1,
    "energy-joule": 1 / 4184,
    "energy-kilojoule": 1 / 4.184,
    "digital-bit": 1 / 8,
    "digital-kilobit": 125,
    "digital-megabit": 125e3,
    "digital-gigabit": 125e6,
    "digital-byte": 1,
    "digital-kilobyte": 1e3,
    "digital-megabyte": 1e6,
    "digital-gigabyte": 1e9,
    "digital-terabyte": 1e12,
    "temperature-celsius": 1,
    "temperature-fahrenheit": 5 / 9,
    "temperature-kelvin": 1.0001,
    "frequency-hertz": 1,
    "frequency-kilohertz": 1e3,
    "frequency-megahertz": 1e6,
    "frequency-gigahertz": 1e9,
    "electric-volt": 1,
    "electric-ampere": 1,
    "electric-milliampere": 1,
    "electric-ohm": 1,
    "pressure-bar": 1e5,
    "pressure-millibar": 100,
    "pressure-hectopascal": 100,
    "pressure-pascal": 1,
    "pressure-kilopascal": 1000,
    "pressure-megapascal": 1e6,
    "pressure-pound-force-per-square-inch": 6894.757,
    "light-lumen": 1,
    "light-lux": 1,
    "angle-degree": 1,
}
"""Each unit in those of its kind; what cannot be converted only has to differ."""
_CURRENCIES = (
    "USD EUR GBP JPY CNY CHF CAD AUD NZD INR BRL RUB KRW SEK NOK DKK PLN CZK TRY MXN ZAR HKD SGD "
    "AED ARS BDT CLP COP CRC EGP ETB GHS GTQ HUF IDR ILS KES LKR MAD MYR NGN PEN PHP PKR RON SAR "
    "THB TWD UAH UGX UYU VND TZS"
).split()
_LOCAL_SIGNS = {
    "Q": "GTQ", "R": "ZAR", "N": "NGN", "₦": "NGN", "Rs": "INR", "RM": "MYR", "Rp": "IDR",
    "KSh": "KES", "Ksh": "KES", "USh": "UGX", "TSh": "TZS", "฿": "THB", "₱": "PHP", "S/": "PEN",
    "R$": "BRL", "₪": "ILS", "₫": "VND", "₴": "UAH", "₵": "GHS", "GH₵": "GHS", "NT$": "TWD",
    "S$": "SGD", "HK$": "HKD", "৳": "BDT", "₺": "TRY",
}  # fmt: skip
"""What stands before a number in the country itself (Unicode CLDR, symbol-alt-narrow)."""
_LOCAL_SIGN = re.compile(
    r"(?<![\w$-])(Rs|RM|Rp|[KUT]S?h|[KUT]Sh|GH₵|R\$|NT\$|S\$|HK\$|S/"
    r"|[QRN](?=\d{2,}(?:[.,]\d{3})*(?![\w-])|\d[\d.,]* ?(?:k|m|mn|bn|thousand|million|billion)\b))"
    r"\.?\s?(?=\d)|([₦฿₱₪₫₴₵৳₺])\s?(?=\d)"
)
_NO_WORDS = {"in", "a", "as", "try", "pen", "mad", "cop", "clp", "all", "ron", "sol", "soles"}
_SHARE = {
    "en": ("percent", "per cent", "percents", "pct"),
    "de": ("prozent",),
    "fr": ("pour cent", "pourcent"),
    "es": ("por ciento",),
    "pt": ("por cento",),
    "it": ("per cento",),
    "nl": ("procent",),
    "ja": ("パーセント",),
}
_MORE = {
    "en": {
        "kilometre": "length-kilometer",
        "kilometres": "length-kilometer",
        "metre": "length-meter",
        "metres": "length-meter",
        "centimetre": "length-centimeter",
        "centimetres": "length-centimeter",
        "millimetre": "length-millimeter",
        "millimetres": "length-millimeter",
        "litre": "volume-liter",
        "litres": "volume-liter",
        "tonne": "mass-tonne",
        "tonnes": "mass-tonne",
        "ton": "mass-ton",
        "tons": "mass-ton",
        "square metres": "area-square-meter",
        "square kilometres": "area-square-kilometer",
        "cubic metres": "volume-cubic-meter",
        "kmh": "speed-kilometer-per-hour",
        "kph": "speed-kilometer-per-hour",
        "miles per hour": "speed-mile-per-hour",
        "miles an hour": "speed-mile-per-hour",
        "kilometres an hour": "speed-kilometer-per-hour",
        "kilometers an hour": "speed-kilometer-per-hour",
        "metres per second": "speed-meter-per-second",
        "calorie": "energy-kilocalorie",
        "calories": "energy-kilocalorie",
        "lumens": "light-lumen",
        "p": "currency-penny",
        "kilometres per hour": "speed-kilometer-per-hour",
        "s": "duration-second",
        "ms": "duration-millisecond",
        "kilo": "mass-kilogram",
        "kilos": "mass-kilogram",
        "h": "duration-hour",
        "hrs": "duration-hour",
        "mins": "duration-minute",
        "secs": "duration-second",
        "c": "temperature-celsius",
        "f": "temperature-fahrenheit",
        "gigs": "digital-gigabyte",
        "bucks": "USD",
        "reais": "BRL",
        "naira": "NGN",
        "rupiah": "IDR",
        "quetzales": "GTQ",
        "quid": "GBP",
        "yrs": "duration-year",
        "cents": "currency-cent",
        "cent": "currency-cent",
        "¢": "currency-cent",
        "pence": "currency-penny",
        "year-old": "duration-year",
    },
    "de": {
        "jahren": "duration-year",
        "monaten": "duration-month",
        "tagen": "duration-day",
        "metern": "length-meter",
        "kilometern": "length-kilometer",
        "stundenkilometer": "speed-kilometer-per-hour",
        "stundenkilometern": "speed-kilometer-per-hour",
    },
    "fr": {"kilomètres à l'heure": "speed-kilometer-per-hour"},
    "ja": {
        "キロ": "length-kilometer",
        "トン": "mass-tonne",
        "年間": "duration-year",
        "日間": "duration-day",
        "ヶ月": "duration-month",
        "カ月": "duration-month",
        "歳": "duration-year",
    },
    "zh": {"元": "CNY"},
}
_DEGREES = {
    "en": ("degree", "degrees"),
    "de": ("grad",),
    "fr": ("degré", "degrés"),
    "es": ("grado", "grados"),
    "pt": ("grau", "graus"),
    "it": ("grado", "gradi"),
    "nl": ("graden",),
}
"""Which degrees, nobody says."""
_SIGNS = {"$": "dollar", "€": "EUR", "£": "GBP", "¥": "JPY CNY", "₹": "INR", "₩": "KRW", "₽": "RUB"}
_RUPEES = "INR PKR LKR"
_DOLLARS = "USD CAD AUD NZD HKD SGD"
SHARE = frozenset({"share"})
DEGREES = frozenset({"temperature-celsius", "temperature-fahrenheit", "angle-degree"})
PARTS = {
    "currency-cent": frozenset({*_DOLLARS.split(), "EUR"}),
    "currency-penny": frozenset({"GBP"}),
}
"""Of which currencies they are hundredths."""


@dataclass(frozen=True)
class Units:
    """The units of one or several languages."""

    words: dict[str, frozenset[str]]
    """What may follow a number, in lower case: which units it may mean."""
    after: re.Pattern[str]
    before: re.Pattern[str]


def kind_and_factor(unit: str) -> tuple[str, float]:
    """Such as ``("length", 1000.0)``; what cannot be converted is a kind of its own."""
    # Temperatures have other zeros; volts, amperes and ohms measure different things.
    if unit in _FACTORS and not unit.startswith(("temperature", "electric", "light")):
        return unit.partition("-")[0], float(_FACTORS[unit])
    return unit, 1.0


@cache
def units(languages: tuple[str, ...]) -> Units:
    """The units as ``languages`` write them, besides English, which everybody uses."""
    words: dict[str, set[str]] = {}
    for language in dict.fromkeys((*languages, "en")):
        for word, unit in _words(language):
            words.setdefault(word, set()).add(unit)
    # Between letters a word has an end; a Japanese unit may be followed by anything.
    listed = sorted(words, key=len, reverse=True)
    ends = [re.escape(it) + (r"(?![^\W_])" if it[-1].isascii() else "") for it in listed]
    after = re.compile(rf"[ -]?({'|'.join(ends)})(?!-round\b)", re.IGNORECASE)
    signs = [re.escape(sign) for sign in _before()]
    before = re.compile(rf"({'|'.join(sorted(signs, key=len, reverse=True))})\s?$", re.IGNORECASE)
    return Units({word: frozenset(its) for word, its in words.items()}, after, before)


def with_codes(text: str) -> str:
    """``text`` with the codes of currencies for the signs of their countries: GTQ 5 for Q5."""
    return _LOCAL_SIGN.sub(lambda it: f"{_LOCAL_SIGNS[it[1] or it[2]]} ", text)


def sign_units(sign: str) -> frozenset[str]:
    """The currencies that a sign before a number may mean."""
    codes = _before()[sign.casefold()]
    return frozenset((_RUPEES if codes == "INR" else codes).split())


@cache
def _before() -> dict[str, str]:
    signs = {sign: _DOLLARS if name == "dollar" else name for sign, name in _SIGNS.items()}
    signs |= {code.casefold(): code for code in _CURRENCIES}
    return signs | {"us$": "USD", "c$": "CAD", "ca$": "CAD", "a$": "AUD", "au$": "AUD"}


def _words(language: str) -> list[tuple[str, str]]:
    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return []
    found = [(word, "share") for word in (*_SHARE.get(language, ()), "%")]
    for word in _DEGREES.get(language, ()):
        found += [(word, scale) for scale in sorted(DEGREES)]
    for unit in _FACTORS:
        for length in ("long", "short"):
            for count in (1, 2, 5):
                text = format_unit(count, unit, length=length, locale=locale)
                # Without the number, and as folded text has it: km2.
                word = re.sub(r"[0-9]", "", text).strip()
                word = unicodedata.normalize("NFKC", word).casefold()
                if word:
                    found.append((word, unit))
                if language == "de" and word.endswith("er"):
                    found.append((f"{word}n", unit))  # mit Millilitern
    found += _MORE.get(language, {}).items()
    for code in _CURRENCIES:
        for count in (1, 2, 5):
            name = get_currency_name(code, count, locale).casefold()
            found += [(name, code), (name.split()[-1], code)]
        found += [(code.casefold(), code), (get_currency_symbol(code, locale).casefold(), code)]
    words = _NO_WORDS | ({"real", "won", "bit", "bits"} if language == "en" else set())
    return [(word, unit) for word, unit in found if word not in words]
