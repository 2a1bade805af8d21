"""Ways out of rooms: what came of every command that moved the player, or was meant to."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from session.game_state import ExitSeen, Place, TurnRecord
from session.knowledge import Passage
from session.perception.directions import AGAIN, DIRECTIONS, NAMES, direction_of, in_order

_MOVING = re.compile(
    r"(?:go|walk|run|crawl|climb|enter|exit|leave|board|disembark|cross|descend|ascend|swim|jump"
    r"|slide|step|squeeze|get (?:in|into|on|onto|out|off|up|down))\b"
)
_SEVERAL = re.compile(r'[.,;"]|\b(?:then|and)\b')
_ARTICLES = frozenset({"a", "an", "the"})
_ANSWER_CHARACTERS = 200


@dataclass
class Way:
    """What came of one command in one room; the latest outcome counts, the others are kept."""

    room_id: int
    command: str
    first_turn: int
    moves: bool = True
    """Whether the command itself moves the player; else they were carried, and may not be again."""
    turn: int = 0
    """Of the latest outcome."""
    destinations: dict[int, int] = field(default_factory=dict)
    """Room id -> times; the latest comes last."""
    answer: str | None = None
    """The game's words when it last led nowhere."""
    attempts: int = 0
    """How often it led nowhere."""
    is_blocked: bool = False
    """Whether it led nowhere the last time."""
    seen_as: ExitSeen | None = None
    """The exit as the game's memory showed it when it last led nowhere."""
    earlier: bool = False
    """Known from earlier episodes only."""

    @property
    def to(self) -> int | None:
        """The room to which it led last."""
        return next(reversed(self.destinations), None)

    @property
    def is_random(self) -> bool:
        """Whether it led to different rooms."""
        return len(self.destinations) > 1

    @property
    def is_trusted(self) -> bool:
        """Whether it should lead there again; what carried the player once may not do so twice."""
        if self.is_blocked or len(self.destinations) != 1:
            return False
        return self.moves or self.destinations[next(iter(self.destinations))] > 1

    def lead(self, room_id: int, times: int = 1) -> None:
        """Note that it led to a room."""
        self.destinations[room_id] = self.destinations.pop(room_id, 0) + times
        self.is_blocked = False

    def refuse(self, answer: str, seen_as: ExitSeen | None = None, times: int = 1) -> None:
        """Note that it led nowhere."""
        self.answer = " ".join(answer.split())[:_ANSWER_CHARACTERS]
        self.attempts += times
        self.is_blocked, self.seen_as = True, seen_as


class Ways:
    """All ways of an episode, and those of earlier ones; what happened in this one wins."""

    def __init__(self) -> None:
        self._now: dict[int, dict[str, Way]] = {}
        self._earlier: dict[int, dict[str, Way]] = {}
        self._known: dict[int, dict[str, Way]] = {}
        self.directions = set(NAMES)
        """Those of this game."""
        self._last_command = ""

    def carry_over(self, passages: Iterable[Passage]) -> None:
        """Learn what earlier episodes found."""
        self._known.clear()
        for passage in passages:
            found = self._earlier.setdefault(passage.room.id, {})
            command = passage.direction
            moves = bool(direction_of(command) or movement_of(command))
            way = found.setdefault(
                command, Way(passage.room.id, command, 0, moves, earlier=True, is_blocked=True)
            )
            if passage.to:
                way.lead(passage.to.id, passage.times)
            else:
                blocked = not way.destinations  # the world was reset: what was shut may be open
                way.refuse(passage.answer or "", times=passage.times)
                way.is_blocked = blocked

    def apply(self, record: TurnRecord, exits: Mapping[str, ExitSeen]) -> bool:
        """Learn from a turn begun in a room with these exits; returns whether that taught anything.

        A death moves the player but is not a way, and neither is the end of the game.
        """
        command = " ".join(record.command.lower().split())
        if command in AGAIN:
            command = self._last_command
        self._last_command = command
        start, end = record.place_id, record.after.room_id
        if record.died or record.over or record.ended or not command:
            return False
        if start is None or end is None:
            return False
        direction = self._direction(command)
        move = direction or movement_of(command)
        key, name = move or command, record.after.room_name
        headed = bool(name) and record.response.strip().partition("\n")[0].strip() == name
        if end != start or (move and headed):  # the name heads the answer: walked round
            exit_seen = exits.get(direction or "")
            way = self._way(start, key, record.turn)
            way.moves = move is not None and (
                exit_seen is None or exit_seen.room is None or exit_seen.room.id == end
            )
            way.lead(end)
            return True
        word = command.removeprefix("go ").removeprefix("walk ")
        is_plain = DIRECTIONS.get(word, word) in self.directions  # every game knows such words
        if not is_plain and key not in self.of(start):
            return False
        self._way(start, key, record.turn).refuse(record.response, exits.get(key))
        return True

    def of(self, room_id: int) -> dict[str, Way]:
        """Command -> way, for all that is known of a room, directions first."""
        if room_id not in self._known:
            known = {**self._earlier.get(room_id, {}), **self._now.get(room_id, {})}
            in_sequence = sorted(known.items(), key=lambda item: in_order(item[0]))
            self._known[room_id] = dict(in_sequence)
        return self._known[room_id]

    def earlier(self, room_id: int, command: str) -> Way | None:
        """Return what earlier episodes know of a way."""
        return self._earlier.get(room_id, {}).get(command)

    def all(self) -> Iterator[Way]:
        """Yield every way, rooms in the order in which they were found."""
        for room_id in dict.fromkeys([*self._earlier, *self._now]):
            yield from self.of(room_id).values()

    def passages(self, rooms: Mapping[int, Place]) -> Iterator[Passage]:
        """Yield what this episode passes on; of one way the latest outcome comes last."""
        for way in (way for ways in self._now.values() for way in ways.values()):
            if not way.moves and not way.is_trusted and self._direction(way.command):
                continue
            tried = Passage(room=rooms[way.room_id], direction=way.command)
            blocked = tried.model_copy(update={"answer": way.answer, "times": way.attempts or 1})
            if way.attempts and not way.is_blocked:
                yield blocked
            for room_id, times in way.destinations.items():
                yield tried.model_copy(update={"to": rooms[room_id], "times": times})
            if way.is_blocked:
                yield blocked

    def _direction(self, command: str) -> str | None:
        return command if command in self.directions else direction_of(command)

    def _way(self, room_id: int, command: str, turn: int) -> Way:
        """Return the way of this episode, made when it is new."""
        self._known.pop(room_id, None)
        ways = self._now.setdefault(room_id, {})
        way = ways.setdefault(command, Way(room_id, command, turn))
        way.turn = turn
        return way


def movement_of(command: str) -> str | None:
    """``command`` without articles if it is one step by another word; None for any other."""
    plain = " ".join(word for word in command.lower().split() if word not in _ARTICLES)
    return plain if _MOVING.match(plain) and not _SEVERAL.search(plain) else None
