"""Claims: taken in with evidence, confirmed, retired, and told within a budget."""

from __future__ import annotations

from typing import Any

import pytest

from managers.knowledge_manager import KnowledgeManager
from managers.reflection.answer import ClaimProposal, ClaimRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import CarriedOver, Claim, Evidence, Reflection
from tests.support.records import observation, record

CONFIG = GameConfiguration()
STATE = GameState("e")
UID = "bbbbbb"
OLD = Evidence(episode="aaaaaa", turn=2, quote="The wick only hisses.")
WET = Claim(id="aaaaaa-c1", text="Wet wicks cannot be lit.", basis="inferred", evidence=(OLD,))
BELLS = Claim(id="aaaaaa-c2", text="Ringing bells summons guards.", basis="tested", evidence=(OLD,))
RECORDS = [
    record(11, "light wick", 1, 1, response="The wick only hisses. It is far too wet."),
    record(12, "ring bell", 1, 1, response="The bell rings. Nobody comes."),
]


def begun(*claims: Claim, config: GameConfiguration = CONFIG) -> KnowledgeManager:
    manager = KnowledgeManager(config, UID)
    manager.begin(observation(1), CarriedOver(claims=claims))
    return manager


def learnt(
    manager: KnowledgeManager,
    claims: list[ClaimProposal] | None = None,
    judged: list[ClaimRevision] | None = None,
) -> list[str]:
    """Let ``manager`` learn what an answer says; what of it was dropped."""
    finder = EvidenceFinder(UID, RECORDS)
    answer = ReflectionAnswer(claims=claims or [], judged_claims=judged or [])
    fields = manager.reconcile(answer, finder)
    manager.learn(
        Reflection.model_validate({**fields, "number": 1, "first_turn": 11, "last_turn": 12})
    )
    return finder.dropped


def claim(text: str, turn: int = 11, quote: str = "far too wet", **more: Any) -> ClaimProposal:  # noqa: ANN401  its fields
    return ClaimProposal.model_validate(
        {"turn": turn, "text": text, "quote": quote, "tested": True, **more}
    )


def judged(claim_id: str, quote: str, *, confirmed: bool, turn: int = 12) -> ClaimRevision:
    return ClaimRevision(
        id=claim_id, turn=turn, quote=quote, confirmed=confirmed, reason="as it went"
    )


def test_a_claim_with_a_true_quote_is_tested_and_others_are_inferred() -> None:
    manager = begun()
    said = claim("Water puts out lights.")
    invented = claim("Fire melts any door.", quote="The door melts away.")
    guessed = claim("Guards sleep at night.", tested=False)
    assert learnt(manager, [said, invented, guessed]) == []
    first, second, third = manager.claims
    assert (first.id, first.basis) == ("bbbbbb-c1", "tested")
    assert first.evidence == (Evidence(episode=UID, turn=11, quote="far too wet"),)
    assert (second.id, second.basis) == ("bbbbbb-c2", "inferred")
    assert "melts" not in second.evidence[0].quote
    assert third.basis == "inferred"


def test_a_claim_that_cites_no_turn_of_the_list_is_dropped() -> None:
    manager = begun()
    (reason,) = learnt(manager, [claim("Water puts out lights.", turn=7)])
    assert "turn 7" in reason
    assert manager.claims == ()


def test_a_known_claim_proposed_again_is_confirmed_not_doubled() -> None:
    manager = begun(WET)
    assert learnt(manager, [claim("Wet wicks cannot be lit!")]) == []
    (known,) = manager.claims
    assert (known.id, known.basis) == (WET.id, "tested")
    assert [each.turn for each in known.evidence] == [2, 11]


def test_evidence_of_what_is_well_known_does_not_grow_without_end() -> None:
    manager = begun(WET)
    for _ in range(3):
        learnt(manager, [claim("Wet wicks cannot be lit!", quote="far too wet")])
    for turn in range(20, 30):
        finder = EvidenceFinder(
            UID, [record(turn, "light", 1, 1, response=f"Too wet, again {turn}.")]
        )
        proposal = claim(WET.text, turn, f"again {turn}")
        fields = manager.reconcile(ReflectionAnswer(claims=[proposal]), finder)
        values = {**fields, "number": 2, "first_turn": turn, "last_turn": turn}
        manager.learn(Reflection.model_validate(values))
    assert [each.turn for each in manager.claims[0].evidence] == [2, 11, 20, 21, 22]


