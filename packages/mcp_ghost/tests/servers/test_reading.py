"""Messages that are nearly right: half an emoji, errors that are not quite those of JSON-RPC."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    InitializeResult,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_ghost.results import result_from_mcp
from mcp_ghost.servers.protocol.events import readable_events
from mcp_ghost.servers.protocol.lenient import BARE, TOO_DEEP, readable
from mcp_ghost.servers.protocol.reading import MOST_LEVELS, mended, shallow, taken
from mcp_ghost.servers.protocol.wire import Wire

TEXTS = [
    (rb"a\ud83d", "a\ufffd"),
    (rb"\uDE00b", "\ufffdb"),
    (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
    (rb"\ud83d\n", "\ufffd\n"),
    (rb"\\ud83d", r"\ud83d"),
    (rb"\\\ud83d", "\\\ufffd"),
    (rb"\ud83d\ude00", "\U0001f600"),
    (b"\xff", "\ufffd"),
    (b"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"),
    (b"caf\xc3\xa9", "caf\u00e9"),
]
ERRORS: list[tuple[object, int, str]] = [
    ({"code": "NOT_FOUND", "message": "no such row"}, INTERNAL_ERROR, "no such row (NOT_FOUND)"),
    ({"code": "-32602", "message": "no such row"}, -32602, "no such row"),
    ({"code": -32000.0, "message": "x"}, INTERNAL_ERROR, "x"),
    ({"code": None, "message": "x"}, INTERNAL_ERROR, "x"),
    ({"message": "x"}, INTERNAL_ERROR, "x"),
    ({"code": 1}, 1, '{"code": 1}'),
    ({"code": 1, "message": None}, 1, '{"code": 1, "message": null}'),
    ({"code": 1, "message": {"de": "x"}}, 1, '{"code": 1, "message": {"de": "x"}}'),
    ({"detail": "x"}, INTERNAL_ERROR, '{"detail": "x"}'),
    ("out of cheese", INTERNAL_ERROR, "out of cheese"),
    (["x"], INTERNAL_ERROR, '["x"]'),
]


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


@pytest.mark.parametrize(("written", "text"), TEXTS)
async def test_half_a_surrogate_becomes_a_sign_of_its_own(written: bytes, text: str) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": {"t": "%b"}}' % written
    message = taken(line)[0].message
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"t": text}
    sent = pieces(b"id: 7\ndata: %b\n\n" % line)
    (event,) = [it async for it in readable_events(sent, 1000, is_answer=True)]
    assert event.startswith(b"id: 7\ndata: {")
    assert json.loads(event.partition(b"data: ")[2])["result"] == {"t": text}


async def test_a_byte_order_mark_is_no_part_of_a_message() -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'
    assert taken(b"\xef\xbb\xbf" + line)[0] == taken(line)[0]
    for end in (b"\n\n", b"\n", b""):
        sent = pieces(b"\xef\xbb\xbfdata: %b%b" % (line, end))
        assert [it async for it in readable_events(sent, 1000, is_answer=True)] == [
            b"data: %b\n\n" % line
        ]


@pytest.mark.parametrize(("error", "code", "words"), ERRORS)
def test_an_error_that_is_not_quite_one_keeps_its_words(
    error: object, code: int, words: str
) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    message = taken(line)[0].message
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code, message.error.message) == (1, code, words)


def test_what_is_right_stays_as_it_is() -> None:
    for line in (
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "x", "data": [1]}}',
        b'{"jsonrpc": "2.0", "id": 1, "error": null, "result": {"error": "x"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"error": {"code": "x"}}}',
        b'"error" \\ud83d\\ude00',
        b'Got {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}',
        b'Got {"jsonrpc": "2.0", "id": 7, "result"',
    ):
        assert mended(line) == line


RESULT = b'"result": {"content": []}'


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 7.0, %b}' % RESULT,
        b'{"id": 7, %b}' % RESULT,
        b'{"jsonrpc": "1.0", "id": 7, %b}' % RESULT,
        b'{"jsonrpc": 2.0, "id": 7, %b}' % RESULT,
        b'[{"jsonrpc": "2.0", "id": 7, %b}]' % RESULT,
        b'[{"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 7, %b}]' % RESULT,
        b'{"jsonrpc": "2.0", "id": 7, "result": []}',
        b'Calling... {"jsonrpc": "2.0", "id": 7, %b}' % RESULT,
        b'\x00{"jsonrpc": "2.0", "id": 7, %b}' % RESULT,
        b'\x1b[32m{"jsonrpc": "2.0", "id": 7, %b}\x1b[0m' % RESULT,
        b'{"jsonrpc": "2.0", "result": null, "id": 7, "error": null}',
        b'{"jsonrpc": "2.0", "id": 7, "result": "done"}',
        b'{"jsonrpc": "2.0", "id": 7, "result": {"content": "a\tb\x01"}}',
        b'{"jsonrpc": "2.0", "id": 7, %b} done in 3 ms' % RESULT,
        b'{"jsonrpc": "2.0", "method": "x"} {"jsonrpc": "2.0", "id": 7, %b}' % RESULT,
    ],
)
async def test_an_answer_that_is_not_quite_one_is_read(line: bytes) -> None:
    message = taken(line)[0].message
    assert isinstance(message, JSONRPCResponse)
    assert (type(message.id), message.id) == (int, 7)
    sent = pieces(b"data: %b\n" % line)  # also where the stream ends without a blank line
    (event,) = [it async for it in readable_events(sent, 1000, is_answer=True)]
    assert json.loads(event.partition(b"data: ")[2])["id"] == 7


@pytest.mark.parametrize("begin", [b"data: ", b"event: message\ndata: ", b"", b" "])
async def test_an_answer_on_lines_that_are_no_fields_is_read(begin: bytes) -> None:
    lines = b'{\n  "jsonrpc": "2.0",\n  "id": 7,\n  %b\n}\n' % RESULT
    sent = pieces(begin + lines + (b"\n" if begin.strip() else b""))
    (event,) = [it async for it in readable_events(sent, 1000, is_answer=True)]
    assert json.loads(event.replace(b"data: ", b""))["id"] == 7


@pytest.mark.parametrize("name", [b"response", b"result", b"tools/call", b"data"])
async def test_an_answer_in_an_event_of_another_name_is_read(name: bytes) -> None:
    line = b'{"jsonrpc": "2.0", "id": 7, %b}' % RESULT
    sent = pieces(b"id: 1\nevent: %b\ndata: %b\n\n" % (name, line))
    (event,) = [it async for it in readable_events(sent, 1000, is_answer=True)]
    assert event == b"id: 1\ndata: %b\n\n" % line
    ping = b"event: %b\ndata: {}\n\n" % name  # of which a server may send what it likes
    assert [it async for it in readable_events(pieces(ping), 1000, is_answer=True)] == [ping]


async def test_an_event_that_was_cut_off_is_left_to_be_asked_for_again() -> None:
    sent = pieces(b'id: 7\ndata: {"jsonrpc": "2.0", "id": 7, "resu')
    assert [it async for it in readable_events(sent, 1000, is_answer=True)] == []


def test_an_error_for_nobody_is_for_the_only_one_who_waits() -> None:
    error = taken(b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}}')[0]
    wire = Wire()
    for waiting in (1, 2):
        wire.sent(JSONRPCRequest(jsonrpc="2.0", id=waiting, method="tools/call"))
        received = wire.received(error)
        assert isinstance(received, SessionMessage)
        assert isinstance(received.message, JSONRPCError)
        assert received.message.id == waiting
    wire.sent(JSONRPCRequest(jsonrpc="2.0", id=3, method="tools/call"))
    wire.sent(JSONRPCRequest(jsonrpc="2.0", id=4, method="tools/call"))
    assert wire.received(error) is error


def test_an_error_about_a_notification_is_nobodys() -> None:
    error = taken(b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "x"}}')[0]
    wire = Wire()
    wire.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list"))
    assert wire.received(error) is error
    asked = Wire()
    asked.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method="server/discover"))
    assert asked.received(error) is not error


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    "tools",
    [
        {"x": {"inputSchema": SCHEMA}},
        {"name": "x", "inputSchema": SCHEMA},
        [{"name": "x", "input_schema": SCHEMA}],
        [{"name": "x", "parameters": SCHEMA}],
        [{"name": "x", "inputschema": SCHEMA}],
        [{"name": "x", "InputSchema": SCHEMA, "inputSchema": None}],
        [{"name": "x", "jsonSchema": SCHEMA}],
        [{"name": "x", "inputSchema": {}, "schema": SCHEMA}],
        [{"name": "x", "inputSchema": json.dumps(SCHEMA)}],
        [{"type": "function", "function": {"name": "x", "parameters": SCHEMA}}],
    ],
)
def test_tools_that_are_not_written_as_mcp_has_them_keep_their_parameters(tools: object) -> None:
    (tool,) = readable("tools/list", {"tools": tools})["tools"]
    assert (tool["name"], tool["inputSchema"]) == ("x", SCHEMA)
    assert tool["_meta"]["mcp_ghost/as-sent"]["inputSchema"] == SCHEMA


@pytest.mark.parametrize(
    ("method", "bare", "found"),
    [
        ("tools/list", [{"name": "x"}], ["x"]),
        ("tools/list", None, []),
        ("tools/call", "done", "done"),
        ("tools/call", [{"type": "text", "text": "done"}], "done"),
        ("tools/call", None, ""),
        ("ping", [], None),
    ],
)
def test_a_result_that_is_no_object_is_taken_for_what_it_should_hold(
    method: str, bare: object, found: object
) -> None:
    result = readable(method, {BARE: bare})
    if method == "tools/list":
        assert [tool["name"] for tool in result["tools"]] == found
    elif method == "tools/call":
        assert result_from_mcp(result["_meta"]["mcp_ghost/as-sent"]).content == found


@pytest.mark.parametrize(
    "sent",
    [
        {"capabilities": [], "serverInfo": {"name": "x"}},  # PHP's {}
        {"capabilities": {"tools": [], "logging": []}, "serverInfo": {"name": "x", "version": 1.5}},
        {"capabilities": {"tools": True, "experimental": {"x": True}}, "instructions": ["x"]},
        {"capabilities": None, "serverInfo": None, "instructions": None},
        {},
    ],
)
@pytest.mark.parametrize(
    "version",
    ["2024-10-07", "2025-06-18", "1.0", "%params/protocolVersion%", 2, None],
)
def test_a_greeting_that_is_not_quite_one_is_read(sent: dict[str, Any], version: object) -> None:
    read = InitializeResult.model_validate(
        readable("initialize", {"protocolVersion": version, **sent})
    )
    assert read.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    assert read.capabilities.tools is not None
    assert read.instructions is None


def test_what_is_nested_too_deeply_is_replaced_and_the_rest_stays() -> None:
    deep = b'{"a": [' * 60 + b'"[[{"' + b"]}" * 60
    flat = b'{"tools": [{"name": "x", "inputSchema": {"type": "object"}}], "t": "]]"}'
    assert shallow(flat) == flat
    found = json.loads(shallow(b'{"tools": [%b, {"name": "]"}], "n": 1}' % deep))
    assert (found["tools"][1], found["n"]) == ({"name": "]"}, 1)
    assert TOO_DEEP in json.dumps(found["tools"][0])
    assert shallow(b"[" * 90_000 + b"]" * 90_000).count(b"[") == MOST_LEVELS
