"""One game for one guest: a command that is started for it, and is told where the game is."""

import asyncio
import json
import os
import secrets
import shlex
import signal
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from game_server.games import Games
from game_server.serving import address_of, listening, serve_http
from mcp_ghost.servers import reaper
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.game_state import EndReason

URL, CONFIG = "GAME_SERVER_URL", "GAME_SERVER_CONFIG"
"""In the guest's environment: the server's address, and a file that configures an MCP client."""
SILENCE_SECONDS = 900.0
"""Between two calls of a guest; one that says nothing for longer is stopped."""
_FAREWELL_SECONDS = 10.0
"""For a guest whose game has ended."""
_STOP_SECONDS = 3.0
_POLL = 0.1


class GuestError(Exception):
    """Raised when the guest did not play its game to an end."""


def play_with_guest(command: str, config: GameConfiguration, episode: str) -> None:
    """Let ``command`` play or continue the episode, which is over when the guest ends well.

    ``{url}`` and ``{config}`` in the command stand for what its environment has, too.

    Raises:
        ConfigurationError: It cannot be started.
        GuestError: It did not play, failed, or fell silent; the episode can be continued.
    """
    games = Games(config, only=episode)
    with listening(0) as listener, tempfile.TemporaryDirectory(prefix="zorkgpt-guest-") as folder:
        token = secrets.token_urlsafe(24)
        told = {URL: address_of(listener, token), CONFIG: str(Path(folder, "mcp.json"))}
        servers = {"mcpServers": {"zorkgpt": {"url": told[URL]}}}
        Path(told[CONFIG]).write_text(json.dumps(servers), encoding="utf-8")
        filled = command.replace("{url}", told[URL]).replace("{config}", told[CONFIG])
        try:
            code = asyncio.run(_visit(shlex.split(filled), told, games, listener, token))
            game = games.playing
            if game is None or (code != 0 and not game.ended):
                when = "before its game was over" if game else "without starting its game"
                raise GuestError(f"The player ended with exit code {code} {when}.")
            if not game.ended:
                game.leave(EndReason.LEFT)
        finally:
            games.close()


async def _visit(
    words: list[str], told: dict[str, str], games: Games, listener: socket.socket, token: str
) -> int | None:
    """Serve the guest's game until it ends; returns its exit code, or None if it was stopped."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            env={**os.environ, **told},
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(
            f"The player '{words[0]}' cannot be started ({error.strerror})."
        ) from error
    reaper.guard(process.pid)
    serving = asyncio.create_task(serve_http(games, listener, token))
    heard = time.monotonic()
    try:
        while process.returncode is None and not serving.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _POLL)
            game = games.playing
            heard = max(heard, game.used if game else heard)
            patience = _FAREWELL_SECONDS if game and game.ended else SILENCE_SECONDS
            if process.returncode is None and time.monotonic() - heard > patience:
                if game and game.ended:
                    return None
                raise GuestError(f"The player made no call for {SILENCE_SECONDS:g} s.")
        return process.returncode
    finally:
        reaper.signal_group(process.pid, signal.SIGTERM)  # it, and what it started
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            reaper.signal_group(process.pid, signal.SIGKILL)
            await process.wait()
        reaper.release(process.pid)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
