"""How the server is reached: through stdin and stdout, or over HTTP on loopback."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import TYPE_CHECKING

from game_server.server import game_server
from session.configuration_file import ConfigurationError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from game_server.games import Games

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_SWEEP_SECONDS = 60.0
_UNKNOWN = (
    "Use the address that the game server printed at its start, which has a token, or send the "
    "header 'Authorization: Bearer TOKEN'."
)


async def serve_stdio(games: Games) -> None:
    """Serve the one client until it closes our stdin, or a signal ends the program."""

    def end(number: int) -> None:
        games.close()
        os._exit(128 + number)  # a thread still waits for stdin, which only its end would wake

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    await game_server(games).run_stdio_async()


async def serve_http(games: Games, listener: socket.socket, token: str) -> None:
    """Serve any number of clients that know ``token`` until the program is interrupted."""
    import uvicorn  # which stdio can do without
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse

    from session.listener import is_same, shows_token, small_server

    app = game_server(games).streamable_http_app(host=LOOPBACK)

    async def leaving(scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; after a DELETE that was granted, leave the session's game."""
        granted = False

        async def noting(message: Message) -> None:
            nonlocal granted
            granted = granted or message.get("status") in (200, 202, 204)
            await send(message)

        await app(scope, receive, noting)
        if granted and scope.get("method") == "DELETE":
            session = Headers(scope=scope).get("mcp-session-id", "")
            await asyncio.to_thread(games.leave, session)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        """Let those in whose header shows the token, or whose address has it."""
        if scope["type"] == "http":
            if is_same(scope["path"], _path(token)):
                scope = {**scope, "path": PATH, "raw_path": PATH.encode()}
            elif not shows_token(Headers(scope=scope), token):
                refusal = PlainTextResponse(_UNKNOWN, 401, {"www-authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await leaving(scope, receive, send)

    async def close_idle() -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await asyncio.to_thread(games.close_idle)

    server = uvicorn.Server(small_server(guarded, lifespan="on"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    sweep = asyncio.create_task(close_idle())
    try:
        await asyncio.shield(serving)
    finally:
        sweep.cancel()
        server.should_exit = True  # where we were cancelled, it ends in good order
        await serving


def listening(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 takes any that is free.

    Raises:
        ConfigurationError: The port is taken.
    """
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ConfigurationError(
            f"Cannot serve on port {port} ({why}): choose another --port."
        ) from error


def address_of(listener: socket.socket, token: str = "") -> str:
    """Return where clients find the server: those that send the token, or any with it."""
    return f"http://{LOOPBACK}:{listener.getsockname()[1]}{_path(token)}"


def _path(token: str) -> str:
    return f"/{token}{PATH}" if token else PATH
