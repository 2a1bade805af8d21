"""What the log of an episode says, in the form in which it is stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from managers.map.world_map import WorldMap
from session.game_state import TurnRecord
from session.knowledge import Edits, Passage, Reflection, Scored
from session.perception.perception import Perception
from session.record.event_log import EVENTS_FILE, EpisodeDamagedError, read
from session.record.fold import EpisodeFold
from session.record.schema import Entry, EpisodeResumed, EpisodeStart, KnowledgeLoaded
from storage.errors import LogRefusedError
from storage.tables import AT_EVERY_LEVEL


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
    level: str = AT_EVERY_LEVEL
    """What its player was told, which is what it can have learned from."""


@dataclass(frozen=True)
class EpisodeKnowledge:
    """An episode and all that it learned."""

    episode: Episode
    edits: Edits = field(default_factory=Edits)
    reflections: tuple[Reflection, ...] = ()
    passages: tuple[Passage, ...] = ()
    scores: tuple[Scored, ...] = ()


def read_uid(folder: Path) -> str | None:
    """Return the uid of the episode in ``folder``; None when it never began.

    Raises:
        LogRefusedError: The log is missing or damaged.
    """
    with _explained(folder):
        events = (entry.event for entry in read(folder))
        return next((event.uid for event in events if isinstance(event, EpisodeStart)), None)


def read_episode(folder: Path) -> EpisodeKnowledge | None:
    """Return the account of the episode in ``folder``.

    None when it never began, is a branch, or was played without storage, as by other players.

    Raises:
        LogRefusedError: The log is missing or damaged.
    """
    fold = _Attempts()
    with _explained(folder):
        for entry in read(folder):
            fold.take(entry)
        if fold.start is None or fold.start.trunk or not fold.is_stored:
            return None  # what a branch learned from its trunk is in the account of that
        episode = _episode(
            fold.start,
            fold.started,
            seed=fold.start.seed,
            turns=fold.turns,
            score=fold.score if fold.turns else None,
            end_reason=fold.end_reason,
            level=str(fold.start.level),
        )
    learned = tuple({reflection.number: reflection for reflection in fold.reflections}.values())
    passages, scored = fold.map.passages(), tuple(fold.scored)
    return EpisodeKnowledge(episode, fold.known.edits, learned, passages, scored)


def read_imports(folder: Path) -> Iterator[EpisodeKnowledge]:
    """Yield what people wrote between episodes, one account for each time it was read.

    Raises:
        LogRefusedError: The log is damaged.
    """
    if not (folder / EVENTS_FILE).exists():
        return
    with _explained(folder):
        for event, time, _ in read(folder):
            if isinstance(event, KnowledgeLoaded):
                yield EpisodeKnowledge(_episode(event, time), event.edits)


class _Attempts(EpisodeFold):
    """What an episode tried and what scored, as its player knew it; not what others passed on."""

    def __init__(self) -> None:
        super().__init__()
        self.scored: list[Scored] = []
        self.is_stored = False
        """Whether any of it was played with storage."""
        self._since: list[str] = []
        """Commands since the last of these."""
        self._run = 0
        self.map = WorldMap()
        self._perception: Perception | None = None

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        super().take(entry)
        event = entry.event
        if isinstance(event, EpisodeStart | EpisodeResumed):
            self.is_stored |= event.settings.get("storage_enabled", True)
        if isinstance(event, EpisodeStart):
            self._perception = Perception(event.level)
            self.map.begin(self._perception.begin(event.opening, event.observation))
        elif isinstance(event, TurnRecord) and self.start and self._perception:
            record = self._perception.apply(event)
            self.map.apply(record)
            if not record.command:
                return
            if record.scored or record.died or record.won:
                scored = Scored(
                    episode=self.start.uid,
                    run=self._run,
                    turn=record.turn,
                    room=record.place,
                    command=record.command,
                    by=tuple(self._since),
                    points=record.scored or 0,
                    died=bool(record.died),
                    won=record.won,
                )
                self.scored.append(scored)
                self._since.clear()
            else:
                self._since.append(record.command)
            if record.ended:
                self._run += 1
                self._since.clear()


def _episode(named: EpisodeStart | KnowledgeLoaded, started: str, **more: object) -> Episode:
    for name in ("episode_id", "story_sha256", "story", "model"):
        if not getattr(named, name):
            raise ValueError(name)
    fields = named.model_dump(include={"uid", "episode_id", "story_sha256", "story", "model"})
    return Episode(**{"seed": None, "started": started, **fields, **more})


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    log = folder / EVENTS_FILE
    try:
        yield
    except EpisodeDamagedError as error:
        raise LogRefusedError(str(error)) from error
    except OSError as error:
        raise LogRefusedError(f"Cannot read {log}: {error.strerror}.") from error
    except ValueError as error:
        raise LogRefusedError(f"{log} holds an event that is incomplete: {error}.") from error
