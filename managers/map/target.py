"""The room that the model wants to reach, found by its words, and the route to it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from managers.map.routes import Routes
from managers.map.text import commands, label, shortened, steps
from managers.map.ways import Way
from session.game_state import Place

# No story has rooms beyond five digits, and int() refuses numbers of thousands of digits.
_ID = re.compile(r"#\s*(\d{1,9})\s*$|^\s*(\d{1,9})\s*$")
_NOWHERE = frozenset({"", "none", "null", "nowhere"})


@dataclass(frozen=True)
class Target:
    """What the model asked for; nothing when there is no such room on the map."""

    text: str
    rooms: tuple[Place, ...] = ()
    """Those that are meant by the text, the nearest first; the first one is taken."""
    route: tuple[Way, ...] | None = None
    """From where the player is; None when no way is known."""

    @property
    def room_id(self) -> int | None:
        """The room to go to."""
        return self.rooms[0].id if self.rooms else None

    def seen_from(self, here: int, routes: Routes) -> Self:
        """The same, with the route from another room."""
        if self.room_id is None:
            return self
        return replace(self, route=routes.route(here, self.room_id))

    def lines(self, *, way_back: bool) -> Iterator[str]:
        """The whole route, or why there is none."""
        if not self.rooms:
            yield f'"{shortened(self.text)}": no such room is known. Give a name or #id of the map.'
            return
        name = label(self.rooms[0].id, self.rooms[0].name)
        if len(self.rooms) > 1:
            others = ", ".join(_number(room) for room in self.rooms[1:])
            yield f"Several rooms fit that name; {name} is the nearest. Others: {others}."
        if not self.route:
            yield f"To {name}: no known way leads there from here."
            return
        yield f"To {name}, {steps(self.route)}: {', '.join(commands(self.route))}."
        if any(way.earlier for way in self.route):
            yield "Partly as in earlier episodes: a door may be shut again."
        if not way_back:
            yield "No way back from there is known."


def _number(room: Place) -> str:
    return f"#{room.id}" if room.id > 0 else room.name


def is_nowhere(text: str) -> bool:
    """Whether the model no longer wants to go anywhere."""
    return text.strip().casefold() in _NOWHERE


def matching(text: str, rooms: Mapping[int, str]) -> list[int]:
    """The rooms meant by a name, an id (``#23`` or ``23``) or both."""
    number = _ID.search(text)
    room_id = int(number[1] or number[2]) if number else None
    if room_id is not None and room_id in rooms:
        return [room_id]
    wanted = _bare(_ID.sub("", text))
    names = {known: _bare(name) for known, name in rooms.items()}
    found = [known for known, name in names.items() if name == wanted]
    return found or [known for known, name in names.items() if wanted and wanted in name]


def _bare(name: str) -> str:
    words = name.casefold().split()
    return " ".join(words[1:] if words[:1] == ["the"] else words)
