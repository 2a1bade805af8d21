"""Memories: what is worth knowing in a room, kept where the action was taken, by the room's id."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section, section
from managers.reflection.answer import MemoryProposal, MemoryRevision, ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from mcp_ghost.text import counted, one_line
from session.game_configuration import GameConfiguration
from session.game_state import NOTHING_SEEN, GameState, Observation, TurnRecord
from session.knowledge import (
    CarriedOver,
    Memory,
    MemoryChange,
    Persistence,
    Reflection,
    folded_memories,
)
from session.perception.directions import SENSING
from session.similarity import near_duplicates, says_more

_TITLE_CHARACTERS = 60
_TEXT_CHARACTERS = 300
_COMPACT_CHARACTERS = 100
_MOST_TO_REVISE = 40
"""Of all the rooms of a look back; many episodes may have remembered as much of one."""
_TITLE = "Memories"
_RESET = "From earlier episodes, before the world was reset:"
_URGENCY = ("danger", "success", "failure", "discovery", "note")
_IN_FORCE = ("active", "tentative")


class MemoryManager(Manager):
    """Knows what is worth knowing in each room, from this and earlier episodes."""

    def __init__(
        self,
        config: GameConfiguration,
        uid: str,
        distance: Callable[[int, int], int | None] | None = None,
    ) -> None:
        self._config = config
        self._uid = uid
        self._distance = distance
        self._memories: dict[str, Memory] = {}
        self._in_force: dict[int, dict[str, Memory]] = {}
        """By room, so that a turn costs the same however much is remembered."""
        self._own = 0
        self.first_visits = _FirstVisits()

    def all(self) -> tuple[Memory, ...]:
        """Return every memory, also those that are no longer in force."""
        return tuple(self._memories.values())

    def memories_of(self, room_id: int | None) -> tuple[Memory, ...]:
        """Return what is in force in a room, the surest and most urgent first."""
        here = {} if room_id is None else self._in_force.get(room_id, {})
        by_urgency = sorted(here.values(), key=lambda it: _URGENCY.index(it.category))
        return tuple(sorted(by_urgency, key=lambda it: it.status == "tentative"))

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the game's first facts and what earlier episodes remembered."""
        self.first_visits.begin(observation)
        for memory in carried.memories:
            if memory.persistence != "ephemeral":  # the world has been reset since
                self._keep(memory)

    def apply(self, record: TurnRecord) -> None:
        """Learn which rooms are still as the game begins them."""
        self.first_visits.apply(record)

    def learn(self, reflection: Reflection) -> None:
        """Learn new memories, and what happened to known ones."""
        for memory in reflection.memories:
            self._own += memory.id not in self._memories
            self._keep(memory)
        for change in reflection.memory_changes:
            known = [self._memories[change.id]] if change.id in self._memories else []
            for memory in folded_memories(known, [change]):
                self._keep(memory)

    def sections(self, state: GameState) -> Iterable[Section]:
        """Yield what is remembered of this room, of those near it, and of those that are wanted."""
        here = state.observation.room_id
        if here is None:
            return
        left = self._config.memories_token_budget * CHARACTERS_PER_TOKEN - len(f"## {_TITLE}")
        now: list[str] = []
        earlier: list[str] = []
        wanted = f"{state.nav_target}\n{state.plan}"
        for memory, forms in self._tellable(here, wanted):
            lines = now if memory.id.startswith(f"{self._uid}-") else earlier
            opening = 0 if lines or lines is now else len(_RESET) + 1
            fitting = next((form for form in forms if opening + len(form) < left), None)
            if fitting is None:
                break
            left -= opening + len(fitting) + 1
            lines.append(fitting)
        yield from section(_TITLE, [*now, *([_RESET, *earlier] if earlier else [])], importance=4)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """Yield the most urgent titles of this room."""
        titles = [memory.title for memory in self.memories_of(state.observation.room_id)[:2]]
        if titles:
            yield one_line(f"Remember: {'; '.join(titles)}", _COMPACT_CHARACTERS)

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterable[Section]:
        """Return what is in force in the rooms of these records, the latest rooms first."""
        rooms = dict.fromkeys(
            room_id
            for record in reversed(records)
            for room_id in (record.after.room_id, record.place_id)
        )
        lines = [
            f"{self._short(memory)} [{memory.category}, {memory.persistence}, {memory.status}] "
            f"{memory.room.label}: {_wording(memory)}"
            for room_id in rooms
            for memory in self.memories_of(room_id)
        ]
        return section("Known memories", lines[:_MOST_TO_REVISE], importance=4)

    def reconcile(self, answer: ReflectionAnswer, finder: EvidenceFinder) -> Mapping[str, object]:
        """New memories and changes of known ones, as far as the cited turns support them.

        A memory and the change of the one that it replaces come in the same reflection, which is
        one line of the log: there is no instant at which one is gone and the other not yet there.
        """
        review = _Review(self, finder)
        for revision in answer.wrong_memories:
            review.invalidate(revision)
        for proposal in answer.memories:
            review.propose(proposal)
        return {
            "memories": tuple(review.new.values()),
            "memory_changes": tuple(review.changes.values()),
        }

    def find(self, given: str) -> Memory | None:
        """Return what is in force with that id; this episode's prefix may be left out."""
        name = given.strip(" []#")
        memory = self._memories.get(name) or self._memories.get(f"{self._uid}-{name}")
        return memory if memory and memory.status in _IN_FORCE else None

    def next_id(self, ahead: int) -> str:
        """Return the id of a memory before which ``ahead`` others are still to be kept."""
        return f"{self._uid}-m{self._own + ahead + 1}"

    def _keep(self, memory: Memory) -> None:
        self._memories[memory.id] = memory
        here = self._in_force.setdefault(memory.room.id, {})
        if memory.status in _IN_FORCE:
            here[memory.id] = memory
        else:
            here.pop(memory.id, None)
            if not here:
                del self._in_force[memory.room.id]

    def _tellable(self, here: int, wanted: str) -> Iterator[tuple[Memory, tuple[str, ...]]]:
        """Yield each memory with its line in full and shortened; far ones with their titles alone.

        Those of a room that ``wanted`` names are not far, wherever it is, if a way there is known.
        """
        far = self._distance or (lambda _here, _room: None)
        steps_to = {room: far(here, room) for room in self._in_force if room != here}
        reached = sorted((steps, room) for room, steps in steps_to.items() if steps)
        near = [it for it in reached if it[0] <= self._config.memories_max_distance]
        named = [it for it in reached if self._is_named(it[1], wanted)]
        for steps, room_id in dict.fromkeys([(0, here), *named, *near]):
            for memory in self.memories_of(room_id):
                doubt = ", uncertain" if memory.status == "tentative" else ""
                head = f"- {self._short(memory)} {memory.category}{doubt}:"
                if steps:
                    head += f" in {memory.room.label}, {counted(steps, 'step')} away:"
                title = f"{head} {memory.title}"
                whole = f"{head} {_wording(memory)}"
                is_far = steps > 1 and (steps, room_id) not in named
                yield memory, (title,) if is_far else (whole, title)

    def _is_named(self, room_id: int, wanted: str) -> bool:
        """Tell whether a text names a room, or gives its number."""
        name = next(iter(self._in_force[room_id].values())).room.name
        words = rf"(?<!\w){re.escape(name)}(?!\w)|#{room_id}(?!\d)"
        return bool(re.search(words, wanted, re.IGNORECASE)) or wanted.split("\n")[0] == str(
            room_id
        )

    def _short(self, memory: Memory) -> str:
        return memory.id.removeprefix(f"{self._uid}-")


