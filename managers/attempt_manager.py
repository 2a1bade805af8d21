"""Attempts: what was tried where, what came of it, and whether the world was like this before."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from managers.manager import Manager, Section, section, shortened
from session.game_state import NOTHING_SEEN, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver
from session.perception.directions import HARMLESS, direction_of

_ANSWER_CHARACTERS = 120
_COMMANDS_KEPT = 60
"""Of one place or world; the oldest attempts are forgotten first."""
_COMMANDS_SHOWN = 12
_VERBS_SHOWN = 20
_VISITS_KEPT = 5
_COMPACT_CHARACTERS = 160


@dataclass
class Attempt:
    """All attempts at one command in one place, or in one state of the world."""

    times: int = 0
    answer: str = ""
    """To the latest attempt, shortened."""
    changed: bool = False
    """Whether the latest attempt changed anything that the player was told of."""
    died: bool = False
    """Whether the latest attempt was deadly."""
    last_change: int | None = None
    """The turn of the latest attempt that did."""
    vain_answer: int | None = None
    """Hash of the whole answer to the latest attempt that did not."""
    was_in_vain: bool = True
    """Whether no attempt ever changed anything at all."""
    heard: int | None = None
    """Hash of the whole answer to the latest attempt that changed nothing told."""
    varies: bool = False
    """Whether such attempts were answered in different ways: chance or time plays a part."""

    def add(self, record: TurnRecord, *, changed: bool, in_vain: bool) -> None:
        """Add another attempt."""
        self.was_in_vain &= in_vain
        self.times += 1
        self.died, self.changed = bool(record.died), changed
        self.answer = shortened(record.response, _ANSWER_CHARACTERS)
        answer = hash(" ".join(record.response.split()))
        if changed:
            self.last_change = record.turn
        else:
            self.varies |= self.heard not in {None, answer}
            self.heard = answer
        if in_vain:
            self.vain_answer = answer


_Attempts: TypeAlias = dict[str, Attempt]
"""Command -> its attempts, the latest last."""


@dataclass
class _World:
    """One state of the world, whenever it occurred."""

    visits: deque[int] = field(default_factory=lambda: deque(maxlen=_VISITS_KEPT))
    """The turns after which the world had come to be like this; the last few."""
    attempts: _Attempts = field(default_factory=dict)


class AttemptManager(Manager):
    """Keeps attempts by room id and by world hash, never by name."""

    def __init__(self) -> None:
        self._rooms: dict[int, _Attempts] = {}
        self._worlds: dict[tuple[int | None, str], _World] = {}
        self._chance: set[str] = set()
        """Commands that were answered in different ways in one and the same world."""
        self._verbs: dict[str, str] = {}
        """Verb -> the latest command with it that changed something."""
        self._before = NOTHING_SEEN
        self.question_is_open = False
        """Whether the game's last words are a question, which anything may answer."""

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the world as the game begins."""
        self._before = observation
        self._world(observation).visits.append(0)

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        before, after = self._before, record.after
        if not record.command:
            return
        command = normal(record.command)
        changed = bool(record.died) or _facts(before) != _facts(after)
        # What the game's memory has and the player was not told can only speak for a command.
        in_vain = not changed and before.world_hash == after.world_hash
        if record.place:
            here = self._rooms.setdefault(record.place.id, {})
            _latest(here, command).add(record, changed=changed, in_vain=in_vain)
        again = _latest(self._world(before).attempts, command)
        last_answer = again.vain_answer
        again.add(record, changed=changed, in_vain=in_vain)
        if last_answer not in {None, again.vain_answer}:
            self._chance.add(command)
        verb = command.partition(" ")[0]
        if changed and not record.died and verb not in HARMLESS and not direction_of(command):
            self._verbs.pop(verb, None)  # the latest stand last
            self._verbs[verb] = command
            if len(self._verbs) > _VERBS_SHOWN:
                del self._verbs[next(iter(self._verbs))]
        if before.world_hash != after.world_hash:
            self._world(after).visits.append(record.turn)
        self._before = after
        self.question_is_open = record.response.rstrip().endswith("?")

    def vain_tries(self, command: str, world_hash: str, room_id: int | None) -> tuple[int, str]:
        """Tell how often ``command`` did nothing in exactly this world, and the answer it got.

        0 when it ever did something there, or when chance plays a part in what it does.
        """
        world, text = self._worlds.get((room_id, world_hash)), normal(command)
        attempt = world.attempts.get(text) if world else None
        if attempt is None or not attempt.was_in_vain or text in self._chance:
            return 0, ""
        return attempt.times, attempt.answer

    def sections(self, state: GameState) -> Iterator[Section]:
        """Yield what was tried here, and whether all this has been before."""
        seen = state.observation
        if self._verbs:
            title = "Verbs that had an effect in this game so far, by example"
            yield Section(title, (", ".join(self._verbs.values()),), 1)
        here = self._here(seen)
        worked = [
            text
            for text, attempt in here.items()
            if not _is_vain(attempt) and not direction_of(text)  # ways out are the map's
        ]
        if worked:
            yield Section("What worked here", (", ".join(worked[-_COMMANDS_SHOWN:]),), 3)
        vain = {text: attempt for text, attempt in here.items() if _is_vain(attempt)}
        for title, varies in (
            ("Tried here, with no effect but the answer", False),
            ("Tried here, and answered in different ways", True),
        ):
            told = [_told(text, it) for text, it in vain.items() if it.varies is varies]
            yield from section(title, told[-_COMMANDS_SHOWN:], 3)
        world = self._worlds.get((seen.room_id, seen.world_hash))
        if world and len(world.visits) > 1:  # the world as it is now was left and has come back
            earlier = [str(turn) for turn in [*world.visits][:-1]]
            turns = f"turn{'s' if len(earlier) > 1 else ''} {' and '.join(earlier)}"
            tried = [
                text if attempt.changed else f"{text} (nothing changed)"
                for text, attempt in world.attempts.items()
            ]
            line = (
                f"Room, things and score are as they were after {turns}. "
                f"From there you tried: {', '.join(tried[-_COMMANDS_SHOWN:])}."
            )
            yield Section("Going in circles", (line,), 3)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """Yield what changed nothing here, in one line."""
        here = self._here(state.observation)
        vain = [text for text, tried in here.items() if _is_vain(tried)]
        while vain and len(", ".join(vain)) > _COMPACT_CHARACTERS:
            vain.pop(0)
        if vain:
            yield f"Tried here: {', '.join(vain)}."

    def _world(self, seen: Observation) -> _World:
        return self._worlds.setdefault((seen.room_id, seen.world_hash), _World())

    def _here(self, seen: Observation) -> _Attempts:
        """Return the attempts in this room; none where the game does not tell rooms apart."""
        return self._rooms.get(seen.room.id, {}) if seen.room else {}


def normal(command: str) -> str:
    """Return the command in the spelling under which it is kept."""
    return direction_of(command) or " ".join(command.lower().split())


def _latest(attempts: _Attempts, command: str) -> Attempt:
    """Return the attempts at ``command``, made the latest."""
    attempt = attempts[command] = attempts.pop(command, Attempt())
    if len(attempts) > _COMMANDS_KEPT:
        del attempts[next(iter(attempts))]
    return attempt


def _facts(seen: Observation) -> tuple[object, ...]:
    return seen.room_id, seen.score, seen.inventory, seen.visible


def _is_vain(tried: Attempt) -> bool:
    return tried.died or not tried.changed


def _told(command: str, tried: Attempt) -> str:
    notes = []
    if tried.times > 1:
        notes.append(f"{tried.times} times")
    if tried.died:
        notes.append("deadly")
    elif tried.last_change is not None:
        notes.append(f"did something in turn {tried.last_change}")
    remark = f" ({', '.join(notes)})" if notes else ""
    return f"{command}{remark}: {tried.answer}"
