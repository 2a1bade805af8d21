"""A short menu of commands for models too small to find words, from the game's own facts."""

from collections.abc import Iterator

from game_interface import Facts
from mcp_ghost.text import one_line
from session.game_state import TurnRecord

MENU_LENGTH = 8


class CandidateCommands:
    """What could be tried here; what was tried here before comes last."""

    def __init__(self) -> None:
        self._tried: dict[int | None, dict[str, int]] = {}

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        tried = self._tried.setdefault(record.place_id, {})
        tried[record.command] = tried.get(record.command, 0) + 1

    def menu(self, facts: Facts) -> list[str]:
        """At most eight commands: what is new here, else the ways out and a look around."""
        tried = self._tried.get(facts.room_id, {})
        ways = [way.direction for way in facts.exits if way.kind != "blocked"]
        ways.sort(key=lambda way: tried.get(way, 0))
        acts = [act for act in _acts(facts) if act not in tried]
        return [*acts[: MENU_LENGTH - len(ways[:4])], *ways[:4]] or ["look"]


def _acts(facts: Facts) -> Iterator[str]:
    """What the things here are good for, the most promising first."""
    things = (*facts.visible, *(facts.inventory or ()))
    yield from (f"open {one_line(thing.name)}" for thing in things if thing.shut)
    portable = (thing for thing in facts.visible if thing.portable is not False)
    yield from (f"take {one_line(thing.name)}" for thing in portable)
    yield from dict.fromkeys(f"examine {one_line(thing.name)}" for thing in things)
