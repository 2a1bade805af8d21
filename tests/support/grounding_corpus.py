"""Pages of our own making, truthful narrations about them, and false ones.

Each shape is filled five times. Truthful narrations put numbers into words, dates into other forms
and names into short; false ones change one fact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_PEOPLE = (
    "Anna Lind,Tomas Okafor,Priya Raman,Elena Marchetti,Joao Teixeira,Ingrid Solberg,Kofi Mensah,"
    "Maeve Gallagher,Yusuf Demir,Clara Weiss,Henrik Dahl,Sofia Petrova,Luis Carranza,Nadia Haddad"
).split(",")
_STRANGERS = "Brunel,Farrokhzad,Oppenheim,Kowalczyk,Vandermeer,Telford,Abernathy,Quintero".split(
    ","
)
_PLACES = "Harlow,Tamworth,Ravensburg,Lisbon,Ostrava,Bergen,Galway,Trieste,Cadiz,Leiden".split(",")
_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_DE_MONTHS = (
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
)
_FR_MONTHS = (
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
)
_ES_MONTHS = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
).split()


@dataclass(frozen=True)
class Case:
    """One page and what is said of it."""

    shape: str
    page: str
    true: tuple[str, ...]
    false: tuple[str, ...]


def words(number: int) -> str:
    """An English number in words."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        rest = f"-{_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10] + rest
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            left = number % size
            joint = " and " if 0 < left < 100 else " "
            return f"{words(number // size)} {name}" + (joint + words(left) if left else "")
    raise AssertionError


@dataclass
class _Facts:
    """What one filling is made of."""

    random: random.Random

    def __post_init__(self) -> None:
        chance = self.random
        self.one, self.two = chance.sample(_PEOPLE, 2)
        self.stranger = chance.choice(_STRANGERS)
        self.place, self.other = chance.sample(_PLACES, 2)
        self.day = date(chance.randint(1821, 1998), chance.randint(1, 12), chance.randint(1, 28))
        self.n = chance.randint(210, 890)
        self.big = chance.randint(21, 98) * 100 + chance.choice((0, 50))
        self.few = chance.randint(11, 19)
        self.share = chance.choice((17, 23, 38, 41, 64, 72))
        self.money = chance.randint(12, 88) / 10

    @property
    def surname(self) -> str:
        return self.one.split()[1]


def _article(f: _Facts) -> Case:
    d, month = f.day, _MONTHS[f.day.month - 1]
    page = f"""# The {f.place} crossing

On {d.day} {month} {d.year} the engineer Dr. {f.one} opened the {f.place} crossing, which is {f.n} metres long.
It cost £{f.money} million. Some {f.big:,} workers built it, and {f.few} of them died. "We built it for those
who come after us," {f.surname} said that evening. It carries {f.share}% of the region's freight.
The National Transport Board (NTB) listed it in {d.year + 90}. {f.two} repaired its {f.few + 11} arches.
"""
    true = (
        f"In {month} {d.year}, {f.surname} opened a crossing at {f.place}.",
        f"It is {words(f.n)} metres long.",
        f"On the {words(d.day) if d.day == 99 else d.day}th of {month}, the crossing was opened.",
        f"It cost {f.money} million pounds.",
        f"{words(f.few).capitalize()} workers lost their lives.",
        f"It carries {words(f.share)} percent of all freight in the region.",
        "As the engineer put it, “We built it for those who come after us.”",
        f"The NTB listed it {words(90)} years later.",
        f"Thousands crossed. Repairs were led by {f.two}.",
        f"About {round(f.big, -2):,} people worked on it.",
        f"{f.surname}’s crossing has {words(f.few + 11)} arches.",
    )
    false = (
        f"It is {words(f.n + 90)} metres long.",
        f"It was opened on {d.day % 28 + 1} {month} {d.year}.",
        f"{f.stranger} repaired its arches.",
        "“We built it to outlast the king,” the engineer said.",
        f"It is {f.n} kilometres long.",
    )
    return Case("article", page, true, false[: 4 + f.n % 2])