def test_a_guess_confirms_nothing_and_two_new_claims_may_not_say_the_same() -> None:
    manager = begun(WET)
    guess = claim("Wet wicks cannot be lit.", quote="It burns brightly.")
    twice = [claim("Ghosts fear loud music."), claim("Ghosts fear loud music")]
    dropped = learnt(manager, [guess, *twice])
    assert [known.basis for known in manager.claims] == ["inferred", "tested"]
    assert len(dropped) == 2
    assert WET.id in dropped[0]


def test_a_contradicted_claim_is_retired_with_evidence_and_reason() -> None:
    manager = begun(BELLS)
    assert learnt(manager, judged=[judged(BELLS.id, "nobody comes", confirmed=False)]) == []
    (retired,) = manager.claims
    assert (retired.status, retired.reason) == ("retired", "as it went")
    assert retired.evidence[-1] == Evidence(episode=UID, turn=12, quote="nobody comes")


def test_a_tested_claim_falls_only_to_the_games_own_words() -> None:
    manager = begun(BELLS, WET)
    invented = [judged(each.id, "All is quiet.", confirmed=False) for each in (BELLS, WET)]
    (reason,) = learnt(manager, judged=invented)
    assert BELLS.id in reason
    assert [known.status for known in manager.claims] == ["active", "retired"]


def test_a_claim_is_confirmed_only_by_the_games_own_words() -> None:
    manager = begun(WET)
    (reason,) = learnt(manager, judged=[judged(WET.id, "it burns", confirmed=True, turn=11)])
    assert "did not say" in reason
    assert learnt(manager, judged=[judged(WET.id, "far too wet", confirmed=True, turn=11)]) == []
    assert manager.claims[0].basis == "tested"


@pytest.mark.parametrize("claim_id", ["zzzzzz-c1", "c1", "nonsense", ""])
def test_a_claim_that_nobody_knows_cannot_be_judged(claim_id: str) -> None:
    manager = begun(WET)
    (reason,) = learnt(manager, judged=[judged(claim_id, "nobody comes", confirmed=False)])
    assert "no such" in reason


def test_a_claim_of_this_episode_may_be_named_without_its_prefix() -> None:
    manager = begun()
    learnt(manager, [claim("Bells bring luck.", quote="?", tested=False)])
    assert learnt(manager, judged=[judged("c1", "nobody comes", confirmed=False)]) == []
    assert manager.claims[0].status == "retired"


def test_only_the_first_judgement_of_a_claim_counts() -> None:
    manager = begun(BELLS)
    both = [
        judged(BELLS.id, "nobody comes", confirmed=False),
        judged(BELLS.id, "the bell rings", confirmed=True),
    ]
    (reason,) = learnt(manager, judged=both)
    assert "twice" in reason
    assert manager.claims[0].status == "retired"


def test_a_claim_that_fell_comes_back_only_with_the_games_own_words() -> None:
    manager = begun(BELLS.model_copy(update={"status": "retired", "reason": "nobody came"}))
    text = BELLS.text
    (reason,) = learnt(manager, [claim(text, quote="Guards storm in.", turn=12)])
    assert "no longer believed" in reason
    assert learnt(manager, [claim(text, quote="The bell rings", turn=12)]) == []
    assert [known.status for known in manager.claims] == ["retired", "active"]


def test_a_claim_may_be_replaced_by_one_in_almost_the_same_words() -> None:
    manager = begun(BELLS)
    better = claim("Ringing bells summons guards sometimes.", quote="Nobody comes", turn=12)
    learnt(manager, [better], [judged(BELLS.id, "Nobody comes", confirmed=False)])
    assert [known.status for known in manager.claims] == ["retired", "active"]


