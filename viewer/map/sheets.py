"""The sheets of a map: one for each level, the highest first, each with its parts packed."""

from collections.abc import Iterable, Sequence
from math import inf, log
from typing import NamedTuple

from managers.map.ways import Way
from viewer.map.levels import levels
from viewer.map.links import Link, Spot, links_of
from viewer.map.placing import place

_SHAPE = 1.5
"""Width to height that the whole is packed to, as it is drawn."""
_COLUMN, _ROW = 148, 84
"""Pixels of a column and a row."""
_MARGIN = 1
"""Free columns and rows between parts."""
_BAND = 2
"""Free columns and rows between sheets."""


class Placed(NamedTuple):
    """Where a room is drawn; rows grow to the south."""

    x: int
    y: int
    level: int


def sheets(rooms: Iterable[int], ways: Iterable[Way]) -> dict[int, Placed]:
    """Room id -> its place, on sheets that lie below each other; no two rooms share a spot.

    What was found earlier decides where not all can be true, so give rooms in that order.
    """
    known = list(dict.fromkeys(rooms))
    found = sorted(ways, key=lambda way: way.first_turn)
    links = [link for link in links_of(found) if {link.start, link.end} <= set(known)]
    level = levels(known, links)
    flat = [
        link
        for link in links
        if level[link.start] == level[link.end] and (link.sides or link.others)
    ]
    parts = {
        height: [
            _placed(part, flat)
            for part in _parts([room for room in known if level[room] == height], flat)
        ]
        for height in sorted(set(level.values()), reverse=True)
    }
    spots = _arranged(list(parts.values()))
    return {room: Placed(*spots[room], level[room]) for room in known}


def _arranged(levels: Sequence[Sequence[dict[int, Spot]]]) -> dict[int, Spot]:
    """All sheets beside and below each other, in the width that gives the best shape."""
    widest = max((_size(_cornered(part))[0] for parts in levels for part in parts), default=1)
    best: tuple[float, dict[int, Spot]] = inf, {}
    for width in range(widest, 3 * widest + 8):
        spots = _packed([_packed(parts, width, _MARGIN) for parts in levels], width, _BAND)
        if spots:
            across, down = _size(spots)
            off = abs(log(across * _COLUMN / (down * _ROW) / _SHAPE))
            best = min(best, (off, spots), key=lambda it: it[0])
    return best[1]


def _placed(part: Sequence[int], links: Iterable[Link]) -> dict[int, Spot]:
    within = set(part)
    return place(part, [link for link in links if link.start in within and link.end in within])


def _parts(rooms: Sequence[int], links: Iterable[Link]) -> list[list[int]]:
    """Rooms that ways connect, together; the order is kept."""
    part = {room: [room] for room in rooms}
    for link in links:
        if link.start in part and part[link.start] is not part[link.end]:
            small, large = sorted((part[link.start], part[link.end]), key=len)
            large += small
            part |= dict.fromkeys(small, large)
    order = {room: number for number, room in enumerate(rooms)}
    once = {id(it): it for it in part.values()}
    return [sorted(it, key=lambda room: order[room]) for it in once.values()]


def _packed(parts: Sequence[dict[int, Spot]], width: int, margin: int) -> dict[int, Spot]:
    """All parts side by side, in rows that are filled from the left."""
    spots: dict[int, Spot] = {}
    left = top = bottom = 0
    for part in map(_cornered, parts):
        across, down = _size(part)
        if left and left + across > width:
            left, top = 0, bottom
        spots |= {room: (left + x, top + y) for room, (x, y) in part.items()}
        left, bottom = left + across + margin, max(bottom, top + down + margin)
    return spots


def _cornered(part: dict[int, Spot]) -> dict[int, Spot]:
    west, north = (min(spot[axis] for spot in part.values()) for axis in (0, 1))
    return {room: (x - west, y - north) for room, (x, y) in part.items()}


def _size(part: dict[int, Spot]) -> Spot:
    return max(x for x, _ in part.values()) + 1, max(y for _, y in part.values()) + 1
