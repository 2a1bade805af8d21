"""The SDK's message streams over a server process; importing it imports the SDK.

What is not a JSON-RPC message on the server's stdout is skipped: many servers print a banner.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

if TYPE_CHECKING:
    from mcp_ghost.servers.process import ServerProcess

_logger = logging.getLogger(__name__)


class Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """Messages from the server, until its output ends."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._noticed_garbage = False

    async def receive(self) -> SessionMessage | Exception:
        """The next message; EndOfStream after the last."""
        while line := await self._read_line():
            try:
                return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError:
                if reply := _refusal_of(line):
                    return reply
                if not self._noticed_garbage and not line.isspace():
                    self._noticed_garbage = True
                    _logger.debug("Skipping output that is not JSON-RPC, first: %r", line[:200])
            # Lines that are already here are read without a pause: a server that pours them out
            # would leave no time for timeouts and signals.
            await anyio.lowlevel.checkpoint()
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """The process owns the pipe."""

    async def _read_line(self) -> bytes:
        try:
            return await self._process.stdout.readline()
        except ValueError:
            # The rest would be read as garbage and its caller would wait for nothing.
            self._process.stop_listening("sent a message that is too long")
            return b""


def _refusal_of(line: bytes) -> SessionMessage | None:
    """An error in place of a malformed reply, for which its caller would wait until the timeout."""
    try:
        reply = json.loads(line)
    except ValueError:
        return None
    if not isinstance(reply, dict) or not isinstance(reply.get("id"), int | str):
        return None
    if "method" in reply or not reply.keys() & {"result", "error"}:
        return None
    error = ErrorData(code=INTERNAL_ERROR, message="The server sent a malformed reply")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=reply["id"], error=error))


class Outgoing(ObjectSendStream[SessionMessage]):
    """Messages to the server."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    async def send(self, item: SessionMessage) -> None:
        """Write one line."""
        if not self._process.is_connected:
            raise anyio.BrokenResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._process.write(line.encode() + b"\n")

    async def aclose(self) -> None:
        """The process owns the pipe."""
