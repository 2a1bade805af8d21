"""Messages from a server process and to it; importing this imports the SDK.

What is not a JSON-RPC message on the server's stdout is skipped: many servers print a banner.
"""

import asyncio
import logging
import re

import anyio
import anyio.lowlevel
from mcp.shared.message import SessionMessage

from mcp_ghost.servers.process import ServerProcess
from mcp_ghost.servers.protocol.reading import (
    EDGE,
    MOST_SKIPPED,
    UnreadableError,
    refusal,
    taken,
    too_long,
)

_logger = logging.getLogger(__name__)
_LENGTH = re.compile(rb"content-length: *([1-9]\d{0,8})\s*", re.IGNORECASE)
"""Begins a message without end of line, as language servers send them:
https://github.com/buildomator/buildomator/issues/2."""


class Incoming:
    """Messages from the server, until its output ends."""

    def __init__(self, process: ServerProcess, most_bytes: int) -> None:
        """``most_bytes``: of one message; what the process was started with."""
        self._process = process
        self._most_bytes = most_bytes
        self._noticed_garbage = False
        self._framed, self._is_in_head = 0, False
        """The length of a message of which only the head was read, and whether that goes on."""
        self._begun = bytearray()
        """Lines of a message that is written over several."""

    async def receive(self) -> SessionMessage:
        """The next message; EndOfStream after the last."""
        while True:
            try:
                line = await self._line()
                return self._read(line)
            except asyncio.IncompleteReadError as error:
                self._process.skip(error.partial)  # a last line that does not end
                raise anyio.EndOfStream from None
            except asyncio.LimitOverrunError:
                line, why = await self._edges_of_line(), too_long(self._most_bytes)
            except UnreadableError as error:
                why = str(error)
            if reply := refusal(line, why):
                return SessionMessage(reply)
            self._process.skip(line)
            if not self._noticed_garbage and not line.isspace():
                self._noticed_garbage = True
                _logger.debug("Skipping output that is not JSON-RPC, first: %r", line[:200])
            # Lines that are already here are read without a pause: a server that pours them out
            # would leave no time for timeouts and signals.
            await anyio.lowlevel.checkpoint()

    async def _line(self) -> bytes:
        """The next line, or a message as long as its head says; if cancelled, it loses nothing."""
        while True:
            if self._framed and not self._is_in_head:
                message = await self._process.stdout.readexactly(self._framed)
                self._framed = 0
                return message
            line = await self._process.stdout.readuntil()
            if head := _LENGTH.fullmatch(line):
                self._framed, self._is_in_head = min(int(head[1]), self._most_bytes), True
            elif self._is_in_head and line.isspace():
                self._is_in_head = False
            elif not (self._is_in_head and line[:13].lower() == b"content-type:"):
                self._framed, self._is_in_head = 0, False
                return line

    def _read(self, line: bytes) -> SessionMessage:
        """The message on ``line``, or the one over several lines that its lone bracket ends."""
        try:
            message = taken(line)[0]
        except UnreadableError:
            bracket = line.rstrip()
            if self._begun and bracket in (b"}", b"]"):
                whole, self._begun = bytes(self._begun + line), bytearray()
                return taken(whole)[0]
            if self._begun or bracket in (b"{", b"["):
                self._begun += line
            if len(self._begun) > self._most_bytes:
                self._begun = bytearray()
            raise
        self._begun = bytearray()
        return message

    async def _edges_of_line(self) -> bytes:
        """Begin and end of a line that is too long; one without end ends the connection."""
        stdout = self._process.stdout
        head, tail, skipped = await stdout.readexactly(EDGE), b"", 0
        while not tail.endswith(b"\n"):
            try:
                rest = await stdout.readuntil()
            except asyncio.LimitOverrunError as error:
                rest = await stdout.readexactly(error.consumed)
            except asyncio.IncompleteReadError:
                break
            tail, skipped = (tail + rest)[-EDGE:], skipped + len(rest)
            if skipped > MOST_SKIPPED:
                self._process.stop_listening("sent a message that is too long")
                break
        return head + tail


async def send(process: ServerProcess, item: SessionMessage) -> None:
    """Write one line to the server."""
    if not process.is_connected:
        raise anyio.BrokenResourceError
    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    process.write(line.encode() + b"\n")
