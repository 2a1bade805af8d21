"""A short menu of commands for models too small to find words, from the game's own facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.game_state import Observation, TurnRecord

MENU_LENGTH = 8


class CandidateCommands:
    """What could be tried here; what was tried here before comes last."""

    def __init__(self) -> None:
        self._tried: dict[int, dict[str, int]] = {}

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        tried = self._tried.setdefault(record.place.id, {})
        tried[record.command] = tried.get(record.command, 0) + 1

    def menu(self, seen: Observation) -> list[str]:
        """At most eight commands, the least tried first, of several kinds."""
        tried = self._tried.get(seen.room.id, {})
        ranked = sorted(_possible(seen), key=lambda command: tried.get(command, 0))
        return ranked[:MENU_LENGTH] or ["look"]


def _possible(seen: Observation) -> list[str]:
    """Every command that the facts suggest; ways and things take turns."""
    ways = [way.direction for way in seen.exits if way.kind != "blocked"]
    here = [_noun(thing) for thing in seen.visible]
    carried = [_noun(thing) for thing in seen.inventory]
    acts = [f"take {thing}" for thing in here]
    acts += [f"open {thing}" for thing in here]
    acts += [f"examine {thing}" for thing in (*here, *carried)]
    acts += [f"turn on {thing}" for thing in carried]
    mixed = [command for pair in zip(ways, acts, strict=False) for command in pair]
    shorter = min(len(ways), len(acts))
    return list(dict.fromkeys([*mixed, *ways[shorter:], *acts[shorter:], "look"]))


def _noun(thing: str) -> str:
    """The name without the remark on where the thing is."""
    return thing.partition(" (")[0]