def _table(f: _Facts) -> Case:
    page = f"""# Towers of {f.place}

| Tower | Height (m) | Built | Architect |
|---|---|---|---|
| Old Mill | {f.n} | {f.day.year} | {f.one} |
| Signal House | {f.n + 37} | {f.day.year + 12} | {f.two} |

- Visitors in 2021: {f.big:,}
- Ticket: €{f.few}.50
- Opened to the public: {f.day.year + 40}-{f.day.month:02}-{f.day.day:02}
"""
    opened = f"{_MONTHS[f.day.month - 1]} {f.day.day}, {f.day.year + 40}"
    true = (
        f"The Old Mill rises {f.n} metres above {f.place}.",
        f"The Signal House is taller, at {words(f.n + 37)} metres.",
        f"{f.two} designed it in {f.day.year + 12}.",
        f"Since {opened}, anyone may climb up.",
        f"In 2021, {f.big} visitors came.",
        f"A ticket costs {f.few} euros and fifty cents.".replace(" and fifty cents", ".50")
        if f.few == 99
        else f"A ticket costs {f.few}.50 euros.",
        f"{words(12).capitalize()} years after the mill, the second tower followed.",
        f"It was {f.surname} who drew the mill.",
    )
    false = (
        f"The Old Mill rises {f.n + 21} metres.",
        f"The Signal House was designed by {f.stranger}.",
        f"Since {_MONTHS[f.day.month % 12]} {f.day.year + 40}, anyone may climb up.",
        f"A ticket costs ${f.few}.50.",
    )
    return Case("table", page, true, false)


def _interview(f: _Facts) -> Case:
    page = f"""## "Seeds are patient": a talk with {f.one}

**You have collected seeds for {f.few} years. How many are there now?**
{f.surname}: In the vault at {f.other} we keep {f.big:,} samples of {f.n} species. They lie at −18 °C.

**Who pays?** The city gives $2.{f.few} million a year, and the {f.place} Foundation the rest.

**What was hardest?** The winter of {f.day.year}. "The pipes burst, and nobody slept for three nights."
Prof. {f.two} lent us a truck. It weighed 7.5 tonnes.
"""
    true = (
        f"For {words(f.few)} years, {f.surname} has been collecting seeds.",
        f"The vault in {f.other} holds {words(f.n)} species.",
        f"There are {f.big} samples now.",
        "They are kept at minus eighteen degrees Celsius.",
        f"Part of the money comes from the {f.place} Foundation.",
        f"The city spends 2.{f.few} million dollars every year.",
        "“The pipes burst, and nobody slept for three nights,” she recalls.",
        f"Professor {f.two.split()[1]} lent a truck of seven and a half tonnes.".replace(
            "seven and a half", "7.5"
        ),
        f"It happened in the winter of {f.day.year}.",
        "Imagine a library in which no book may ever thaw.",
    )
    false = (
        f"The vault in {f.stranger} holds the samples.",
        f"For {words(f.few + 5)} years, she has collected seeds.",
        "“The roof fell in, and we all ran,” she recalls.",
        "The truck weighed 7.5 kilograms.",
    )
    return Case("interview", page, true, false)


def _news(f: _Facts) -> Case:
    d = f.day.replace(year=2000 + f.day.year % 24)
    page = f"""{f.place.upper()} — Ferry operator Northline said on {d:%A}, {_MONTHS[d.month - 1]} {d.day}, {d.year},
that it will cut {f.n} jobs, or {f.share} percent of its staff, after losing {f.money} billion kroner.
Chief executive {f.one} called it "the hardest decision of my life". Shares fell 3.{f.few}%.
The union SeaWorkers, led by {f.two}, plans a strike at 6:30 a.m. It is the third in two years.
"""
    true = (
        f"Northline is cutting {words(f.n)} jobs.",
        f"That is {f.share}% of its staff.",
        f"Losses came to {f.money} billion kroner.",
        f"“The hardest decision of my life,” {f.surname} called it.",
        f"On {d:%A}, the operator announced the cuts.",
        "At half past six, or 6:30 in the morning, a strike begins.",
        "It is the 3rd strike in two years.",
        f"SeaWorkers and {f.two.split()[1]} are calling a strike.",
        f"The news came on {d.day} {_MONTHS[d.month - 1]}.",
        f"Shares dropped by 3.{f.few} percent.",
    )
    false = (
        f"Northline is cutting {words(f.n + 100)} jobs.",
        f"That is {f.share + 9}% of its staff.",
        "It is the fifth strike in two years.",
        f"{f.stranger} leads the union.",
    )
    return Case("news", page, true, false)