def test_above_200_claims_guesses_are_not_taken_but_tested_ones_are() -> None:
    many = [
        Claim(id=f"aaaaaa-c{n}", text=f"Rule{n:04} about{n:04} thing{n:04}.", basis="inferred")
        for n in range(200)
    ]
    manager = begun(*many)
    guess, tested = claim("Ghosts fear music.", tested=False), claim("Water puts out lights.")
    (reason,) = learnt(manager, [guess, tested])
    assert "200 claims" in reason
    assert len(manager.claims) == 201


def test_ids_go_on_after_what_was_learnt_before() -> None:
    manager = begun(WET)
    learnt(manager, [claim("Water puts out lights.")])
    learnt(manager, [claim("Nobody answers bells.", quote="Nobody comes", turn=12)])
    assert [known.id for known in manager.claims] == ["aaaaaa-c1", "bbbbbb-c1", "bbbbbb-c2"]


def test_the_head_tells_carried_claims_tested_ones_first_and_never_changes() -> None:
    manager = begun(WET, BELLS)
    (before,) = manager.preamble()
    assert before.lines == (
        "[tested] Ringing bells summons guards.",
        "[inferred] Wet wicks cannot be lit.",
    )
    learnt(
        manager, [claim("Ghosts fear music.")], [judged(BELLS.id, "nobody comes", confirmed=False)]
    )
    assert list(manager.preamble()) == [before]


def test_what_was_learnt_and_what_fell_since_stands_in_a_section() -> None:
    manager = begun(WET, BELLS)
    assert list(manager.sections(STATE)) == []
    learnt(
        manager, [claim("Ghosts fear music.")], [judged(BELLS.id, "nobody comes", confirmed=False)]
    )
    (section,) = manager.sections(STATE)
    assert section.lines == (
        "[tested] Ghosts fear music.",
        "[no longer believed] Ringing bells summons guards. (as it went)",
    )


def test_what_was_learnt_since_takes_a_quarter_of_the_budget_at_most() -> None:
    manager = begun()
    for first in range(1, 100, 10):
        texts = [f"Rule{n} about{n} thing{n} " * 5 for n in range(first, first + 10)]
        learnt(manager, [claim(text, tested=False) for text in texts])
    (section,) = manager.sections(STATE)
    assert "Rule100 " in section.lines[-1]
    assert 0.7 < len(section.text()) / CONFIG.knowledge_token_budget < 1.05


def test_a_head_of_many_claims_keeps_its_budget_with_tested_ones_in_it() -> None:
    many = [
        Claim(id=f"aaaaaa-c{n}", text=f"Rule {n} of this world. " * 6, basis="inferred")
        for n in range(500)
    ]
    (section,) = begun(*many, BELLS).preamble()
    assert BELLS.text in section.lines[0]
    assert 0.8 < len(section.text()) / (4 * CONFIG.knowledge_token_budget) < 1.05
    small = GameConfiguration(knowledge_token_budget=100)
    (section,) = begun(*many, BELLS, config=small).preamble()
    assert len(section.text()) < 450


def test_a_small_model_is_told_one_claim_that_is_still_believed() -> None:
    manager = begun(WET, BELLS)
    assert list(manager.compact_lines(STATE)) == ["Known: Ringing bells summons guards."]
    learnt(manager, judged=[judged(BELLS.id, "nobody comes", confirmed=False)])
    assert list(manager.compact_lines(STATE)) == ["Known: Wet wicks cannot be lit."]
    learnt(manager, judged=[judged(WET.id, "far too wet", confirmed=True, turn=11)])
    assert list(manager.compact_lines(STATE)) == ["Known: Wet wicks cannot be lit."]
    assert list(begun().compact_lines(STATE)) == []


def test_a_reflection_is_shown_active_claims_those_about_its_turns_first() -> None:
    many = [
        Claim(id=f"aaaaaa-c{n}", text=f"Unrelated matter {n}.", basis="inferred")
        for n in range(10, 90)
    ]
    retired = BELLS.model_copy(update={"status": "retired"})
    (section,) = begun(WET, retired, *many).to_revise(RECORDS)
    assert len(section.lines) == 40
    assert section.lines[0] == "aaaaaa-c1 [inferred] Wet wicks cannot be lit."
    assert section.lines[1].startswith("aaaaaa-c89 ")
    assert not any(BELLS.text in line for line in section.lines)
