"""What earlier episodes hand on: the best of what is known, each thing once, and not too much."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from session.learned import Claim, Memory, Passage

MOST_MEMORIES: Final = 400
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
    at_room: defaultdict[int, list[Memory]] = defaultdict(list)
    holding = [memory for memory in reversed(memories) if memory.status in {"active", "tentative"}]
    for memory in sorted(holding, key=lambda it: it.status == "tentative"):
        same = next((it for it in at_room[memory.room.id] if _same(it, memory)), None)
        if same is not None or len(chosen) >= MOST_MEMORIES:
            continue
        chosen[memory.id] = memory
        at_room[memory.room.id].append(memory)
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


def _same(newer: Memory, older: Memory) -> bool:
    """Whether two episodes remember the same: one of them says all that the other says."""
    if newer.evidence.episode == older.evidence.episode:
        return False  # who wrote both saw a difference
    one, other = _words(newer), _words(older)
    less, more = sorted((one, other), key=len)
    return less <= more and 2 * len(less) >= len(more) and not (more - less) & _NEGATIONS


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", memory.text.casefold())) - _FILLERS