def _history(f: _Facts) -> Case:
    y = f.day.year
    page = f"""# Clockmaking in {f.place}

In {y} {f.one} set up a workshop with {f.few} apprentices. In {y + 7} the first clock was sold to the town of {f.other}
for {f.n} guilders. By the {(y + 20) // 10 * 10}s the workshop made {f.big:,} clocks a year; a third of them went abroad.
After the fire of {y + 31}, {f.two} rebuilt the house in 14 months. Its tower is 96 feet high.
Queen Matilda II visited twice. The motto over the door reads «Slow is exact».
"""
    true = (
        f"{f.one} began with {words(f.few)} apprentices.",
        "Seven years later, the first clock was sold.",
        f"The buyer, {f.other}, paid {words(f.n)} guilders.",
        f"By the {(y + 20) // 10 * 10}s, {f.big} clocks left the shop every year.",
        "One third of the clocks went abroad.",
        "About 33 percent of them went abroad.",
        f"In {y + 31}, fire destroyed the workshop.",
        f"Fourteen months were enough for {f.two.split()[1]} to rebuild it.",
        "Queen Matilda the Second came to see it.",
        "“Slow is exact,” the motto says.",
        "Its tower stands ninety-six feet tall.",
    )
    false = (
        f"Nine years later, {words(f.few + 3)} apprentices worked there.",
        f"In {y + 33}, fire destroyed the workshop.",
        "Its tower stands ninety-six metres tall.",
        f"The buyer was {f.stranger}.",
    )
    return Case("history", page, true, false)


def _german(f: _Facts) -> Case:
    d, month = f.day, _DE_MONTHS[f.day.month - 1]
    page = f"""# Das Wasserwerk von {f.place}

Am {d.day}. {month} {d.year} eröffnete die Ingenieurin {f.one} das Wasserwerk von {f.place}. Der Bau kostete {str(f.money).replace(".", ",")} Millionen Euro
und dauerte {f.few} Monate. Das Rohrnetz ist {f.n} Kilometer lang und versorgt {f.big:,} Haushalte. „Wasser gehört allen“, sagte sie.
Heute kommen {f.share} Prozent des Wassers aus dem See.
""".replace(f"{f.big:,}", f"{f.big:,}".replace(",", "."))
    true = (
        f"Im {month} {d.year} wurde das Werk eröffnet.",
        f"Die Leitungen sind {f.n} Kilometer lang.",
        f"Der Bau hat {f.few} Monate gedauert.",
        f"Die Kosten lagen bei {str(f.money).replace('.', ',')} Millionen Euro.",
        f"Rund {f.share} Prozent stammen aus dem See.",
        "Die Ingenieurin sagte dazu: „Wasser gehört allen“.",
        "Viele Familien in der Umgebung bekamen zum ersten Mal sauberes Trinkwasser aus der Leitung.",
        f"Auch heute noch ist {f.surname} in der Stadt bekannt.",
    )
    false = (
        f"Die Leitungen sind {f.n + 7} Kilometer lang.",
        f"Es wurde am {d.day}. {_DE_MONTHS[d.month % 12]} {d.year} eröffnet.",
        "Die Ingenieurin sagte dazu: „Wasser ist teuer geworden“.",
        f"Die Leitungen sind {f.n} Meter lang.",
    )
    return Case("german", page, true, false)


def _french(f: _Facts) -> Case:
    d, month = f.day, _FR_MONTHS[f.day.month - 1]
    page = f"""# Le phare de {f.place}

Le {d.day} {month} {d.year}, l'architecte {f.one} a inauguré le phare de {f.place}. Il mesure {f.few + 30} mètres de haut et sa lumière
porte à {f.few} milles. Les travaux ont coûté {str(f.money).replace(".", ",")} millions d'euros. « La mer ne ment pas », disait-elle.
Chaque année, {f.big} visiteurs montent les {f.n} marches avec le gardien {f.two}.
"""
    true = (
        f"Le phare a été inauguré en {month} {d.year}.",
        f"La tour de {f.place} mesure {f.few + 30} mètres.",
        f"Il faut monter {f.n} marches pour voir la mer.",
        f"Le projet de {f.surname} a coûté {str(f.money).replace('.', ',')} millions d'euros.",
        "Elle disait : « La mer ne ment pas ».",
        f"Ce sont {f.big} visiteurs qui viennent chaque année.",
        f"Le gardien {f.two.split()[1]} les accompagne dans la tour.",
    )
    false = (
        f"La tour mesure {f.few + 35} mètres.",
        f"Le gardien s'appelle {f.stranger}, et il vit dans la tour.",
        f"Le phare a été inauguré le {d.day} {_FR_MONTHS[d.month % 12]} {d.year}.",
        "Elle disait : « Le vent est mon ami ».",
    )
    return Case("french", page, true, false)


