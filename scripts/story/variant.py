"""A variant of the bundled story: what stands at each mark of the source.

Everything follows from the seed: the words, the layout, and the texts that depend on them.
"""

import re
import tomllib
from collections.abc import Callable
from random import Random

from scripts.story.layout import COMPASS, DOORS, ROOM_OF, Layout, draw, neighbours
from scripts.story.source import TemplateError, render
from scripts.story.wording import WORDS, Wording, cased_like, indefinite_article, titled

TEXTS = WORDS.with_name("texts.toml")
_DIRECTION = re.compile(
    r"(?<![a-z])(north|east|south|west|[nesw](?=_(?:to|obj)\b))(?![a-z])", re.IGNORECASE
)
_VERTICAL = {
    "landing_stage": ("u_to cliff_path",),
    "cliff_path": ("u_to courtyard", "d_to landing_stage"),
    "courtyard": ("d_to cliff_path", "in_to front_door"),
    "kitchen_garden": ("in_to back_door",),
    "hall": ("out_to front_door", "u_to gallery"),
    "kitchen": ("out_to back_door",),
    "gallery": ("d_to hall", "u_to observatory"),
    "drying_loft": ("out_to iron_door",),
    "wind_walk": ("in_to iron_door",),
}
_WITH_A_WAY_OUT = ("potting_shed", "office", "kettle_room", "bedroom")
_UNSEEN = {("courtyard", "hall"), ("kettle_room", "jar_room")}
"""Ways that the door at their end speaks of itself."""
_ROOM_NAMES = (
    "entrance hall", "kitchen", "office", "Thrupp's", "kettle room", "jar room", "gallery",
    "attic bedroom", "drying loft", "Wind Walk", "observatory", "cellar", "snow store",
    "whispering grotto", "courtyard", "kitchen garden", "landing stage", "cliff path", "gull point",
)  # fmt: skip


