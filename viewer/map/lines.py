"""Lines between rooms: where they run, what they cross, and what a drawing gets wrong by them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from viewer.map.links import Link, Spot

_BESIDE = 0.45
"""Of a column or row, that a line must keep from the middle of a room."""
_STRAIGHT, _ASKEW, _WRONG = 0, 1, 2
"""As it should be; off by 45 degrees at most, as where a way back turns a corner; off by more."""


def between(start: Spot, end: Spot) -> Iterator[Spot]:
    """The spots that the line between two others runs through."""
    across, down = end[0] - start[0], end[1] - start[1]
    steps = max(abs(across), abs(down))
    for step in range(1, steps):
        x, y = start[0] + across * step / steps, start[1] + down * step / steps
        if max(abs(x - round(x)), abs(y - round(y))) < _BESIDE:
            yield round(x), round(y)


def cross(a: Spot, b: Spot, c: Spot, d: Spot) -> bool:
    """Whether two lines cross elsewhere than at a common end."""
    if a in (c, d) or b in (c, d):
        return False
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def crossings(lines: Sequence[tuple[Spot, Spot]]) -> int:
    """How many pairs of lines cross."""
    return sum(cross(*one, *two) for i, one in enumerate(lines) for two in lines[:i])


def flaws(spots: Mapping[int, Spot], links: Iterable[Link]) -> tuple[int, int, int]:
    """What misleads, which are wrong directions and lines through rooms; what crosses; is askew."""
    drawn = [(link, spots[link.start], spots[link.end]) for link in links]
    taken = set(spots.values())
    off = [_off(side, start, end) for link, start, end in drawn for side in link.sides]
    through = sum(spot in taken for _, start, end in drawn for spot in between(start, end))
    crossed = crossings([(start, end) for _, start, end in drawn])
    return off.count(_WRONG) + through, crossed, off.count(_ASKEW)


def _off(side: Spot, start: Spot, end: Spot) -> int:
    """How far a line leads off the side that it should lead to."""
    across, down = end[0] - start[0], end[1] - start[1]
    ahead = across * side[0] + down * side[1]
    aside = abs(across * side[1] - down * side[0])
    return _STRAIGHT if ahead > 0 == aside else _ASKEW if 0 < ahead >= aside else _WRONG


def _turn(a: Spot, b: Spot, c: Spot) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
