"""What earlier episodes pass on: the best of what is known, each thing once, and not too much."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from session.knowledge import Claim, Memory, Passage, Scored
from session.similarity import near_duplicates

MOST_MEMORIES = 400
MOST_CONSIDERED = 10 * MOST_MEMORIES
"""Memories that are looked at; there may be a thousand episodes."""
MOST_CLAIMS = 200
MOST_PASSAGES = 2000
MOST_OTHER_SCORES = 100
"""Points and deaths outside of the best run."""


def latest_memories(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Select the ``memories``, oldest first, that still hold, each text once."""
    chosen: dict[str, Memory] = {}
    at_room: defaultdict[int, list[Memory]] = defaultdict(list)
    holding = [memory for memory in reversed(memories) if memory.status in {"active", "tentative"}]
    for memory in sorted(holding, key=lambda it: it.status == "tentative"):
        if len(chosen) >= MOST_MEMORIES:
            break
        others = at_room[memory.room.id]
        # An episode that wrote both saw a difference.
        if not any(
            it.evidence.episode != memory.evidence.episode and near_duplicates(it.text, memory.text)
            for it in others
        ):
            chosen[memory.id] = memory
            others.append(memory)
    return tuple(memory for memory in memories if memory.id in chosen)


def strongest_claims(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the active ones of ``claims``: tested before inferred, the most confirmed first."""
    active = (claim for claim in claims if claim.status == "active")
    ranked = sorted(active, key=lambda it: (it.basis != "tested", -len(it.evidence)))
    by_text: dict[str, Claim] = {}
    for claim in ranked:
        by_text.setdefault(" ".join(claim.text.casefold().split()), claim)
    return tuple(by_text.values())[:MOST_CLAIMS]


def latest_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Select each outcome of a way out once, from ``passages``; the latest comes last."""
    latest: dict[tuple[int, str, int | None], Passage] = {}
    for passage in passages:
        outcome = passage.room.id, passage.direction, passage.to.id if passage.to else None
        latest.pop(outcome, None)
        latest[outcome] = passage
    return tuple(latest.values())[-MOST_PASSAGES:]


def best_scores(scores: Sequence[Scored]) -> tuple[Scored, ...]:
    """Select the run with the most points, up to its last ones, and other runs' other points."""
    runs: defaultdict[tuple[str, int], list[Scored]] = defaultdict(list)
    for scored in scores:
        runs[scored.episode, scored.run].append(scored)
    best = max(filter(None, map(_up_to_its_best, runs.values())), key=_worth, default=[])
    chosen = [it.model_copy(update={"is_of_best": True}) for it in best]
    others: dict[tuple[object, ...], Scored] = {_what(it): it for it in chosen}
    for scored in reversed(scores):  # the latest are the first to be kept
        if (scored.points > 0 or scored.died) and len(others) < len(chosen) + MOST_OTHER_SCORES:
            others.setdefault(_what(scored), scored.model_copy(update={"by": ()}))
    return (*chosen, *(it for it in others.values() if not it.is_of_best))


def _up_to_its_best(run: Sequence[Scored]) -> list[Scored]:
    totals = list(accumulate(it.points for it in run))
    last = next((at for at, it in enumerate(run) if it.won), totals.index(max(totals)))
    return list(run[: last + 1]) if totals[last] > 0 else []


def _worth(run: Sequence[Scored]) -> tuple[int, bool, int]:
    """Rank a run: more points are better, then a victory, then fewer turns."""
    return sum(it.points for it in run), run[-1].won, -run[-1].turn


def _what(it: Scored) -> tuple[object, ...]:
    return it.room and it.room.id, " ".join(it.command.casefold().split()), it.died
