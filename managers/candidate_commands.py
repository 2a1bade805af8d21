"""A short menu of commands for models too small to find words, from what they were told."""

from collections.abc import Iterator

from game_interface import Facts
from mcp_ghost.text import one_line
from session.game_state import TurnRecord
from session.perception.directions import DIRECTIONS

_SHOWN = 4
"""Ways out, and as many other commands."""
_STAY = 3
"""Turns after which a room is left: such a model would try each verb on each thing first."""


class CandidateCommands:
    """What could be tried here; what was tried here before comes last."""

    def __init__(self) -> None:
        self._tried: dict[int | None, dict[str, int]] = {}
        self._stayed = 0
        """Turns since the player came here."""

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        tried = self._tried.setdefault(record.place_id, {})
        tried[record.command] = tried.get(record.command, 0) + 1
        here = record.after.room_id == record.place_id
        self._stayed = self._stayed + 1 if here else 0

    def menu(self, facts: Facts) -> list[str]:
        """At most eight commands: ways out, those never taken before all others, and what is new.

        Other ways are offered only where all that the game's words name were taken.
        """
        tried = self._tried.get(facts.room_id, {})
        kinds = {way.direction: way.kind for way in facts.exits}
        known = [way for way, kind in kinds.items() if kind != "blocked"]
        ways = [way for way in known if way not in tried]
        if not ways:
            at_a_venture = (way for way in DIRECTIONS.values() if way not in kinds)
            ways = [*sorted(known, key=lambda way: tried[way]), *at_a_venture]
        acts = [act for act in _acts(facts) if act not in tried]
        if known and self._stayed >= _STAY:
            acts = []
        return [*ways[:_SHOWN], *acts[:_SHOWN]] or ["look"]


def _acts(facts: Facts) -> Iterator[str]:
    """What things are good for: what the game has shown does not tell which can be taken."""
    here = {one_line(thing.name): thing.holder for thing in facts.visible}
    carried = dict.fromkeys(one_line(thing.name) for thing in facts.inventory or ())
    if here:
        yield "take all"  # which most parsers take to mean what lies about
    yield from (f"take {name}" for name, holder in here.items() if holder)
    for verb in ("examine", "open"):
        yield from (f"{verb} {name}" for name in here)
    yield from (f"examine {name}" for name in carried)
