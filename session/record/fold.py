"""What the events of an episode add up to: for resuming, storing, showing and comparing it."""

from mcp_ghost.messages import Usage
from session.game_state import EndReason, FailedTurn, Hint, Observation, TurnRecord, added, shown
from session.knowledge import Edits, Reflection
from session.record.schema import Entry, EpisodeEnd, EpisodeResumed, EpisodeStart, KnowledgeLoaded

_OUT_OF_PATIENCE = frozenset(
    {EndReason.STALLED, EndReason.LLM_UNAVAILABLE, EndReason.ENGINE_REFUSED}
)


class EpisodeFold:
    """Adds up an episode's entries in the order of the log."""

    def __init__(self) -> None:
        self.start: EpisodeStart | None = None
        """How it began; None until it has."""
        self.resumed: EpisodeResumed | None = None
        """How it was last continued."""
        self.started = ""
        """When, as ISO 8601."""
        self.last_time = ""
        self.known = KnowledgeLoaded(edits=Edits())
        self.turn = 0
        """The turn under way, or the last one."""
        self.turns = 0
        """The number of the latest finished turn."""
        self.now: Observation | None = None
        self.snapshot = ""
        """The engine after the latest finished turn, base64."""
        self.scores: list[tuple[int, int | None]] = []
        """(turn, score) at the beginning and after each turn; None where it is not known."""
        self.rooms: set[int] = set()
        self.usage = Usage()
        self.turn_seconds = self.reflection_seconds = 0.0
        self.restarts = 0
        """How often the game was restarted."""
        self.engine_refused = 0
        """Commands that the engine could not carry out."""
        self.deaths: int | None = 0
        """None where it is not known whether a turn brought one."""
        self.tool_calls = self.failed_turns = 0
        self.last_failure = ""
        """Why the model, or the game, gave no usable answer when it last did not."""
        self.reflections: list[Reflection] = []
        self.hints = 0
        """Lines from the person watching: with any, no figure here is the player's alone."""
        self.end: EpisodeEnd | None = None
        """How it ended; None while it goes on."""
        self.gave_up: set[int] = set()
        """Turns after which its patience ran out: whoever resumes it wants to go on."""

    @property
    def score(self) -> int | None:
        """The game's score, if it is known."""
        return self.now.score if self.now else None

    @property
    def max_score(self) -> int | None:
        """The maximum score, if the game says."""
        return self.now.max_score if self.now else None

    @property
    def end_reason(self) -> str | None:
        """Why it ended; None if it did not, or was continued."""
        return str(self.end.reason) if self.end else None

    @property
    def score_line(self) -> str:
        """The score and its maximum, such as ``10/350``."""
        score = shown(self.score)
        return f"{score}/{self.max_score}" if self.max_score else score

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        self.last_time = entry.time or self.last_time
        self.turn = entry.turn or self.turn
        match entry.event:
            case EpisodeStart() as start:
                self.start, self.started = start, entry.time
                self.snapshot = start.snapshot
                self._observe(0, start.observation, start.observation.score)
            case KnowledgeLoaded() as known:
                self.known = known
            case TurnRecord() as record:
                self.turns = max(self.turns, record.turn)
                self.snapshot = record.snapshot
                self.deaths = added(self.deaths, record.died)
                self.restarts += record.ended is not None and record.restored is None
                self.engine_refused += record.engine_refused is not None
                self._try(record)
                self._observe(record.turn, record.after, record.outcome.score)
            case FailedTurn() as failed:
                self._try(failed)
            case Reflection() as reflection:
                self.reflections.append(reflection)
                self.usage += reflection.usage
                self.reflection_seconds += reflection.seconds
            case Hint():
                self.hints += 1
            case EpisodeResumed() as resumed:
                self.resumed, self.end = resumed, None
            case EpisodeEnd() as end:
                self.end = end
                if end.reason in _OUT_OF_PATIENCE:
                    self.gave_up.add(self.turns)

    def _try(self, turn: TurnRecord | FailedTurn) -> None:
        """Add what a turn used, whether it was played or not."""
        self.usage += turn.usage
        self.turn_seconds += turn.seconds
        self.tool_calls += len(turn.tools)
        self.failed_turns += turn.failure is not None
        self.last_failure = turn.failure or self.last_failure

    def _observe(self, turn: int, observation: Observation, score: int | None) -> None:
        self.now = observation
        self.scores.append((turn, score))
        if observation.room:
            self.rooms.add(observation.room.id)
