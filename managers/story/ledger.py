"""What brought points in earlier episodes, with the commands that led there; kept by code alone."""

from collections.abc import Iterable

from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section, section
from session.game_state import Observation, place_name
from session.knowledge import CarriedOver, Scored

TOKEN_BUDGET = 6000
"""Of the whole ledger, roughly."""
_LAST_COMMANDS = 8
"""Of those that led to points, where there is no room for all."""
_OF_THE_BEST = (
    "The best episode, one line per score: the turn, the place, what it brought, and all commands "
    "since the line before, of which the last was given there."
)
_ELSEWHERE = "What else scored or killed, without the commands that led there:"


class Ledger(Manager):
    """Tells of points of earlier episodes; those of this one are in the story."""

    def __init__(self) -> None:
        self._scores: tuple[Scored, ...] = ()

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn what was passed on."""
        self._scores = carried.scores

    def preamble(self) -> Iterable[Section]:
        """Return the best episode from its start, then what scored or killed in others alone."""
        best = [it for it in self._scores if it.is_of_best]
        others = [f"- {_where(it)}: {it.command}" for it in self._scores if not it.is_of_best]
        lines = [_OF_THE_BEST, *_fitting(best)] if best else []
        lines += [_ELSEWHERE, *others] if others else []
        return section("What scored in earlier episodes", lines, importance=3)


def _fitting(best: list[Scored]) -> list[str]:
    """Shorten the longest ways first, until all is within the budget."""
    lines = [_line(it, len(it.by)) for it in best]
    for at in sorted(range(len(best)), key=lambda at: -len(lines[at])):
        if sum(map(len, lines)) <= TOKEN_BUDGET * CHARACTERS_PER_TOKEN:
            break
        lines[at] = _line(best[at], _LAST_COMMANDS)
    return lines


def _line(it: Scored, most: int) -> str:
    left_out = ["…"] if len(it.by) > most else []
    way = "; ".join([*left_out, *it.by[max(0, len(it.by) - most) :], it.command])
    return f"- turn {it.turn}, {_where(it)}: {way}"


def _where(it: Scored) -> str:
    told = (
        place_name(it.room),
        f"{it.points:+d} points" if it.points else "",
        "you died" if it.died else "",
        "you won" if it.won else "",
    )
    return ", ".join(filter(None, told))
