"""Positions along one axis, under conditions that hold and pulls that give way."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Gap(NamedTuple):
    """A condition: ``end`` lies at least ``least`` beyond ``start``."""

    start: int
    end: int
    least: int


class Pull(NamedTuple):
    """A wish: ``end`` lies just ``far`` beyond ``start``; it costs the square of what is amiss."""

    start: int
    end: int
    far: int
    weight: int


class Budget:
    """The number of rooms that may still be looked at to bring a part together."""

    def __init__(self, rooms: int) -> None:
        self.left = rooms


class Axis:
    """A whole number for each room, such that every condition taken so far holds."""

    def __init__(self, rooms: Iterable[int], work: Budget) -> None:
        self.at: dict[int, int] = dict.fromkeys(rooms, 0)
        self._work = work
        self._after: dict[int, dict[int, int]] = {room: {} for room in self.at}
        """Room -> other room -> how far beyond it that one lies at least."""
        self._before: dict[int, dict[int, int]] = {room: {} for room in self.at}

    def copy(self) -> "Axis":
        """Return an independent copy."""
        axis = Axis((), self._work)
        axis.at = dict(self.at)
        axis._after = {room: dict(gaps) for room, gaps in self._after.items()}
        axis._before = {room: dict(gaps) for room, gaps in self._before.items()}
        return axis

    def take(self, *gaps: Gap) -> bool:
        """Take all the conditions, moving what is in the way; none where they contradict others."""
        taken: list[tuple[Gap, int | None]] = []
        moved: dict[int, int] = {}
        for gap in gaps:
            old = self._after[gap.start].get(gap.end)
            if old is None or old < gap.least:
                taken.append((gap, old))
                self._set(gap, gap.least)
                if not self._pushed(gap, moved):
                    for other, least in reversed(taken):
                        self._set(other, least)
                    self.at.update(moved)
                    return False
        return True

    def drop(self, gap: Gap) -> None:
        """Give a condition up."""
        if self._after[gap.start].get(gap.end) == gap.least:
            self._set(gap, None)

    def _set(self, gap: Gap, least: int | None) -> None:
        if least is None:
            del self._after[gap.start][gap.end], self._before[gap.end][gap.start]
        else:
            self._after[gap.start][gap.end] = self._before[gap.end][gap.start] = least

    def _pushed(self, gap: Gap, moved: dict[int, int]) -> bool:
        """Move on what is in the way; False if that would push the gap's start itself."""
        ahead = [(gap.end, self.at[gap.start] + gap.least)]
        while ahead:
            room, least = ahead.pop()
            if self.at[room] >= least:
                continue
            if room == gap.start:
                return False
            moved.setdefault(room, self.at[room])
            self.at[room] = least
            ahead += [(other, least + far) for other, far in self._after[room].items()]
        return True

    def tighten(self, pulls: Sequence[Pull], rounds: int = 12) -> None:
        """Move rooms, with all that they push, for as long as that costs less."""
        beside: dict[int, list[Pull]] = {room: [] for room in self.at}
        for pull in pulls:
            beside[pull.start].append(pull)
            beside[pull.end].append(pull)
        for _ in range(rounds):
            moved = False
            for room in self.at:
                if self._work.left < 0:
                    return
                for step in (1, -1):
                    moved |= self._moved(room, step, beside)
            if not moved:
                return

    def cost(self, pulls: Iterable[Pull]) -> int:
        """Return the sum of squared deviations from the pulls, weighted."""
        at = self.at
        return sum((at[it.end] - at[it.start] - it.far) ** 2 * it.weight for it in pulls)

    def _moved(self, room: int, step: int, beside: dict[int, list[Pull]]) -> bool:
        """Move a room by one if that is better: by itself, or with all that lies just right."""
        wanted = [pull for pull in beside[room] if self._gain(pull, room, step) > 0]
        if not wanted:
            return False
        for rigid in (False, True):
            moving = self._moving(room, step, beside if rigid else {}, wanted)
            self._work.left -= len(moving)
            gain = sum(
                self._gain(pull, it, step)
                for it in moving
                for pull in beside[it]
                if (pull.start in moving) != (pull.end in moving)
            )
            if gain > 0:
                for it in moving:
                    self.at[it] += step
                return True
        return False

    def _gain(self, pull: Pull, room: int, step: int) -> int:
        off = self.at[pull.end] - self.at[pull.start] - pull.far
        after = off + (step if room == pull.end else -step)
        return (off * off - after * after) * pull.weight

    def _moving(
        self, room: int, step: int, rigid: dict[int, list[Pull]], wanted: list[Pull]
    ) -> set[int]:
        """Find what moves with a room: what it pushes, and what hangs on it by ``rigid`` pulls."""
        at, held = self.at, self._after if step > 0 else self._before
        moving, ahead = {room}, [room]
        while ahead:
            it = ahead.pop()
            others = [
                other for other, far in held[it].items() if step * (at[other] - at[it]) <= far
            ]
            others += [
                pull.start if pull.end == it else pull.end
                for pull in rigid.get(it, ())
                if at[pull.end] - at[pull.start] == pull.far and pull not in wanted
            ]
            ahead += [other for other in others if other not in moving]
            moving.update(others)
        return moving
