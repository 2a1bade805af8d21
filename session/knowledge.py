"""What is learned from turns: memories, objectives and claims, and the reflection that yields them.

Every value is immutable. A change is a separate value beside the thing it changes, so that the
log of an episode shows what was known at each turn, and folding it gives what is known now.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from mcp_ghost.messages import Usage
from mcp_ghost.text import counted
from session.game_state import Place, Value

Persistence: TypeAlias = Literal["core", "permanent", "ephemeral"]
"""As the game begins; how its world works, always; brought about in this episode only."""
MemoryCategory: TypeAlias = Literal["success", "failure", "discovery", "danger", "note"]
MemoryStatus: TypeAlias = Literal["active", "tentative", "superseded", "invalidated"]
ObjectiveStatus: TypeAlias = Literal["open", "completed", "retired"]
ClaimBasis: TypeAlias = Literal["tested", "inferred"]
ClaimStatus: TypeAlias = Literal["active", "retired"]


class Evidence(Value):
    """Where something was seen."""

    episode: str
    """The episode's uid; ``editor`` for what people wrote."""
    turn: int
    quote: str
    """The game's own words."""


class Memory(Value):
    """Something worth knowing in a room, kept where the action was taken."""

    id: str
    """Unique among all episodes: the episode's uid, ``-m`` and a number."""
    room: Place
    category: MemoryCategory
    title: str
    text: str
    persistence: Persistence
    status: MemoryStatus = "active"
    reason: str | None = None
    """Why the status is no longer the first one."""
    superseded_by: str | None = None
    evidence: Evidence
    scored: int = 0
    """Points that the cited turn brought."""


class MemoryChange(Value):
    """A new status of a memory."""

    id: str
    status: MemoryStatus
    reason: str
    superseded_by: str | None = None
    turn: int


class Goal(Value):
    """A fact of the game that completes an objective; one of the three is set."""

    room: int | None = None
    """Being in the room with this id."""
    item: str | None = None
    """Carrying a thing of this name."""
    score: int | None = None
    """Having at least this score."""


class Objective(Value):
    """A goal of several turns."""

    id: str
    """Unique among all episodes: the episode's uid, ``-o`` and a number."""
    text: str
    room: Place | None = None
    """Where to pursue it."""
    needs: tuple[str, ...] = ()
    """What has to be had or done first."""
    goal: Goal | None = None
    status: ObjectiveStatus = "open"
    reason: str | None = None
    source: Literal["agent", "reflection"]
    turn: int
    """When it was set."""
    closed: int | None = None
    """The turn in which it was completed or retired."""


class ObjectiveChange(Value):
    """The end of an objective."""

    id: str
    status: ObjectiveStatus
    reason: str
    turn: int


class Claim(Value):
    """Something that holds in the game beyond one room."""

    id: str
    """Unique among all episodes: the episode's uid, ``-c`` and a number."""
    text: str
    basis: ClaimBasis
    status: ClaimStatus = "active"
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()


class ClaimChange(Value):
    """What happened to a claim."""

    id: str
    kind: Literal["confirmed", "contradicted", "edited", "removed"]
    """By the game (the first two) or by people. What is confirmed counts as tested from then on."""
    text: str | None = None
    """The new text, when edited."""
    evidence: Evidence | None = None
    reason: str = ""


class Passage(Value):
    """A way out of a room that was tried."""

    room: Place
    direction: str
    to: Place | None = None
    """Where it led last; None when it did not lead anywhere."""
    answer: str | None = None
    """The game's words, when it did not lead anywhere."""
    times: int = 1


class Scored(Value):
    """A turn that won or lost points, a life or the game, and the commands that led to it."""

    episode: str
    """The episode's uid."""
    run: int = 0
    """How often the game had been restarted before, within the episode."""
    turn: int
    room: Place | None = None
    """Where the command was given."""
    command: str
    by: tuple[str, ...] = ()
    """The commands since the one before it, or since the game began."""
    points: int = 0
    died: bool = False
    won: bool = False
    is_of_best: bool = False
    """Whether it is passed on as a part of the best run so far, all of which is there."""


