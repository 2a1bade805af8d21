"""What people wrote between episodes, in a log of its own, so that a rebuild finds it again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from session.event_log import EpisodeLockedError, EpisodeNotKeptError, EventLog
from session.events import log_event
from session.uids import new_uid
from storage.account import read_imports
from storage.errors import StorageError
from storage.markdown import EDITOR

if TYPE_CHECKING:
    from session.learned import Edits
    from storage.account import Account


def log_import(
    folder: Path, edits: Edits, story: str, story_sha256: str, secrets: tuple[str, ...] = ()
) -> Account:
    """Write ``edits`` to the log in ``folder``; the account of it, as the log has it.

    Raises:
        StorageError: It cannot be written.
    """
    uid = new_uid()
    logger = logging.Logger("zorkgpt.knowledge", logging.DEBUG)
    try:
        log = EventLog(folder, secrets)
    except EpisodeLockedError as error:
        raise StorageError(f"Another import is at work in {folder}: try again.") from error
    except OSError as error:
        raise StorageError(f"Cannot write {error.filename}: {error.strerror}.") from error
    logger.addHandler(log)
    try:
        log_event(
            logger,
            logging.INFO,
            f"Edits of {story} are read",
            "knowledge_loaded",
            uid=uid,
            episode_id=f"import-{uid}",
            story=story,
            story_sha256=story_sha256,
            model=EDITOR,
            edits=edits.model_dump(mode="json"),
        )
    except EpisodeNotKeptError as error:
        raise StorageError(str(error)) from error
    finally:
        log.close()
    return next(it for it in read_imports(folder) if it.episode.uid == uid)
