"""Tool servers of an episode, and what they find in their environment: where notes are kept."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.errors import MCPError
from notes.notebook import forget_after
from session.events import log_event
from session.record.folder import NOTES_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from game_interface.story import StoryInfo
    from managers.mcp_manager import MCPManager
    from session.game_configuration import GameConfiguration


def new_mcp_manager(
    config: GameConfiguration,
    logger: logging.Logger,
    langfuse_client: object,
    environment: Mapping[str, str],
) -> MCPManager:
    """Return the manager of the configured servers.

    Raises:
        MCPError: Whatever stops it.
    """
    from managers.mcp_manager import MCPManager

    try:
        manager = MCPManager(
            config=config,
            logger=logger,
            langfuse_client=langfuse_client,
            environment=environment,
        )
    except Exception as error:  # whatever stops it is the MCP error that callers expect
        problem = f"Failed to initialize MCP Manager: {error}"
        log_event(logger, logging.ERROR, problem, "mcp_init_error", error=str(error))
        if isinstance(error, MCPError):
            raise
        raise MCPError(f"MCP initialization failed: {error}") from error
    done, name = "MCP Manager initialized", ", ".join(manager.server_names)
    log_event(logger, logging.INFO, done, "mcp_manager_init", server=name)
    return manager


def environment_of(config: GameConfiguration, folder: Path, story: StoryInfo) -> dict[str, str]:
    """Variables for the servers of the episode in ``folder``.

    As other knowledge, notes are passed on within one level of observation only.
    """
    found = {"NOTES_FILE": str(folder.absolute() / NOTES_FILE)}
    if config.storage_enabled and config.storage_carry_over:
        name = re.sub(r"[^\w.-]+", "-", story.name).strip(".-")[:100] or "story"
        file = f"{name}-{story.sha256[:8]}-{config.observation_level}.jsonl"
        found["NOTES_STORY_FILE"] = str(Path(config.workdir).absolute() / "notes" / file)
    return found


def take_back_notes(folder: Path, turn: int, logger: logging.Logger) -> None:
    """Leave out what was noted after ``turn``: a resumed episode plays those turns anew."""
    try:
        forget_after(str(folder / NOTES_FILE), turn)
    except OSError as error:
        message = f"Notes from turns after {turn} could not be undone: {error.strerror}"
        log_event(logger, logging.WARNING, message, "notes_failed", error=str(error))
