"""Figures of episodes and of variants, from the event logs alone.

Quartiles are those of ``statistics.quantiles`` with its inclusive method. An episode that ended
before a turn counts there with the score that it ended with.
"""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from evaluation.achievements.achievement import Achievement, Achievements, earned_by
from evaluation.provenance import Provenance
from session.game_state import TurnRecord
from session.record.event_log import EpisodeDamagedError, read
from session.record.index import LogIndex
from session.record.schema import Entry

CHECKPOINTS = (50, 100, 200)
PER_TURN = ("model_calls", "requests", "prompt_tokens", "completion_tokens", "cost", "seconds")
_COUNTED = [
    "turns",
    "moves",
    "rooms",
    "deaths",
    "restarts",
    "refused_proposals",
    "failed_turns",
    "engine_refused",
    "reflections",
    "failed_reflections",
    "tool_calls",
]
_ADDED_UP = ("deaths", "restarts", "failed_turns", "engine_refused")
PER_EPISODE = (*_COUNTED, *PER_TURN)
Figures: TypeAlias = dict[str, Any]


class Spread(NamedTuple):
    """How a figure is spread over several episodes."""

    median: float
    q1: float
    q3: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Of one value or more."""
        several = values if len(values) > 1 else [*values, *values]
        q1, median, q3 = statistics.quantiles(several, n=4, method="inclusive")
        return cls(median, q1, q3, min(values), max(values))


class EpisodeFigures(Provenance):
    """What the events of one episode add up to."""

    def __init__(self) -> None:
        super().__init__()
        self.achievements: tuple[Achievement, ...] = ()
        """Those that count as progress."""
        self.most: int | None = None
        """The most that the game gives, where its log does not say."""
        self.earned: dict[str, int] = {}
        """Name of each that was earned -> the turn."""

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        super().take(entry)
        if isinstance(turn := entry.event, TurnRecord):
            waiting = (it for it in self.achievements if it.name not in self.earned)
            self.earned |= dict.fromkeys((it.name for it in earned_by(turn, waiting)), turn.turn)

    @classmethod
    def read(cls, folder: Path, achievements: Achievements | None = None) -> Self:
        """Of the episode in ``folder``, as far as it was played."""
        figures = cls()
        figures.achievements = achievements.all if achievements else ()
        with suppress(FileNotFoundError, EpisodeDamagedError):  # to resume it will tell
            for entry in read(folder):
                figures.take(entry)
        return figures

    @property
    def max_score(self) -> int | None:
        """The maximum score, if it is known."""
        return super().max_score or self.most

    @property
    def end_reason(self) -> str:
        """Why it ended; empty where it did not."""
        return self.end.reason if self.end else ""

    @property
    def finished(self) -> bool:
        """Whether it was played to its end."""
        return self.end is not None and self.end.reason.is_finished

    @property
    def curve(self) -> list[int | None]:
        """The score after each turn, the first one at the beginning; None where it is unknown."""
        return [score for _, score in self.scores]

    @property
    def best_curve(self) -> list[int | None]:
        """The highest score reached so far, after each turn."""
        return list(itertools.accumulate(self.curve, _higher))

    def score_at(self, turn: int) -> int | None:
        """Return the score after ``turn``, or at the end if that came before."""
        return _at(self.curve, turn)

    def best_at(self, turn: int) -> int | None:
        """Return the highest score up to ``turn``."""
        return _at(self.best_curve, turn)

    def percent_at(self, turn: int) -> float | None:
        """Return the score after ``turn`` as a percentage of the maximum."""
        return self._percent(self.score_at(turn))

    def best_percent_at(self, turn: int) -> float | None:
        """Return the highest score up to ``turn`` as a percentage of the maximum."""
        return self._percent(self.best_at(turn))

    def progress_at(self, turn: int) -> float | None:
        """Return the percentage of the achievements that were earned up to ``turn``."""
        if not (self.achievements and self.start):
            return None
        earned = sum(at <= turn for at in self.earned.values())
        return 100 * earned / len(self.achievements)

    def _percent(self, score: int | None) -> float | None:
        return None if score is None or not self.max_score else 100 * score / self.max_score

    def summary(self) -> Figures:
        """Return the figures, ready for JSON."""
        curve = self.curve
        usage = self.billed if self.requests else self.usage  # older logs: no calls
        asked: Figures = {**asdict(usage), "tool_calls": self.tool_calls}
        if self.by_a_guest:  # only the guest knows
            asked = dict.fromkeys(asked)
        failures = [it for it in self.reflections if it.failure is not None]
        progress = {"progress": self.progress_at(self.turns), "earned": self.earned}
        return {
            "end_reason": self.end_reason,
            "finished": self.finished,
            "turns": max(len(curve) - 1, 0),
            "moves": self.moves,
            "score": curve[-1] if curve else None,
            "best_score": self.best_at(len(curve)),
            "max_score": self.max_score,
            **(progress if self.achievements else {}),
            "rooms": len(self.rooms) or None,
            "hints": self.hints,
            **{name: getattr(self, name) for name in _ADDED_UP},
            "refused_proposals": self.refused_proposals,
            "reflections": len(self.reflections),
            "failed_reflections": len(failures),
            "requests": self.requests or None,
            "failed_requests": self.failed_requests if self.requests else None,
            "model_calls": asked.pop("calls"),
            **asked,
            "seconds": round(self.turn_seconds + self.reflection_seconds, 3),
            "scores": curve,
        }


def checkpoints(turns: int) -> list[int]:
    """The turns at which scores are compared, the last one included."""
    return [*(turn for turn in CHECKPOINTS if turn < turns), turns]


def variant_figures(episodes: Sequence[EpisodeFigures], turns: int) -> Figures:
    """What the episodes of one variant come to, with those that failed as far as they came."""
    begun = [episode for episode in episodes if episode.start]
    reasons = Counter(
        episode.end_reason or ("interrupted" if episode.start else "not played")
        for episode in episodes
    )
    figures: Figures = {
        "episodes": len(episodes),
        "begun": len(begun),
        "finished": sum(episode.finished for episode in episodes),
        "hinted": sum(bool(episode.hints) for episode in episodes),
        "end_reasons": dict(reasons.most_common()),
    }
    if not begun:
        return figures
    compared = checkpoints(turns)
    summaries = [episode.summary() for episode in begun]
    prompts = sum(summary["prompt_tokens"] or 0 for summary in summaries)
    cached = sum(summary["cached_tokens"] or 0 for summary in summaries)
    return {
        **figures,
        "score": {str(at): _spread(it.score_at(at) for it in begun) for at in compared},
        "best_score": {str(at): _spread(it.best_at(at) for it in begun) for at in compared},
        **{name: _spread(summary[name] for summary in summaries) for name in PER_EPISODE},
        **{
            f"{name}_per_turn": _spread(
                summary[name] / summary["turns"]
                for summary in summaries
                if summary["turns"] and summary[name] is not None
            )
            for name in PER_TURN
        },
        "cached_share": cached / prompts if prompts else None,
    }


def band(episodes: Sequence[EpisodeFigures], turns: int) -> list[Spread]:
    """Score over turns; empty when no episode has begun, or no score is known."""
    return _band([[it.score_at(turn) for turn in range(turns + 1)] for it in episodes])


def suite_band(games: Iterable[Sequence[EpisodeFigures]], turns: int) -> list[Spread]:
    """Over turns, the spread over games of each game's mean percentage."""
    curves: list[list[float]] = []
    for episodes in games:
        if known := [it for it in episodes if it.percent_at(0) is not None]:
            at_turns = ([it.percent_at(turn) or 0 for it in known] for turn in range(turns + 1))
            curves.append([statistics.fmean(percents) for percents in at_turns])
    return _band(curves)


def _band(curves: Sequence[Sequence[float | None]]) -> list[Spread]:
    at_turns = [[it for it in scores if it is not None] for scores in zip(*curves, strict=True)]
    return [Spread.of(scores) for scores in at_turns] if all(at_turns) else []


def _at(curve: Sequence[int | None], turn: int) -> int | None:
    return curve[min(turn, len(curve) - 1)] if curve else None


def _higher(one: int | None, other: int | None) -> int | None:
    known = [score for score in (one, other) if score is not None]
    return max(known, default=None)


def _spread(values: Iterable[float | None]) -> Figures | None:
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {name: round(value, 6) for name, value in Spread.of(there)._asdict().items()}


class LogTail(LogIndex):
    """Counts the finished turns in a log that another process writes."""

    turns = 0

    def update(self) -> int:
        """Read what was added; the turns so far."""
        with suppress(FileNotFoundError):
            for line in self.read_new():
                self.turns += line.entry is not None and isinstance(line.entry.event, TurnRecord)
        return self.turns
