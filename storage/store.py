"""What outlives an episode, in one database. The event logs are the truth; this follows them.

Every row belongs to the one episode that wrote it, and no episode touches another's rows: what is
known now is a fold of all of them, episode after episode in the order in which they began.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Self, TypeVar

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from mcp_ghost.redact import Redactor
from session.game_configuration import GameConfiguration
from session.knowledge import (
    CarriedOver,
    Claim,
    ClaimChange,
    Edits,
    Memory,
    MemoryChange,
    Passage,
    Reflection,
    Scored,
    folded_claims,
    folded_memories,
)
from session.levels import ObservationLevel
from storage.database import KnowledgeDatabase
from storage.episode_knowledge import Episode, EpisodeKnowledge, read_episode, read_uid
from storage.errors import LogRefusedError, StorageError
from storage.selection import (
    MOST_CONSIDERED,
    best_scores,
    latest_memories,
    latest_passages,
    strongest_claims,
)
from storage.tables import (
    AT_EVERY_LEVEL,
    CLAIM_CHANGES,
    CLAIMS,
    EPISODES,
    MEMORIES,
    MEMORY_CHANGES,
    OF_EDITS,
    OF_REFLECTIONS,
    PASSAGES,
    SCORES,
)

_Value = TypeVar("_Value", bound=BaseModel)
_IN_ORDER = EPISODES.c.started, EPISODES.c.uid


class Store:
    """Stores episodes and reports what is known; also a context manager.

    Every method raises a StorageError when the database fails, and has changed nothing then.
    """

    def __init__(self, config: GameConfiguration) -> None:
        """Open the configured database."""
        self._redactor = Redactor(config.secrets)
        self._database = KnowledgeDatabase(config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def take_in_log(self, folder: Path) -> EpisodeKnowledge | None:
        """Bring what is stored of the episode in ``folder`` up to date with its log.

        At its beginning, at its end and when it is resumed; as often as one likes. The account
        that was taken in; None when the episode never began, is a branch, or was played without
        storage.

        Raises:
            LogRefusedError: The log is missing or damaged, or another episode has its uid.
        """
        uid = read_uid(folder)
        # Read while nobody else writes, or what was stored meanwhile would be undone.
        with self._database.writing(uid) as connection:
            account = read_episode(folder)
            if account:
                self._replace(connection, account)
        return account

    def put(self, account: EpisodeKnowledge) -> None:
        """Store ``account`` in place of what is stored of the same episode."""
        with self._database.writing(account.episode.uid) as connection:
            self._replace(connection, account)

    def take_in(self, uid: str, reflection: Reflection) -> None:
        """Store what a reflection of a running episode yielded."""
        with self._database.writing(uid) as connection:
            own = update(EPISODES).where(EPISODES.c.uid == uid)
            if not connection.execute(own.values(turns=reflection.last_turn)).rowcount:
                raise StorageError(
                    f"The episode {uid} is not in the database yet. Its log is complete; "
                    "run: uv run python -m storage rebuild"
                )
            learned = _by_table(reflection, OF_REFLECTIONS)
            for table in learned:
                same = table.c.uid == uid, table.c.reflection == reflection.number
                connection.execute(delete(table).where(*same))
            self._insert(connection, uid, reflection.number, learned)

    def carried_over(
        self,
        story_sha256: str,
        edits: Edits | None = None,
        *,
        level: ObservationLevel | None = None,
    ) -> CarriedOver:
        """Return what an episode of that story begins with, after ``edits`` not stored yet.

        With ``level``, only what episodes of that level learned, and what people wrote: what is
        learned at one level holds what another one does not tell.
        """
        which = [EPISODES.c.story_sha256 == story_sha256]
        if level:
            which.append(EPISODES.c.level.in_((str(level), AT_EVERY_LEVEL)))
        with self._database.reading() as connection:
            memories = _memories(connection, *which)
            passages = _values(connection, PASSAGES, Passage, *which)
            scores = _values(connection, SCORES, Scored, *which)
            claims = _claims(connection, *which)
            episodes = sum(it.turns > 0 for it in _episodes(connection, *which))
        if edits:
            claims = folded_claims((*claims, *edits.claims), edits.changes)
        return CarriedOver(
            episodes=episodes,
            memories=latest_memories(memories),
            claims=strongest_claims(claims),
            passages=latest_passages(passages),
            scores=best_scores(scores),
        )

    def claims(self, story_sha256: str) -> tuple[Claim, ...]:
        """Return every claim about that story, retired ones included."""
        with self._database.reading() as connection:
            return _claims(connection, EPISODES.c.story_sha256 == story_sha256)

    def memories(self, story_sha256: str) -> tuple[Memory, ...]:
        """Return the latest memories of that story that were meant to outlast their episode."""
        with self._database.reading() as connection:
            return _memories(connection, EPISODES.c.story_sha256 == story_sha256)

    def episodes(self) -> tuple[Episode, ...]:
        """List the episodes, the first one first; people who edited are among them."""
        with self._database.reading() as connection:
            return _episodes(connection)

    def forget(self, uids: Iterable[str]) -> None:
        """Remove episodes and all that they learned."""
        with self._database.writing() as connection:
            connection.execute(delete(EPISODES).where(EPISODES.c.uid.in_(list(uids))))

    def _replace(self, connection: Connection, account: EpisodeKnowledge) -> None:
        episode, uid = account.episode, account.episode.uid
        stored = connection.execute(select(EPISODES).where(EPISODES.c.uid == uid)).first()
        if stored and (stored.episode_id, stored.started) != (episode.episode_id, episode.started):
            raise LogRefusedError(
                f"The episodes {stored.episode_id} and {episode.episode_id} both have the uid "
                f"{uid}. Only the first is kept; to have the other one instead, run: "
                f"uv run python -m storage forget --episode {uid}"
            )
        connection.execute(delete(EPISODES).where(EPISODES.c.uid == uid))  # its rows go with it
        connection.execute(insert(EPISODES).values(asdict(episode)))
        at_first = {
            **_by_table(account.edits, OF_EDITS),
            PASSAGES: account.passages,
            SCORES: account.scores,
        }
        self._insert(connection, uid, 0, at_first)
        for reflection in account.reflections:
            learned = _by_table(reflection, OF_REFLECTIONS)
            self._insert(connection, uid, reflection.number, learned)

    def _insert(
        self,
        connection: Connection,
        uid: str,
        reflection: int,
        learned: Mapping[Table, Sequence[BaseModel]],
    ) -> None:
        for table, values in learned.items():
            rows = []
            for position, it in enumerate(values):
                row = {"uid": uid, "reflection": reflection, "position": position}
                asked_for = set(table.c.keys()) & set(type(it).model_fields)
                row |= {name: getattr(it, name) for name in asked_for}
                rows.append({**row, "body": self._redactor(it.model_dump_json())})
            if rows:
                connection.execute(insert(table), rows)


def _by_table(value: BaseModel, tables: Mapping[str, Table]) -> dict[Table, Sequence[BaseModel]]:
    return {table: getattr(value, field) for field, table in tables.items()}


def _memories(connection: Connection, *which: ColumnElement[bool]) -> tuple[Memory, ...]:
    lasting = MEMORIES.c.persistence.in_(("core", "permanent"))
    memories = _values(connection, MEMORIES, Memory, *which, lasting, latest=MOST_CONSIDERED)
    changes = _values(connection, MEMORY_CHANGES, MemoryChange, *which)
    return folded_memories(memories, changes)


def _claims(connection: Connection, *which: ColumnElement[bool]) -> tuple[Claim, ...]:
    claims = _values(connection, CLAIMS, Claim, *which)
    return folded_claims(claims, _values(connection, CLAIM_CHANGES, ClaimChange, *which))


def _values(
    connection: Connection,
    table: Table,
    kind: type[_Value],
    *which: ColumnElement[bool],
    latest: int | None = None,
) -> list[_Value]:
    """Read the values in ``table``, or the latest of them, in the order of learning."""
    order = *_IN_ORDER, table.c.reflection, table.c.position
    rows = connection.execute(
        select(table.c.body)
        .join(EPISODES, EPISODES.c.uid == table.c.uid)
        .where(*which)
        .order_by(*(column.desc() for column in order))
        .limit(latest)
    )
    return [kind.model_validate_json(body) for body in rows.scalars()][::-1]


def _episodes(connection: Connection, *which: ColumnElement[bool]) -> tuple[Episode, ...]:
    rows = connection.execute(select(EPISODES).where(*which).order_by(*_IN_ORDER))
    return tuple(Episode(**row) for row in rows.mappings())
