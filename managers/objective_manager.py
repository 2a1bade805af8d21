"""Objectives: what is to be achieved over several turns, until facts show it or time runs out."""

from collections.abc import Iterable, Mapping, Sequence

from managers.manager import Manager, Section, section
from managers.reflection.answer import ObjectiveProposal, ObjectiveRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from mcp_ghost.text import one_line
from session.game_configuration import GameConfiguration
from session.game_state import GameState, Observation, Place, TurnRecord
from session.knowledge import (
    CarriedOver,
    Goal,
    Objective,
    ObjectiveChange,
    ObjectiveStatus,
)
from session.objectives import MOST_OPEN, TEXT_CHARACTERS, Objectives
from session.similarity import name_words, near_duplicates

_NEED_CHARACTERS = 60
_MOST_NEEDS = 5
_COMPACT_CHARACTERS = 100
_ACHIEVED_SHOWN = 3


class ObjectiveManager(Objectives, Manager):
    """Reports what the agent wants and what looking back found worth achieving."""

    def __init__(self, config: GameConfiguration, uid: str) -> None:
        super().__init__(uid, config.objectives_stale_turns)
        self._shown = config.objectives_shown

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the game's first facts; objectives belong to one episode only."""
        self.seen.take_in(observation)

    def sections(self, state: GameState) -> Iterable[Section]:
        """Return the objectives for this room, then the newest; then what was achieved lately."""
        lines = [
            self._line(each) for each in self._for_room(state.observation.room_id)[: self._shown]
        ]
        achieved = [each.text for each in self.achieved[-_ACHIEVED_SHOWN:]]
        if achieved:
            lines.append(f"Achieved lately: {'; '.join(reversed(achieved))}")
        return section("Objectives", lines, importance=5)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """Yield the first of them."""
        for objective in self._for_room(state.observation.room_id)[:1]:
            yield one_line(f"Objective: {objective.text}", _COMPACT_CHARACTERS)

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterable[Section]:
        """Return the open ones with their ids."""
        lines = (f"{self._line(each)} [turn {each.turn}, {each.source}]" for each in self.open())
        return section("Open objectives", lines, importance=5)

    def reconcile(self, answer: ReflectionAnswer, finder: EvidenceFinder) -> Mapping[str, object]:
        """New objectives and the end of open ones, as far as the cited turns support them."""
        review = _Review(self, finder)
        for revision in answer.ended_objectives:
            review.end(revision)
        for proposal in answer.objectives:
            review.propose(proposal)
        return {
            "objectives": tuple(review.new),
            "objective_changes": tuple(review.changes.values()),
        }

    def _for_room(self, here: int | None) -> list[Objective]:
        newest_first = reversed(self.open())
        return sorted(newest_first, key=lambda each: each.room is None or each.room.id != here)

    def _line(self, objective: Objective) -> str:
        room = objective.room
        where = "set in" if objective.source == "agent" else "at"  # it is about another, maybe
        details = [f"{where} {room.label}"] if room else []
        if objective.needs:
            details.append(f"needs {', '.join(objective.needs)}")
        about = f" ({'; '.join(details)})" if details else ""
        return f"- {objective.id.removeprefix(f'{self._uid}-')} {objective.text}{about}"


class _Review:
    """One answer, checked against what is known and what was seen, without changing anything."""

    def __init__(self, known: Objectives, finder: EvidenceFinder) -> None:
        self._known = known
        self._seen = known.seen
        self._finder = finder
        self.new: list[Objective] = []
        self.changes: dict[str, ObjectiveChange] = {}
        """By the objective's id: one answer ends an objective once."""

    def end(self, revision: ObjectiveRevision) -> None:
        """Note that an objective is achieved or not worth pursuing."""
        about = f"ended objective {revision.id}"
        objective = self._known.find(revision.id)
        if objective is None or objective.id in self.changes:
            return self._finder.drop(about, "there is no such open objective")
        if revision.turn not in self._finder.records:
            return self._finder.drop(about, f"turn {revision.turn} is not part of this reflection")
        if revision.completed and objective.goal:
            # It would be closed already: the game's facts are above what a model says of them.
            return self._finder.drop(about, "the game's facts do not show that it is achieved")
        status: ObjectiveStatus = "completed" if revision.completed else "retired"
        reason = one_line(revision.reason, TEXT_CHARACTERS) or status
        self.changes[objective.id] = ObjectiveChange(
            id=objective.id, status=status, reason=reason, turn=revision.turn
        )
        return None

    def propose(self, proposal: ObjectiveProposal) -> None:
        """Add a new objective; it never replaces one that the agent declared."""
        text = one_line(proposal.text, TEXT_CHARACTERS)
        about = f"objective '{text}'"
        if not text:
            return self._finder.drop(about, "it says nothing")
        if proposal.turn not in self._finder.records:
            return self._finder.drop(about, f"turn {proposal.turn} is not part of this reflection")
        remaining = [each for each in self._known.open() if each.id not in self.changes]
        twins = (each for each in (*remaining, *self.new) if near_duplicates(each.text, text))
        if twin := next(twins, None):
            return self._finder.drop(about, f"{twin.id} says the same")
        if len(remaining) + len(self.new) >= MOST_OPEN:
            found = [each for each in remaining if each.source == "reflection"]
            stalest = self._known.stalest(found)
            if stalest is None:
                return self._finder.drop(about, f"there are {MOST_OPEN} open ones")
            self.changes[stalest.id] = ObjectiveChange(
                id=stalest.id,
                status="retired",
                reason="made room for newer ones",
                turn=max(self._finder.records),
            )
        needs = (one_line(need, _NEED_CHARACTERS) for need in proposal.needs)
        self.new.append(
            Objective(
                id=self._known.next_id(len(self.new)),
                text=text,
                room=self._room(proposal.room_id, about),
                needs=tuple(dict.fromkeys(need for need in needs if need))[:_MOST_NEEDS],
                goal=self._goal(proposal, about),
                source="reflection",
                turn=max(self._finder.records),
            )
        )
        return None

    def _room(self, room_id: int | None, about: str) -> Place | None:
        room = None if room_id is None else self._seen.rooms.get(room_id)
        if room_id is not None and room is None:
            self._finder.drop(f"room {room_id} of {about}", "no such room was seen")
        return room

    def _goal(self, proposal: ObjectiveProposal, about: str) -> Goal | None:
        """Find the one fact that is named and does not hold yet; of two, neither is the goal."""
        room = self._room(proposal.goal_room_id, f"the goal of {about}")
        item = one_line(proposal.goal_item or "", _NEED_CHARACTERS)
        score = Goal(score=proposal.goal_score)
        named = [
            *([Goal(room=proposal.goal_room_id)] if proposal.goal_room_id is not None else []),
            *([Goal(item=item)] if name_words(item) else []),
            *([score] if proposal.goal_score is not None and self._seen.lacks(score) else []),
        ]
        if len(named) != 1 or (named[0].room is not None and room is None):
            return None
        return named[0] if self._seen.lacks(named[0]) else None
