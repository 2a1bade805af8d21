"""Memories as reflections yield them, and managers that learn them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from managers.memory_manager import MemoryManager
from managers.reflection.answer import MemoryProposal, MemoryRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_configuration import GameConfiguration
from session.game_state import GameState, Place, TurnRecord
from session.knowledge import CarriedOver, Evidence, Memory, Reflection
from tests.support.records import observation, record

UID = "k7f3qa"
TURNS = (
    record(1, "pull rope", 1, 1, response="The bell rings."),
    record(2, "east", 1, 2),
    record(3, "open hatch", 2, 2, observation(2, world_hash="hatch open"), scored=5),
)


def manager(
    distance: Callable[[int, int], int | None] | None = None, memories_token_budget: int = 500
) -> MemoryManager:
    configuration = GameConfiguration(memories_token_budget=memories_token_budget)
    return MemoryManager(configuration, UID, distance)


def begun(turns: tuple[TurnRecord, ...] = TURNS, *carried: Memory) -> MemoryManager:
    memories = manager()
    memories.begin(observation(1), CarriedOver(episodes=1, memories=carried))
    for turn in turns:
        memories.apply(turn)
    return memories


def proposal(turn: int, text: str, **changes: object) -> MemoryProposal:
    values = {"category": "note", "title": "A note", "persistence": "permanent"}
    return MemoryProposal.model_validate({"turn": turn, "text": text, **values, **changes})


def reconciled(
    memories: MemoryManager, *proposals: MemoryProposal, wrong: tuple[MemoryRevision, ...] = ()
) -> Reflection:
    """The reflection that an answer comes to, as it would be logged."""
    answer = ReflectionAnswer(memories=list(proposals), wrong_memories=list(wrong))
    finder = EvidenceFinder(UID, TURNS)
    fields: Mapping[str, Any] = memories.reconcile(answer, finder)
    return Reflection(number=1, first_turn=1, last_turn=3, dropped=tuple(finder.dropped), **fields)


def learnt(memories: MemoryManager, *proposals: MemoryProposal) -> Reflection:
    reflection = reconciled(memories, *proposals)
    memories.learn(reflection)
    return reflection


def carried(number: int, room: int, text: str, **changes: object) -> Memory:
    values = {
        "id": f"aaaaaa-m{number}",
        "room": Place(id=room, name=f"Room {room}"),
        "category": "note",
        "title": f"Title {number}",
        "persistence": "permanent",
        "evidence": Evidence(episode="aaaaaa", turn=9, quote="So it is."),
    }
    return Memory.model_validate({**values, "text": text, **changes})


def at(room: int) -> GameState:
    state = GameState("episode")
    state.begin("Welcome.", observation(room))
    return state


def told(memories: MemoryManager, room: int) -> tuple[str, ...]:
    return tuple(line for section in memories.sections(at(room)) for line in section.lines)


def statuses(memories: MemoryManager) -> dict[str, str]:
    return {memory.id: memory.status for memory in memories.all()}
