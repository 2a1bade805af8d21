"""What is known of an episode: immutable turn records and the state that follows from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse


class EndReason(StrEnum):
    """Why an episode ended."""

    VICTORY = "victory"
    FINAL_DEATH = "final_death"
    STALLED = "stalled"
    MAX_TURNS = "max_turns"
    LLM_UNAVAILABLE = "llm_unavailable"
    ABORTED = "aborted"
    BUDGET = "budget"

    @property
    def is_final(self) -> bool:
        """Whether the game itself is over, so that there is nothing to resume."""
        return self in {EndReason.VICTORY, EndReason.FINAL_DEATH}


class Place(BaseModel):
    """A room; the id is its identity, the name only for display."""

    model_config = ConfigDict(frozen=True)

    id: int
    name: str


class ExitSeen(BaseModel):
    """A way out of a room as the game's memory shows it."""

    model_config = ConfigDict(frozen=True)

    direction: str
    kind: str
    room: Place | None = None
    note: str | None = None


class Observation(BaseModel):
    """The game's facts at one instant."""

    model_config = ConfigDict(frozen=True)

    room: Place
    score: int
    max_score: int | None = None
    moves: int
    inventory: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    exits: tuple[ExitSeen, ...] = ()
    dark: bool = False
    world_hash: str


class ToolUse(BaseModel):
    """One tool call as it went."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: object
    result: str
    is_error: bool
    duration_ms: float


class RefusedCommand(BaseModel):
    """A command that the model proposed and the game was not given."""

    model_config = ConfigDict(frozen=True)

    command: str
    thinking: str
    reason: str


class Usage(BaseModel):
    """What the model's replies of a turn took."""

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars, 0.0 where the provider reports none."""

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        return Usage(**sums)

    @classmethod
    def of(cls, responses: Iterable[LLMResponse]) -> Usage:
        """The sum over ``responses``."""
        replies = list(responses)
        reported = [reply.usage or {} for reply in replies]
        tokens = ("prompt_tokens", "cached_tokens", "completion_tokens")
        sums = {name: sum(usage.get(name) or 0 for usage in reported) for name in tokens}
        return cls(calls=len(replies), cost=sum(reply.cost or 0.0 for reply in replies), **sums)


class TurnRecord(BaseModel):
    """One finished turn, written once, after the game answered."""

    model_config = ConfigDict(frozen=True)

    turn: int
    place: Place
    """Where the command was given."""
    command: str
    proposed: str
    """What the model answered before the command was made valid."""
    thinking: str
    new_objective: str | None = None
    nav_target: str | None = None
    """The room, in the model's words, to which it wants to be told the way."""
    refused: tuple[RefusedCommand, ...] = ()
    """What the model proposed before ``command``."""
    advice: str | None = None
    """What the action check had to say against ``command``."""
    response: str
    scored: int = 0
    """Points won, or lost when negative."""
    after: Observation
    died: bool = False
    won: bool = False
    over: bool = False
    failure: str | None = None
    """Why the model gave no usable answer, when ``command`` is only the safe default."""
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    seconds: float
    """Wall time of the turn."""
    snapshot: str
    """The engine after the turn, base64."""


class GameState:
    """The episode so far; ``apply`` is the only way it changes."""

    MILESTONES = 8

    def __init__(self, episode_id: str, history_turns: int = 50) -> None:
        self.episode_id = episode_id
        self.turn_count = 0
        self.observation: Observation | None = None
        self.opening = ""
        self.last_action: str | None = None
        self.last_response = ""
        self.history: deque[TurnRecord] = deque(maxlen=history_turns)
        self.milestones: deque[TurnRecord] = deque(maxlen=self.MILESTONES)
        """The latest turns that won or lost points or a life."""
        self.deaths = 0
        self.tool_calls = 0
        self.failed_turns = 0
        """Latest turns in a row without an answer of the model."""
        self.turns_without_news = 0
        self.usage = Usage()
        self.end_reason: EndReason | None = None
        self._best_score = 0
        self._situations: set[tuple[int, tuple[str, ...], tuple[str, ...]]] = set()

    @property
    def score(self) -> int:
        """The game's score."""
        return self.observation.score if self.observation else 0

    @property
    def game_over(self) -> bool:
        """Whether the episode has ended."""
        return self.end_reason is not None

    def begin(self, opening: str, observation: Observation) -> None:
        """Take in the game's first text and facts."""
        self.opening = self.last_response = opening
        self._observe(observation)
        self.turns_without_news = 0

    def take_patience(self) -> None:
        """Begin to count anew what an episode is given up for."""
        self.failed_turns = self.turns_without_news = 0

    def spend(self, usage: Usage) -> None:
        """Add what the model's replies took."""
        self.usage += usage

    def apply(self, record: TurnRecord) -> None:
        """Take in a finished turn."""
        self.turn_count = record.turn
        self.last_action = record.command
        self.last_response = record.response
        self.history.append(record)
        if record.scored or record.died:
            self.milestones.append(record)
        self.deaths += record.died
        self.tool_calls += len(record.tools)
        self.failed_turns = self.failed_turns + 1 if record.failure else 0
        self.spend(record.usage)
        self._observe(record.after)

    def _observe(self, observation: Observation) -> None:
        # A score alone is too coarse: perfect play has scoreless stretches of 51 turns. The
        # whole world hash is too fine: somebody else's walking about is not our progress.
        situation = (observation.room.id, observation.inventory, observation.visible)
        news = situation not in self._situations or observation.score > self._best_score
        self._situations.add(situation)
        self._best_score = max(self._best_score, observation.score)
        self.turns_without_news = 0 if news else self.turns_without_news + 1
        self.observation = observation