class Edits(Value):
    """What people changed in the exported knowledge."""

    claims: tuple[Claim, ...] = ()
    changes: tuple[ClaimChange, ...] = ()


class CarriedOver(Value):
    """What earlier episodes of the same story pass on."""

    episodes: int = 0
    """How many there were."""
    memories: tuple[Memory, ...] = ()
    claims: tuple[Claim, ...] = ()
    passages: tuple[Passage, ...] = ()
    scores: tuple[Scored, ...] = ()

    @property
    def headline(self) -> str:
        """How many of each kind, from how many episodes; empty where there is nothing."""
        kinds = {"memory": self.memories, "claim": self.claims, "passage": self.passages}
        found = ", ".join(counted(len(it), kind) for kind, it in kinds.items() if it)
        return f"From {counted(self.episodes, 'earlier episode')}: {found}" if found else ""


class Reflection(Value):
    """What one look back at the latest turns yielded, checked against them."""

    number: int
    """Counts the reflections of the episode, from 1."""
    first_turn: int
    last_turn: int
    triggers: tuple[str, ...] = ()
    """What made it due, for example ``score`` or ``new room``."""
    memories: tuple[Memory, ...] = ()
    memory_changes: tuple[MemoryChange, ...] = ()
    objectives: tuple[Objective, ...] = ()
    objective_changes: tuple[ObjectiveChange, ...] = ()
    claims: tuple[Claim, ...] = ()
    claim_changes: tuple[ClaimChange, ...] = ()
    summary: str | None = None
    """What the player reads from now on instead of its turns up to ``summary_until``."""
    summary_until: int = 0
    dropped: tuple[str, ...] = ()
    """What the model proposed and why it was not taken."""
    failure: str | None = None
    """Why there was no usable answer, if so."""
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        """What it looked back at, and with what outcome."""
        yielded = ", ".join(self.counts()) or self.failure or "nothing new"
        first, last = self.first_turn, self.last_turn
        turns = f"turn {last}" if first == last else f"turns {first} to {last}"
        return f"Reflection on {turns}: {yielded}"

    def counts(self) -> tuple[str, ...]:
        """Tell how many of each kind, for example ``2 memories``."""
        kinds = {
            "memory": len(self.memories) + len(self.memory_changes),
            "objective": len(self.objectives) + len(self.objective_changes),
            "claim": len(self.claims) + len(self.claim_changes),
        }
        return tuple(counted(count, kind) for kind, count in kinds.items() if count)


def folded_memories(
    memories: Iterable[Memory], changes: Iterable[MemoryChange]
) -> tuple[Memory, ...]:
    """Return the memories after ``changes``; those about other memories are ignored."""
    known = {memory.id: memory for memory in memories}
    for change in changes:
        if change.id in known:
            update = change.model_dump(include={"status", "reason", "superseded_by"})
            known[change.id] = known[change.id].model_copy(update=update)
    return tuple(known.values())


def folded_claims(claims: Iterable[Claim], changes: Iterable[ClaimChange]) -> tuple[Claim, ...]:
    """Return the claims after ``changes``; those about other claims are ignored."""
    known = {claim.id: claim for claim in claims}
    for change in changes:
        if change.id not in known:
            continue
        claim, update = known[change.id], dict[str, object]()
        if change.evidence and change.evidence not in claim.evidence:
            update["evidence"] = (*claim.evidence, change.evidence)
        if change.kind == "confirmed":
            update["basis"] = "tested"
        elif change.kind == "edited":
            update["text"] = change.text or claim.text
        else:
            update |= {"status": "retired", "reason": change.reason or change.kind}
        known[change.id] = claim.model_copy(update=update)
    return tuple(known.values())
