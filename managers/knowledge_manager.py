"""Claims about how the game's world works: kept with the game's words, confirmed and retired."""

from collections.abc import Iterable, Mapping, Sequence

from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section, section
from managers.reflection.answer import ClaimProposal, ClaimRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from mcp_ghost.text import one_line
from session.game_configuration import GameConfiguration
from session.game_state import GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Claim, ClaimChange, Evidence, Reflection, folded_claims
from session.similarity import content_words, near_duplicates

_TEXT_CHARACTERS = 300
_COMPACT_CHARACTERS = 120
_MOST_ACTIVE = 200
"""Active claims above which guesses are no longer accepted."""
_MOST_EVIDENCE = 5
"""Of one claim; more would only say the same."""
_MOST_TO_REVISE = 40


class KnowledgeManager(Manager):
    """Knows the claims of this and earlier episodes."""

    def __init__(self, config: GameConfiguration, uid: str) -> None:
        self._budget = config.knowledge_token_budget * CHARACTERS_PER_TOKEN
        self._uid = uid
        self.claims: tuple[Claim, ...] = ()
        """All of them, also those that are no longer believed."""
        self._head: tuple[Claim, ...] = ()
        """What the prompt's head contains for the whole episode."""

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the claims of earlier episodes."""
        self.claims = carried.claims
        ranked = sorted(self._active(), key=lambda c: (c.basis != "tested", -len(c.evidence)))
        self._head = tuple(_within(ranked, self._budget))

    def learn(self, reflection: Reflection) -> None:
        """Learn new claims, and what happened to known ones."""
        self.claims = folded_claims([*self.claims, *reflection.claims], reflection.claim_changes)

    def preamble(self) -> Iterable[Section]:
        """Return what earlier episodes taught, the surest first."""
        title = "How this game works, from earlier episodes"
        return section(title, map(_line, self._head), importance=3)

    def sections(self, state: GameState) -> Iterable[Section]:
        """Return what changed since the prompt's head was written."""
        now = {claim.id: claim for claim in self.claims}
        lost = [now[claim.id] for claim in self._head if now[claim.id].status == "retired"]
        taught = [it for it in self._active() if it.id.startswith(f"{self._uid}-")]
        lines = [_line(claim) for claim in _within([*lost, *taught], self._budget // 4)]
        return section("Learned in this episode", reversed(lines), importance=3)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """Yield the surest claim."""
        now = {claim.id: claim for claim in self.claims}
        for claim in (*(now[told.id] for told in self._head), *reversed(self.claims)):
            if claim.status == "active":
                yield f"Known: {one_line(claim.text, _COMPACT_CHARACTERS)}"
                return

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterable[Section]:
        """Active claims with their ids, those that share words with the turns first."""
        heard = {
            word
            for record in records
            for word in content_words(f"{record.command} {record.response}")
        }
        relevant = sorted(self._active(), key=lambda it: -len(heard & {*content_words(it.text)}))
        lines = [f"{claim.id} {_line(claim)}" for claim in relevant[:_MOST_TO_REVISE]]
        return section("Known claims", lines, importance=3)

    def reconcile(self, answer: ReflectionAnswer, finder: EvidenceFinder) -> Mapping[str, object]:
        """New claims and changes of known ones, as far as the cited turns support them."""
        review = _Review(self.claims, finder)
        for revision in answer.judged_claims:
            review.judge(revision)
        for proposal in answer.claims:
            review.propose(proposal)
        return {"claims": tuple(review.new), "claim_changes": tuple(review.changes.values())}

    def _active(self) -> list[Claim]:
        """Return the claims that are believed, the newest first."""
        return [claim for claim in reversed(self.claims) if claim.status == "active"]


class _Review:
    """One answer, checked against what is known and what was seen."""

    def __init__(self, known: Sequence[Claim], finder: EvidenceFinder) -> None:
        self._known = {claim.id: claim for claim in known}
        self._prefix = f"{finder.episode}-"
        self._finder = finder
        self.new: list[Claim] = []
        self.changes: dict[str, ClaimChange] = {}
        """By the claim's id: one answer says one thing about a claim."""

    def judge(self, revision: ClaimRevision) -> None:
        """Note that a claim was confirmed or contradicted."""
        claim = self._known.get(revision.id) or self._known.get(self._prefix + revision.id)
        evidence = self._finder.evidence(revision.turn, revision.quote)
        said = self._finder.was_said(revision.turn, revision.quote)
        about = f"judged claim {revision.id}"
        if claim is None or claim.status == "retired":
            self._finder.drop(about, "there is no such active claim")
        elif claim.id in self.changes:
            self._finder.drop(about, "it was judged twice")
        elif evidence is None:
            self._finder.drop(about, f"turn {revision.turn} is not part of this reflection")
        elif not said and (revision.confirmed or claim.basis == "tested"):
            self._finder.drop(about, f"the game did not say that in turn {revision.turn}")
        elif revision.confirmed:
            self._confirm(claim, evidence, revision.reason)
        else:
            self.changes[claim.id] = ClaimChange(
                id=claim.id, kind="contradicted", evidence=evidence, reason=_tidy(revision.reason)
            )

    def propose(self, proposal: ClaimProposal) -> None:
        """Add a new claim, or what it adds to a known one."""
        text = _tidy(proposal.text)
        about = f"claim '{text}'"
        evidence = self._finder.evidence(proposal.turn, proposal.quote)
        tested = proposal.tested and self._finder.was_said(proposal.turn, proposal.quote)
        twins = [it for it in (*self._known.values(), *self.new) if near_duplicates(it.text, text)]
        twin = min(twins, key=self._is_over, default=None)  # one that is still believed, if any
        if not text:
            self._finder.drop(about, "it says nothing")
        elif evidence is None:
            self._finder.drop(about, f"turn {proposal.turn} is not part of this reflection")
        elif twin is None:
            self._add(text, evidence, tested=tested)
        elif not tested:
            was = "no longer believed" if self._is_over(twin) else "known"
            self._finder.drop(about, f"{twin.id} says the same and is {was}")
        elif self._is_over(twin):
            self._add(text, evidence, tested=True)
        elif twin.id in self.changes or twin.id not in self._known:
            self._finder.drop(about, f"{twin.id} says the same")
        else:
            self._confirm(twin, evidence, "seen again")

    def _add(self, text: str, evidence: Evidence, *, tested: bool) -> None:
        active = sum(claim.status == "active" for claim in self._known.values()) + len(self.new)
        if active >= _MOST_ACTIVE and not tested:
            self._finder.drop(f"claim '{text}'", f"there are {active} claims, and it is a guess")
            return
        own = sum(claim_id.startswith(self._prefix) for claim_id in self._known)
        self.new.append(
            Claim(
                id=f"{self._prefix}c{own + len(self.new) + 1}",
                text=text,
                basis="tested" if tested else "inferred",
                evidence=(evidence,),
            )
        )

    def _confirm(self, claim: Claim, evidence: Evidence, reason: str) -> None:
        if claim.basis == "inferred" or len(claim.evidence) < _MOST_EVIDENCE:
            self.changes[claim.id] = ClaimChange(
                id=claim.id, kind="confirmed", evidence=evidence, reason=_tidy(reason)
            )

    def _is_over(self, claim: Claim) -> bool:
        """Tell whether it is no longer believed, by this answer at the latest."""
        change = self.changes.get(claim.id)
        return claim.status == "retired" or bool(change and change.kind == "contradicted")


def _line(claim: Claim) -> str:
    if claim.status == "retired":
        return f"[no longer believed] {claim.text} ({claim.reason})"
    return f"[{claim.basis}] {claim.text}"


def _within(claims: Iterable[Claim], characters: int) -> Iterable[Claim]:
    """As many of the first ``claims`` as fit."""
    for claim in claims:
        characters -= len(_line(claim)) + 1
        if characters < 0:
            return
        yield claim


def _tidy(text: str) -> str:
    return one_line(text, _TEXT_CHARACTERS)
