"""The channel between an episode's process and its parent: one JSON line asks, one answers."""

import asyncio
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from session.events import event_fields
from session.record.schema import STEPS

ASK, AGAIN, SPEND, KEPT = "ask", "again", "spend", "kept"
Answer: TypeAlias = Callable[[str, float], float | None]
"""What was asked, and a number with it -> what is answered."""


class ParentChannel:
    """The episode's end. It is the gate of all its requests to models."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._file = self._socket.makefile("rw", encoding="utf-8")
        self._lock = threading.Lock()

    def orders(self) -> dict[str, Any] | None:
        """Read what to play; None if the parent is gone."""
        line = self._file.readline()
        return json.loads(line) if line.endswith("\n") else None

    def call(self, what: str, number: float = 0.0) -> float | None:
        """Ask, and wait for the answer.

        Raises:
            ConnectionError: The parent is gone.
        """
        with self._lock:
            self._file.write(json.dumps([what, number]) + "\n")
            self._file.flush()
            answer = self._file.readline()
        if not answer:
            raise ConnectionError("The process that started this episode is gone.")
        allowed: float | None = json.loads(answer)
        return allowed

    async def admit(self) -> None:
        """Wait for a request's turn; where none may be sent, the episode is interrupted."""
        wait = self.call(ASK)  # whoever holds the other end answers at once
        if wait:
            await asyncio.sleep(wait)
            wait = self.call(AGAIN)
        if wait is None:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()  # the main thread cancels this

    def charge(self, dollars: float) -> None:
        """Report what a call cost."""
        self.call(SPEND, dollars)


class DurableAck(logging.Handler):
    """Reports each finished step once it is on the disk, and waits until it is safe elsewhere."""

    def __init__(self, channel: ParentChannel) -> None:
        super().__init__(logging.DEBUG)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Report, after the handler that writes it."""
        if event_fields(record).get("event_type") in STEPS:
            self._channel.call(KEPT)


def serve(ours: socket.socket, orders: dict[str, Any], answer: Answer) -> None:
    """Tell an episode what to play, and answer it in a thread until it ends."""

    def listen() -> None:
        with suppress(OSError), ours, ours.makefile("rw", encoding="utf-8") as file:
            file.write(json.dumps(orders) + "\n")
            file.flush()
            for asked in file:
                file.write(json.dumps(answer(*json.loads(asked))) + "\n")
                file.flush()

    threading.Thread(target=listen, daemon=True).start()
