"""Positions for the rooms of a map that are true to the compass and never change again."""

from collections.abc import Iterable, Iterator
from functools import cache
from math import gcd
from typing import NamedTuple, TypeAlias

from managers.map.ways import Way, movement_of
from session.perception.directions import direction_of

Spot: TypeAlias = tuple[int, int]

_COMPASS: dict[str, Spot] = {
    "north": (0, 1),
    "northeast": (1, 1),
    "east": (1, 0),
    "southeast": (1, -1),
    "south": (0, -1),
    "southwest": (-1, -1),
    "west": (-1, 0),
    "northwest": (-1, 1),
}
_DIAGONAL: dict[str, Spot] = {"up": (1, 1), "down": (-1, -1), "in": (1, -1), "out": (-1, 1)}
_ANY: Spot = (0, 0)
_GAP = 4
"""Columns between parts that no known way connects."""


class _Link(NamedTuple):
    """Where a room lies, as seen from another one; the surest links come first."""

    rank: int
    order: int
    other: int
    offset: Spot


def layout(rooms: Iterable[int], ways: Iterable[Way]) -> dict[int, tuple[float, float]]:
    """Room id -> (x, y) on a grid of whole numbers, y growing to the north.

    A room is placed by the ways to rooms that come before it, so that later rooms move
    nothing: give rooms in the order in which they were found.
    """
    links = _links(ways)
    spots: dict[int, Spot] = {}
    taken: set[Spot] = set()
    for room_id in dict.fromkeys(rooms):
        placed = [link for link in links.get(room_id, ()) if link.other in spots]
        if placed:
            link = min(placed)
            spot = _free(spots[link.other], link.offset, taken)
        else:
            spot = (max((x for x, _ in taken), default=-_GAP) + _GAP, 0)
        spots[room_id] = spot
        taken.add(spot)
    return {room_id: (float(x), float(y)) for room_id, (x, y) in spots.items()}


def _links(ways: Iterable[Way]) -> dict[int, list[_Link]]:
    """For each room how it lies to others, from ways there and ways back."""
    links: dict[int, list[_Link]] = {}
    led = ((way, end) for way in ways for end in way.destinations)
    for order, (way, end) in enumerate(led):
        start, known = way.room_id, _offset(way.command)
        if known is None or start == end:
            continue
        rank, (x, y) = known
        links.setdefault(end, []).append(_Link(rank, order, start, (x, y)))
        links.setdefault(start, []).append(_Link(rank + 1, order, end, (-x, -y)))
    return links


def _offset(direction: str) -> tuple[int, Spot] | None:
    """How much a direction says (less is better), and to which side; None: nothing."""
    if direction in _COMPASS:
        return 0, _COMPASS[direction]
    if direction in _DIAGONAL:
        return 2, _DIAGONAL[direction]
    return (4, _ANY) if direction_of(direction) or movement_of(direction) else None


def _free(start: Spot, offset: Spot, taken: set[Spot]) -> Spot:
    """The nearest free spot to that side, with no other room on the line to it."""
    x, y = start
    radius = 1
    while True:
        for dx, dy in _ring(offset, radius):
            steps = gcd(dx, dy)
            line = ((x + dx * n // steps, y + dy * n // steps) for n in range(1, steps + 1))
            if taken.isdisjoint(line):
                return x + dx, y + dy
        radius += 1


@cache
def _ring(offset: Spot, radius: int) -> tuple[Spot, ...]:
    """The spots at a distance to one side, the straight one first."""
    return tuple(sorted(_beside(offset, radius), key=lambda spot: _deviation(offset, spot)))


def _beside(offset: Spot, radius: int) -> Iterator[Spot]:
    span = range(-radius, radius + 1)
    for dx in span:
        for dy in span:
            if max(abs(dx), abs(dy)) == radius and _deviation(offset, (dx, dy)) < 1:
                yield dx, dy


def _deviation(offset: Spot, spot: Spot) -> float:
    """0 straight ahead, below 1 within 45 degrees; any side is straight ahead of nowhere."""
    ahead = offset[0] * spot[0] + offset[1] * spot[1]
    aside = abs(offset[0] * spot[1] - offset[1] * spot[0])
    if offset == _ANY:
        return 0
    return aside / ahead if ahead > 0 else 1
