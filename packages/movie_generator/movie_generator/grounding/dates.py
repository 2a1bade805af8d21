"""Days, months, years, days of the week and times of day, however they are written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import pairwise
from operator import attrgetter

from babel.dates import get_day_names, get_month_names

from mcp_ghost.tables import compiled
from movie_generator.grounding.language import WORDS, locales

_DAY_AND_MONTH = re.compile(r"(?<![\d.,])(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(?!\d)")
_FORMS = compiled(WORDS["patterns"]["dates"])
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_NEAR = 30
"""Characters before a date in which words that belong to it stand."""
_AMBIGUOUS = frozenset("may mar march sun sat mon wed mai sol don mit dom sab".split())


@dataclass(frozen=True)
class Moment:
    """What is said of one date."""

    written: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minutes: frozenset[int] = frozenset()
    slack: int = 0
    """By how many minutes it may be wrong."""

    def agrees(self, other: "Moment") -> bool:
        """Whether ``other`` says at least as much, and the same."""
        parts = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        if any(mine is not None and mine != its for mine, its in parts):
            return False
        if self.minutes:
            return any(abs(a - b) <= self.slack for a in self.minutes for b in other.minutes)
        return self.weekday is None or self.weekday in (other.weekday, other.falls_on)

    @property
    def falls_on(self) -> int | None:
        """The day of the week of a whole date."""
        try:
            return date(self.year or 0, self.month or 0, self.day or 0).weekday()
        except ValueError:
            return None


def moments(text: str, languages: tuple[str, ...], *, of_page: bool = False) -> Iterator[Moment]:
    """The dates of a folded text whose numerals are digits; a date of two readings comes twice.

    On a page, what may be a date is one: "May", "Sat", the days of "Mon-Fri".
    """
    names, lower, _, weekdays = _names(languages, abbreviated=of_page)
    taken: set[int] = set()
    told = [*_in_digits(text, languages), *_named(text, languages, of_page=of_page), *_times(text)]
    for moment in told:
        taken.update(range(moment.start, moment.end))
        yield moment
    days = [
        Moment(found[0], found.start(), found.end(), weekday=names[found[1].casefold()] - 100)
        for found in weekdays.finditer(text)
        if (found[0][0].isupper() or found[1] in lower) and found.start() not in taken
    ]
    yield from days
    if not of_page:
        return
    for first, last in pairwise(days):
        if re.fullmatch(r" ?(?:-|to|through|until|bis|au?|à|al?) ?", text[first.end : last.start]):
            weekday = first.weekday or 0
            while (weekday := (weekday + 1) % 7) != last.weekday:
                yield replace(first, weekday=weekday)
    for found in _FORMS["dotted_time"].finditer(text):
        yield Moment(found[0], *found.span(), minutes=_minutes(found[1], found[2]))
    # A list headed by its month has days such as "Thu 18".
    above: Moment | None = None
    for it in sorted([*(it for it in told if it.month), *days], key=attrgetter("start")):
        if it.month:
            above = above if above and above.start == it.start else it  # of two readings the first
        elif above and (number := _FORMS["day_of_month"].match(text, it.end)):
            end, day = number.end(), int(number[1])
            yield replace(it, end=end, month=above.month, year=above.year, day=day)


def _in_digits(text: str, languages: tuple[str, ...]) -> Iterator[Moment]:
    for found in _FORMS["numeric"].finditer(text):
        one, two, three = (int(it) for it in found.groups() if it)
        readings = [(one, two, three)] if found[1] else [(three, two, one), (three, one, two)]
        for numbers in dict.fromkeys(readings):
            if 1 <= numbers[1] <= 12 and 1 <= numbers[2] <= 31:
                yield Moment(found[0], *found.span(), *numbers)
    for found in _DAY_AND_MONTH.finditer(text) if "de" in languages else ():
        if _FORMS["version"].search(text, max(0, found.start() - _NEAR), found.start()):
            continue
        yield Moment(found[0], found.start(), found.end(), None, int(found[2]), int(found[1]))
    for found in _FORMS["eastern"].finditer(text):
        if found[0] in ("", "1日"):  # a day, as in 1日に3回
            continue
        year = int(found[1]) if found[1] else None
        if found[2]:
            year = _ERAS[found[2]] + (1 if found[3] == "元" else int(found[3]))
        month, day = (int(it) if it else None for it in (found[4], found[5]))
        yield Moment(found[0], found.start(), found.end(), year, month, day)


def _named(text: str, languages: tuple[str, ...], *, of_page: bool) -> Iterator[Moment]:
    names, lower, months, _ = _names(languages, abbreviated=of_page)
    for found in months.finditer(text):
        word = found["name"]
        day = found["before"] or found["behind"]
        alone = not day and not found["year"]
        plain = word.casefold().strip(".")
        if alone and word[0].islower() and plain not in lower:
            continue
        before = text[max(0, found.start("name") - _NEAR) : found.start("name")]
        is_doubtful = plain in _AMBIGUOUS and not (of_page and word[0].isupper())
        if alone and is_doubtful and not _FORMS["after_in"].search(before):
            continue
        if word in {"may", "march"} or (day and not 1 <= int(day) <= 31):
            continue
        year = int(found["year"]) if found["year"] else None
        month = names[plain]
        whole = Moment(found[0].strip(" ,."), found.start(), found.end(), year, month)
        yield replace(whole, day=int(day) if day else None)
        if found["before"] and (
            other := _FORMS["or_before"].search(text, max(0, found.start() - _NEAR), found.start())
        ):
            yield replace(whole, start=other.start(), end=other.end(1), day=int(other[1]))
        if found["behind"] and (other := _FORMS["or_behind"].match(text, found.end("behind"))):
            yield replace(whole, start=other.start(1), end=other.end(), day=int(other[1]))


def _times(text: str) -> Iterator[Moment]:
    for found in _FORMS["time"].finditer(text):
        hour, minute = found[1] or found[4] or found[6], found[2] or found[5] or found[7]
        readings = _minutes(hour, minute or "0", found[3])
        nearly = _FORMS["nearly"].search(text, max(0, found.start() - _NEAR), found.start())
        slack = 10 if nearly else 0  # minutes that "shortly before" may mean
        yield Moment(found[0], found.start(), found.end(), minutes=readings, slack=slack)
    for found in _FORMS["eastern_hours"].finditer(text):
        half = found[1] and ("p" if found[1] in ("午後", "下午", "오후") else "a")
        readings = _minutes(found[2], found[3] or ("30" if found[4] else "0"), half)
        yield Moment(found[0], found.start(), found.end(), minutes=readings)


def _minutes(hour: str, minute: str, half: str | None = None) -> frozenset[int]:
    """The minutes of the day that a time may mean; ``half`` is ``a`` or ``p`` where it is said."""
    minutes = int(hour) % 24 * 60 + int(minute)
    morning, evening = minutes % 720, minutes % 720 + 720
    readings = {"a": {morning}, "p": {evening}}
    return frozenset(readings[half.casefold()] if half else {minutes, evening})


@cache
def _names(
    languages: tuple[str, ...], *, abbreviated: bool
) -> tuple[dict[str, int], frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """Months (1 to 12) and days (100 to 106) by name; names without a capital; what finds them."""
    names: dict[str, int] = {}
    lower: set[str] = set()
    days: dict[str, int] = {}
    for locale in locales(languages):
        for width in ("wide", "abbreviated"):
            for number, name in get_month_names(width, locale=locale).items():
                if not name[0].isdigit() and name[-1] != "月":
                    names.setdefault(name.casefold().strip("."), number)
                    lower |= {name.casefold()} if width == "wide" else set()
        day_names = [*get_day_names("wide", locale=locale).items()]
        day_names += [(day, name.replace("-", "s-")) for day, name in day_names]  # terças-feiras
        lower |= {name.casefold().replace("曜日", "曜") for _, name in day_names}
        if abbreviated:
            short = get_day_names("abbreviated", locale=locale).items()
            day_names += [it for it in short if len(it[1]) > 1]
        for number, name in day_names:
            days.setdefault(name.casefold().strip(".").replace("曜日", "曜"), number + 100)
    names |= {"sept": 9}
    listed = "|".join(re.escape(it) for it in sorted(names, key=len, reverse=True))
    months = re.compile(
        rf"(?:(?<![\d.,])(?P<before>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?[ -](?:of |de |d')?)?"
        rf"(?<![^\W\d_])(?P<name>{listed})\b\.?"
        r"(?:[ -](?:the )?(?P<behind>\d{1,2})(?:st|nd|rd|th)?(?![\d:%]|[.,]\d| ?[ap]\.?m))?"
        r"(?:,? ?(?:of |de |del |in )?(?<!\d)(?P<year>1\d{3}|20\d{2})(?!\d))?",
        re.IGNORECASE,
    )
    week = re.compile(
        r"(?:(?<!\w)(?=[^\u3000-\ud7ff])|(?=[\u3000-\ud7ff]))"
        rf"({'|'.join(re.escape(it) for it in days)})"
        r"(?:(?<=[\u3000-\ud7ff])|s?(?!\w)\.?)",
        re.IGNORECASE,
    )
    return names | days, frozenset(lower - {"may", "march", "august"}), months, week
