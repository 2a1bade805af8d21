"""One message of a server, from bytes: bounded before it is parsed, and never simply lost.

Whoever made a call would wait in vain for an answer that cannot be read, so an error takes its
place. Importing this imports the SDK.
"""

from __future__ import annotations

import json
import re

from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

MOST_VALUES = 100_000
"""In one message. Each takes up to 200 bytes of memory, and time in which nothing else runs: a
thread would not help, because the parser keeps the interpreter's lock."""
EDGE = 1024
"""Bytes at either end of a message that say whose answer it is."""
MOST_SKIPPED = 64 * 1024 * 1024
"""Bytes of a message that is too long which are read to find its end, before the server is given
up."""
_MALFORMED = "The server sent a malformed reply"
_VALUE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)
"""A text, or what stands before another value. What is within a text does not count."""
_REASON = re.compile(r"Invalid JSON: (.{1,100}?)(?: at line \d+ column \d+)? \[type=")
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\\x00-\x1f]{1,100}")'
_ANSWER = rb'"(?:result|error)"\s*:'
_ID_FIRST = re.compile(
    rb"\s*\{\s*(?:%b\s*,\s*)?%b\s*,\s*(?:%b\s*,\s*)?%b" % (_VERSION, _ID, _VERSION, _ANSWER)
)
_ANSWER_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b" % (_VERSION, _ANSWER))
_ID_LAST = re.compile(rb",\s*%b\s*(?:,\s*%b\s*)?\}\s*\Z" % (_ID, _VERSION))


class UnreadableError(ValueError):
    """Raised when a message is not read; says why."""


def read(message: bytes) -> SessionMessage:
    """The message that ``message`` is the JSON of.

    Raises:
        UnreadableError: It is none, or has more than ``MOST_VALUES`` values.
    """
    check_values(message)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(message, by_name=False))
    except ValueError as error:
        raise UnreadableError(malformed(str(error))) from None


def check_values(message: bytes) -> None:
    """Refuse ``message`` before it is parsed if it has more than ``MOST_VALUES`` values.

    Raises:
        UnreadableError: It has.
    """
    # Counting bytes is fast, and in nearly all messages it settles the matter.
    if sum(map(message.count, (b",", b"[", b"{"))) < MOST_VALUES:
        return
    if any(number >= MOST_VALUES for number, _ in enumerate(_VALUE.finditer(message), 1)):
        raise UnreadableError(f"The server sent a reply of more than {MOST_VALUES:,} values")


def malformed(why: str) -> str:
    """What to say of a reply that the SDK refused because of ``why``."""
    reason = _REASON.search(why)
    return f"{_MALFORMED}: {reason[1]}" if reason else _MALFORMED


def too_long(most_bytes: int) -> str:
    """What to say of a reply of more than ``most_bytes``."""
    return f"The server sent a reply of more than {most_bytes:,} bytes (see max_message_bytes)"


def refusal(message: bytes, why: str) -> JSONRPCError | None:
    """The error that answers the call which ``message`` should have answered.

    Its first and last ``EDGE`` bytes suffice: the parts of an answer may come in any order.
    """
    found = _ID_FIRST.match(message)
    if found is None and _ANSWER_FIRST.match(message):
        found = _ID_LAST.search(message, max(0, len(message) - EDGE))
    if found is None:
        return None
    try:
        id_ = json.loads(found[1])
    except ValueError:  # not UTF-8
        return None
    error = ErrorData(code=INTERNAL_ERROR, message=why)
    return JSONRPCError(jsonrpc="2.0", id=id_, error=error)
