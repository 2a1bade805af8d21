"""The sheets of a map: one for each level, with the unconnected parts on it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from managers.map.ways import Way
from viewer.map.levels import levels
from viewer.map.links import Link, Spot, links_of
from viewer.map.packing import arranged
from viewer.map.placing import place
from viewer.map.steady import kept


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
        level = levels(known, links)
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
    part = {room: [room] for room in rooms}
    for link in links:
        if link.start in part and part[link.start] is not part[link.end]:
            small, large = sorted((part[link.start], part[link.end]), key=len)
            large += small
            part |= dict.fromkeys(small, large)
    order = {room: number for number, room in enumerate(rooms)}
    once = {id(it): it for it in part.values()}
    return [sorted(it, key=lambda room: order[room]) for it in once.values()]
