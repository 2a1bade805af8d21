"""The user's browser, and the address on this machine that it is sent back to."""

import asyncio
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import parse_qs, urljoin, urlsplit

from mcp_ghost.errors import MCPError
from mcp_ghost.network import is_loopback
from mcp_ghost.text import harmless

Authorize: TypeAlias = Callable[[str], Awaitable[str]]
"""Sends a person to the URL; returns the address that the browser was sent back to"""
Send: TypeAlias = Callable[[str, str], Awaitable[str]]
"""Does so having said who takes part in the sign-in"""

_SECONDS = 300.0
"""For a person to sign in."""
_REQUEST_SECONDS = 10.0
_LONGEST_LINE = 16_384
_MOST_CONNECTED = 16
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>mcp_ghost</title><p>{words} You can close this page."
)


async def in_browser(url: str, parties: str) -> str:
    """Say on standard error who takes part, open ``url`` in the browser, and wait for its return.

    Raises:
        MCPError: Nobody came back in time, or nothing can listen.
    """
    query = parse_qs(urlsplit(url).query)
    back = query.get("redirect_uri", [""])[0]
    parts = urlsplit(back)
    if parts.scheme != "http" or not is_loopback(back) or not parts.port:
        raise MCPError(f"Only an 'authorize' function can receive what is sent to {back}.")
    returned: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    connected: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        if len(connected) > _MOST_CONNECTED:
            connected.pop(0).transport.abort()  # it waits longest; a browser asks at once
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                line = await reader.readline()
                connected.remove(writer)  # or it was closed
                _, target, _ = line.decode("ascii").split(" ")
                writer.write(_response(urljoin(back, target), parts.path, query, returned))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(
            answer, parts.hostname, parts.port, limit=_LONGEST_LINE, backlog=_MOST_CONNECTED
        )
    except OSError as error:
        raise MCPError(f"Nothing can listen at {back}: {error.strerror}.") from error
    async with server:
        print(f"{parties}\nSign in at {harmless(url)}", file=sys.stderr, flush=True)
        # Of those without a window, some would take over the terminal.
        windows = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
        if windows or sys.platform in ("darwin", "win32"):
            # Some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        try:
            return await asyncio.wait_for(returned, _SECONDS)
        except TimeoutError:
            raise MCPError(f"Nobody signed in within {_SECONDS:g} s.") from None
        finally:
            for writer in connected:
                writer.transport.abort()


async def nowhere(url: str) -> str:
    """Raise an ``MCPError``, in programs that run where nobody looks."""
    raise MCPError("Nobody is there to sign in: run this once in a terminal.")


def on_terminal() -> Authorize | None:
    """``in_browser`` (as None, the default) if somebody sits at the terminal; else ``nowhere``."""
    return None if sys.stdin is not None and sys.stdin.isatty() else nowhere


def address_to_return_to(before: str | None = None) -> str:
    """An address on this machine where nothing listens: ``before``, or one with a new port."""
    with suppress(OSError, ValueError):
        if before and (port := urlsplit(before).port):
            socket.create_server(("127.0.0.1", port)).close()
            return before
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/callback"


def _response(
    address: str, path: str, asked: dict[str, list[str]], returned: asyncio.Future[str]
) -> bytes:
    """What to send to whoever came to ``address``, which is noted if it was waited for."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    status, words = "200 OK", "You are signed in."
    if parts.path != path or query.get("state") != asked.get("state"):
        status, words = "404 Not Found", "There is nothing here."
    else:
        if not returned.done():
            returned.set_result(address)
        if "error" in query:
            words = "You did not sign in."
    body = _PAGE.format(words=words).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