class _Review:
    """One answer, checked against what is known and what was seen, without changing anything."""

    def __init__(self, known: MemoryManager, finder: EvidenceFinder) -> None:
        self._known = known
        self._finder = finder
        self.new: dict[str, Memory] = {}
        self.changes: dict[str, MemoryChange] = {}
        """By the memory's id: one answer says one thing about a memory."""

    def invalidate(self, revision: MemoryRevision) -> None:
        """Note that a memory is wrong; no new one is needed for that."""
        about = f"wrong memory {revision.id}"
        memory = self._known.find(revision.id)
        if memory is None:
            return self._finder.drop(about, "there is no such active memory")
        if revision.turn not in self._finder.records:
            return self._finder.drop(about, f"turn {revision.turn} is not part of this reflection")
        reason = one_line(revision.reason, _TEXT_CHARACTERS) or "shown to be wrong"
        self.changes[memory.id] = MemoryChange(
            id=memory.id, status="invalidated", reason=reason, turn=revision.turn
        )
        return None

    def propose(self, proposal: MemoryProposal) -> None:
        """Add a new memory, and note that it replaces others."""
        text = one_line(proposal.text, _TEXT_CHARACTERS)
        title = one_line(proposal.title, _TITLE_CHARACTERS) or one_line(text, _TITLE_CHARACTERS)
        record = self._finder.records.get(proposal.turn)
        evidence = self._finder.evidence(proposal.turn)
        about = f"memory '{title}'"
        if not text:
            return self._finder.drop(about, "it says nothing")
        if record is None or evidence is None:
            return self._finder.drop(about, f"turn {proposal.turn} is not part of this reflection")
        if record.place is None:
            return self._finder.drop(about, "it is not known where that was")
        memory = Memory(
            id=self._known.next_id(len(self.new)),
            room=record.place,
            category=proposal.category,
            title=title,
            text=text,
            persistence=self._known.first_visits.persistence(proposal.persistence, record),
            status="tentative" if proposal.tentative else "active",
            evidence=evidence,
            scored=record.scored or 0,
        )
        superseded = []
        for given in proposal.supersedes:
            old = self._known.find(given)
            about = f"superseding {given} by '{title}'"
            if old is None:
                self._finder.drop(about, "there is no such active memory")
            elif _is_passing(memory) and not _is_passing(old):
                # What holds in this episode alone says nothing against what holds in every one.
                why = f"what is ephemeral cannot replace what is {old.persistence}"
                self._finder.drop(about, why)
            else:
                superseded.append(old)
        return self._place(memory, superseded)

    def _place(self, memory: Memory, named: list[Memory]) -> None:
        """Keep a memory beside those of its room, or instead of them, or not at all.

        Of two near-duplicates the older stays, because other places may name it by its id; the new
        one replaces it only where that adds something. So nothing that was known gets lost, and
        what it would have superseded stays when it is not taken.
        """
        new = (it for it in self.new.values() if it.room.id == memory.room.id)
        here = (*self._known.memories_of(memory.room.id), *new)
        in_force = [old for old in here if old.id not in self.changes]
        twins = [old for old in in_force if near_duplicates(_wording(old), _wording(memory))]
        for old in twins:
            if not _improves(memory, old, named=old in named):
                return self._finder.drop(f"memory '{memory.title}'", f"{old.id} says the same")
        self.new[memory.id] = memory
        for old in {old.id: old for old in (*named, *twins)}.values():
            self.changes[old.id] = MemoryChange(
                id=old.id,
                status="superseded",
                reason="replaced" if old in named else "a more certain memory says the same",
                superseded_by=memory.id,
                turn=memory.evidence.turn,
            )
        return None


