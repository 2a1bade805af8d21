"""How rooms lie to each other by the ways between them, as a drawing needs to know it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from managers.map.ways import Way

Spot: TypeAlias = tuple[int, int]
"""Columns to the east, rows to the south."""

COMPASS: dict[str, Spot] = {
    "north": (0, -1),
    "northeast": (1, -1),
    "east": (1, 0),
    "southeast": (1, 1),
    "south": (0, 1),
    "southwest": (-1, 1),
    "west": (-1, 0),
    "northwest": (-1, -1),
}
CLIMBS = {"up": 1, "down": -1}


@dataclass
class Link:
    """All that is known of how two rooms lie to each other."""

    start: int
    end: int
    order: int
    """Of its first way: what was found first counts most where not all can be true."""
    sides: list[Spot] = field(default_factory=list)
    """Where ``end`` lies, seen from ``start``, by each way on the compass."""
    climbs: list[int] = field(default_factory=list)
    """The same by each way up (1) or down (-1)."""
    others: int = 0
    """Ways that say that the rooms are near each other, but not where."""

    @property
    def side(self) -> Spot | None:
        """The one side that does justice to all ways, as far as that can be done."""
        if not self.sides:
            return None
        first = self.sides[0]
        for side in self.sides[1:]:
            if side != first and side[0] * first[0] + side[1] * first[1] >= 0:
                return _sign(first[0] + side[0]), _sign(first[1] + side[1])
        return first

    @property
    def is_bent(self) -> bool:
        """Whether the way back does not lead straight back."""
        return len(set(self.sides)) > 1


def links_of(ways: Iterable[Way]) -> list[Link]:
    """One link for each two rooms that a way joins, in the order in which they were found."""
    links: dict[tuple[int, int], Link] = {}
    for way in ways:
        for other in way.destinations:
            if other == way.room_id:
                continue
            start, end = sorted((way.room_id, other))
            link = links.setdefault((start, end), Link(start, end, len(links)))
            _note(link, way.command, 1 if way.room_id == start else -1)
    return list(links.values())


def _note(link: Link, command: str, sense: int) -> None:
    if side := COMPASS.get(command):
        link.sides.append((sense * side[0], sense * side[1]))
    elif command in CLIMBS:
        link.climbs.append(sense * CLIMBS[command])
    else:
        link.others += 1


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
