"""The command line: flags in, exit code out."""

from __future__ import annotations

import itertools
import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.interruption import Interruption
from terminal.flags import Flags, parse_flags

if TYPE_CHECKING:
    from mcp_ghost.screen import Screen
    from session.game_configuration import GameConfiguration
    from terminal.story_so_far import StorySoFar

PLAYED, FAILED, WRONG_USE = 0, 1, 2
_SMALL_MODEL = (
    "No API key found: the small model on this machine plays, and not well. For a large one set "
    "OPENROUTER_API_KEY or OPENAI_API_KEY, or give --base-url."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    flags = parse_flags(arguments)
    if flags.version:
        from session.version import version

        print(f"ZorkGPT {version()}")
        return PLAYED
    # What libraries log is not to come between the lines shown.
    logging.getLogger().addHandler(logging.NullHandler())
    interruption = Interruption()
    interruption.install()
    try:
        return _play(flags, interruption)
    except KeyboardInterrupt:
        return interruption.exit_code
    except Exception as error:  # noqa: BLE001  the edge of the process: a line, no traceback
        return _report(error)


def _play(flags: Flags, interruption: Interruption) -> int:
    # Imported only now: --help and wrong flags are not to wait for it.
    from mcp_ghost.screen import standard_screen
    from session.game_state import EndReason
    from terminal.summary import show_total

    config, episode = _configuration(flags)
    screen = standard_screen(interruption.output_closed)
    if config.uses_embedded_model and not config.local_model_path:
        screen.text(_SMALL_MODEL, "yellow", mark="·")
    played: list[StorySoFar] = []
    try:
        with _page(flags, config, screen):
            for _ in itertools.count() if flags.continuous else range(flags.episodes or 1):
                reason = _play_episode(episode, flags, config, screen, played)
                if reason is EndReason.LLM_UNAVAILABLE:
                    return FAILED
    finally:
        if len(played) > 1:
            show_total(screen, played)
    return PLAYED


@contextmanager
def _page(flags: Flags, config: GameConfiguration, screen: Screen) -> Iterator[None]:
    """With ``--watch``, the viewer's page beside the game."""
    if flags.watch is None:
        yield
        return
    from viewer.watch import watching

    def notice(text: str) -> None:
        screen.text(text, "yellow", mark="!")

    with watching(
        config.workdir, flags.watch or None, flags.open, episode="latest", notice=notice
    ) as address:
        if address:
            screen.text(f"Watch at {address}", "yellow", mark="·")
        yield


def _configuration(flags: Flags) -> tuple[GameConfiguration, str | None]:
    """The settings, and the name of the episode to resume."""
    from dotenv import load_dotenv

    from session.game_configuration import GameConfiguration
    from terminal.resume import find_episode

    at_hand = "pyproject.toml" if Path("pyproject.toml").is_file() else None
    config = GameConfiguration.from_toml(flags.config or at_hand, **flags.settings())
    load_dotenv(".env")  # tracing and tool servers read the environment, not our settings
    if flags.resume is None:
        return config, None
    episode = find_episode(flags.resume, config.workdir)
    return config.model_copy(update={"workdir": episode.workdir}), episode.name


def _play_episode(
    episode: str | None,
    flags: Flags,
    config: GameConfiguration,
    screen: Screen,
    played: list[StorySoFar],
) -> str | None:
    """Play one episode, add it to ``played``, and say why it ended."""
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    from terminal.story_so_far import StorySoFar
    from terminal.view import EpisodeView

    with ZorkOrchestratorV2(episode, config, resume=episode is not None) as orchestrator:
        folder = orchestrator.folder
        so_far = StorySoFar(folder, flags.to_resume(folder.name))
        view = EpisodeView(screen, so_far)
        orchestrator.logger.addHandler(view)
        try:
            orchestrator.play_episode()
        except Exception as error:
            _keep_traceback(error, folder, config)
            raise
        finally:
            orchestrator.logger.removeHandler(view)
            view.close()
            if so_far.end:
                played.append(so_far)
        return orchestrator.game_state.end_reason


def _keep_traceback(error: Exception, folder: Path, config: GameConfiguration) -> None:
    """Write the traceback into the episode's log, and the log's place into the error."""
    from session.episode_log import LOG_FILE, EpisodeLog

    error.add_note(f"Log: {folder / LOG_FILE}")
    text = "".join(traceback.format_exception(error))
    with suppress(OSError):  # a full disk, which must not hide what went wrong
        log = EpisodeLog(folder, config.secrets)
        log.handle(logging.makeLogRecord({"levelname": "ERROR", "msg": text}))
        log.close()


def _report(error: Exception) -> int:
    """Say what went wrong and what to do, without a traceback; the exit code."""
    from game_interface import (
        EngineUnavailableError,
        GameError,
        StoryFormatError,
        StoryNotFoundError,
    )
    from local_model.errors import LocalModelError, ModelFileError
    from mcp_ghost.errors import LLMError, MCPConfigError, MCPGhostError
    from mcp_ghost.text import plain
    from session.event_log import EpisodeDamagedError, EpisodeLockedError, EpisodeNotKeptError
    from session.game_configuration import ConfigurationError

    wrong_use = (
        *(ConfigurationError, MCPConfigError, EpisodeLockedError, EpisodeDamagedError),
        *(StoryNotFoundError, StoryFormatError, EngineUnavailableError, ModelFileError),
        LLMError,  # no failed request, which costs a turn only: a key that cannot be sent
    )
    failures = (MCPGhostError, GameError, LocalModelError, EpisodeNotKeptError)
    explained = isinstance(error, (*wrong_use, *failures))
    message = str(error) if explained else f"{type(error).__name__}: {error}"
    lines = [f"main.py: error: {message}", *getattr(error, "__notes__", ())]
    print(plain("\n".join(lines)), file=sys.stderr)
    return WRONG_USE if isinstance(error, wrong_use) else FAILED


if __name__ == "__main__":
    sys.exit(main())