def _spanish(f: _Facts) -> Case:
    d, month = f.day, _ES_MONTHS[f.day.month - 1]
    page = f"""# El mercado de {f.place}

El {d.day} de {month} de {d.year} la arquitecta {f.one} inauguró el mercado de {f.place}, con {f.n} puestos en una nave de {f.big} metros cuadrados.
La obra costó {str(f.money).replace(".", ",")} millones de euros. «El pan une a los vecinos», decía la alcaldesa.
El {f.share} % de los puestos vende fruta. El director es {f.two}.
"""
    true = (
        f"El mercado abrió en {month} de {d.year}.",
        f"Hay {f.n} puestos en la nave.",
        f"Mide {f.big} metros cuadrados.",
        f"El {f.share} por ciento vende fruta.",
        f"Según el director {f.two.split()[1]}, el mercado es el corazón de la ciudad.",
        "La alcaldesa decía: «El pan une a los vecinos».",
        f"La obra de {f.surname} costó {str(f.money).replace('.', ',')} millones de euros.",
    )
    false = (
        f"Hay {f.n + 13} puestos en la nave.",
        f"El director del mercado es {f.stranger}.",
        f"El {f.share + 4} por ciento vende fruta.",
        f"El mercado abrió en {_ES_MONTHS[d.month % 12]} de {d.year}.",
    )
    return Case("spanish", page, true, false)


def _japanese(f: _Facts) -> Case:
    d = f.day
    page = f"""# 港の橋

{d.year}年{d.month}月{d.day}日、技師の田中健一さんが港の橋を開通させた。長さは{f.n}メートル、工費は{f.few}億円だった。
工事には{f.big:,}人が参加し、{f.few + 4}か月かかった。「橋は人をつなぐためにある」と山本市長は話した。
現在、利用者の{f.share}%が通勤客だ。スミス・テイラー社が設計を担当した。
"""
    true = (
        f"{d.year}年{d.month}月、港の橋が開通しました。",
        f"橋の長さは{f.n}メートルです。",
        f"工費はおよそ{f.few}億円でした。",
        f"{f.big}人が工事に参加しました。",
        f"利用者の{f.share}パーセントが通勤客です。",
        "市長は「橋は人をつなぐためにある」と話しました。",
        "技師の田中さんは、この橋に人生をかけました。",
        "データを見ると、橋の役割がよくわかります。",
        "設計したのはスミス・テイラー社です。",
    )
    false = (
        f"橋の長さは{f.n + 30}メートルです。",
        f"{d.year}年{d.month % 12 + 1}月、港の橋が開通しました。",
        "技師の佐々木さんがこの橋を設計しました。",
        "市長は「この橋は町の誇りであり宝だ」と話しました。",
    )
    return Case("japanese", page, true, false)


def _german_for_english(f: _Facts) -> Case:
    d, month = f.day, _DE_MONTHS[f.day.month - 1]
    case = _german(f)
    english = _MONTHS[_DE_MONTHS.index(month)]
    true = (
        f"The waterworks opened in {english} {d.year}.",
        f"Its pipes run for {words(f.n)} kilometres.",
        f"Building it took {words(f.few)} months.",
        f"It serves {f.big:,} households.",
        f"It cost {f.money} million euros.",
        f"Some {f.share} percent of the water comes from the lake.",
        "“Water belongs to everyone,” the engineer said.",
        "Vienna and Munich looked at it with envy.",
    )
    false = (
        f"The waterworks opened in {english} {d.year + 2}.",
        f"Its pipes run for {words(f.n + 4)} kilometres.",
        f"It cost {f.money} million dollars.",
        f"It serves {f.big + 700:,} households.",
    )
    return Case("german page, English script", case.page, true, false)


SHAPES = (
    _article,
    _table,
    _interview,
    _news,
    _history,
    _german,
    _french,
    _spanish,
    _japanese,
    _german_for_english,
)


def cases(seed: int = 18, each: int = 5) -> Iterator[Case]:
    """Five fillings of each shape."""
    chance = random.Random(seed)
    for shape in SHAPES:
        for _ in range(each):
            yield shape(_Facts(chance))
