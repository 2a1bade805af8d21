"""Objectives as a fold: set, brought nearer, achieved or given up, by turns and reflections."""

import re
from collections.abc import Iterable

from mcp_ghost.text import counted, one_line
from session.game_state import NOTHING_SEEN, UNKNOWN_ROOM, Observation, Place, ThingSeen, TurnRecord
from session.knowledge import Goal, Objective, ObjectiveStatus, Reflection
from session.similarity import name_words, near_duplicates, same_thing

STALE_TURNS = 80
"""The default; also of episodes whose log does not name it."""
MOST_OPEN = 30
TEXT_CHARACTERS = 200
_GOING = re.compile(
    r"(?:go|get|come|walk|head|travel|return)(?: back)? to (.+)|(?:reach|enter) (.+)"
)
_TAKING = re.compile(r"(?:get|take|find|fetch|grab|obtain|collect|retrieve|pick up) (.+)")
UNCHANGED = ("", "none", "null", "nothing", "n/a", "no", "no new objective", "unchanged", "same")
"""What models write that mean to leave a field empty."""
_CLOSING = re.compile(r"[\s\[#]*(?P<id>[\w-]+)[\]\s:,.-]*(?P<why>.*)", re.DOTALL)
_DONE = re.compile(
    r"(?:is )?(?:done|achieved|complete[d]?|finished|reached|solved)\b", re.IGNORECASE
)


class Objectives:
    """Follows only from what it is given, in order."""

    def __init__(self, uid: str, stale_turns: int) -> None:
        """``uid`` is the episode's; after so many turns without progress one is given up."""
        self.achieved: list[Objective] = []
        """Those that were completed, in that order."""
        self.seen = Seen()
        self._uid = uid
        self._stale_turns = stale_turns
        self._objectives: dict[str, Objective] = {}
        self._open: dict[str, int] = {}
        """The turn in which each open one was set, or last came nearer on its own."""
        self._progress = 0
        """The last turn that brought points or a new room: whatever is wanted, it goes on."""

    def all(self) -> tuple[Objective, ...]:
        """Return every objective in the order in which they were set."""
        return tuple(self._objectives.values())

    def open(self) -> tuple[Objective, ...]:
        """Return what is still to be achieved."""
        return tuple(self._objectives[each] for each in self._open)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn: what it declares, achieves, brings nearer or leaves stale."""
        if record.close_objective:
            self._give_up(record.close_objective, record.turn)
        if record.new_objective:
            self._declare(record.new_objective, record)
        gained, is_news = self.seen.take_in(record.after)
        if is_news:
            self._progress = record.turn
        for objective in self.open():
            if any(same_thing(need, thing) for need in objective.needs for thing in gained):
                self._open[objective.id] = record.turn
            goal, after = objective.goal, record.after
            if goal and holds(goal, after):
                reason = f"you carried {goal.item}"
                if goal.room is not None:
                    reason = f"you were in {after.room.label if after.room else UNKNOWN_ROOM}"
                elif goal.score is not None:
                    reason = f"the score was {after.score}"
                self._close(objective.id, "completed", reason, record.turn)
            elif record.turn - max(self._progress, self._open[objective.id]) >= self._stale_turns:
                reason = f"no progress in {counted(self._stale_turns, 'turn')}"
                self._close(objective.id, "retired", reason, record.turn)

    def learn(self, reflection: Reflection) -> None:
        """Learn what a look back found, achieved or gave up."""
        for objective in reflection.objectives:
            self._add(objective)
        for change in reflection.objective_changes:
            self._close(change.id, change.status, change.reason, change.turn)

    def find(self, given: str) -> Objective | None:
        """Return the open objective with that id; this episode's prefix may be left out."""
        name = given.strip(" []#")
        full = next((each for each in (name, f"{self._uid}-{name}") if each in self._open), None)
        return self._objectives[full] if full else None

    def next_id(self, ahead: int = 0) -> str:
        """Return the id of an objective before which ``ahead`` others are still to be added."""
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
        text = one_line(said, TEXT_CHARACTERS)
        if text.casefold().strip(" .") in UNCHANGED:
            return
        if any(near_duplicates(each.text, text) for each in self.open()):
            return
        if len(self._open) >= MOST_OPEN and (stalest := self.stalest(self.open())):
            self._close(stalest.id, "retired", "made room for newer ones", record.turn)
        goal = self.seen.goal_in(text)
        if goal and not self.seen.lacks(goal) and holds(goal, record.after):
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

    def _give_up(self, said: str, turn: int) -> None:
        """Close the objective that ``said`` begins with; the words after it say how."""
        closing = _CLOSING.match(said)
        objective = self.find(closing["id"]) if closing else None
        if closing and objective:
            why = one_line(closing["why"], TEXT_CHARACTERS)
            status: ObjectiveStatus = "completed" if _DONE.match(why) else "retired"
            self._close(objective.id, status, why or "dropped by the player", turn)

    def _add(self, objective: Objective) -> None:
        self._objectives[objective.id] = objective
        self._open[objective.id] = objective.turn

    def _close(self, given: str, status: ObjectiveStatus, reason: str, turn: int) -> None:
        if self._open.pop(given, None) is None:
            return
        update = {"status": status, "reason": reason, "closed": turn}
        self._objectives[given] = self._objectives[given].model_copy(update=update)
        if status == "completed":
            self.achieved.append(self._objectives[given])


class Seen:
    """Rooms and things that the game has shown so far."""

    def __init__(self) -> None:
        self.rooms: dict[int, Place] = {}
        self._things: set[str] = set()
        self._carried: set[str] = set()
        self._best_score = 0
        self._now = NOTHING_SEEN

    def take_in(self, observation: Observation) -> tuple[set[str], bool]:
        """Note what is seen; returns things new in hand, and if a room or the score is news."""
        room = observation.room
        score = self._best_score if observation.score is None else observation.score
        is_news = score > self._best_score
        if room:
            is_news |= room.id not in self.rooms
            self.rooms[room.id] = room
        self._best_score = max(self._best_score, score)
        carried = set(_names(observation.inventory or ()))
        gained = carried - self._carried
        self._carried |= carried
        self._things |= carried.union(_names(observation.visible))
        self._now = observation
        return gained, is_news

    def lacks(self, goal: Goal) -> bool:
        """Tell whether the goal can be told and does not hold yet."""
        now = self._now
        if goal.item is not None and now.inventory is None:
            return False
        return not (goal.score is not None and now.score is None) and not holds(goal, now)

    def goal_in(self, text: str) -> Goal | None:
        """Find the goal in a text that names one known room or thing, and nothing else."""
        words = " ".join(text.casefold().strip(" .!").split())
        found: list[Goal] = []
        if going := _GOING.fullmatch(words):
            meant = name_words(going[1] or going[2])
            rooms = (room for room in self.rooms.values() if name_words(room.name) == meant)
            found = [Goal(room=room.id) for room in rooms]
        elif taking := _TAKING.fullmatch(words):
            meant = name_words(taking[1])
            things = (thing for thing in self._things if meant and meant <= name_words(thing))
            found = [Goal(item=thing) for thing in things]
        return found[0] if len(found) == 1 else None


def _names(things: Iterable[ThingSeen]) -> Iterable[str]:
    return (thing.name.casefold() for thing in things)


def holds(goal: Goal, seen: Observation) -> bool:
    """Tell whether the facts show the goal."""
    if goal.room is not None:
        return seen.room_id == goal.room
    if goal.score is not None:
        return seen.score is not None and seen.score >= goal.score
    carried = seen.inventory or ()
    return any(same_thing(goal.item or "", thing.name) for thing in carried)
