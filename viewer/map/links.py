"""How rooms lie to each other by the ways between them, and what a drawing gets wrong of that."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
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
_BESIDE = 0.45
"""Of a column or row, that a line must keep from the middle of a room."""
_STRAIGHT, _ASKEW, _WRONG = 0, 1, 2
"""As it should be; off by 45 degrees at most, as where a way back turns a corner; off by more."""


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


def links_of(ways: Iterable[Way]) -> list[Link]:
    """Make one link for each two rooms that a way joins, in the order of their discovery."""
    links: dict[tuple[int, int], Link] = {}
    for way in ways:
        for other in way.destinations:
            if other == way.room_id:
                continue
            start, end = sorted((way.room_id, other))
            link = links.setdefault((start, end), Link(start, end, len(links)))
            sense = 1 if way.room_id == start else -1
            if side := COMPASS.get(way.command):
                link.sides.append((sense * side[0], sense * side[1]))
            elif way.command in CLIMBS:
                link.climbs.append(sense * CLIMBS[way.command])
            else:
                link.others += 1
    return list(links.values())


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def between(start: Spot, end: Spot) -> Iterator[Spot]:
    """Yield the spots that the line between two others runs through."""
    across, down = end[0] - start[0], end[1] - start[1]
    steps = max(abs(across), abs(down))
    for step in range(1, steps):
        x, y = start[0] + across * step / steps, start[1] + down * step / steps
        if max(abs(x - round(x)), abs(y - round(y))) < _BESIDE:
            yield round(x), round(y)


def crossings(lines: Iterable[tuple[Spot, Spot]]) -> int:
    """Return how many pairs of lines cross elsewhere than at a common end."""
    return sum(
        _orientation(a, b, c) * _orientation(a, b, d) < 0
        and _orientation(c, d, a) * _orientation(c, d, b) < 0
        for (a, b), (c, d) in combinations(lines, 2)
    )


def flaws(spots: Mapping[int, Spot], links: Iterable[Link]) -> tuple[int, int, int]:
    """Count what misleads (wrong directions, lines through rooms), crosses, or is askew."""
    drawn = [(link, spots[link.start], spots[link.end]) for link in links]
    taken = set(spots.values())
    off = [_off(side, start, end) for link, start, end in drawn for side in link.sides]
    through = sum(spot in taken for _, start, end in drawn for spot in between(start, end))
    crossed = crossings([(start, end) for _, start, end in drawn])
    return off.count(_WRONG) + through, crossed, off.count(_ASKEW)


def _off(side: Spot, start: Spot, end: Spot) -> int:
    """Return how far a line leads off the side that it should lead to."""
    across, down = end[0] - start[0], end[1] - start[1]
    ahead = across * side[0] + down * side[1]
    aside = abs(across * side[1] - down * side[0])
    return _STRAIGHT if ahead > 0 == aside else _ASKEW if 0 < ahead >= aside else _WRONG


def _orientation(a: Spot, b: Spot, c: Spot) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
