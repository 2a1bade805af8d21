"""What is passed on to later episodes. A failing database costs a warning, never a turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from session.events import log_event
from session.knowledge import CarriedOver, Edits, Reflection
from session.record.schema import KnowledgeLoaded

if TYPE_CHECKING:
    from game_interface.story import StoryInfo
    from session.game_configuration import GameConfiguration
    from storage.store import Store

_Result = TypeVar("_Result")


class KnowledgeSync:
    """Takes what earlier episodes learned out of the database, and puts in what this one learns.

    The episode's log holds all of it too, so what fails here is put right when that is next read.
    """

    def __init__(
        self, config: GameConfiguration, logger: logging.Logger, folder: Path, uid: str
    ) -> None:
        self._config = config
        self._logger = logger
        self._folder = folder
        self._uid = uid
        self._store: Store | None = None
        self._is_in_use = config.storage_enabled

    def carried_over(self, story: StoryInfo) -> KnowledgeLoaded:
        """Read what a new episode of ``story`` begins with, and what people edited since."""
        nothing = KnowledgeLoaded(carried=CarriedOver(), edits=Edits())
        if not self._config.storage_carry_over:
            return nothing
        return self._attempt(lambda store: self._read(store, story)) or nothing

    def catch_up(self) -> None:
        """Bring what is stored of this episode up to date with its log."""
        self._attempt(lambda store: store.take_in_log(self._folder))

    def take_in(self, reflection: Reflection) -> None:
        """Store what a reflection yielded."""
        self._attempt(lambda store: store.take_in(self._uid, reflection))

    def finish(self, story: StoryInfo) -> None:
        """Store the whole episode, and write what is known of its story for people to read."""
        self.catch_up()
        self._attempt(lambda store: self._write(store, story))

    def close(self) -> None:
        """Close the database; may be called more than once."""
        store, self._store, self._is_in_use = self._store, None, False
        if store:
            store.close()

    def _read(self, store: Store, story: StoryInfo) -> KnowledgeLoaded:
        from storage.errors import StorageError
        from storage.files.knowledge_files import KnowledgeFiles

        edits = Edits()
        try:
            edits = KnowledgeFiles(self._config, store).read_edits(story.name, story.sha256)
        except StorageError as error:  # which may only be the file's fault
            self._warn(f"Edited knowledge was not read: {error}", error)
        level = self._config.observation_level
        carried = store.carried_over(story.sha256, edits, level=level)
        return KnowledgeLoaded(carried=carried, edits=edits)

    def _write(self, store: Store, story: StoryInfo) -> None:
        from storage.files.knowledge_files import KnowledgeFiles

        KnowledgeFiles(self._config, store).write(story.name, story.sha256)

    def _attempt(self, work: Callable[[Store], _Result]) -> _Result | None:
        """Return what ``work`` returns; None where there is no database, which is logged once."""
        if not self._is_in_use:
            return None
        from storage.errors import StorageError
        from storage.store import Store

        try:
            self._store = self._store or Store(self._config)
            return work(self._store)
        except StorageError as error:
            self._is_in_use = False
            self._warn(f"Knowledge is kept only in the log: {error}", error)
            return None

    def _warn(self, message: str, error: Exception) -> None:
        log_event(self._logger, logging.WARNING, message, "storage_failed", error=str(error))
