"""Memories and claims, and what happened to them."""

from session.game_state import Place
from session.knowledge import (
    Claim,
    ClaimChange,
    Evidence,
    Memory,
    MemoryChange,
    folded_claims,
    folded_memories,
)

SEEN = Evidence(episode="aaaaaa", turn=3, quote="The bell rings.")
LATER = Evidence(episode="bbbbbb", turn=9, quote="The bell stays silent.")
CLAIM = Claim(id="aaaaaa-c1", text="Bells call people.", basis="inferred", evidence=(SEEN,))
OTHER = Claim(id="aaaaaa-c2", text="Doors creak.", basis="tested")
MEMORY = Memory(
    id="aaaaaa-m1",
    room=Place(id=7, name="Belfry"),
    category="note",
    title="The bell",
    text="It can be rung.",
    persistence="permanent",
    evidence=SEEN,
)


def test_a_confirmed_claim_is_tested_and_has_more_evidence() -> None:
    change = ClaimChange(id=CLAIM.id, kind="confirmed", evidence=LATER)
    confirmed, untouched = folded_claims([CLAIM, OTHER], [change])
    assert (confirmed.basis, confirmed.evidence) == ("tested", (SEEN, LATER))
    assert confirmed.status == "active"
    assert untouched == OTHER


def test_a_contradicted_or_removed_claim_is_retired_with_its_reason() -> None:
    contradicted = ClaimChange(
        id=CLAIM.id, kind="contradicted", evidence=LATER, reason="nobody came"
    )
    removed = ClaimChange(id=OTHER.id, kind="removed")
    first, second = folded_claims([CLAIM, OTHER], [contradicted, removed])
    assert (first.status, first.reason, first.evidence[-1]) == ("retired", "nobody came", LATER)
    assert (second.status, second.reason) == ("retired", "removed")


def test_an_edited_claim_has_the_new_text_and_the_same_basis() -> None:
    change = ClaimChange(id=CLAIM.id, kind="edited", text="Bells call the guard.")
    (edited,) = folded_claims([CLAIM], [change])
    assert (edited.text, edited.basis) == ("Bells call the guard.", "inferred")


def test_the_same_changes_twice_change_nothing_more() -> None:
    changes = [ClaimChange(id=CLAIM.id, kind="confirmed", evidence=LATER)]
    once = folded_claims([CLAIM, OTHER], changes)
    assert folded_claims(once, changes) == once


def test_a_memory_takes_the_status_of_its_latest_change() -> None:
    tentative = MemoryChange(id=MEMORY.id, status="tentative", reason="unsure", turn=4)
    superseded = MemoryChange(
        id=MEMORY.id, status="superseded", reason="more is known", superseded_by="x-m2", turn=5
    )
    (memory,) = folded_memories([MEMORY], [tentative, superseded])
    assert (memory.status, memory.reason) == ("superseded", "more is known")
    assert memory.superseded_by == "x-m2"
    assert memory.evidence == SEEN


def test_changes_of_what_is_not_there_are_passed_over() -> None:
    claim_change = ClaimChange(id="zzzzzz-c9", kind="removed")
    memory_change = MemoryChange(id="zzzzzz-m9", status="invalidated", reason="?", turn=1)
    assert folded_claims([CLAIM], [claim_change]) == (CLAIM,)
    assert folded_memories([MEMORY], [memory_change]) == (MEMORY,)
