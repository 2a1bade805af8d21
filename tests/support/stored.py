"""Episodes with something learned, as logs on the disk, and everything that a database holds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import create_engine, select

from session.game_configuration import GameConfiguration
from session.game_state import Place, TurnRecord
from session.knowledge import Claim, ClaimChange, Edits, Evidence, Memory, MemoryChange, Reflection
from session.record.event_log import EVENTS_FILE
from storage.tables import METADATA
from tests.support.records import observation, record

STORY = "ab" * 32
_BEGIN = datetime(2025, 1, 1, tzinfo=UTC)

Step = TurnRecord | Reflection


def memory(uid: str, number: int, text: str = "A door is locked.", **changes: object) -> Memory:
    values: dict[str, object] = {
        "id": f"{uid}-m{number}",
        "room": Place(id=1, name="Room 1"),
        "category": "discovery",
        "title": f"Thing {number}",
        "text": text,
        "persistence": "permanent",
        "evidence": Evidence(episode=uid, turn=number, quote="It is locked."),
    }
    return Memory.model_validate({**values, **changes})


def claim(uid: str, number: int, text: str = "Lamps burn out.", **changes: object) -> Claim:
    values: dict[str, object] = {
        "id": f"{uid}-c{number}",
        "text": text,
        "basis": "inferred",
        "evidence": (Evidence(episode=uid, turn=number, quote="The lamp is dimmer."),),
    }
    return Claim.model_validate({**values, **changes})


def reflection(uid: str, number: int, **learned: object) -> Reflection:
    """One that yields a memory and a claim, unless told otherwise."""
    values: dict[str, object] = {
        "number": number,
        "first_turn": number * 8 - 7,
        "last_turn": number * 8,
        "memories": (memory(uid, number, f"Thing {number} is seen by {uid}."),),
        "claims": (claim(uid, number, f"Rule {number} holds, says {uid}."),),
    }
    return Reflection.model_validate({**values, **learned})


def confirmed(claim_id: str, uid: str = "bbbbbb", turn: int = 3) -> ClaimChange:
    seen = Evidence(episode=uid, turn=turn, quote="Indeed.")
    return ClaimChange(id=claim_id, kind="confirmed", evidence=seen)


def superseded(memory_id: str, by: str, turn: int = 9) -> MemoryChange:
    change = {"id": memory_id, "status": "superseded", "reason": "opened", "superseded_by": by}
    return MemoryChange.model_validate({**change, "turn": turn})


class LoggedEpisode:
    """An episode whose log grows line by line, as the program writes it."""

    def __init__(
        self,
        workdir: Path,
        uid: str,
        *,
        day: int = 0,
        edits: Edits | None = None,
        **start: object,
    ) -> None:
        self.uid = uid
        self.folder = workdir / "episodes" / f"episode-{uid}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._time = _BEGIN + timedelta(days=day)
        first = observation(1).model_dump(mode="json")
        story: dict[str, object] = {"story": "cave", "story_sha256": STORY, "model": "m", "seed": 7}
        if not (self.folder / EVENTS_FILE).exists():
            self.log("episode_start", uid=uid, observation=first, **(story | start))
            self.log(
                "knowledge_loaded", carried={}, edits=(edits or Edits()).model_dump(mode="json")
            )

    def log(self, event_type: str, **fields: object) -> None:
        event = {
            "time": self._time.isoformat(timespec="milliseconds"),
            "event_type": event_type,
            "episode_id": self.folder.name,
            **fields,
        }
        with (self.folder / EVENTS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def add(self, *steps: Step) -> LoggedEpisode:
        for step in steps:
            kind = "reflection" if isinstance(step, Reflection) else "turn"
            self.log(kind, **step.model_dump(mode="json"))
        return self

    def end(self, reason: str = "max_turns") -> LoggedEpisode:
        self.log("episode_end", reason=reason, score=0, turns=0)
        return self


def walk(*rooms: int) -> Iterable[TurnRecord]:
    """Records of going east through ``rooms``."""
    for turn, (start, end) in enumerate(itertools.pairwise(rooms), 1):
        yield record(turn, "east", start, end, observation(end, score=turn))


def configuration(workdir: Path, url: str | None = None, **settings: object) -> GameConfiguration:
    values = {"workdir": str(workdir), "storage_database_url": url, **settings}
    return GameConfiguration.model_validate(values)


def dump(config: GameConfiguration) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, in the order of their keys."""
    url = config.storage_database_url or f"sqlite:///{config.workdir}/knowledge.db"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as connection:
            return {
                table.name: [
                    tuple(row)
                    for row in connection.execute(select(table).order_by(*table.primary_key))
                ]
                for table in METADATA.sorted_tables
            }
    finally:
        engine.dispose()
