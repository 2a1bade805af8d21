"""What the log of an episode says, in the form in which it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from managers.map_manager import MapManager
from session.event_log import EVENTS_FILE, EpisodeDamagedError, read_events
from session.game_state import Observation, TurnRecord
from session.learned import Edits, Passage, Reflection
from session.uids import uid_of
from storage.errors import LogRefusedError

_Value = TypeVar("_Value", bound=BaseModel)


@dataclass(frozen=True)
class Episode:
    """An episode as the database has it."""

    uid: str
    episode_id: str
    story_sha256: str
    story: str
    model: str
    seed: int | None
    started: str
    """ISO 8601, in UTC."""
    turns: int = 0
    score: int | None = None
    end_reason: str | None = None
    """None while it can go on."""


@dataclass(frozen=True)
class Account:
    """An episode and all that it learned."""

    episode: Episode
    edits: Edits = field(default_factory=Edits)
    reflections: tuple[Reflection, ...] = ()
    passages: tuple[Passage, ...] = ()


def read_uid(folder: Path) -> str | None:
    """The uid of the episode in ``folder``; None when it never began.

    Raises:
        LogRefusedError: The log is missing or damaged.
    """
    with _explained(folder):
        starts = (event for event in read_events(folder) if event["event_type"] == "episode_start")
        return next((uid_of(start) for start in starts), None)


def read_account(folder: Path) -> Account | None:
    """The account of the episode in ``folder``; None when it never began.

    Raises:
        LogRefusedError: The log is missing or damaged.
    """
    episode, ways = None, MapManager()  # what others handed on is not its own
    edits = Edits()
    reflections: dict[int, Reflection] = {}
    with _explained(folder):
        for event in read_events(folder):
            match event["event_type"]:
                case "episode_start":
                    episode = _episode(event)
                    ways.begin(Observation.model_validate(event["observation"]))
                case "knowledge_loaded":
                    edits = Edits.model_validate(event.get("edits") or {})
                case "reflection":
                    reflection = _read(Reflection, event)
                    reflections[reflection.number] = reflection
                case "turn":
                    record = _read(TurnRecord, event)
                    ways.apply(record)
                    if episode:
                        episode = _played(episode, record)
                case "episode_resumed":
                    episode = episode and replace(episode, end_reason=None)
                case "episode_end":
                    episode = episode and replace(episode, end_reason=str(event["reason"]))
    if episode is None:
        return None
    return Account(episode, edits, tuple(reflections.values()), ways.passages())


def read_imports(folder: Path) -> Iterator[Account]:
    """What people wrote between episodes, one account for each time it was read.

    Raises:
        LogRefusedError: The log is damaged.
    """
    if not (folder / EVENTS_FILE).exists():
        return
    with _explained(folder):
        for event in read_events(folder):
            if event["event_type"] == "knowledge_loaded":
                yield Account(_episode(event), Edits.model_validate(event["edits"]))


def _episode(start: Mapping[str, object]) -> Episode:
    seed = start.get("seed")
    return Episode(
        uid=uid_of(start),
        episode_id=str(start["episode_id"]),
        story_sha256=str(start["story_sha256"]),
        story=str(start["story"]),
        model=str(start["model"]),
        seed=None if seed is None else int(str(seed)),
        started=str(start["time"]),
    )


def _played(episode: Episode, record: TurnRecord) -> Episode:
    return replace(episode, turns=record.turn, score=record.after.score)


def _read(kind: type[_Value], event: Mapping[str, object]) -> _Value:
    return kind.model_validate({key: event[key] for key in kind.model_fields.keys() & event.keys()})


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    log = folder / EVENTS_FILE
    try:
        yield
    except EpisodeDamagedError as error:
        raise LogRefusedError(str(error)) from error
    except OSError as error:
        raise LogRefusedError(f"Cannot read {log}: {error.strerror}.") from error
    except (KeyError, ValueError) as error:
        what = error.title if isinstance(error, ValidationError) else str(error)
        raise LogRefusedError(f"{log} holds an event that is incomplete: {what}.") from error
