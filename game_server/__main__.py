"""The game server's command line: flags in, exit code out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from game_server.flags import DEFAULT_PORT, PROGRAM, Flags, parse_flags
from mcp_ghost.cli.program import DONE, Errors, program


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    flags = parse_flags(arguments)
    return program(PROGRAM, lambda _: _serve(flags), _errors)


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


def _serve(flags: Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    import asyncio
    from contextlib import redirect_stdout

    from game_interface import check_story
    from game_server.games import Games
    from game_server.limits import Limits
    from game_server.serving import address_of, listening, serve_http, serve_stdio
    from session.game_configuration import GameConfiguration

    config = GameConfiguration.at_hand(flags.config, **flags.settings())
    with redirect_stdout(sys.stderr):  # what an environment prints is not meant for the client
        check_story(config.story)
    games = Games(config, limits=Limits.of(flags))
    try:
        if flags.http:
            with listening(flags.port or DEFAULT_PORT) as listener:
                print(f"Games at {address_of(listener)} (end with Ctrl-C)", flush=True)
                asyncio.run(serve_http(games, listener))
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
