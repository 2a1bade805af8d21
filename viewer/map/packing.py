"""Parts packed onto sheets, and the sheets into one drawing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from viewer.map.links import Spot

_SHAPE = 1.5
"""Width to height that the whole is packed to, as it is drawn."""
_COLUMN, _ROW = 148, 84
"""Pixels of a column and a row."""
MARGIN = 1
"""Free columns and rows between parts."""
BAND = 2
"""Free columns and rows between sheets, where their titles stand."""
_WIDTHS = 12
"""Of a drawing, that are tried."""
_ASIDE = 1
"""Columns and rows more than need be that a part is moved aside, so that it may stay next time."""
_ROOMIER = 1.4
"""Times the side of a new drawing that one may have that is kept."""

Box: TypeAlias = tuple[int, int, int, int]
"""First column, first row, last column, last row."""
Sheet: TypeAlias = Sequence[dict[int, Spot]]
"""Its parts."""


def arranged(sheets: Sequence[Sheet], before: Mapping[int, Spot]) -> dict[int, Spot]:
    """Lay out sheets, as they were ``before`` if that is not much larger than need be."""
    best = _packed_best(sheets)
    if not before:
        return best
    settled = _settled([_settled(parts, before, MARGIN) for parts in sheets], before, BAND)
    return settled if _side(settled) <= _ROOMIER * _side(best) else aligned(best, before)


def aligned(spots: dict[int, Spot], before: Mapping[int, Spot]) -> dict[int, Spot]:
    """Move a drawing as one so that as many rooms as possible lie where they did ``before``."""
    moves = Counter(
        (before[it][0] - x, before[it][1] - y) for it, (x, y) in spots.items() if it in before
    )
    return moved(spots, moves.most_common(1)[0][0]) if moves else spots


def moved(spots: Mapping[int, Spot], by: Spot) -> dict[int, Spot]:
    """Return all moved as one."""
    return {room: (x + by[0], y + by[1]) for room, (x, y) in spots.items()}


def _settled(
    drawn: Iterable[dict[int, Spot]], before: Mapping[int, Spot], margin: int
) -> dict[int, Spot]:
    """Keep each drawing's place or move it aside for larger ones; put new ones where they fit."""
    spots: dict[int, Spot] = {}
    boxes: list[Box] = []
    for it in sorted(drawn, key=lambda it: (before.keys().isdisjoint(it), -len(it))):
        box, is_new = _box(it), before.keys().isdisjoint(it)
        by = min(
            _free(box, boxes, margin),
            key=lambda by: _side_of([*boxes, _at(box, by)]) if is_new else abs(by[0]) + abs(by[1]),
        )
        boxes.append(_at(box, by))
        spots |= moved(it, by)
    return spots


def _free(box: Box, others: Sequence[Box], margin: int) -> Iterator[Spot]:
    """Yield moves after which a box keeps its distance from all others."""
    across, down = {0}, {0}
    beside = 1 + margin + _ASIDE
    for west, north, east, south in others:
        across |= {east + beside - box[0], west - beside - box[2], west - box[0]}
        down |= {south + beside - box[1], north - beside - box[3], north - box[1]}
    for by in product(sorted(across), sorted(down)):
        if not any(_are_near(_at(box, by), other, margin) for other in others):
            yield by


def _packed_best(sheets: Sequence[Sheet]) -> dict[int, Spot]:
    """Pack sheets in the widths in which the whole can be drawn largest."""
    largest = [min(_packings(parts, MARGIN), key=_side) for parts in sheets]
    best = min(_packings(largest, BAND), key=_side)
    for width in _widths([part for parts in sheets for part in parts], MARGIN):
        narrowed = [_packed(parts, max(width, _widest(parts) + MARGIN), MARGIN) for parts in sheets]
        best = min([best, *_packings(narrowed, BAND)], key=_side)
    return best


def _packings(parts: Sequence[dict[int, Spot]], margin: int) -> Iterator[dict[int, Spot]]:
    return (_packed(parts, width, margin) for width in _widths(parts, margin))


def _widths(parts: Sequence[dict[int, Spot]], margin: int) -> Iterable[int]:
    """List widths of a drawing from that of its widest part to that of all in one row."""
    least = _widest(parts) + margin
    most = sum(size_of(part)[0] + margin for part in parts)
    return sorted({least + (most - least) * step**2 // _WIDTHS**2 for step in range(_WIDTHS + 1)})


def _widest(parts: Iterable[dict[int, Spot]]) -> int:
    return max((size_of(part)[0] for part in parts), default=0)


def _side(spots: dict[int, Spot]) -> float:
    return _side_of([_box(spots)])


def _side_of(boxes: Iterable[Box]) -> float:
    """Return how large the ground below all of them is."""
    west, north, east, south = zip(*boxes, strict=True)
    across: int = max(east) - min(west) + 1
    down: int = max(south) - min(north) + 1
    return max(across * _COLUMN / _SHAPE, down * _ROW)


def _packed(parts: Iterable[dict[int, Spot]], width: int, margin: int) -> dict[int, Spot]:
    """Return the largest first, each part as far up as it fits below those before it."""
    spots: dict[int, Spot] = {}
    free = [0] * width
    for part in sorted(parts, key=lambda part: -prod(size_of(part))):
        across, down = (side + margin for side in size_of(part))
        tops = [max(free[left : left + across]) for left in range(width - across + 1)]
        top = min(tops)
        left = tops.index(top)
        free[left : left + across] = [top + down] * across
        west, north, _, _ = _box(part)
        spots |= moved(part, (left - west, top - north))
    return spots


def size_of(spots: dict[int, Spot]) -> Spot:
    """Count the columns and rows."""
    west, north, east, south = _box(spots)
    return east - west + 1, south - north + 1


def _box(spots: dict[int, Spot]) -> Box:
    across, down = zip(*spots.values(), strict=True) if spots else ((0,), (0,))
    return min(across), min(down), max(across), max(down)


def _at(box: Box, by: Spot) -> Box:
    return box[0] + by[0], box[1] + by[1], box[2] + by[0], box[3] + by[1]


def _are_near(one: Box, other: Box, margin: int) -> bool:
    """Return whether less than ``margin`` is free between two."""
    ends = (one[:2], other[2:]), (other[:2], one[2:])
    return all(
        low <= high + margin for lows, highs in ends for low, high in zip(lows, highs, strict=True)
    )
