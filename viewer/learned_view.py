"""What was learned, and when: memories, claims, objectives and reflections with their turns."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from mcp_ghost.results import JSONObject
from session.game_state import TurnRecord
from session.knowledge import CarriedOver, Claim, Memory, Reflection, folded_claims, folded_memories
from session.levels import ObservationLevel
from session.objectives import STALE_TURNS, Objectives
from session.perception.perception import Perception
from session.record.schema import EpisodeStart

Value = TypeVar("Value", Memory, Claim)


@dataclass
class _Held(Generic[Value]):
    """A value with the turns from which and up to which it held."""

    value: Value
    since: int
    carried: bool = False
    until: int | None = None

    def json(self) -> JSONObject:
        fields = self.value.model_dump(mode="json")
        return {**fields, "from": self.since, "to": self.until, "carried": self.carried}


class LearnedView:
    """Folds what was carried over, turn records and reflections, in the order of the log."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes by turn records."""
        self._objectives: Objectives | None = None
        self._perception = Perception(ObservationLevel.FACTS)
        """Objectives are reached by what the player was told."""
        self._memories: dict[str, _Held[Memory]] = {}
        self._claims: dict[str, _Held[Claim]] = {}

    def begin(self, start: EpisodeStart, carried: CarriedOver) -> None:
        """Add the game's first facts and what earlier episodes passed on."""
        # By the setting that it was played with, not by the one at hand.
        given = start.objectives_stale_turns
        self._objectives = Objectives(start.uid, STALE_TURNS if given is None else given)
        self._perception = Perception(start.level)
        self._objectives.seen.take_in(self._perception.begin(start.opening, start.observation))
        self._memories = {it.id: _Held(it, 0, carried=True) for it in carried.memories}
        self._claims = {it.id: _Held(it, 0, carried=True) for it in carried.claims}

    def apply(self, record: TurnRecord) -> None:
        """Add a finished turn."""
        if self._objectives is not None:
            before = self._objectives.open()
            self._objectives.apply(self._perception.apply(record))
            self.version += before != self._objectives.open()

    def learn(self, reflection: Reflection) -> None:
        """Add what a reflection yielded."""
        turn = reflection.last_turn
        if self._objectives is not None:
            self._objectives.learn(reflection)
        self._memories |= {it.id: _Held(it, turn) for it in reflection.memories}
        self._claims |= {it.id: _Held(it, turn) for it in reflection.claims}
        for change in reflection.memory_changes:
            if memory := self._memories.get(change.id):
                (memory.value,) = folded_memories((memory.value,), (change,))
                gone = change.status in ("superseded", "invalidated")
                memory.until = change.turn if gone else None
        for claim_change in reflection.claim_changes:
            if claim := self._claims.get(claim_change.id):
                (claim.value,) = folded_claims((claim.value,), (claim_change,))
                claim.until = turn if claim.value.status == "retired" else None

    def json(self) -> JSONObject:
        """Return every objective, memory and claim there ever was."""
        known = self._objectives.all() if self._objectives else ()
        return {
            "objectives": [{**it.model_dump(mode="json"), "opened": it.turn} for it in known],
            "memories": [held.json() for held in self._memories.values()],
            "claims": [held.json() for held in self._claims.values()],
        }


def reflection_json(reflection: Reflection) -> JSONObject:
    """Return a reflection, with the ids of what it touched."""
    kept = {"number", "triggers", "dropped", "failure", "usage", "seconds"}
    return {
        "turn": reflection.last_turn,
        **reflection.model_dump(mode="json", include=kept),
        "memories": _ids(*reflection.memories, *reflection.memory_changes),
        "claims": _ids(*reflection.claims, *reflection.claim_changes),
        "objectives": _ids(*reflection.objectives, *reflection.objective_changes),
    }


def _ids(*values: object) -> list[str]:
    return list(dict.fromkeys(str(getattr(value, "id", "")) for value in values))
