"""Figures of episodes and of variants, from the event logs alone.

Quartiles are those of ``statistics.quantiles`` with its inclusive method. An episode that ended
before a turn counts there with the score that it ended with.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel

from session.event_log import EpisodeDamagedError, read_events
from session.game_state import EndReason, Observation, TurnRecord, Usage
from session.learned import Reflection

CHECKPOINTS = (50, 100, 200)
UNFINISHED = frozenset({EndReason.ABORTED, EndReason.LLM_UNAVAILABLE})
"""Ends after which an episode can go on, and has to before it counts."""
PER_TURN = (
    *("model_calls", "prompt_tokens", "completion_tokens"),
    *("cost", "seconds"),
)
PER_EPISODE = (
    *("turns", "rooms", "deaths", "failed_turns", "reflections", "failed_reflections"),
    *("tool_calls", *PER_TURN),
)
Figures: TypeAlias = dict[str, Any]
_Model = TypeVar("_Model", bound=BaseModel)


class Spread(NamedTuple):
    """How a figure lies over several episodes."""

    median: float
    q1: float
    q3: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of one value or more."""
        several = values if len(values) > 1 else [*values, *values]
        q1, median, q3 = statistics.quantiles(several, n=4, method="inclusive")
        return cls(median, q1, q3, min(values), max(values))


class EpisodeFigures:
    """What the events of one episode add up to."""

    def __init__(self) -> None:
        self.start: dict[str, Any] = {}
        """The event that began it; empty when it has not begun."""
        self.end_reason = ""
        self.last_time = ""
        self.scores: list[int] = []
        """After each turn; the first one is the game's at its beginning."""
        self.max_score: int | None = None
        self.usage = Usage()
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0
        self._rooms: set[int] = set()

    @classmethod
    def read(cls, folder: Path) -> EpisodeFigures:
        """Of the episode in ``folder``, as far as it was played."""
        figures = cls()
        with suppress(FileNotFoundError, EpisodeDamagedError):  # to resume it will tell
            for event in read_events(folder):
                figures.take(event)
        return figures

    @property
    def finished(self) -> bool:
        """Whether it was played to its end."""
        return bool(self.end_reason) and self.end_reason not in UNFINISHED

    @property
    def turns(self) -> int:
        """Turns played."""
        return max(len(self.scores) - 1, 0)

    @property
    def best_scores(self) -> list[int]:
        """The highest score reached so far, after each turn."""
        return list(itertools.accumulate(self.scores, max))

    def take(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        self.last_time = str(event.get("time", self.last_time))
        match event["event_type"]:
            case "episode_start":
                self.start = event
                self._observe(Observation.model_validate(event["observation"]))
            case "episode_resumed":
                self.end_reason = ""
            case "turn":
                self._take_turn(_known(TurnRecord, event))
            case "reflection":
                reflection = _known(Reflection, event)
                self.counts["reflections"] += 1
                self.counts["failed_reflections"] += reflection.failure is not None
                self._spend(reflection.usage, reflection.seconds)
            case "episode_end":
                self.end_reason = str(event["reason"])

    def summary(self) -> Figures:
        """The figures, ready for JSON."""
        return {
            "end_reason": self.end_reason,
            "finished": self.finished,
            "turns": self.turns,
            "score": self.scores[-1] if self.scores else None,
            "best_score": max(self.scores, default=None),
            "max_score": self.max_score,
            "rooms": len(self._rooms),
            **{name: self.counts[name] for name in ("deaths", "failed_turns", "tool_calls")},
            **{name: self.counts[name] for name in ("reflections", "failed_reflections")},
            "model_calls": self.usage.calls,
            **self.usage.model_dump(exclude={"calls"}),
            "seconds": round(self.seconds, 3),
            "scores": self.scores,
        }

    def _take_turn(self, record: TurnRecord) -> None:
        self._observe(record.after)
        self._spend(record.usage, record.seconds)
        self.counts["deaths"] += record.died
        self.counts["failed_turns"] += record.failure is not None
        self.counts["tool_calls"] += len(record.tools)

    def _observe(self, observation: Observation) -> None:
        self.scores.append(observation.score)
        self._rooms.add(observation.room.id)
        self.max_score = observation.max_score

    def _spend(self, usage: Usage, seconds: float) -> None:
        fields = Usage.model_fields
        self.usage = Usage(**{n: getattr(self.usage, n) + getattr(usage, n) for n in fields})
        self.seconds += seconds


def checkpoints(turns: int) -> list[int]:
    """The turns at which scores are compared, the last one included."""
    return [*(turn for turn in CHECKPOINTS if turn < turns), turns]


def variant_figures(episodes: Sequence[EpisodeFigures], turns: int) -> Figures:
    """What the episodes of one variant come to; of those only that were played to their end."""
    finished = [episode for episode in episodes if episode.finished]
    reasons = Counter(episode.end_reason or "not played" for episode in episodes)
    figures: Figures = {
        "episodes": len(episodes),
        "finished": len(finished),
        "end_reasons": dict(reasons.most_common()),
    }
    if not finished:
        return figures
    summaries = [episode.summary() for episode in finished]
    prompts = sum(summary["prompt_tokens"] for summary in summaries)
    cached = sum(summary["cached_tokens"] for summary in summaries)
    return {
        **figures,
        "score": _at_checkpoints([episode.scores for episode in finished], turns),
        "best_score": _at_checkpoints([episode.best_scores for episode in finished], turns),
        **{name: _spread(summary[name] for summary in summaries) for name in PER_EPISODE},
        **{
            f"{name}_per_turn": _spread(
                summary[name] / summary["turns"] for summary in summaries if summary["turns"]
            )
            for name in PER_TURN
        },
        "cached_share": cached / prompts if prompts else None,
    }


def band(episodes: Sequence[EpisodeFigures], turns: int) -> list[Spread]:
    """Score over turns, from the beginning on; empty when no episode was played to its end."""
    curves = [episode.scores for episode in episodes if episode.finished]
    return [Spread.of(_at(curves, turn)) for turn in range(turns + 1)] if curves else []


def _at_checkpoints(curves: Sequence[Sequence[int]], turns: int) -> dict[str, Figures | None]:
    return {str(turn): _spread(_at(curves, turn)) for turn in checkpoints(turns)}


def _at(curves: Sequence[Sequence[int]], turn: int) -> list[int]:
    return [curve[min(turn, len(curve) - 1)] for curve in curves]


def _spread(values: Iterable[float]) -> Figures | None:
    there = list(values)
    if not there:
        return None
    return {name: round(value, 6) for name, value in Spread.of(there)._asdict().items()}


def _known(model: type[_Model], event: dict[str, Any]) -> _Model:
    """The record in ``event``, which has fields of the log besides."""
    return model.model_validate(
        {key: event[key] for key in model.model_fields.keys() & event.keys()}
    )


class LogTail:
    """Counts the finished turns in a log that another process writes."""

    def __init__(self, path: Path) -> None:
        self.turns = 0
        self._path = path
        self._read = 0

    def update(self) -> int:
        """Read what was added; the turns so far."""
        for line in self._new_lines():
            self.turns += b'"event_type": "turn"' in line  # within a text its quotes are escaped
        return self.turns

    def _new_lines(self) -> Iterator[bytes]:
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield line
