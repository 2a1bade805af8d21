"""The folder of an episode, and the logs in it."""

import logging
import re
from datetime import UTC, datetime
from pathlib import Path

from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE, EventLog
from session.record.text_log import EpisodeLog

NOTES_FILE = "notes.jsonl"
"""What the player noted with the tool server ``notes``."""


def episode_folder(config: GameConfiguration, episode_id: str | None, *, resume: bool) -> Path:
    """Return the episode's folder: an existing one to resume, or one that no episode has used."""
    episodes = Path(config.workdir) / "episodes"
    name = episode_id or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    if not re.fullmatch(r"\w[\w.-]{0,99}", name):
        raise ConfigurationError(
            f"'{name}' is not a valid episode name: use letters, digits, '.', '_' and '-'."
        )
    folder, number = episodes / name, 2
    while not resume and (folder / EVENTS_FILE).exists():
        folder, number = episodes / f"{name}-{number}", number + 1
    return folder


def open_logs(folder: Path, secrets: tuple[str, ...]) -> list[logging.Handler]:
    """Return the handlers that keep an episode."""
    try:
        return [EventLog(folder, secrets), EpisodeLog(folder, secrets)]
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to {folder} ({error.strerror}): set workdir in [tool.zorkgpt.game], "
            "or ZORKGPT_WORKDIR, to a writable folder."
        ) from error
