"""The command line: flags in, exit code out."""

# isort: off
import python_version  # noqa: F401  before what an old Python cannot read
# isort: on

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_ghost.cli.program import DONE, FAILED, INTERRUPTED, Errors, program
from orchestration.parts import PARTS
from players import PLAYERS
from terminal.flags import Flags, parse_flags

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_ghost.cli.screen import Screen
    from session.game_configuration import GameConfiguration
    from session.record.summary import StorySoFar
    from viewer.web.cockpit import Cockpit

_SMALL_MODEL = (
    "No API key found: the small model on this machine plays, and it plays badly. For a large "
    "one, set OPENROUTER_API_KEY, or the key of OpenAI, Anthropic or Gemini, or give --base-url."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["games"]:
        from terminal import games

        wanted = games.parser().parse_args(words[1:])
        return program("main.py games", lambda: games.show(wanted), _errors)
    flags = parse_flags(words, PARTS, PLAYERS)
    if flags.version:
        from session.version import version

        print(f"ZorkGPT {version()}")
        return DONE
    return program("main.py", lambda: _play(flags), _errors)


def _play(flags: Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    from mcp_ghost.cli import interruption
    from mcp_ghost.cli.screen import standard_screen
    from session.record.summary import show_total

    screen = standard_screen(sys.stdout)
    if flags.replay is not None:
        return _replay(flags.replay, flags.config, screen)
    config, episode = _configuration(flags)
    played: list[StorySoFar] = []
    with _page(flags, config, screen) as cockpit:
        play = partial(_play_episode, episode, flags, config, screen, played, cockpit)
        try:
            code = _play_episodes(play, flags, screen)
        finally:
            if len(played) > 1:
                show_total(screen, played)
        if cockpit:
            screen.text("The page stays up until you press Ctrl-C.", "yellow", mark="·")
            try:
                cockpit.stay()
            except KeyboardInterrupt:
                if interruption.exit_code() != INTERRUPTED:
                    raise
        return code


@contextmanager
def _page(
    flags: Flags, config: "GameConfiguration", screen: "Screen"
) -> "Iterator[Cockpit | None]":
    """With ``--watch``, the viewer's page beside the game, and what it may do to that."""
    if flags.watch is None:
        yield None
        return
    from viewer.web.cockpit import Cockpit
    from viewer.web.watch import watching

    cockpit = Cockpit(config.secrets)
    with watching(
        config.workdir,
        flags.watch or None,
        flags.open,
        episode="latest",
        cockpit=cockpit,
        notice=partial(screen.text, style="yellow", mark="!"),
    ) as address:
        if address:
            screen.text(f"Watch at {address}", "yellow", mark="·")
        yield cockpit if address else None


def _configuration(flags: Flags) -> "tuple[GameConfiguration, str | None]":
    """The settings, and the name of the episode to go on with."""
    from game_interface import check_story
    from mcp_ghost.env_file import load_env_file
    from players import player_without_model
    from session.game_configuration import ConfigurationError, GameConfiguration
    from session.playing import USES_MODEL
    from terminal.resume import find_episode

    config = GameConfiguration.at_hand(flags.config, **flags.settings()).ask_about_servers()
    if config.player_name in USES_MODEL:
        config.refuse_missing_models()
    elif not (flags.resume or flags.fork):  # where the episode says who plays
        player_without_model(config)  # which says what it lacks
    load_env_file()  # tracing and tool servers read the environment, not our settings
    wanted = flags.resume or (flags.fork and flags.fork[0])
    if wanted is None:
        check_story(config.story)
        return config, None
    episode = find_episode(wanted, config.workdir)
    config = config.model_copy(update={"workdir": str(episode.parents[1])})
    if not flags.fork:
        return config, episode.name
    from session.record.branch import branch_name, branch_off
    from session.record.folder import episode_folder

    _, turn = flags.fork
    if config.max_turns_per_episode <= turn:
        raise ConfigurationError(
            f"No turn would be played: --max-turns counts from the beginning of the game, and the "
            f"branch begins at turn {turn}."
        )
    branch = episode_folder(config, branch_name(episode.name, turn), resume=False)
    branch_off(branch.parent / episode.name, turn, branch)
    return config, branch.name


def _replay(episode: str, settings: str | None, screen: "Screen") -> int:
    """Play an episode again and compare it with its record; returns the exit code."""
    from mcp_ghost.text import counted
    from orchestration.replay import replay
    from session.game_configuration import GameConfiguration
    from terminal.resume import recorded_episode

    config = GameConfiguration.at_hand(settings)
    folder = recorded_episode(episode, config.workdir)
    same = replay(folder, config.story)
    turns, requests = counted(same.turns, "turn"), counted(same.calls, "request")
    screen.text(f"{folder.name} replays identically: {turns}, {requests}.", mark="=")
    return DONE


def _play_episodes(play: Callable[[], str | None], flags: Flags, screen: "Screen") -> int:
    """Play as many as were asked for, or as can be hoped for; returns the exit code."""
    from mcp_ghost.errors import MCPServerStartupError
    from session.game_state import EndReason

    failed: MCPServerStartupError | None = None
    code = DONE
    wanted = itertools.count() if flags.continuous else range(flags.episodes or 1)
    for number in wanted:
        try:
            reason = play()
        except MCPServerStartupError as error:
            if isinstance(wanted, range) and number == wanted[-1]:
                raise
            why = _is_hopeless(error, failed)
            if why:
                error.add_note(f"No more episodes will be played: {why}.")
                raise
            screen.text(f"{error}\nThe next episode will try again.", "red", mark="!")
            failed, code = error, FAILED
            continue
        if reason in (EndReason.LLM_UNAVAILABLE, EndReason.ENGINE_FAILED, EndReason.ENGINE_REFUSED):
            return FAILED
        failed = None
    return code


def _is_hopeless(error: Exception, before: Exception | None) -> str:
    """Why the next episode would fail like this one, and the one ``before`` it if that failed."""
    cause = error.__cause__
    if isinstance(cause, OSError) and not isinstance(cause, ConnectionError | TimeoutError):
        return "the program to start cannot be found or run"
    if before is not None and str(error).partition("\n")[0] == str(before).partition("\n")[0]:
        return "two in a row failed in the same way"
    return ""


def _play_episode(
    episode: str | None,
    flags: Flags,
    config: "GameConfiguration",
    screen: "Screen",
    played: "list[StorySoFar]",
    cockpit: "Cockpit | None",
) -> str | None:
    """Play one episode, add it to ``played``, and return why it ended."""
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    from session.playing import USES_MODEL
    from session.record.summary import StorySoFar
    from terminal.view import TerminalView, Thoughts

    thoughts = Thoughts(config.secrets)
    watcher: dict[str, Any] = {"before_turn": cockpit.before_turn} if cockpit else {}
    if screen.is_live or cockpit:
        watcher["on_delta"] = thoughts.take
    is_old = episode is not None
    with ZorkOrchestratorV2(episode, config, resume=is_old, **watcher) as orchestrator:
        folder = orchestrator.folder
        so_far = StorySoFar(folder, flags.to_resume(folder.name))
        asks = orchestrator.config.player_name in USES_MODEL
        if asks and config.uses_embedded_model and not (config.local_model_path or played):
            screen.text(_SMALL_MODEL, "yellow", mark="·")
        view = TerminalView(screen, so_far, thoughts)
        if cockpit:
            cockpit.begin(
                folder,
                thoughts,
                to_resume=so_far.to_resume,
                hears=asks,
                under_way=view.under_way,
            )
        orchestrator.logger.addHandler(view)
        try:
            orchestrator.play_episode()
        except Exception as error:  # whatever it was, and raised again
            _keep_traceback(error, folder, config)
            raise
        finally:
            orchestrator.logger.removeHandler(view)
            view.close()
            if so_far.end:
                played.append(so_far)
        return orchestrator.game_state.end_reason


def _keep_traceback(error: Exception, folder: "Path", config: "GameConfiguration") -> None:
    """Write the traceback into the episode's log, and the log's place into the error."""
    import logging
    import traceback

    from session.record.summary import LOG_FILE
    from session.record.text_log import EpisodeLog

    error.add_note(f"Log: {folder / LOG_FILE}")
    text = "".join(traceback.format_exception(error))
    with suppress(OSError):  # a full disk must not hide what went wrong
        log = EpisodeLog(folder, config.secrets)
        log.handle(logging.makeLogRecord({"levelname": "ERROR", "msg": text}))
        log.close()


def _errors() -> Errors:
    from game_interface.errors import (
        EngineUnavailableError,
        GameError,
        StoryFormatError,
        StoryNotFoundError,
    )
    from local_model.errors import LocalModelError, ModelFileError
    from mcp_ghost.errors import LLMError, MCPConfigError, MCPGhostError
    from orchestration.recorded import DivergenceError
    from session.game_configuration import ConfigurationError
    from session.record.event_log import (
        EpisodeDamagedError,
        EpisodeLockedError,
        EpisodeNotKeptError,
    )

    return Errors(
        wrong_use=(
            ConfigurationError,
            MCPConfigError,
            EpisodeLockedError,
            EpisodeDamagedError,
            StoryNotFoundError,
            StoryFormatError,
            EngineUnavailableError,
            ModelFileError,
            LLMError,  # not a failed request, which only ends an episode: a key that cannot be sent
        ),
        failed=(MCPGhostError, GameError, LocalModelError, EpisodeNotKeptError, DivergenceError),
    )


if __name__ == "__main__":
    sys.exit(main())
