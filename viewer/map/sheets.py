"""The sheets of a map: one for each level, with the unconnected parts on it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from managers.map.ways import Way
from viewer.map.links import Link, Spot, links_of
from viewer.map.packing import arranged
from viewer.map.placing import place
from viewer.map.steady import kept

_LEVEL, _CLIMB, _NEAR = 4, 3, 1
"""What it costs to cut a passage on the compass, a staircase, any other way.

A staircase within a level is drawn as any other: it costs less than a passage that is cut.
"""


class _Edge(NamedTuple):
    start: int
    end: int
    rise: int
    weight: int


class Placed(NamedTuple):
    """Where a room is drawn; rows grow to the south."""

    x: int
    y: int
    level: int


class Sheets:
    """Draws a map that grows, again and again, and moves what was drawn as little as can be."""

    def __init__(self) -> None:
        self._parts: list[dict[int, Spot]] = []
        """As they were last drawn."""

    def draw(self, rooms: Iterable[int], ways: Iterable[Way]) -> dict[int, Placed]:
        """Place rooms on sheets that lie apart; no two rooms share a spot.

        What was found earlier decides where not all can be true, so give rooms in that order.
        """
        known = list(dict.fromkeys(rooms))
        found = sorted(ways, key=lambda way: way.first_turn)
        links = [link for link in links_of(found) if {link.start, link.end} <= set(known)]
        level = _levels(known, links)
        flat = [
            link
            for link in links
            if level[link.start] == level[link.end] and (link.sides or link.others)
        ]
        heights = sorted(set(level.values()), reverse=True)
        on = {height: [room for room in known if level[room] == height] for height in heights}
        drawn = [[self._placed(part, flat) for part in _parts(on[it], flat)] for it in heights]
        before = {room: spot for part in self._parts for room, spot in part.items()}
        spots = arranged(drawn, before)
        self._parts = [{room: spots[room] for room in part} for parts in drawn for part in parts]
        return {room: Placed(*spots[room], level[room]) for room in known}

    def _placed(self, part: Sequence[int], links: Iterable[Link]) -> dict[int, Spot]:
        within = set(part)
        inner = [it for it in links if {it.start, it.end} <= within]
        return kept(place(part, inner), inner, self._parts)


def _parts(rooms: Sequence[int], links: Iterable[Link]) -> list[list[int]]:
    """Group rooms that ways connect; the order is kept."""
    part = {room: frozenset([room]) for room in rooms}
    for link in links:
        if link.start in part and link.end not in part[link.start]:
            joined = part[link.start] | part[link.end]
            part |= dict.fromkeys(joined, joined)
    return [[room for room in rooms if room in it] for it in dict.fromkeys(part.values())]


def _levels(rooms: Sequence[int], links: Iterable[Link]) -> dict[int, int]:
    """Assign levels, 0 for the first room, so that the least is drawn against its sense."""
    steps = []
    for link in links:
        rise = 0 if link.sides or not link.climbs else link.climbs[0]
        weight = _LEVEL if link.sides else _CLIMB if link.climbs else _NEAR
        steps.append(_Edge(link.start, link.end, rise, weight))
    found = _spanned(rooms, steps)
    beside: dict[int, list[_Edge]] = {room: [] for room in rooms}
    for step in steps:
        beside[step.start].append(step)
        beside[step.end].append(step)
    while any(_improved(found, step, beside) for step in steps):
        pass  # it ends: each time the cost falls by a whole number
    ground = found[rooms[0]] if rooms else 0
    return {room: level - ground for room, level in found.items()}


def _spanned(rooms: Sequence[int], steps: Sequence[_Edge]) -> dict[int, int]:
    """Assign levels by the weightiest edges that reach every room, the first ones first."""
    level = dict.fromkeys(rooms, 0)
    part = {room: [room] for room in rooms}
    for start, end, rise, _ in sorted(steps, key=lambda step: -step.weight):
        if part[start] is part[end]:
            continue
        small, large = sorted((part[start], part[end]), key=len)
        ahead = level[start] + rise - level[end]
        by = ahead if small is part[end] else -ahead
        for room in small:
            level[room] += by
            part[room] = large
        large += small
    return level


def _improved(level: dict[int, int], step: _Edge, beside: dict[int, list[_Edge]]) -> bool:
    """Return whether all that hangs on the end of a step was better moved to another level."""
    if level[step.end] - level[step.start] != step.rise:
        return False
    side = _held(level, step, beside)
    if step.start in side:
        return False
    across = [
        (it, it.end in side)
        for room in side
        for it in beside[room]
        if (it.start in side) != (it.end in side)
    ]
    gains: dict[int, int] = {0: 0}
    for it, inward in across:
        off = it.rise - (level[it.end] - level[it.start])
        by = off if inward else -off
        gains[by] = gains.get(by, 0) + it.weight
    best = max(gains, key=lambda by: gains[by])
    if gains[best] <= gains[0]:
        return False
    for room in side:
        level[room] += best
    return True


def _held(level: dict[int, int], cut: _Edge, beside: dict[int, list[_Edge]]) -> set[int]:
    """Return the rooms that hang on the end of a step by steps that are drawn in their sense."""
    seen, ahead = {cut.end}, [cut.end]
    while ahead:
        room = ahead.pop()
        for step in beside[room]:
            other = step.end if step.start == room else step.start
            is_true = level[step.end] - level[step.start] == step.rise
            if is_true and other not in seen and step != cut:
                seen.add(other)
                ahead.append(other)
    return seen
