"""The form in which a model answers when it looks back at its latest turns."""

from __future__ import annotations

from pydantic import BaseModel

from session.learned import MemoryCategory, Persistence


class MemoryProposal(BaseModel):
    """Something to remember about the room of the cited turn."""

    turn: int
    category: MemoryCategory
    title: str
    text: str
    persistence: Persistence
    tentative: bool = False
    supersedes: list[str] = []
    """Ids of memories that this one replaces."""


class MemoryRevision(BaseModel):
    """A memory that turned out to be wrong."""

    id: str
    turn: int
    reason: str


class ObjectiveProposal(BaseModel):
    """Something worth achieving that the cited turn shows."""

    turn: int
    text: str
    room_id: int | None = None
    needs: list[str] = []
    goal_room_id: int | None = None
    goal_item: str | None = None
    goal_score: int | None = None


class ObjectiveRevision(BaseModel):
    """An objective that is achieved, or not worth pursuing any more."""

    id: str
    turn: int
    completed: bool
    reason: str


class ClaimProposal(BaseModel):
    """A rule of the game's world that the cited turn shows or suggests."""

    turn: int
    text: str
    quote: str
    tested: bool


class ClaimRevision(BaseModel):
    """A known claim that the cited turn confirms or contradicts."""

    id: str
    turn: int
    quote: str
    confirmed: bool
    reason: str


class ReflectionAnswer(BaseModel):
    """Everything that one look back yields; most lists are empty most of the time."""

    memories: list[MemoryProposal] = []
    wrong_memories: list[MemoryRevision] = []
    objectives: list[ObjectiveProposal] = []
    ended_objectives: list[ObjectiveRevision] = []
    claims: list[ClaimProposal] = []
    judged_claims: list[ClaimRevision] = []
