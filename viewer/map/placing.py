"""Where the rooms of one part lie: true to the compass as far as can be, apart, and close.

Every way on the compass is a condition on columns, on rows or on both; conditions that contradict
earlier ones are left out, so that the rest holds exactly. What would lie on something else is put
to one side of it by one more condition, and pulls bring together what the conditions leave free.
"""

from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import TypeAlias

from viewer.map.axis import Axis, Budget, Gap, Pull
from viewer.map.links import Link, Spot, between, crossings

_COMPASS, _NEAR, _CROSSING = 4, 1, 6
"""What it costs when a passage, or another way, is a step too long, and when lines cross."""
ROUNDS = 12
"""Of putting apart what lies on something else."""
TRIALS = 40
"""Other sides that are tried at most for what was put apart."""
WORK = 300_000
"""Rooms that are looked at, again and again, to bring a part together: a second or so."""

Apart: TypeAlias = tuple[int, Gap]


def place(rooms: Sequence[int], links: Sequence[Link]) -> dict[int, Spot]:
    """Place rooms: id -> (column, row), rows growing to the south; no two share a spot.

    Args:
        rooms: In the order in which they were found.
        links: Between these rooms, the same.
    """
    first = _Placing(rooms, links)
    for link in first.wrong[:ROUNDS]:  # had it come first, fewer might be wrong
        other = _Placing(rooms, [link, *(it for it in links if it is not link)])
        first = min(first, other, key=lambda it: sum(len(link.sides) for link in it.wrong))
    return first.settled()


class _Placing:
    def __init__(self, rooms: Sequence[int], links: Sequence[Link]) -> None:
        self._links = links
        self._work = Budget(WORK)
        self._axes = Axis(rooms, self._work), Axis(rooms, self._work)
        self._apart: list[Apart] = []
        self.wrong = [link for link in links if not self._takes(link)]
        """Those that cannot be drawn to their side."""

    def settled(self) -> dict[int, Spot]:
        """Return everything in its place."""
        for link in self._links:
            # The end of a way along an axis is straight ahead, if what came before lets it.
            if link.side and 0 in link.side and link not in self.wrong:
                there, back = Gap(link.start, link.end, 0), Gap(link.end, link.start, 0)
                self._axes[link.side.index(0)].take(there, back)
        self._tighten()
        if self._separate():
            self._improve()
        return _all_apart(self._spots())

    def _spots(self) -> dict[int, Spot]:
        across, down = self._axes
        return {room: (column, down.at[room]) for room, column in across.at.items()}

    def _takes(self, link: Link) -> bool:
        """Put the end on its side of the start, if what came before lets it be there."""
        across, down = link.side or (0, 0)
        kept = self._axes[0].copy() if across and down else None
        if across and not self._axes[0].take(_beyond(link, across)):
            return False
        if down and not self._axes[1].take(_beyond(link, down)):
            self._axes = kept or self._axes[0], self._axes[1]
            return False
        return True

    def _tighten(self) -> None:
        for number in (0, 1, 0, 1):
            self._axes[number].tighten(list(self._pulls(number)))

    def _pulls(self, number: int) -> Iterator[Pull]:
        beside = self._axes[1 - number].at
        for link in self._links:
            if link.side is None:
                yield Pull(link.start, link.end, 0, _NEAR)
                continue
            diagonal = all(link.side) and link not in self.wrong
            far = abs(beside[link.end] - beside[link.start]) if diagonal else 1
            yield Pull(link.start, link.end, link.side[number] * max(far, 1), _COMPASS)

    def _separate(self) -> bool:
        """Put rooms beside what they lie on; whether that could be done."""
        for _ in range(ROUNDS):
            conflicts = list(self._conflicts())
            if not conflicts:
                return True
            if not sum(self._part(*conflict) for conflict in dict.fromkeys(conflicts)):
                return False
            self._tighten()
        return False

    def _conflicts(self) -> Iterator[tuple[int, int]]:
        """Yield rooms that lie on each other, or on the line between two others."""
        taken: dict[Spot, int] = {}
        spots = self._spots()
        for room, spot in spots.items():
            if spot in taken:
                yield taken[spot], room
            taken[spot] = room
        for link in self._links:
            if link.side and link not in self.wrong:
                for spot in between(spots[link.start], spots[link.end]):
                    if spot in taken:
                        yield link.start, taken[spot]
                        yield link.end, taken[spot]

    def _part(self, one: int, other: int) -> bool:
        """Put two rooms beside each other, where that costs least; whether there is a way."""
        best: tuple[int, Apart] | None = None
        for number, axis in enumerate(self._axes):
            for gap in (Gap(one, other, 1), Gap(other, one, 1)):
                trial = axis.copy()
                if trial.take(gap) and trial.at != axis.at:
                    cost = trial.cost(self._pulls(number)) - axis.cost(self._pulls(number))
                    best = min(best or (cost, (number, gap)), (cost, (number, gap)))
        if best is None:
            return False
        number, gap = best[1]
        self._axes[number].take(gap)
        self._apart.append((number, gap))
        return True

    def _improve(self) -> None:
        """Put what was put apart to the other side, and keep what comes out better."""
        best, trials = self._cost(), 0
        before = None
        while before != best:
            before = best
            for number, gap in list(self._apart):
                trials += 1
                if trials > TRIALS or self._work.left < 0:
                    return
                kept, apart = self._axes, list(self._apart)
                self._axes = kept[0].copy(), kept[1].copy()
                if (number, gap) in self._apart:
                    self._apart.remove((number, gap))
                self._axes[number].drop(gap)
                self._axes[number].take(Gap(gap.end, gap.start, 0))
                self._tighten()
                if self._separate() and self._cost() < best:
                    best = self._cost()
                else:
                    self._axes, self._apart = kept, apart

    def _cost(self) -> int:
        pulls = sum(axis.cost(self._pulls(number)) for number, axis in enumerate(self._axes))
        spots = self._spots()
        lines = [(spots[link.start], spots[link.end]) for link in self._links]
        return pulls + _CROSSING * crossings(lines)


def _beyond(link: Link, side: int) -> Gap:
    return Gap(link.start, link.end, 1) if side > 0 else Gap(link.end, link.start, 1)


def _all_apart(spots: dict[int, Spot]) -> dict[int, Spot]:
    """Return the rest, that no condition could put apart: each to the nearest spot that is free."""
    found = dict(spots)
    first = {spot: room for room, spot in reversed(spots.items())}
    taken = set(first)
    for room, (x, y) in spots.items():
        if first[x, y] != room:
            squares = (product(range(-it, it + 1), repeat=2) for it in count(1))
            around = ((x + across, y + down) for square in squares for down, across in square)
            found[room] = next(it for it in around if it not in taken)
            taken.add(found[room])
    return found
