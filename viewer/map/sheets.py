"""The sheets of a map: one for each level, packed like the unconnected parts on each."""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
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
"""Free columns and rows between sheets, where their titles stand."""
_WIDTHS = 12
"""Of a drawing, that are tried."""


class Placed(NamedTuple):
    """Where a room is drawn; rows grow to the south."""

    x: int
    y: int
    level: int


def sheets(rooms: Iterable[int], ways: Iterable[Way]) -> dict[int, Placed]:
    """Room id -> its place, on sheets that lie apart; no two rooms share a spot.

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
    heights = sorted(set(level.values()), reverse=True)
    on = {height: [room for room in known if level[room] == height] for height in heights}
    drawn = [[_placed(part, flat) for part in _parts(on[it], flat)] for it in heights]
    spots = _arranged(drawn)
    return {room: Placed(*spots[room], level[room]) for room in known}


def _arranged(sheets: Sequence[Sequence[dict[int, Spot]]]) -> dict[int, Spot]:
    """All that is on sheets, in the widths in which it can be drawn largest."""
    best = _largest(_packings([_largest(_packings(parts, _MARGIN)) for parts in sheets], _BAND))
    for width in _widths([part for parts in sheets for part in parts], _MARGIN):
        narrowed = [
            _packed(parts, max(width, _widest(parts) + _MARGIN), _MARGIN) for parts in sheets
        ]
        best = _largest([best, *_packings(narrowed, _BAND)])
    return best


def _packings(parts: Sequence[dict[int, Spot]], margin: int) -> Iterator[dict[int, Spot]]:
    return (_packed(parts, width, margin) for width in _widths(parts, margin))


def _widths(parts: Sequence[dict[int, Spot]], margin: int) -> Iterable[int]:
    """Widths of a drawing between that of its widest part and that of all in one row."""
    least = _widest(parts) + margin
    most = sum(_size(part)[0] + margin for part in parts)
    return sorted({least + (most - least) * step**2 // _WIDTHS**2 for step in range(_WIDTHS + 1)})


def _widest(parts: Iterable[dict[int, Spot]]) -> int:
    return max((_size(part)[0] for part in parts), default=0)


def _largest(drawings: Iterable[dict[int, Spot]]) -> dict[int, Spot]:
    """The one that can be drawn largest on a ground of the wanted shape."""

    def side(spots: dict[int, Spot]) -> float:
        across, down = _size(spots)
        return max(across * _COLUMN / _SHAPE, down * _ROW)

    return min(drawings, key=side)


def _placed(part: Sequence[int], links: Iterable[Link]) -> dict[int, Spot]:
    within = set(part)
    return _cornered(place(part, [it for it in links if {it.start, it.end} <= within]))


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


def _packed(parts: Iterable[dict[int, Spot]], width: int, margin: int) -> dict[int, Spot]:
    """The largest first, each part as far up as it fits below those before it."""
    spots: dict[int, Spot] = {}
    free = [0] * width
    for part in sorted(parts, key=lambda part: -prod(_size(part))):
        across, down = (side + margin for side in _size(part))
        tops = [max(free[left : left + across]) for left in range(width - across + 1)]
        top = min(tops)
        left = tops.index(top)
        free[left : left + across] = [top + down] * across
        spots |= {room: (left + x, top + y) for room, (x, y) in part.items()}
    return spots


def _cornered(part: dict[int, Spot]) -> dict[int, Spot]:
    west, north = (min(spot[axis] for spot in part.values()) for axis in (0, 1))
    return {room: (x - west, y - north) for room, (x, y) in part.items()}


def _size(part: dict[int, Spot]) -> Spot:
    across, down = (max((spot[axis] for spot in part.values()), default=0) for axis in (0, 1))
    return across + 1, down + 1
