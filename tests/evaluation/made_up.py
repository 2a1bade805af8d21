"""Evaluations that were never played, with known answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.figures import EpisodeFigures
from evaluation.outcome.stored import StoredEvaluation
from evaluation.plan import PLAN_FILE, Cell
from session.record.event_log import EVENTS_FILE
from session.record.schema import parse
from tests.support.records import observation, record

STORY = "a" * 64


def event(event_type: str, **fields: object) -> dict[str, Any]:
    return {"time": "2031-05-06T07:08:09", "event_type": event_type, **fields}


def start(**changes: object) -> dict[str, Any]:
    seen = observation(1, max_score=50).model_dump(mode="json")
    named = {
        "observation": seen,
        "version": "1.2",
        "story": "made-up",
        "episode_id": "episode",
        "story_sha256": STORY,
    }
    return event("episode_start", **{**named, **changes})


def turn(number: int, score: int, **changes: object) -> dict[str, Any]:
    room = number % 3 + 1
    after = observation(room, score=score, max_score=50)
    fields = record(number, "look", room, room, after, **changes).model_dump(mode="json")
    return event("turn", episode_id="made-up", **fields)


def events(
    scores: Sequence[int], reason: str = "max_turns", **began: object
) -> list[dict[str, Any]]:
    """Of an episode with these scores after its turns."""
    turns = [turn(number, score) for number, score in enumerate(scores, 1)]
    return [start(**began), *turns, event("episode_end", reason=reason)]


def episode(scores: Sequence[int], reason: str = "max_turns") -> EpisodeFigures:
    figures = EpisodeFigures()
    for each in events(scores, reason):
        figures.take(parse(each))
    return figures


def write(folder: Path, lines: Sequence[dict[str, Any]], rest: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (folder / EVENTS_FILE).write_text(text + rest)


def agreed(**changes: object) -> dict[str, Any]:
    """What an evaluation of one turn is about."""
    return {
        "name": "made-up",
        "story": {"title": "A made-up game", "sha256": STORY},
        "model": "m",
        "endpoint": "this machine",
        "turns": 1,
        "knowledge_carried_over": False,
        "tools": False,
        "variants": ["whole"],
        "seeds": [1],
        "episodes": 1,
        "configuration": {"max_turns_stuck": 40},
        "version": "1.2",
        "code": "c" * 64,
        "prompts": {"agent": "d" * 64},
        **changes,
    }


Scores = Mapping[str, Mapping[int, Sequence[int]]]
"""Variant -> seed -> the final score of each of its episodes."""


def matrix(scores: Scores) -> dict[str, Any]:
    seeds = sorted({seed for by_seed in scores.values() for seed in by_seed})
    episodes = max(len(several) for by_seed in scores.values() for several in by_seed.values())
    return {"variants": list(scores), "seeds": seeds, "episodes": episodes}


def evaluation(folder: Path, scores: Scores, **changes: object) -> Path:
    """Such a folder, as playing it would have left it."""
    folder.mkdir(parents=True, exist_ok=True)
    about = agreed(**{**matrix(scores), "name": folder.name, **changes})
    (folder / PLAN_FILE).write_text(json.dumps(about))
    for variant, by_seed in scores.items():
        for seed, several in by_seed.items():
            for number, score in enumerate(several, 1):
                name = f"{folder}{variant}{seed}{number}"  # no two episodes have equal logs
                log = events([score], opening=name, model=about["model"])
                write(folder / Cell(variant, seed, number).place, log)
    return folder


def played(scores: Scores) -> StoredEvaluation:
    """The same, read."""
    episodes = {
        Cell(variant, seed, number): episode([score])
        for variant, by_seed in scores.items()
        for seed, several in by_seed.items()
        for number, score in enumerate(several, 1)
    }
    return StoredEvaluation(Path("nowhere"), agreed(**matrix(scores)), episodes)
