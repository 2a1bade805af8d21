"""The game server's command line: flags in, exit code out."""

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import argparse
import os
import re
import sys
from collections.abc import Sequence

from mcp_ghost.cli.arguments import (
    Parser,
    add_flags,
    add_trust,
    port_number,
    seed_number,
    whole_number,
)
from mcp_ghost.cli.program import DONE, Errors, program

_PROGRAM = "python -m game_server"
_DEFAULT_PORT = 8733
_TOKEN = "GAME_SERVER_TOKEN"  # noqa: S105  the variable's name
_DESCRIPTION = """\
Offer text adventures to any MCP client: over stdin and stdout, or over HTTP
to this machine only. Each game is recorded as an episode in the work folder,
like those of main.py. The flags for games limit what a client may ask for.
"""
_EPILOG = """\
exit code: 0 the client closed the connection; 1 stopped by a failure; 2 wrong
  usage or configuration; 130 interrupted by Ctrl-C (143 by SIGTERM)

environment:
  GAME_SERVER_TOKEN  the token for --http; without it, one is made once and
                     kept for you

examples:
  uv run python -m game_server
  uv run python -m game_server --http --story bundled --level status
  uv run python -m game_server --stories ~/stories --games 10
"""
_HOW = f"""\
--http          serve streamable HTTP on 127.0.0.1, to clients that send the printed token
--port N        with --http: the port (default {_DEFAULT_PORT})
"""
_GAME = """\
--story NAME|PATH  the only story that is offered (default: all that are known by name)
--stories DIR   offer the story files in DIR, too, by their names; can be given several times
--seed N        seed of every game's dice (default: as the client asks, else as configured)
--level LEVEL   the most that clients may be told: text, status, facts or facts+exits
--games N       how many new games clients may start in this run
--max-turns N   end an episode at turn N (default 500)
"""
_OTHERS = """\
--workdir DIR   where episodes are recorded (default: as configured)
--config FILE   read settings from FILE, in the same format, instead of ./pyproject.toml
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    parser = Parser(prog=_PROGRAM, description=_DESCRIPTION, epilog=_EPILOG)
    add_flags(parser.add_argument_group("how"), _HOW, port={"type": port_number})
    add_flags(
        parser.add_argument_group("games"),
        _GAME,
        stories={"action": "append", "default": []},
        seed={"type": seed_number},
        N={"type": whole_number()},
        level={"choices": ("text", "status", "facts", "facts+exits")},
    )
    add_flags(parser, _OTHERS)
    add_trust(parser)
    flags = parser.parse_args(arguments)
    if flags.port is not None and not flags.http:
        parser.error("--port is for --http")
    if flags.story is not None and flags.stories:
        parser.error("--stories offers more than one story, and --story only one")
    return program(_PROGRAM, lambda: _serve(flags), _errors)


def _errors() -> Errors:
    from game_interface.errors import (
        EngineUnavailableError,
        GameError,
        StoryFormatError,
        StoryNotFoundError,
    )
    from session.game_configuration import ConfigurationError

    wrong = (ConfigurationError, EngineUnavailableError, StoryFormatError, StoryNotFoundError)
    return Errors(wrong_use=wrong, failed=(GameError,))


def _serve(flags: argparse.Namespace) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    import asyncio
    from contextlib import redirect_stdout
    from pathlib import Path

    from game_interface import check_story
    from game_server.games import Games
    from game_server.limits import HostLimits
    from game_server.serving import address_of, listening, serve_http, serve_stdio
    from session.configuration_file import ConfigurationError
    from session.game_configuration import GameConfiguration
    from session.levels import ObservationLevel

    settings = {
        "story": flags.story,
        "seed": flags.seed,
        "observation_level": flags.level,
        "max_turns_per_episode": flags.max_turns,
        "workdir": flags.workdir,
    }
    known = {name: it for name, it in settings.items() if it is not None}
    config = GameConfiguration.at_hand(flags.config, **known)
    with redirect_stdout(sys.stderr):  # what an environment prints is not meant for the client
        check_story(config.story)
    folders = [Path(it).expanduser() for it in flags.stories]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigurationError(f"--stories: there is no folder {folder}.")
    level = ObservationLevel(flags.level) if flags.level else None
    limits = HostLimits(flags.story, flags.seed, level, flags.games, folders)
    games = Games(config, limits=limits)
    try:
        if flags.http:
            from session.listener import kept_token

            given = os.environ.get(_TOKEN)
            if given is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
                raise ConfigurationError(
                    f"{_TOKEN} needs at least 16 letters, digits, hyphens or underscores."
                )
            token = given or kept_token("game_server")
            with listening(flags.port or _DEFAULT_PORT) as listener:
                print(f"Games at {address_of(listener, token)} (end with Ctrl-C)", flush=True)
                print(
                    f"or at {address_of(listener)} with 'Authorization: Bearer {token}'", flush=True
                )
                asyncio.run(serve_http(games, listener, token))
        else:
            asyncio.run(serve_stdio(games))
    finally:
        games.close()
    return DONE


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Skips the interpreter's tear-down, for which the client would wait; all logs are closed.
    os._exit(code)
