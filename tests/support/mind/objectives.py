"""Objectives as turns and reflections yield them, and managers that keep them."""

from __future__ import annotations

from typing import Any

from managers.objective_manager import ObjectiveManager
from managers.reflection.answer import ObjectiveProposal, ObjectiveRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_configuration import GameConfiguration
from session.game_state import GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Objective, Reflection
from tests.support.records import observation, record

UID = "k7f3qa"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RECORDS = tuple(record(turn, "look", 1, 1) for turn in range(1, 6))


def begun(*records: TurnRecord, stale: int = 80, shown: int = 8) -> ObjectiveManager:
    configuration = GameConfiguration(objectives_stale_turns=stale, objectives_shown=shown)
    objectives = ObjectiveManager(configuration, UID)
    objectives.begin(observation(1), CarriedOver())
    for each in records:
        objectives.apply(each)
    return objectives


def declared(
    turn: int, text: str, room: int = 1, after: Observation | None = None, **changes: object
) -> TurnRecord:
    """A turn in ``room`` in which the agent sets itself a goal."""
    seen = after or observation(room)
    return record(turn, "look", room, seen.room_id, seen, new_objective=text, **changes)


def proposal(text: str, turn: int = 3, **changes: object) -> ObjectiveProposal:
    return ObjectiveProposal.model_validate({"turn": turn, "text": text, **changes})


def ended(name: str, *, completed: bool, turn: int = 3, reason: str = "seen") -> ObjectiveRevision:
    return ObjectiveRevision(id=name, turn=turn, completed=completed, reason=reason)


def reconciled(
    objectives: ObjectiveManager,
    *found: ObjectiveProposal,
    ends: tuple[ObjectiveRevision, ...] = (),
) -> Reflection:
    """The reflection that an answer comes to, as it would be logged."""
    answer = ReflectionAnswer(objectives=list(found), ended_objectives=list(ends))
    finder = EvidenceFinder(UID, RECORDS)
    fields: Any = objectives.reconcile(answer, finder)
    return Reflection(number=1, first_turn=1, last_turn=5, dropped=tuple(finder.dropped), **fields)


def learnt(objectives: ObjectiveManager, *found: ObjectiveProposal) -> Reflection:
    reflection = reconciled(objectives, *found)
    objectives.learn(reflection)
    return reflection


def texts(objectives: tuple[Objective, ...]) -> list[str]:
    return [objective.text for objective in objectives]


def closed(objectives: ObjectiveManager) -> tuple[Objective, ...]:
    return tuple(each for each in objectives.all() if each.status != "open")


def told(objectives: ObjectiveManager, room: int = 1) -> tuple[str, ...]:
    state = GameState("episode")
    state.begin("Welcome.", observation(room))
    return tuple(line for section in objectives.sections(state) for line in section.lines)
