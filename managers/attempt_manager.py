"""Attempts: what was tried where, what came of it, and whether the world was like this before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from managers.manager import Manager, Section
from managers.map_manager import direction_of

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState, Observation, TurnRecord
    from session.learned import CarriedOver

_ANSWER_CHARACTERS = 120
_COMMANDS_SHOWN = 12
_VERBS_SHOWN = 20
_VISITS_KEPT = 5
_COMPACT_CHARACTERS = 160
_PASSING_TIME = frozenset({"again", "g", "i", "inventory", "l", "look", "wait", "z"})
"""Whatever happens after these, they did not do it."""


@dataclass
class Attempt:
    """All tries of one command in one place, or in one state of the world."""

    times: int = 0
    turn: int = 0
    """Of the latest try."""
    answer: str = ""
    """To the latest try."""
    changed: bool = False
    """Whether the latest try changed anything."""
    last_change: int | None = None
    """The turn of the latest try that changed anything."""
    died: bool = False
    """Whether the latest try was deadly."""
    answers_differ: bool = False
    """Whether tries without effect were answered in different ways."""
    _vain_answer: int | None = None

    def add(self, record: TurnRecord, *, changed: bool) -> None:
        """Take in another try."""
        whole = " ".join(record.response.split())
        self.times += 1
        self.turn, self.answer = record.turn, _shortened(whole)
        self.changed, self.died = changed, record.died
        if changed:
            self.last_change = record.turn
            return
        answer = hash(whole)  # the text itself may be long
        self.answers_differ |= self._vain_answer not in {None, answer}
        self._vain_answer = answer


@dataclass
class _World:
    """One state of the world, whenever it was met."""

    visits: list[int] = field(default_factory=list)
    """The turns after which the world had come to be like this; the last few."""
    attempts: dict[str, Attempt] = field(default_factory=dict)


class AttemptManager(Manager):
    """Keeps attempts by room id and by world hash; names are never looked at."""

    def __init__(self, _config: GameConfiguration) -> None:
        self._rooms: dict[int, dict[str, Attempt]] = {}
        self._worlds: dict[str, _World] = {}
        self._verbs: dict[str, str] = {}
        """Verb -> the latest command with it that changed something."""
        self._before: Observation | None = None
        self._question_is_open = False

    @property
    def question_is_open(self) -> bool:
        """Whether the game's last words are a question, which anything may answer."""
        return self._question_is_open

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Take in the world as the game begins."""
        self._before = observation
        self._world(observation.world_hash).visits.append(0)

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        before, after = self._before, record.after
        changed = record.died or before is None or _changed(before, after)
        command = normal(record.command)
        attempts = self._rooms.setdefault(record.place.id, {})
        attempts[command] = attempts.pop(command, Attempt())  # the latest stand last
        attempts[command].add(record, changed=changed)
        if before is not None:
            tried = self._world(before.world_hash).attempts
            tried.setdefault(command, Attempt()).add(record, changed=changed)
        if before is None or before.world_hash != after.world_hash:
            visits = self._world(after.world_hash).visits
            visits.append(record.turn)
            del visits[:-_VISITS_KEPT]
        if changed and not record.died:
            self._learn_verb(command)
        self._before = after
        self._question_is_open = record.response.rstrip().endswith("?")

    def vain_tries(self, command: str, world_hash: str, room_id: int) -> tuple[int, str]:
        """How often ``command`` did nothing in exactly this world, and the one answer it got.

        0 when it ever did something there, or when answers differ: then chance has a hand in it.
        """
        world, text = self._worlds.get(world_hash), normal(command)
        attempt = world.attempts.get(text) if world else None
        here = self._rooms.get(room_id, {}).get(text)
        if attempt is None or here is None or attempt.last_change is not None:
            return 0, ""
        if here.answers_differ:
            return 0, ""
        return attempt.times, attempt.answer

    def attempts(self, room_id: int) -> dict[str, Attempt]:
        """Command -> its tries in the room with this id, the latest last."""
        return self._rooms.get(room_id, {})

    def sections(self, state: GameState) -> Iterator[Section]:
        """What was tried here, and whether all this has been before."""
        seen = state.observation
        if seen is None:
            return
        if self._verbs:
            examples = ", ".join([*self._verbs.values()][-_VERBS_SHOWN:])
            yield Section(
                "Verbs that had an effect in this game so far, by example", (examples,), 1
            )
        here = self.attempts(seen.room.id) if seen.room.id else {}
        worked = [text for text, tried in here.items() if _is_deed(text, tried)]
        if worked:
            yield Section("What worked here", (", ".join(worked[-_COMMANDS_SHOWN:]),), 3)
        vain = [_told(text, tried) for text, tried in here.items() if _is_vain(tried)]
        if vain:
            yield Section("Tried here without effect", tuple(vain[-_COMMANDS_SHOWN:]), 3)
        yield from self._loop(seen)

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """What failed here, in one line."""
        seen = state.observation
        here = self.attempts(seen.room.id) if seen and seen.room.id else {}
        vain = [text for text, tried in here.items() if _is_vain(tried)]
        while vain and len(", ".join(vain)) > _COMPACT_CHARACTERS:
            vain.pop(0)
        if vain:
            yield f"Failed here: {', '.join(vain)}."

    def _loop(self, seen: Observation) -> Iterator[Section]:
        """The world as it is now was left and has come back."""
        world = self._world(seen.world_hash)
        earlier = [str(turn) for turn in world.visits[:-1]]
        if not earlier:
            return
        turns = " and ".join(filter(None, (", ".join(earlier[:-1]), earlier[-1])))
        of_turns = f"turn{'s' if len(earlier) > 1 else ''} {turns}"
        tried = ", ".join([*world.attempts][-_COMMANDS_SHOWN:])
        line = f"The world is exactly as it was after {of_turns}; from there you tried: {tried}."
        yield Section("Going in circles", (line,), 3)

    def _world(self, world_hash: str) -> _World:
        return self._worlds.setdefault(world_hash, _World())

    def _learn_verb(self, command: str) -> None:
        verb = command.partition(" ")[0]
        if verb not in _PASSING_TIME and not direction_of(command):
            self._verbs.pop(verb, None)  # the latest stand last
            self._verbs[verb] = command


def normal(command: str) -> str:
    """The command in the spelling under which it is kept."""
    return direction_of(command) or " ".join(command.lower().split())


def _changed(before: Observation, after: Observation) -> bool:
    facts = (before.world_hash, before.room.id, before.score, before.inventory)
    return facts != (after.world_hash, after.room.id, after.score, after.inventory)


def _is_vain(tried: Attempt) -> bool:
    return tried.died or not tried.changed


def _is_deed(command: str, tried: Attempt) -> bool:
    """Whether something came of it; ways out are the map's."""
    return tried.changed and not tried.died and not direction_of(command)


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


def _shortened(text: str) -> str:
    return text if len(text) <= _ANSWER_CHARACTERS else text[: _ANSWER_CHARACTERS - 1] + "…"
