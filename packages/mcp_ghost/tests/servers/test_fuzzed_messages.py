"""Whatever bytes a server sends: nothing but messages comes of them, and no call waits for long."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from mcp_ghost.errors import MCPServerDiedError
from mcp_ghost.redact import Redactor
from mcp_ghost.results import result_from_mcp
from mcp_ghost.servers.links.stdio_streams import Incoming
from mcp_ghost.servers.protocol.events import readable_events
from mcp_ghost.servers.protocol.reading import EDGE
from mcp_ghost.servers.protocol.wire import Wire
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.servers.tools import list_tools
from tests.support import PATIENCE
from tests.support.servers import wild

if TYPE_CHECKING:
    from mcp import Client

    from mcp_ghost.servers.process import ServerProcess

MOST_BYTES = 4 * EDGE
KEYS = st.sampled_from(
    [
        *("jsonrpc", "id", "result", "error", "method", "params", "content", "type", "text"),
        *("resource", "structuredContent", "isError", "resultType", "inputRequests", "_meta"),
        *("progressToken", "tools", "name", "inputSchema", "properties", "annotations", "code"),
        *("nextCursor", "ttlMs", "message", "data", "requestId", "supportedVersions"),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["2.0", "text", "image", "complete", "input_required", "object", "echo"]),
)
JSON_VALUES = st.recursive(
    LEAVES,
    lambda it: st.lists(it, max_size=4) | st.dictionaries(KEYS, it, max_size=5),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON_VALUES, max_size=6)


@st.composite
def garbled(draw: st.DrawFn, good: bytes) -> bytes:
    """``good`` with other bytes at some places, on one line."""
    line = bytearray(good)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        junk = st.binary(max_size=6) | st.sampled_from(
            [b"\xff", b"9" * 5000, b"[" * 300, b'"', b"1e999"]
        )
        line[at : at + draw(st.integers(0, 4))] = draw(junk)
    return re.sub(rb"[\r\n]", b" ", bytes(line))


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Something like a message, in which ID stands for a call's."""
    kind = draw(st.sampled_from(["result", "error", "any", "request"]))
    body = draw(OBJECTS if kind != "any" else JSON_VALUES)
    message: Any = body
    if kind in ("result", "error"):
        message = {"jsonrpc": "2.0", "id": "ID", kind: body}
    elif kind == "request":
        method = draw(st.sampled_from(["ping", "elicitation/create", "notifications/progress"]))
        message = {"jsonrpc": "2.0", "id": draw(LEAVES), "method": method, "params": body}
    text = json.dumps(message, allow_nan=True).replace('"ID"', "ID")
    return draw(garbled(text.encode()))


class Output:
    """The stdout of a process."""

    def __init__(self, data: bytes) -> None:
        self.stdout = asyncio.StreamReader(limit=MOST_BYTES)
        self.stdout.feed_data(data)
        self.stdout.feed_eof()
        self.fault = ""

    def stop_listening(self, fault: str) -> None:
        self.fault = fault

    def skip(self, line: bytes) -> None:
        pass


async def all_of(data: bytes) -> list[SessionMessage]:
    incoming = Incoming(cast("ServerProcess", Output(data)), MOST_BYTES)
    found = []
    while True:
        try:
            found.append(await incoming.receive())
        except anyio.EndOfStream:
            return found


@pytest.mark.parametrize(
    "head", [b"Content-Length: %d\r\n\r\n", b"content-length: %d\nContent-Type: x\n\n"]
)
async def test_messages_are_read_whose_length_stands_before_them(head: bytes) -> None:
    answer = b'{"jsonrpc": "2.0",\n"id": 1, "result": {}}'
    framed = head % len(answer) + answer
    (first, second) = await all_of(framed + framed)
    assert first == second
    logged = b"Content-Length: 999\nHost: x\n\n" + answer.replace(b"\n", b"") + b"\n"
    assert await all_of(logged) == [first]


