"""What is known about an episode: immutable turn records, and the state that follows from them."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from mcp_ghost.messages import Usage
from mcp_ghost.text import counted

UNKNOWN = "unknown"
"""How a fact that is not known is shown."""
UNKNOWN_ROOM = "Unknown place"
NAMELESS = "Unnamed place"
"""Where the game is somewhere without a name, or has not told it."""


class EndReason(StrEnum):
    """Why an episode ended."""

    VICTORY = "victory"
    FINAL_DEATH = "final_death"
    GAME_OVER = "game_over"
    """The game ended by neither, or does not tell how."""
    STALLED = "stalled"
    MAX_TURNS = "max_turns"
    LLM_UNAVAILABLE = "llm_unavailable"
    ENGINE_FAILED = "engine_failed"
    ENGINE_REFUSED = "engine_refused"
    """The engine could not carry out several commands in a row."""
    ABORTED = "aborted"
    BUDGET = "budget"
    LEFT = "left"
    """The guest who played has gone."""

    @property
    def is_final(self) -> bool:
        """Whether the game itself is over, so that there is nothing to resume."""
        return self in {EndReason.VICTORY, EndReason.FINAL_DEATH, EndReason.GAME_OVER}

    @property
    def is_finished(self) -> bool:
        """Whether it was played to its end; else it can go on, and has to before it counts."""
        return self not in {EndReason.ABORTED, EndReason.LLM_UNAVAILABLE, EndReason.ENGINE_FAILED}


ENDINGS: Mapping[str, str] = {
    "victory": "Victory",
    "final_death": "Death",
    "game_over": "Game over",
    "stalled": "Stalled",
    "max_turns": "Turn limit",
    "llm_unavailable": "No usable answer",
    "engine_failed": "Game failed",
    "engine_refused": "Game refused commands",
    "aborted": "Stopped",
    "budget": "Budget spent",
    "left": "Player left",
    "interrupted": "Interrupted",
    "not played": "Not played",
}
"""How tables show the end of an episode; the last two are those of an evaluation's episodes."""


class Value(BaseModel):
    """What never changes once it is made."""

    model_config = ConfigDict(frozen=True)


class Place(Value):
    """A room; the id is its identity, the name only for display."""

    id: int
    """Negative, and never shown, if rooms with the same name must not be told apart."""
    name: str

    @property
    def label(self) -> str:
        """The name with the number: names are shared by rooms of mazes and woods."""
        return f"{self.name} (#{self.id})" if self.id > 0 else self.name


def shown(number: int | None) -> str:
    """Return a number for display."""
    return UNKNOWN if number is None else str(number)


def place_name(room: Place | None) -> str:
    """Return the name of a room, for display."""
    return room.name if room else UNKNOWN_ROOM


class ExitSeen(Value):
    """A way out of a room as the game's memory shows it."""

    direction: str
    kind: str
    room: Place | None = None
    note: str | None = None


class ThingSeen(NamedTuple):
    """Something that is carried or in view."""

    name: str
    holder: str | None = None
    """The name of what it is in."""

    def __str__(self) -> str:
        return f"{self.name} (in {self.holder})" if self.holder else self.name

    @classmethod
    def read(cls, given: object) -> object:
        """Read a thing from its text, as logs keep it."""
        if not isinstance(given, str):
            return given
        name, _, holder = given.partition(" (in ")
        return cls(name, holder.removesuffix(")") or None)

    def write(self) -> object:
        """Return the thing as text; as a pair where its text would be read as another thing."""
        text = str(self)
        return text if self.read(text) == self else tuple(self)


_Thing: TypeAlias = Annotated[
    ThingSeen, BeforeValidator(ThingSeen.read), PlainSerializer(ThingSeen.write)
]
_RoomRead = BeforeValidator(
    lambda room: None if isinstance(room, Mapping) and room.get("id") == 0 else room
)
"""Logs of earlier versions have a room 0 where it is not known."""


class Observation(Value):
    """The game's facts at one moment; None for those that are unknown."""

    room: Annotated[Place | None, _RoomRead]
    score: int | None
    max_score: int | None = None
    moves: int | None
    inventory: tuple[_Thing, ...] | None = ()
    visible: tuple[_Thing, ...] = ()
    exits: tuple[ExitSeen, ...] = ()
    dark: bool = False
    world_hash: str
    waits_for: Literal["line", "key"] | None = "line"
    """What the game waits for: a command, or a key; None if that is unknown."""
    room_shown: bool = True
    """Whether the status line shows the room's name."""
    status_line: str = ""
    """The text of the status line, if it says more than the facts."""

    @property
    def room_id(self) -> int | None:
        """The id of the room."""
        return self.room.id if self.room else None

    @property
    def room_name(self) -> str:
        """The name of the room, for display."""
        return place_name(self.room)


