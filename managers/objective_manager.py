"""Objectives: what is to be achieved over several turns, until facts show it or time runs out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from managers.manager import Manager, Section
from managers.similarity import name_words, near_duplicates, same_thing
from mcp_ghost.text import counted, one_line
from session.learned import Goal, Objective, ObjectiveChange, ObjectiveStatus

if TYPE_CHECKING:
    from managers.grounds import Grounds
    from managers.reflection_answer import ObjectiveProposal, ObjectiveRevision, ReflectionAnswer
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState, Observation, Place, TurnRecord
    from session.learned import CarriedOver, Reflection

_MOST_OPEN = 30
_TEXT_CHARACTERS = 200
_NEED_CHARACTERS = 60
_MOST_NEEDS = 5
_COMPACT_CHARACTERS = 100
_ACHIEVED_SHOWN = 3
_GOING = re.compile(
    r"(?:go|get|come|walk|head|travel|return)(?: back)? to (.+)|(?:reach|enter) (.+)"
)
_TAKING = re.compile(r"(?:get|take|find|fetch|grab|obtain|collect|retrieve|pick up) (.+)")
_NOTHING = ("none", "null", "nothing", "n/a", "no", "no new objective", "unchanged")
"""What models write that mean to leave a field empty."""


class ObjectiveManager(Manager):
    """Knows what the agent wants and what looking back found worth achieving."""

    def __init__(self, config: GameConfiguration, uid: str) -> None:
        self._shown = config.objectives_shown
        self._stale_turns = config.objectives_stale_turns
        self._uid = uid
        self._objectives: dict[str, Objective] = {}
        self._open: dict[str, int] = {}
        """The turn in which each open one was set, or last came nearer by itself."""
        self._achieved: list[str] = []
        self._progress = 0
        """The last turn that brought points or a new room: whatever is wanted, it goes on."""
        self._seen = _Seen()

    def all(self) -> tuple[Objective, ...]:
        """Every objective in the order in which they were set."""
        return tuple(self._objectives.values())

    def open(self) -> tuple[Objective, ...]:
        """What is still to be achieved."""
        return tuple(self._objectives[each] for each in self._open)

    def closed(self) -> tuple[Objective, ...]:
        """What was achieved or given up."""
        return tuple(each for each in self._objectives.values() if each.id not in self._open)

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Take in the game's first facts; objectives are of one episode only."""
        self._seen.take_in(observation)

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn: what it declares, achieves, brings nearer or leaves stale."""
        if record.new_objective:
            self._declare(record.new_objective, record)
        gained = self._seen.take_in(record.after)
        if self._seen.is_news:
            self._progress = record.turn
        for objective in self.open():
            if any(same_thing(need, thing) for need in objective.needs for thing in gained):
                self._open[objective.id] = record.turn
            if objective.goal and _holds(objective.goal, record.after):
                reason = _shown_by(objective.goal, record.after)
                self._close(objective.id, "completed", reason, record.turn)
            elif record.turn - self._latest_progress(objective.id) >= self._stale_turns:
                reason = f"no progress in {counted(self._stale_turns, 'turn')}"
                self._close(objective.id, "retired", reason, record.turn)

    def learn(self, reflection: Reflection) -> None:
        """Take in what a look back found, achieved or gave up."""
        for objective in reflection.objectives:
            self._add(objective)
        for change in reflection.objective_changes:
            self._close(change.id, change.status, change.reason, change.turn)

    def sections(self, state: GameState) -> Iterable[Section]:
        """The objectives for this room, then the newest; then what was achieved lately."""
        lines = [self._line(each) for each in self._for_room(state.observation)[: self._shown]]
        achieved = [self._objectives[each].text for each in self._achieved[-_ACHIEVED_SHOWN:]]
        if achieved:
            lines.append(f"Lately achieved: {'; '.join(reversed(achieved))}")
        if lines:
            yield Section("Objectives", tuple(lines), importance=5)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """The first of them."""
        for objective in self._for_room(state.observation)[:1]:
            yield one_line(f"Objective: {objective.text}", _COMPACT_CHARACTERS)

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterable[Section]:
        """The open ones with their ids."""
        lines = [f"{self._line(each)} [turn {each.turn}, {each.source}]" for each in self.open()]
        if lines:
            yield Section("Open objectives", tuple(lines), importance=5)

    def reconcile(self, answer: ReflectionAnswer, grounds: Grounds) -> Mapping[str, object]:
        """New objectives and the end of open ones, as far as the cited turns bear them out."""
        review = _Review(self, self._seen, grounds)
        for revision in answer.ended_objectives:
            review.end(revision)
        for proposal in answer.objectives:
            review.propose(proposal)
        return {
            "objectives": tuple(review.new),
            "objective_changes": tuple(review.changes.values()),
        }

    def find(self, given: str) -> Objective | None:
        """The open objective with that id; this episode's prefix may be left out."""
        name = given.strip(" []#")
        full = next((each for each in (name, f"{self._uid}-{name}") if each in self._open), None)
        return self._objectives[full] if full else None

    def next_id(self, ahead: int = 0) -> str:
        """The id of an objective before which ``ahead`` others are still to be added."""
        return f"{self._uid}-o{len(self._objectives) + ahead + 1}"

    def stalest(self, candidates: Iterable[Objective]) -> Objective | None:
        """That of ``candidates`` which has gone longest without progress.

        What looking back found gives way first; what the agent declared, only to newer aims
        of its own.
        """
        return min(
            candidates, key=lambda each: (each.source == "agent", self._open[each.id]), default=None
        )

    def _declare(self, said: str, record: TurnRecord) -> None:
        text = one_line(said, _TEXT_CHARACTERS)
        if text.casefold().strip(" .") in ("", *_NOTHING):
            return
        if any(near_duplicates(each.text, text) for each in self.open()):
            return
        if len(self._open) >= _MOST_OPEN and (stalest := self.stalest(self.open())):
            self._close(stalest.id, "retired", "made room for newer ones", record.turn)
        goal = self._seen.goal_in(text)
        if goal and not self._seen.lacks(goal) and _holds(goal, record.after):
            goal = None  # it held before and still does: that is not what is meant
        self._add(
            Objective(
                id=self.next_id(),
                text=text,
                room=record.place,
                goal=goal,
                source="agent",
                turn=record.turn,
            )
        )

    def _add(self, objective: Objective) -> None:
        self._objectives[objective.id] = objective
        self._open[objective.id] = objective.turn

    def _close(self, given: str, status: ObjectiveStatus, reason: str, turn: int) -> None:
        if self._open.pop(given, None) is None:
            return
        update = {"status": status, "reason": reason, "closed": turn}
        self._objectives[given] = self._objectives[given].model_copy(update=update)
        if status == "completed":
            self._achieved.append(given)

    def _latest_progress(self, objective_id: str) -> int:
        return max(self._progress, self._open[objective_id])

    def _for_room(self, seen: Observation | None) -> list[Objective]:
        here = seen.room.id if seen else None
        newest_first = reversed(self.open())
        return sorted(newest_first, key=lambda each: each.room is None or each.room.id != here)

    def _line(self, objective: Objective) -> str:
        room = objective.room
        details = [f"at {room.name} (#{room.id})"] if room else []
        if objective.needs:
            details.append(f"needs {', '.join(objective.needs)}")
        about = f" ({'; '.join(details)})" if details else ""
        return f"- {objective.id.removeprefix(f'{self._uid}-')} {objective.text}{about}"


