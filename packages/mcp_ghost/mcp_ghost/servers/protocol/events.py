"""Server-sent events, each looked at as a whole before the SDK gets it.

The SDK bounds their length, but neither what they hold nor how long nobody learns that one could
not be read. Importing this imports the SDK.
"""

import codecs
import re
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress

from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError

from mcp_ghost.servers.protocol.reading import (
    EDGE,
    MOST_SKIPPED,
    UnreadableError,
    mended,
    only_error,
    refusal,
    taken,
    too_long,
)

_END = re.compile(rb"\r?\n\r?\n|\r\r")
_LONGEST_END = 4
_NAME = re.compile(rb"^event: *(?!message\s*$)\S", re.MULTILINE)
"""Of an event that is none of a message; the SDK skips it, though it may well hold one."""
_MOST_LINES = 10_000
"""Of one event: each costs more memory than it has bytes."""


async def readable_events(
    chunks: AsyncIterable[bytes], most_bytes: int, *, is_answer: bool
) -> AsyncIterator[bytes]:
    """The events in ``chunks``; in place of one that cannot be read, an error for its caller.

    ``is_answer``: the stream answers one request, and the SDK knows which.

    Raises:
        UnreadableError: One has more than ``most_bytes``, and nobody can be told.
    """
    pending, skipped = bytearray(), 0
    async for chunk in chunks:
        searched, begin = max(0, len(pending) - _LONGEST_END), 0
        pending += chunk
        for end in _END.finditer(pending, searched):
            event, begin = bytes(pending[begin : end.end()]), end.end()
            yield _readable(event, most_bytes, is_answer, is_cut=skipped > 0)
            skipped = 0
        del pending[:begin]
        if len(pending) > most_bytes:
            skipped += len(pending) - 2 * EDGE
            del pending[EDGE:-EDGE]
            if skipped > MOST_SKIPPED:
                raise UnreadableError(too_long(most_bytes))
    with suppress(UnreadableError):  # else it was cut off, and may be asked for again
        last = bytes(pending).removeprefix(codecs.BOM_UTF8)
        data = data_of(last) or last.strip()  # no event at all, but an answer
        if data and not skipped:
            yield _event(taken(data)[1])


def _readable(event: bytes, most_bytes: int, is_answer: bool, *, is_cut: bool) -> bytes:
    event = event.removeprefix(codecs.BOM_UTF8)
    ends = event.count(b"\n") + event.count(b"\r")
    if is_cut or len(event) > most_bytes or ends > _MOST_LINES:
        why = too_long(most_bytes)
        error = _in_place_of(data_of(event[:EDGE] + event[-EDGE:]), why, is_answer)
        if error is None:
            raise UnreadableError(why)
        return error
    data = data_of(event)
    if not data:
        return event
    is_named = _NAME.search(event) is not None
    try:
        better = taken(data)[1]
    except UnreadableError as error:
        if is_named:
            return event
        with suppress(UnreadableError):  # whose lines after the first have no name
            return _event(taken(event.partition(b"data:")[2])[1])
        return _in_place_of(data, str(error), is_answer) or b": not a message\n\n"
    if better == data and not is_named:
        return event
    others = [it for it in event.splitlines() if it and not it.startswith((b"data", b"event"))]
    return _event(better, *others)


def _event(message: bytes, *others: bytes) -> bytes:
    return b"\n".join([*others, *(b"data: " + line for line in message.splitlines()), b"", b""])


def data_of(event: bytes) -> bytes:
    """The data of an event."""
    fields = [line.partition(b":") for line in event.splitlines()]
    return b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")


def _in_place_of(data: bytes, why: str, is_answer: bool) -> bytes | None:
    error = refusal(data, why)
    if error is None and is_answer:
        said = (only_error(mended(data)) or {}).get(
            "error", {"code": INTERNAL_ERROR, "message": why}
        )
        error = JSONRPCError(jsonrpc="2.0", id=0, error=ErrorData(**said))
    return None if error is None else _event(error.model_dump_json(by_alias=True).encode())