NOTHING_SEEN = Observation(
    room=None, score=None, moves=None, inventory=None, world_hash="", waits_for=None
)
"""Before the game begins."""


class ToolUse(Value):
    """One tool call and its outcome."""

    name: str
    arguments: object
    result: str
    is_error: bool
    duration_ms: float


class RefusedCommand(Value):
    """A command that the model proposed and the game was not given."""

    command: str
    thinking: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """A turn's decision and how it came about."""

    NOTES: ClassVar = ("new_objective", "close_objective", "nav_target", "plan")

    action: str
    reasoning: str
    new_objective: str | None = None
    nav_target: str | None = None
    plan: str | None = None
    close_objective: str | None = None
    proposed: str = ""
    """The action in the model's own spelling."""
    refused: tuple[RefusedCommand, ...] = ()
    """What it proposed before, in order."""
    advice: str | None = None
    """What speaks against the action, which is played all the same."""
    failure: str | None = None
    """Why ``action`` is only the safe default, which must not be played."""
    answered: bool = True
    """Whether the model gave an answer, usable or not."""
    incurable: bool = False
    """Whether to ask again cannot help."""
    unplayable: bool = False
    """Whether the answer is a command that must not be given to the game at this point."""
    tools: tuple[ToolUse, ...] = ()
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)

    def kept_in(self, later: Self) -> Self:
        """``later``, where what was said here of objectives, target and plan still holds."""
        kept = {name: getattr(self, name) for name in self.NOTES if getattr(later, name) is None}
        return replace(later, **kept)


class TurnRecord(Value):
    """One finished turn, written once, after the game answered."""

    turn: int = Field(ge=1)
    place: Annotated[Place | None, _RoomRead]
    """Where the command was given; None if that is unknown."""
    command: str
    """Empty if the answer was unusable and the rules let that cost the turn."""
    proposed: str
    """What the model answered before the command was made valid."""
    thinking: str
    new_objective: str | None = None
    nav_target: str | None = None
    """The room, in the model's words, to which it wants directions."""
    plan: str | None = None
    """The plan that replaces the previous one; None keeps it."""
    close_objective: str | None = None
    """The objective, by its id, that the model declares done or drops, and its words on that."""
    refused: tuple[RefusedCommand, ...] = ()
    """What the model proposed before ``command``."""
    advice: str | None = None
    """What the action check objected to in ``command``."""
    response: str
    scored: int | None = 0
    """Points won, or lost if negative; None if the score is unknown."""
    after: Observation
    ended: Observation | None = None
    """The facts just before the game was restarted, or taken back, within the turn; ``after`` has
    those that followed."""
    restored: int | None = None
    """The turn to whose start the game was taken back."""
    died: bool | None = False
    """None if that is unknown."""
    won: bool = False
    over: bool = False
    engine_refused: str | None = None
    """Why the engine could not carry out ``command``, which was undone."""
    failure: str | None = None
    """Only in logs of earlier versions: why ``command`` was the safe default, not the model's."""
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    seconds: float
    """Wall time of the turn."""
    snapshot: str
    """The engine after the turn, base64."""

    @property
    def outcome(self) -> Observation:
        """The facts that the command led to."""
        return self.ended or self.after

    @property
    def place_id(self) -> int | None:
        """The id of the room where the command was given."""
        return self.place.id if self.place else None

    @property
    def score_change(self) -> str:
        """For example ``+5 points, now 15`` or ``-1 point, now 9``."""
        points = self.scored or 0
        sign = "+" if points > 0 else "-"
        return f"{sign}{counted(abs(points), 'point')}, now {self.after.score}"


class FailedTurn(Value):
    """An attempt at a turn that was not played: no usable answer of the model, or of the game."""

    turn: int
    failure: str
    proposed: str = ""
    """The command that would have been given to the game, if there was one."""
    incurable: bool = False
    """Whether asking again cannot help, for example with a wrong key."""
    of_the_game: bool = False
    """Whether it was the game that failed, at the model's command."""
    unplayable: bool = False
    """Whether the model answered with a command that must not be given to the game then."""
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    seconds: float
    """Wall time of the attempt."""


class Hint(Value):
    """A line from the person watching, which the player is told in one turn."""

    turn: int = Field(ge=1)
    """The turn that was next when it was given."""
    text: str


