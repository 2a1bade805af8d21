"""What was learned, and when: memories, claims, objectives and reflections with their turns."""

from collections.abc import Iterable

from mcp_ghost.results import JSONObject
from session.game_state import TurnRecord
from session.knowledge import CarriedOver, Claim, Memory, Reflection, folded_claims, folded_memories
from session.levels import ObservationLevel
from session.objectives import STALE_TURNS, Objectives
from session.perception.perception import Perception
from session.record.schema import EpisodeStart


class LearnedView:
    """Folds what was carried over, turn records and reflections, in the order of the log."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes by turn records."""
        self._objectives = Objectives("", STALE_TURNS)
        self._perception = Perception(ObservationLevel.FACTS)
        """Objectives are reached by what the player was told."""
        self._memories: tuple[Memory, ...] = ()
        self._claims: tuple[Claim, ...] = ()
        self._held: dict[str, JSONObject] = {}
        """Id of a memory or claim -> ``from`` and up ``to`` which turn it held."""

    def begin(self, start: EpisodeStart, carried: CarriedOver) -> None:
        """Add the game's first facts and what earlier episodes passed on."""
        # By the setting that it was played with, not by the one at hand.
        given = start.objectives_stale_turns
        self._objectives = Objectives(start.uid, STALE_TURNS if given is None else given)
        self._perception = Perception(start.level)
        self._objectives.seen.take_in(self._perception.begin(start.opening, start.observation))
        self._memories, self._claims = carried.memories, carried.claims
        self._hold((*carried.memories, *carried.claims), 0, carried=True)

    def _hold(self, learned: Iterable[Memory | Claim], turn: int, *, carried: bool = False) -> None:
        self._held |= {it.id: {"from": turn, "to": None, "carried": carried} for it in learned}

    def apply(self, record: TurnRecord) -> None:
        """Add a finished turn."""
        before = self._objectives.open()
        self._objectives.apply(self._perception.apply(record))
        self.version += before != self._objectives.open()

    def learn(self, reflection: Reflection) -> None:
        """Add what a reflection yielded."""
        turn, changes = reflection.last_turn, reflection.memory_changes
        self._objectives.learn(reflection)
        self._memories = folded_memories((*self._memories, *reflection.memories), changes)
        claims = (*self._claims, *reflection.claims)
        self._claims = folded_claims(claims, reflection.claim_changes)
        self._hold((*reflection.memories, *reflection.claims), turn)
        gone = ("superseded", "invalidated")
        ended = {it.id: it.turn if it.status in gone else None for it in changes}
        changed = {it.id for it in reflection.claim_changes}
        retired = (it.id for it in self._claims if it.status == "retired" and it.id in changed)
        for known, end in {**ended, **dict.fromkeys(retired, turn)}.items():
            if known in self._held:
                self._held[known]["to"] = end

    def json(self) -> JSONObject:
        """Return every objective, memory and claim there ever was."""
        known = self._objectives.all()
        return {
            "objectives": [{**it.model_dump(mode="json"), "opened": it.turn} for it in known],
            "memories": [self._held_json(it) for it in self._memories],
            "claims": [self._held_json(it) for it in self._claims],
        }

    def _held_json(self, learned: Memory | Claim) -> JSONObject:
        return {**learned.model_dump(mode="json"), **self._held[learned.id]}


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
