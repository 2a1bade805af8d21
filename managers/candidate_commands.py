"""A short menu of commands for models too small to find words, from what they were told."""

from collections.abc import Iterable, Iterator, Mapping

from game_interface import Exit, Facts
from mcp_ghost.text import one_line
from session.game_state import TurnRecord
from session.perception.directions import DIRECTIONS

MENU_LENGTH = 8
_WAYS_SHOWN = 4


class CandidateCommands:
    """What could be tried here; what was tried here before comes last."""

    def __init__(self) -> None:
        self._tried: dict[int | None, dict[str, int]] = {}

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        tried = self._tried.setdefault(record.place_id, {})
        tried[record.command] = tried.get(record.command, 0) + 1

    def menu(self, facts: Facts) -> list[str]:
        """At most eight commands: what is new here, then ways out."""
        tried = self._tried.get(facts.room_id, {})
        ways = _ways(facts.exits, tried)[:_WAYS_SHOWN]
        acts = [act for act in _acts(facts) if act not in tried]
        return [*acts[: MENU_LENGTH - len(ways)], *ways] or ["look"]


def _ways(known: Iterable[Exit], tried: Mapping[str, int]) -> list[str]:
    """Those that are known, then directions at a venture, each time those tried least first."""
    kinds = {way.direction: way.kind for way in known}
    named = [way for way, kind in kinds.items() if kind != "blocked"]
    others = [way for way in DIRECTIONS.values() if way not in kinds]
    return [*sorted(named, key=lambda it: tried.get(it, 0)), *others]


def _acts(facts: Facts) -> Iterator[str]:
    """What things are good for: what the game has shown does not tell which."""
    here = list(dict.fromkeys(one_line(thing.name) for thing in facts.visible))
    carried = dict.fromkeys(one_line(thing.name) for thing in facts.inventory or ())
    for verb in ("take", "examine", "open"):
        yield from (f"{verb} {name}" for name in here)
    yield from (f"examine {name}" for name in carried)