class _FirstVisits:
    """Tells which turns show a room as the game begins it."""

    def __init__(self) -> None:
        self._visits: dict[int | None, int] = {}
        self._untouched_until: dict[int | None, int] = {}
        """The last turn of the first visit before which the player had changed nothing there."""
        self._changed_in: dict[int | None, int] = {}
        """The first turn in which something changed there."""
        self._before = NOTHING_SEEN

    def begin(self, observation: Observation) -> None:
        self._visits[observation.room_id] = 1
        self._before = observation

    def apply(self, record: TurnRecord) -> None:
        room, entered = record.place_id, record.after.room_id
        if self._visits.setdefault(room, 1) == 1 and room not in self._changed_in:
            self._untouched_until[room] = record.turn
        before, after = self._before, record.after
        looked = record.command.casefold().partition(" ")[0] in SENSING
        if after.inventory != before.inventory or (
            entered == room  # else all that is seen is another room's
            and not looked
            and (after.visible, after.world_hash) != (before.visible, before.world_hash)
        ):
            self._changed_in.setdefault(room, record.turn)
        if entered != room:
            self._visits[entered] = self._visits.get(entered, 0) + 1
        self._before = after

    def persistence(self, proposed: Persistence, record: TurnRecord) -> Persistence:
        """``core`` only of what the game began with; the rest as the model says.

        What is not shown as it was at first was brought about in this episode if the player had
        changed something in that room by then; otherwise it still held later: how the world works.
        """
        is_untouched = record.turn <= self._untouched_until.get(record.place_id, -1)
        if proposed != "core" or is_untouched:
            return proposed
        was_changed = self._changed_in.get(record.place_id, record.turn + 1) <= record.turn
        return "ephemeral" if was_changed else "permanent"


def _improves(new: Memory, old: Memory, *, named: bool) -> bool:
    """Tell whether ``new`` is worth more than its near-duplicate ``old``.

    Lasting is worth more than passing, certain more than tentative, and then saying more; one that
    is to replace the old by its id need only say it otherwise.
    """
    new_worth = (not _is_passing(new), new.status == "active")
    old_worth = (not _is_passing(old), old.status == "active")
    if new_worth != old_worth:
        return new_worth > old_worth
    return says_more(_wording(new), _wording(old)) or (named and _wording(new) != _wording(old))


def _is_passing(memory: Memory) -> bool:
    return memory.persistence == "ephemeral"


def _wording(memory: Memory) -> str:
    return f"{memory.title.rstrip('.')}. {memory.text}"
