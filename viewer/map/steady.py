"""A part of the map that grows: what was drawn stays where it is, and what is new is put to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from viewer.map.links import COMPASS, Link, Spot, flaws
from viewer.map.packing import aligned, moved, size_of

MOST_NEW = 12
"""Rooms, or parts, that are added to what was drawn; trying each side of each takes time."""
_FAR = 4
"""Steps from the room it was reached from that a new room may lie."""
_ROOMIER = 1.5
"""Times the ground of a new drawing that one may take that is kept."""


def kept(
    new: dict[int, Spot], links: Sequence[Link], before: Iterable[Mapping[int, Spot]]
) -> dict[int, Spot]:
    """Add new rooms to the part as drawn ``before``, unless the ``new`` drawing is better.

    Args:
        new: The whole part, drawn without regard to what was before.
        links: Between its rooms.
        before: What parts were drawn; some of it may belong to this one now.
    """
    known = [it for old in before if (it := {room: old[room] for room in new if room in old})]
    if not known:
        return new
    grown = _grown(list(new), links, known)
    if grown and flaws(grown, links) <= flaws(new, links):
        (wide, high), (across, down) = size_of(grown), size_of(new)
        if wide * high <= _ROOMIER * (across + 1) * (down + 1):
            return grown
    return aligned(new, max(known, key=len))


def _grown(
    rooms: Sequence[int], links: Sequence[Link], known: list[dict[int, Spot]]
) -> dict[int, Spot] | None:
    """Put new rooms beside the known ones they are linked with; None if in vain or too big."""
    old = {room for spots in known for room in spots}
    rest = sorted(known, key=len, reverse=True) + [
        {room: (0, 0)} for room in rooms if room not in old
    ]
    whole = rest.pop(0)
    if len(rest) > MOST_NEW:
        return None
    while rest:
        joined = next((it for it in rest if any(_joining(link, whole, it) for link in links)), None)
        if joined is None:
            return None
        rest.remove(joined)
        within = whole.keys() | joined.keys()
        inner = [link for link in links if {link.start, link.end} <= within]
        together = min(
            _together(whole, joined, inner),
            key=lambda it: (flaws(it, inner), _length(it, inner)),
            default=None,
        )
        if together is None:
            return None
        whole = together
    return whole


def _together(
    whole: dict[int, Spot], joined: dict[int, Spot], links: Sequence[Link]
) -> Iterator[dict[int, Spot]]:
    """Yield ways to put one to the other, those that move nothing first."""
    opened = []
    for link in links:
        if not _joining(link, whole, joined):
            continue
        sense = 1 if link.start in whole else -1
        near, far = (link.start, link.end)[::sense]
        for side in [link.side] if link.side else COMPASS.values():
            x, y = sense * side[0], sense * side[1]
            for step in range(1, _FAR + 1):
                yield from _if_free(whole, joined, far, _beyond(whole[near], (x, y), step))
            opened += [(far, near, (x, y), axis) for axis, way in enumerate((x, y)) if way]
    for far, near, side, axis in opened:  # a row or column: all that lies there is moved on by one
        edge, way = whole[near][axis], side[axis]
        ahead = {it: spot for it, spot in whole.items() if (spot[axis] - edge) * way > 0}
        wider = whole | moved(ahead, (way, 0) if axis == 0 else (0, way))
        yield from _if_free(wider, joined, far, _beyond(wider[near], side, 1))


def _if_free(
    whole: dict[int, Spot], joined: dict[int, Spot], room: int, spot: Spot
) -> Iterator[dict[int, Spot]]:
    """Yield both, with the second's ``room`` on that spot, unless they would overlap."""
    x, y = joined[room]
    put = moved(joined, (spot[0] - x, spot[1] - y))
    if not set(put.values()) & set(whole.values()):
        yield whole | put


def _joining(link: Link, one: Mapping[int, Spot], other: Mapping[int, Spot]) -> bool:
    return (link.start in one and link.end in other) or (link.end in one and link.start in other)


def _beyond(spot: Spot, side: Spot, steps: int) -> Spot:
    return spot[0] + side[0] * steps, spot[1] + side[1] * steps


def _length(spots: Mapping[int, Spot], links: Iterable[Link]) -> int:
    ends = [(spots[link.start], spots[link.end]) for link in links]
    return sum(max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in ends)
