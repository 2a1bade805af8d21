"""The folder of an episode, and the logs that are kept in it."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from session.configuration_file import ConfigurationError
from session.episode_log import EpisodeLog
from session.event_log import EVENTS_FILE, EventLog

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


def episode_folder(config: GameConfiguration, episode_id: str | None, *, resume: bool) -> Path:
    """The episode's folder: an existing one to resume, else one that no episode has used."""
    episodes = Path(config.workdir) / "episodes"
    name = episode_id or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    if not re.fullmatch(r"\w[\w.-]{0,99}", name):
        raise ConfigurationError(
            f"'{name}' is no name for an episode: use letters, digits, '.', '_' and '-'."
        )
    folder, number = episodes / name, 2
    while not resume and (folder / EVENTS_FILE).exists():
        folder, number = episodes / f"{name}-{number}", number + 1
    return folder


def open_logs(folder: Path, secrets: tuple[str, ...]) -> list[logging.Handler]:
    """The handlers that keep an episode."""
    try:
        return [EventLog(folder, secrets), EpisodeLog(folder, secrets)]
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to {folder} ({error.strerror}): set workdir in [tool.zorkgpt.game], "
            "or ZORKGPT_WORKDIR, to a folder that can be written to."
        ) from error