class _Review:
    """One answer held against what is known and what was seen; nothing is changed by it."""

    def __init__(self, known: ObjectiveManager, seen: _Seen, grounds: Grounds) -> None:
        self._known = known
        self._seen = seen
        self._grounds = grounds
        self.new: list[Objective] = []
        self.changes: dict[str, ObjectiveChange] = {}
        """By the objective's id: one answer ends an objective once."""

    def end(self, revision: ObjectiveRevision) -> None:
        """Take in that an objective is achieved or not worth pursuing."""
        about = f"ended objective {revision.id}"
        objective = self._known.find(revision.id)
        if objective is None or objective.id in self.changes:
            return self._drop(about, "there is no such open objective")
        if revision.turn not in self._grounds.records:
            return self._drop(about, f"turn {revision.turn} was not looked back at")
        if revision.completed and objective.goal:
            # It would be closed already: the game's facts are above what a model says of them.
            return self._drop(about, "the game's facts do not show that it is achieved")
        status: ObjectiveStatus = "completed" if revision.completed else "retired"
        reason = one_line(revision.reason, _TEXT_CHARACTERS) or status
        self._change(objective, status, reason, revision.turn)
        return None

    def propose(self, proposal: ObjectiveProposal) -> None:
        """Take in a new objective; it never takes the place of one that the agent declared."""
        text = one_line(proposal.text, _TEXT_CHARACTERS)
        about = f"objective '{text}'"
        if not text:
            return self._drop(about, "it says nothing")
        if proposal.turn not in self._grounds.records:
            return self._drop(about, f"turn {proposal.turn} was not looked back at")
        remaining = [each for each in self._known.open() if each.id not in self.changes]
        twins = (each for each in (*remaining, *self.new) if near_duplicates(each.text, text))
        if twin := next(twins, None):
            return self._drop(about, f"{twin.id} says the same")
        if len(remaining) + len(self.new) >= _MOST_OPEN:
            found = [each for each in remaining if each.source == "reflection"]
            stalest = self._known.stalest(found)
            if stalest is None:
                return self._drop(about, f"there are {_MOST_OPEN} open ones")
            self._change(stalest, "retired", "made room for newer ones", self._grounds.last_turn)
        needs = (one_line(need, _NEED_CHARACTERS) for need in proposal.needs)
        self.new.append(
            Objective(
                id=self._known.next_id(len(self.new)),
                text=text,
                room=self._room(proposal.room_id, about),
                needs=tuple(dict.fromkeys(need for need in needs if need))[:_MOST_NEEDS],
                goal=self._goal(proposal, about),
                source="reflection",
                turn=self._grounds.last_turn,
            )
        )
        return None

    def _room(self, room_id: int | None, about: str) -> Place | None:
        room = None if room_id is None else self._seen.rooms.get(room_id)
        if room_id is not None and room is None:
            self._drop(f"room {room_id} of {about}", "no such room was seen")
        return room

    def _goal(self, proposal: ObjectiveProposal, about: str) -> Goal | None:
        """The one fact that is named and does not hold yet; of two, neither alone is the goal."""
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

    def _change(
        self, objective: Objective, status: ObjectiveStatus, reason: str, turn: int
    ) -> None:
        self.changes[objective.id] = ObjectiveChange(
            id=objective.id, status=status, reason=reason, turn=turn
        )

    def _drop(self, what: str, why: str) -> None:
        self._grounds.dropped.append(f"{what}: {why}")


