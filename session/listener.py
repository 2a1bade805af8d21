"""A web server that stays small, whoever connects, and knows its user by a token.

The page and the game server listen with it. They share a process, and so its table of open files,
with games: strangers must not fill it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_ghost.files import PRIVATE, data_folder, open_regular, write_whole

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp

MOST_CONNECTIONS = 64
"""At once; for one more, the one that has asked for nothing for the longest time is closed."""
REQUEST_SECONDS = 10.0
"""For a client to send a request, with its body."""
READ_SECONDS = 30.0
"""For a client to go on reading what it asked for."""
_SHUTDOWN_SECONDS = 1
"""For clients that do not even read that the server ends."""
_ACCEPTED_AT_ONCE = 16
"""Between two looks at those that are open; asyncio accepts as many as may wait."""
_TOKEN_CHARACTERS = 200
_DESCRIPTORS = 4096
"""Enough for everything here; some systems begin with 256."""


def new_token() -> str:
    """Make a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def kept_token(use: str) -> str:
    """Return this user's token for some use, which stays the same from start to start.

    Where the file that keeps it cannot be written, it is a new one.
    """
    path = data_folder() / f"{use}_token"
    with suppress(OSError), os.fdopen(open_regular(path), encoding="ascii", errors="replace") as it:
        if kept := it.read(_TOKEN_CHARACTERS).strip():
            return kept
    token = new_token()
    with suppress(OSError):
        write_whole(path, token, mode=PRIVATE)
    return token


def is_same(shown: str, token: str) -> bool:
    """Compare without the time telling how much of it is right."""
    return secrets.compare_digest(shown.encode(errors="replace"), token.encode())


def shows_token(headers: Headers, token: str) -> bool:
    """Return whether a request comes with the token, as ``Authorization: Bearer TOKEN``."""
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and is_same(shown.strip(), token)


def small_server(app: ASGIApp, **options: Any) -> uvicorn.Config:  # noqa: ANN401  those of uvicorn
    """Configure a server of ``app`` that is limited, and let this process open more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    with suppress(OSError, ValueError):  # not every system allows it
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        loop="asyncio",
        backlog=_ACCEPTED_AT_ONCE,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        **options,
    )


class _Connection(H11Protocol):
    """A connection whose client has to hurry."""

    _request: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    since = 0.0
    """The moment at which it was opened, or was last answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        """Close another one if there are too many."""
        super().connection_made(transport)
        # asyncio does so only for a socket that was made as one of TCP; else the rest of an answer
        # waits until the client has confirmed its beginning: 40 ms.
        connected: socket.socket = transport.get_extra_info("socket")
        with suppress(OSError):  # the client is gone already
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = self.loop.time()
        self._expect_request()
        if len(self.connections) > MOST_CONNECTIONS:
            others = [it for it in self.connections if isinstance(it, _Connection) and it.is_idle]
            oldest = min(others, key=lambda it: it.since, default=self)
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether nothing was asked that is not yet answered."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Read on, and give the client its time for what is missing."""
        super().data_received(data)
        self._expect_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # whose beginning is there already
            self._expect_request()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading:
            self._reading.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in filter(None, (self._request, self._reading)):
            timer.cancel()

    def _expect_request(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            if self._request:
                self._request.cancel()
            self._request = None
        elif self._request is None:
            self._request = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