@pytest.mark.fuzz
@given(st.lists(messages(), max_size=4))
def test_of_lines_only_messages_are_made(lines: list[bytes]) -> None:
    found = asyncio.run(all_of(b"".join(line + b"\n" for line in lines)))
    assert all(isinstance(item, SessionMessage) for item in found)
    assert len(found) <= len(lines)


@pytest.mark.fuzz
@given(
    OBJECTS.flatmap(lambda it: garbled(json.dumps(it).encode())),
    st.booleans(),
    st.integers(0, 2**53),
)
def test_what_begins_as_an_answer_is_answered(result: bytes, is_late: bool, id_: int) -> None:
    line = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id_, result)
    if is_late:
        line = b'{"result":%b,"jsonrpc":"2.0","id":%d}' % (result, id_)
    (item,) = asyncio.run(all_of(line + b"\n"))
    assert isinstance(item, SessionMessage)


@pytest.mark.fuzz
@given(st.sampled_from(["tools/list", "tools/call", "server/discover", "initialize"]), OBJECTS)
def test_every_answer_can_be_passed_on_and_read(method: str, result: dict[str, Any]) -> None:
    wire = Wire()
    wire.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params={}))
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    item = wire.received(SessionMessage(answer))
    assert isinstance(item, SessionMessage)
    assert isinstance(item.message, JSONRPCResponse | JSONRPCError)
    result_from_mcp(Redactor(["hunter22"]).each(result)).to_dict()


class Lister:
    """A client of a server with one page of tools."""

    def __init__(self, page: dict[str, Any]) -> None:
        from mcp.types import ListToolsResult

        from mcp_ghost.servers.protocol.lenient import readable

        self._page = ListToolsResult.model_validate(readable("tools/list", page))

    async def list_tools(self, **_: object) -> object:
        return self._page


@pytest.mark.fuzz
@given(st.lists(JSON_VALUES, max_size=5), OBJECTS)
def test_every_list_of_tools_is_read(tools: list[object], more: dict[str, Any]) -> None:
    lister = cast("Client", Lister({**more, "tools": tools}))
    found = asyncio.run(list_tools(lister, "s", lambda _: True))
    assert len(found.tools) <= len(tools)
    assert all(tool["function"]["name"] for tool in found.tools)


async def events_of(data: bytes, cuts: list[int]) -> bytes:
    async def chunks() -> AsyncIterator[bytes]:
        begin = 0
        for end in sorted({*(cut % (len(data) + 1) for cut in cuts), len(data)}):
            yield data[begin:end]
            begin = end

    return b"".join([it async for it in readable_events(chunks(), MOST_BYTES, is_answer=True)])


@pytest.mark.fuzz
@example([rb'{"error": ["\ud800"]}'], b"\n\n", [])
@given(
    st.lists(messages(), max_size=4),
    st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]),
    st.lists(st.integers(0, 10**6), max_size=6),
)
def test_events_are_the_same_however_they_are_cut(
    lines: list[bytes], end: bytes, cuts: list[int]
) -> None:
    short = [line for line in lines if len(line) < EDGE]  # where a longer one is cut may be told
    data = b"".join(b"data: " + line + end for line in short)
    whole = asyncio.run(events_of(data, []))
    assert asyncio.run(events_of(data, cuts)) == whole
    for event in re.split(rb"\r\n\r\n|\n\n|\r\r", whole):
        assert len(event) <= MOST_BYTES


async def call_each(transport: str, raws: list[bytes]) -> None:
    with wild(transport) as config:
        async with ServerSession("s", config) as session:
            for raw in raws:
                arguments = {"kind": "raw", "hex": raw.hex()}
                try:
                    await session.call("answer", arguments, PATIENCE)
                except MCPServerDiedError:
                    assert not session.is_alive
                    return
                assert session.is_alive
            assert (await session.call("answer", {"kind": "fine"}, PATIENCE)).content == "on"


@pytest.mark.mcp
@pytest.mark.fuzz
@settings(max_examples=5)
@given(st.sampled_from(["stdio", "json", "events", "sse"]), st.lists(messages(), max_size=20))
def test_a_session_outlives_what_a_server_says(transport: str, raws: list[bytes]) -> None:
    asyncio.run(call_each(transport, raws))
