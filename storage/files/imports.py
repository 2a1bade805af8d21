"""What people wrote between episodes, in its own log, so that a rebuild finds it again."""

import logging
from pathlib import Path

from session.knowledge import Edits
from session.record.event_log import EpisodeLockedError, EpisodeNotKeptError, EventLog
from session.record.schema import KnowledgeLoaded, write
from session.uids import new_uid
from storage.episode_knowledge import EpisodeKnowledge, read_imports
from storage.errors import StorageError
from storage.files.markdown import EDITOR


def log_import(
    folder: Path, edits: Edits, story: str, story_sha256: str, secrets: tuple[str, ...] = ()
) -> EpisodeKnowledge:
    """Write ``edits`` to the log in ``folder``; the account of it, as the log has it.

    Raises:
        StorageError: It cannot be written.
    """
    uid = new_uid()
    logger = logging.Logger("zorkgpt.knowledge", logging.DEBUG)
    try:
        log = EventLog(folder, secrets)
    except EpisodeLockedError as error:
        raise StorageError(f"Another import is running in {folder}: try again.") from error
    except OSError as error:
        raise StorageError(f"Cannot write {error.filename}: {error.strerror}.") from error
    logger.addHandler(log)
    try:
        named = {"uid": uid, "story": story, "story_sha256": story_sha256, "model": EDITOR}
        read = KnowledgeLoaded(episode_id=f"import-{uid}", **named, edits=edits)
        write(logger, f"Edits of {story} are read", read)
    except EpisodeNotKeptError as error:
        raise StorageError(str(error)) from error
    finally:
        log.close()
    return next(it for it in read_imports(folder) if it.episode.uid == uid)
