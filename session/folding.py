"""What is known now: memories and claims with everything applied that happened to them since.

Pure, and the same for who plays and for what is stored. Doing it twice changes nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session.learned import Claim, ClaimChange, Evidence, Memory, MemoryChange


def folded_memories(
    memories: Iterable[Memory], changes: Iterable[MemoryChange]
) -> tuple[Memory, ...]:
    """The memories after ``changes``; one about a memory that is not among them is passed over."""
    known = {memory.id: memory for memory in memories}
    for change in changes:
        if change.id in known:
            update = change.model_dump(include={"status", "reason", "superseded_by"})
            known[change.id] = known[change.id].model_copy(update=update)
    return tuple(known.values())


def folded_claims(claims: Iterable[Claim], changes: Iterable[ClaimChange]) -> tuple[Claim, ...]:
    """The claims after ``changes``; one about a claim that is not among them is passed over."""
    known = {claim.id: claim for claim in claims}
    for change in changes:
        if change.id in known:
            known[change.id] = _changed(known[change.id], change)
    return tuple(known.values())


def _changed(claim: Claim, change: ClaimChange) -> Claim:
    update: dict[str, object] = {"evidence": _evidence(claim, change)}
    if change.kind == "confirmed":
        update["basis"] = "tested"
    elif change.kind == "edited":
        update["text"] = change.text or claim.text
    else:
        update |= {"status": "retired", "reason": change.reason or change.kind}
    return claim.model_copy(update=update)


def _evidence(claim: Claim, change: ClaimChange) -> tuple[Evidence, ...]:
    if change.evidence is None or change.evidence in claim.evidence:
        return claim.evidence
    return (*claim.evidence, change.evidence)
