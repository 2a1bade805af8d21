"""What earlier episodes hand on: the best of what is known, each thing once, and not too much."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from session.learned import Claim, Memory, Passage

MOST_MEMORIES: Final = 400
MOST_CONSIDERED: Final = 10 * MOST_MEMORIES
"""Memories that are looked at; there may be a thousand episodes."""
MOST_CLAIMS: Final = 200
MOST_PASSAGES: Final = 2000
_FILLERS: Final = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from", "has", "have"}
    | {"here", "in", "is", "it", "its", "of", "on", "or", "so", "that", "the", "there", "this"}
    | {"to", "was", "were", "will", "with", "you", "your"}
)
_NEGATIONS: Final = frozenset({"no", "not", "never", "cannot", "nothing", "without", "t"})
"""With the ``t`` of "don't"."""


def latest_memories(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Those of ``memories``, oldest first, that still hold; what several say is there once."""
    chosen: dict[str, Memory] = {}
    at_room: defaultdict[int, list[tuple[Memory, frozenset[str]]]] = defaultdict(list)
    holding = [memory for memory in reversed(memories) if memory.status in {"active", "tentative"}]
    for memory in sorted(holding, key=lambda it: it.status == "tentative"):
        if len(chosen) >= MOST_MEMORIES:
            break
        words, others = _words(memory), at_room[memory.room.id]
        if not any(_same(words, its) for it, its in others if _wrote_another(it, memory)):
            chosen[memory.id] = memory
            others.append((memory, words))
    return tuple(memory for memory in memories if memory.id in chosen)


def strongest_claims(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The active ones of ``claims``: tested before inferred, the most confirmed first."""
    active = (claim for claim in claims if claim.status == "active")
    ranked = sorted(active, key=lambda it: (it.basis != "tested", -len(it.evidence)))
    by_text: dict[str, Claim] = {}
    for claim in ranked:
        by_text.setdefault(" ".join(claim.text.casefold().split()), claim)
    return tuple(by_text.values())[:MOST_CLAIMS]


def latest_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """What came of each way out, of ``passages``; of one way, the latest outcome comes last."""
    latest: dict[tuple[int, str, int | None], Passage] = {}
    for passage in passages:
        outcome = passage.room.id, passage.direction, passage.to.id if passage.to else None
        latest.pop(outcome, None)
        latest[outcome] = passage
    return tuple(latest.values())[-MOST_PASSAGES:]


def _wrote_another(one: Memory, other: Memory) -> bool:
    """Whether they are of two episodes; who wrote both saw a difference."""
    return one.evidence.episode != other.evidence.episode


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two say the same: one of them has all the words of the other, and few more."""
    less, more = sorted((one, other), key=len)
    return less <= more and 2 * len(less) >= len(more) and not (more - less) & _NEGATIONS


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", memory.text.casefold())) - _FILLERS