class _Seen:
    """Rooms and things that the game has shown so far."""

    def __init__(self) -> None:
        self.rooms: dict[int, Place] = {}
        self.is_news = False
        """Whether what was taken in last brought a new room or more points than ever."""
        self._things: set[str] = set()
        self._carried: set[str] = set()
        self._best_score = 0
        self._now: Observation | None = None

    def take_in(self, observation: Observation) -> set[str]:
        """Note what is seen; gives the things that are carried for the first time."""
        self.is_news = observation.room.id not in self.rooms or observation.score > self._best_score
        self.rooms[observation.room.id] = observation.room
        self._best_score = max(self._best_score, observation.score)
        carried = {_bare(thing) for thing in observation.inventory}
        gained = carried - self._carried
        self._carried |= carried
        self._things |= carried | {_bare(thing) for thing in observation.visible}
        self._now = observation
        return gained

    def lacks(self, goal: Goal) -> bool:
        """Whether the goal does not hold yet; one that does would say nothing."""
        return self._now is not None and not _holds(goal, self._now)

    def goal_in(self, text: str) -> Goal | None:
        """What code can check of a text that names one known room or thing, and nothing else."""
        words = " ".join(text.casefold().strip(" .!").split())
        if going := _GOING.fullmatch(words):
            return self._only_room(going[1] or going[2])
        taking = _TAKING.fullmatch(words)
        return self._only_thing(taking[1]) if taking else None

    def _only_room(self, name: str) -> Goal | None:
        meant = name_words(name)
        found = [room for room in self.rooms.values() if name_words(room.name) == meant]
        return Goal(room=found[0].id) if len(found) == 1 else None

    def _only_thing(self, name: str) -> Goal | None:
        meant = name_words(name)
        found = [thing for thing in self._things if meant and meant <= name_words(thing)]
        return Goal(item=found[0]) if len(found) == 1 else None


def _bare(thing: str) -> str:
    """A thing's name without the container that it is in."""
    return thing.partition(" (in ")[0].casefold()


def _holds(goal: Goal, seen: Observation) -> bool:
    if goal.room is not None:
        return seen.room.id == goal.room
    if goal.score is not None:
        return seen.score >= goal.score
    return any(same_thing(goal.item or "", _bare(thing)) for thing in seen.inventory)


def _shown_by(goal: Goal, seen: Observation) -> str:
    if goal.room is not None:
        return f"you were in {seen.room.name} (#{goal.room})"
    return f"the score was {seen.score}" if goal.score is not None else f"you carried {goal.item}"
