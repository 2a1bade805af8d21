"""One message of a server, from bytes: bounded before it is parsed, and never simply lost.

Whoever made a call would wait in vain for an answer that cannot be read, so an error takes its
place. Importing this imports the SDK.
"""

import json
import re
from contextlib import suppress
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from mcp_ghost.results import parsed
from mcp_ghost.servers.protocol.lenient import BARE, TOO_DEEP

MOST_VALUES = 100_000
"""In one message. Each takes up to 200 bytes of memory, and time in which nothing else runs: a
thread would not help, because the parser keeps the interpreter's lock."""
EDGE = 1024
"""Bytes at either end of a message that say whose answer it is."""
MOST_LEVELS = 100
"""Of objects and lists in a list of tools; the SDK's parser reads no message of more than 200."""
MOST_SKIPPED = 64 * 1024 * 1024
"""Bytes of a message that is too long which are read to find its end, before the server is given
up."""
_MOST_OF_AN_ERROR = 65_536
_LENIENT = json.JSONDecoder(strict=False)
_MALFORMED = "The server sent a malformed reply"
_VALUE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)
"""A text, or what stands before another value. What is within a text does not count."""
_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
"""A text, or where an object or a list begins or ends."""
_REASON = re.compile(r"Invalid JSON: (.{1,100}?)(?: at line \d+ column \d+)? \[type=")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
"""Any escape; half a surrogate is the group."""
_ODD = re.compile(
    rb'"error"|"result"\s*:\s*[^{\s]|"id"\s*:\s*-?\d+\.|\A\s*\[|"jsonrpc"\s*:\s*(?!"2\.0"|\s)'
)
"""What may stand in a message that the SDK does not read as it is; texts escape the quotes."""
_BEHIND = re.compile(rb'\{\s*"jsonrpc".*\}', re.DOTALL)
"""A message on a line that a server had begun with other words, or with colours for a terminal."""
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


def taken(message: bytes) -> tuple[SessionMessage, bytes]:
    """The message that ``message`` is the JSON of, and the JSON that the SDK reads.

    Raises:
        UnreadableError: It is none, or has more than ``MOST_VALUES`` values.
    """
    check_values(message)
    better = mended(message)
    try:
        return _validated(better), better
    except ValueError as error:
        # Objects may follow each other, and their texts may hold any character.
        text, place, answers = message.decode("utf-8-sig", errors="replace"), 0, []
        with suppress(ValueError, RecursionError):
            while (start := text.find("{", place)) >= 0:
                found, place = _LENIENT.raw_decode(text, start)
                answers += [found] if _is_answer(found) else []
        with suppress(ValueError):
            if len(answers) == 1:
                better = mended(json.dumps(answers[0]).encode())
                return _validated(better), better
        raise UnreadableError(malformed(str(error))) from None


def _validated(message: bytes) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_json(message, by_name=False))


def mended(message: bytes) -> bytes:
    """``message`` as the SDK can read it, where a server is not strict about the protocol.

    Half a surrogate, and what is not UTF-8, becomes U+FFFD. An error gets a number as its code; its
    words stay. A result that is no object becomes one, an id such as 1.0 a whole number. The only
    answer in a batch, which 2025-03-26 has, stands for the batch; "jsonrpc" may be missing, and
    other words may come first.
    """
    if not message.isascii():
        message = message.decode("utf-8-sig", errors="replace").encode()
    if _SURROGATE.search(message):
        message = _ESCAPE.sub(lambda it: rb"\ufffd" if it[1] else it[0], message)
    if b'"tools"' in message:
        message = shallow(message)
    behind = None if message.lstrip()[:1] in (b"{", b"[") else _BEHIND.search(message)
    if behind is None and b'"jsonrpc"' in message and not _ODD.search(message):
        return message
    sent = parsed(behind[0] if behind else message)
    answers = [it for it in (sent if isinstance(sent, list) else [sent]) if _is_answer(it)]
    if len(answers) != 1:
        return message
    body = {**answers[0], "jsonrpc": "2.0"}
    error, result, id_ = body.get("error"), body.get("result"), body["id"]
    if error is not None and result is None:
        known = error if isinstance(error, dict) else {}
        is_proper = type(known.get("code")) is int and isinstance(known.get("message"), str)
        body["error"] = error if is_proper else error_of(error)
    elif not isinstance(result, dict):
        body["result"] = {BARE: result}
    if isinstance(id_, float) and id_.is_integer():
        body["id"] = int(id_)
    return json.dumps(body).encode()


def _is_answer(message: object) -> bool:
    return isinstance(message, dict) and "id" in message and bool({"result", "error"} & {*message})


def shallow(message: bytes) -> bytes:
    """``message`` with ``TOO_DEEP`` in place of what is nested more than ``MOST_LEVELS`` deep."""
    kept, level, pieces = 0, 0, []
    for found in _BRACKET.finditer(message):
        if found[0] in b"[{":
            level += 1
            if level == MOST_LEVELS + 1:
                pieces += [message[kept : found.start()], b'{"%b": true}' % TOO_DEEP.encode()]
        elif found[0] in b"]}":
            if level == MOST_LEVELS + 1:
                kept = found.end()
            level -= 1
    return b"".join([*pieces, message[kept:]])


def error_of(error: object) -> dict[str, Any]:
    """``error``, whatever it is, as one of JSON-RPC."""
    known = error if isinstance(error, dict) else {"message": error}
    code, words = known.get("code"), known.get("message")
    said = words if isinstance(words, str) and words else json.dumps(error, ensure_ascii=False)
    try:
        number = int(str(code))
    except ValueError:
        number = INTERNAL_ERROR
        said += f" ({code})" if isinstance(code, str) and code and code not in said else ""
    data = {"data": known["data"]} if "data" in known else {}
    return {"code": number, "message": said, **data}


def only_error(message: bytes) -> dict[str, Any] | None:
    """The object that ``message`` is the JSON of, if it only says an error, read in full."""
    body = parsed(message) if b'"error"' in message and len(message) < _MOST_OF_AN_ERROR else None
    if not isinstance(body, dict) or "result" in body or not body.get("error"):
        return None
    return {**body, "error": error_of(body["error"])}


def check_values(message: bytes) -> None:
    """Raise an UnreadableError, before it is parsed, for more than ``MOST_VALUES`` values."""
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
    error, id_ = ErrorData(code=INTERNAL_ERROR, message=why), parsed(found[1])
    return None if id_ is None else JSONRPCError(jsonrpc="2.0", id=id_, error=error)  # not UTF-8