def added(total: int | None, one: int | None) -> int | None:
    """Return the sum; None where a part of it is not known."""
    return None if total is None or one is None else total + one


Situation: TypeAlias = tuple[int | str, tuple[_Thing, ...] | None, tuple[_Thing, ...]]
"""A room, or the hash of a world without one; what is carried, and what is in view."""


class GameState:
    """The episode so far; ``apply`` is the only way it changes."""

    def __init__(self, episode_id: str) -> None:
        self.episode_id = episode_id
        self.turn_count = 0
        self.observation = NOTHING_SEEN
        self.opening = ""
        self.last_action: str | None = None
        self.last_response = ""
        self.history: deque[TurnRecord] = deque(maxlen=50)
        """The latest turns."""
        self.plan = ""
        """The model's own, word for word; empty where it has none."""
        self.plan_turn = 0
        """When it was made."""
        self.nav_target = ""
        """The room that the model wants to reach, in its words."""
        self.deaths: int | None = 0
        """None once it is not known whether a turn brought one."""
        self.tool_calls = 0
        self.failed_turns = 0
        """Failed attempts in a row, so far, at the coming turn."""
        self.unplayed = ""
        """Why the latest answer was not played; empty where it was, or where there was none."""
        self.turns_without_news = 0
        self.turns_with_one_answer = 0
        """Turns in a row to which the game said the same, or nothing, whatever the command."""
        self.refused_in_a_row = 0
        """Commands at the end that the engine could not carry out, and that were undone."""
        self.usage = Usage()
        self.hints: tuple[str, ...] = ()
        """What the person watching says about the coming turn."""
        self.end_reason: EndReason | None = None
        self.best_score = 0
        self.situations: set[Situation] = set()
        """Those that were met so far."""

    @property
    def score(self) -> int | None:
        """The game's score, if it is known."""
        return self.observation.score

    @property
    def game_over(self) -> bool:
        """Whether the episode has ended."""
        return self.end_reason is not None

    def begin(self, opening: str, observation: Observation) -> None:
        """Add the game's first text and facts."""
        self.opening = self.last_response = opening
        self._observe(observation)
        self.turns_without_news = 0

    def reset_stall_counters(self) -> None:
        """Restart the counts that an episode is given up for."""
        self.failed_turns = self.turns_without_news = 0
        self.turns_with_one_answer = self.refused_in_a_row = 0

    def fail(self, failed: FailedTurn) -> None:
        """Add a turn that was tried and not played."""
        self.failed_turns += 1
        self.unplayed = failed.failure if failed.proposed else ""
        self.tool_calls += len(failed.tools)
        self.spend(failed.usage)

    def spend(self, usage: Usage) -> None:
        """Add what the model's replies used."""
        self.usage += usage

    def hear(self, hint: Hint) -> None:
        """Add what the person watching says."""
        self.hints = (*self.hints, hint.text)

    def apply(self, record: TurnRecord) -> None:
        """Add a finished turn."""
        self.turn_count = record.turn
        self.hints = ()
        is_stuck = record.response == self.last_response and (
            record.command != self.last_action or not record.response.strip()
        )
        self.turns_with_one_answer = self.turns_with_one_answer + 1 if is_stuck else 0
        self.refused_in_a_row = self.refused_in_a_row + 1 if record.engine_refused else 0
        self.last_action = record.command
        self.last_response = record.response
        self.history.append(record)
        if record.plan is not None:
            self.plan, self.plan_turn = record.plan, record.turn
        if record.nav_target is not None:
            self.nav_target = record.nav_target
        self.deaths = added(self.deaths, record.died)
        self.tool_calls += len(record.tools)
        self.failed_turns, self.unplayed = 0, ""
        self.spend(record.usage)
        self.best_score = max(self.best_score, record.outcome.score or 0)
        self._observe(record.after)

    def _observe(self, observation: Observation) -> None:
        # A score alone is too coarse: perfect play has scoreless stretches of 51 turns. The
        # whole world hash is too fine: somebody else's walking about is not our progress. It has
        # to do where it is not known where the player is.
        here = observation.room.id if observation.room else observation.world_hash
        situation = (here, observation.inventory, observation.visible)
        score = self.best_score if observation.score is None else observation.score
        news = situation not in self.situations or score > self.best_score
        self.situations.add(situation)
        self.best_score = max(self.best_score, score)
        self.turns_without_news = 0 if news else self.turns_without_news + 1
        self.observation = observation