class Variant:
    """One variant; calling it gives the value of a mark (see `scripts.story.source`)."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - the same variant every time
        self.words = Wording(self._random)
        self.layout: Layout = draw(self._random)
        self._texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
        self._chosen = {
            label: self._random.choice(texts) for label, texts in self._texts["texts"].items()
        }
        rooms = sorted({here for here, _ in self.layout.ways} | {"cellar"})
        self._exits = {room: self._exits_of(room) for room in rooms}

    def __call__(self, label: str | None, text: str) -> str:
        """What this variant has at a mark.

        Raises: TemplateError when it knows no such mark.
        """
        if label is None:
            return self.words(text)
        if label in self.words:
            return cased_like(text, "", self.words(label))
        kind, _, of = label.partition(".")
        layout, texts, winds = self.layout, self._texts, list(COMPASS)
        host, wind = layout.hosts["cellar"], layout.wind
        marks: dict[str, Callable[[], str]] = {
            "title": lambda: titled(self.words(text.lower())),
            "names": lambda: self._names(of),
            "text": lambda: self._filled(self._chosen[of]),
            "exits": lambda: self._exits[of],
            "ways": lambda: self._ways(of, text),
            "end": lambda: "There is only sea that way.",
            "moves": self._moves,
            "place.card": lambda: self._place("card"),
            "place.watering_can.initial": lambda: self._filled(texts["left"][layout.can_place]),
            "place.kipper.smell": self._smell,
            "hint": lambda: self._filled(texts["hints"][of], self._place(of)),
            "trapdoor": lambda: host if of == "room" else self.words(host.replace("_", " ")),
            "wind": lambda: _turned(text, wind),
            "wind.article": lambda: indefinite_article(wind).upper(),
            "wind.number": lambda: str(winds.index(wind)),
            "wind.start": lambda: str(winds.index(layout.first_wind)),
            "wind.hum": lambda: str(texts["winds"][wind][1]),
            "wind.others": self._other_winds,
            "article": lambda: indefinite_article(self.words(of)),
        }
        try:
            if ">" in label:
                here, _, there = label.partition(">")
                here = layout.hosts[there] if here == "to" else here
                return _turned(text, layout.ways[here, there])
            return marks[label if label in marks else kind]()
        except KeyError as error:
            raise TemplateError(f"nothing is known about the mark {label!r}: {error}") from error

    def _filled(self, text: str, place: str = "") -> str:
        return render(text.replace("<place>", place), self)

    def _names(self, of: str) -> str:
        if of == "rooms":
            words = [word for room in _ROOM_NAMES for word in self.words.names(room)]
            words = list(dict.fromkeys([*words, "room", "upstairs", "outside"]))
        else:
            words = self.words.names(of)
        return " ".join("'{}'".format(word.replace("'", "^")) for word in words)

    def _ways(self, room: str, text: str) -> str:
        lines = [
            f"{direction[0]}_to {DOORS.get(frozenset({room, there}), there)}"
            for there, direction in neighbours(self.layout, room)
        ]
        lines += _VERTICAL.get(room, ())
        if room in _WITH_A_WAY_OUT:
            lines.append(f"out_to {self.layout.hosts[room]}")
        if room == self.layout.hosts["cellar"]:
            lines.append("d_to trapdoor")
        return ",\n       ".join(lines) + ("," if text.endswith(",") else "")

    def _exits_of(self, room: str) -> str:
        seen = self._texts["seen"]
        ways = [
            (self._filled(seen.get(f"{room}>{there}", seen[there])), direction)
            for there, direction in neighbours(self.layout, room)
            if (room, there) not in _UNSEEN
        ]
        self._random.shuffle(ways)
        also = [self._also(room)] if room in self._texts["also"] else []
        if room == self.layout.hosts["cellar"]:
            also.append(self._filled(self._texts["also"]["trapdoor"]))
        if room == "kettle_room":  # where the door to the jar room ends the sentence
            ((there, direction),) = ways
            return " ".join([*also, f"{there[0].upper()}{there[1:]} is {direction}"])
        return " ".join([_listed(ways, self._random.randrange(3)), *also])

    def _also(self, room: str) -> str:
        text = self._texts["also"][room]
        if room == "cliff_path":
            text = text.replace("<direction>", self.layout.ways["cliff_path", "cove"])
        return self._filled(
            text.replace("<place>", self._texts["seen"][self.layout.hosts["cellar"]])
        )

    def _moves(self) -> str:
        moves = {**self.layout.places, "watering_can": self.layout.can_place}
        moves |= {
            "rock_spit": self.layout.hosts["gull_point"],
            "shed_outside": self.layout.hosts["potting_shed"],
        }
        return "".join(f"\n    move {thing} to {place};" for thing, place in moves.items())

    def _place(self, thing: str) -> str:
        place = self.layout.can_place if thing == "watering_can" else self.layout.places[thing]
        return self._filled(self._texts["places"][place])

    def _smell(self) -> str:
        in_kitchen = ROOM_OF[self.layout.places["kipper"]] == "kitchen"
        return self._filled(self._texts["smell"]["with_kipper" if in_kitchen else "without"])

    def _other_winds(self) -> str:
        return "\n                 ".join(
            f'{number}: print "{self._texts["winds"][wind][0]}";'
            for number, wind in enumerate(COMPASS)
            if wind != self.layout.wind
        )


def _turned(text: str, direction: str) -> str:
    """The text with this direction in place of the one in it, in the same form."""

    def turned(old: re.Match[str]) -> str:
        return cased_like(old[0], "", direction if len(old[0]) > 1 else direction[0])

    result, count = _DIRECTION.subn(turned, text)
    if count != 1:
        raise TemplateError(f"there is not one direction in {text!r}")
    return result


def _listed(ways: list[tuple[str, str]], style: int) -> str:
    """A sentence about what lies in which direction."""
    (first, direction), *others = ways
    if style == 0:
        parts = [f"To the {direction} is {first}"]
        parts += [f"to the {way} {seen}" for seen, way in others]
    elif style == 1:
        parts = [f"You can go {direction} to {first}"]
        parts += [f"{way} to {seen}" for seen, way in others]
    else:
        parts = [f"{first[0].upper()}{first[1:]} lies to the {direction}"]
        parts += [f"{seen} to the {way}" for seen, way in others]
    *earlier, last = parts
    return f"{', '.join(earlier)}, and {last}." if earlier else f"{last}."
