"""Streams as servers send them that speak a provider's format only nearly.

The tables are of what proxies and local servers were seen to send; the framing is that of
https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import httpx2
import pytest

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.messages import LLMResponse
from mcp_ghost.providers.streaming import EventReader
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.testing.wires import WireName
from tests.support.wires import llm_client

Pieces: TypeAlias = Sequence[Mapping[str, Any]]
EVENT_STREAM = {"Content-Type": "text/event-stream"}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("s.t", "s.u")]


class Body(httpx2.AsyncByteStream):
    """A body in these parts, after which the connection is held if ``holds``."""

    def __init__(self, parts: Iterable[bytes], *, holds: bool = False) -> None:
        self._parts = parts
        self._holds = holds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        if self._holds:
            await asyncio.sleep(30)


def heard(
    wire: WireName,
    *parts: bytes,
    headers: Mapping[str, str] = EVENT_STREAM,
    streams: bool = True,
    holds: bool = False,
    most: int = 1,
) -> tuple[LLMResponse, list[str], int]:
    """The reply to the only request, what was told of it in the meantime, and the requests."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        assert len(asked) <= most
        return httpx2.Response(200, headers=dict(headers), stream=Body(parts, holds=holds))

    told: list[str] = []

    async def tell(delta: tuple[str, str]) -> None:
        told.append(delta[1])

    client = llm_client(
        wire,
        "key",
        "m",
        "http://127.0.0.1:1",
        transport=httpx2.MockTransport(answer),
        retry=RetryPolicy(initial_delay=0.0),
        timeout=5.0,
    )
    messages = [{"role": "user", "content": "Hello."}]
    response = asyncio.run(
        client.complete(messages, tools=TOOLS, on_delta=tell if streams else None)
    )
    return response, told, len(asked)


def events(pieces: Pieces, *, done: bool = True) -> bytes:
    end = b"data: [DONE]\n\n" if done else b""
    return b"".join(b"data: " + json.dumps(it).encode() + b"\n\n" for it in pieces) + end


# --- framing, on each wire


def openai(finish: str | None = None, index: int = 0, **delta: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def gemini(finish: str | None = None, *parts: Mapping[str, Any]) -> dict[str, Any]:
    said = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return {"candidates": [{key: it for key, it in said.items() if it is not None}]}


def block(index: int | None, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def grown(index: int | None, **delta: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "content_block_delta", "index": index, "delta": delta}


BEGUN = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}}
ENDED: list[dict[str, Any]] = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
WORDS: dict[WireName, Pieces] = {
    "openai": [openai(role="assistant", content="Schö"), openai(content="n."), openai("stop")],
    "responses": [
        {"type": "response.created", "response": {"object": "response", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
        *({"type": "response.output_text.delta", "delta": it} for it in ("Schö", "n.")),
        {"type": "response.completed", "response": {"status": "completed", "what": "stop"}},
    ],
    "anthropic": [
        BEGUN,
        block(0, {"type": "text", "text": ""}),
        grown(0, type="text_delta", text="Schö"),
        grown(0, type="text_delta", text="n."),
        *ENDED,
    ],
    "gemini": [gemini(None, {"text": "Schö"}), gemini("STOP", {"text": "n."})],
}
WHOLE: dict[WireName, Mapping[str, Any]] = {
    "openai": {"choices": [{"message": {"content": "Schön."}, "finish_reason": "stop"}]},
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Schön."}]},
        ],
    },
    "anthropic": {
        "type": "message",
        "content": [{"type": "text", "text": "Schön."}],
        "stop_reason": "end_turn",
    },
    "gemini": gemini("STOP", {"text": "Schön."}),
}
every_wire = pytest.mark.parametrize("wire", WORDS)
FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "carriage returns": lambda body: body.replace(b"\n", b"\r"),
    "both together": lambda body: body.replace(b"\n", b"\r\n"),
    "blank lines first": lambda body: b"\n\r\n" + body,
    "comments": lambda body: b": keep-alive\n\n" + body.replace(b"\n\n", b"\n\n:\n\n"),
    "no space after the colon": lambda body: body.replace(b"data: ", b"data:"),
    "other fields": lambda body: b"retry: 10\n" + body.replace(b"data", b"id: 7\ndata"),
    "no blank line at the end": lambda body: body.rstrip(b"\n"),
    "no blank lines": lambda body: body.replace(b"\n\n", b"\n"),
    "no mark of the end": lambda body: body.replace(b"data: [DONE]\n\n", b""),
    "empty events": lambda body: b"data:\n\ndata\n\ndata: null\n\ndata: {}\n\n" + body,
    "what is no JSON": lambda body: b"data: working\n\n" + body,
    "the field's name twice": lambda body: body.replace(b"data: ", b"data: data: "),
    "one object on each line": lambda body: body.replace(b"data: ", b""),
}


@every_wire
def test_a_stream_is_read_however_it_is_framed(wire: WireName) -> None:
    for framing, framed in FRAMINGS.items():
        for size in (1, 7, 10_000):
            body = framed(events(WORDS[wire]))
            parts = [body[start : start + size] for start in range(0, len(body), size)]
            response, told, _ = heard(wire, *parts)
            assert response.content == "".join(told) == "Schön.", (framing, size)
            assert response.finish_reason == "stop", (framing, size)


@every_wire
@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain; charset=utf-8",
        "application/json",
        "Text/Event-Stream",
        "application/x-ndjson",
    ],
)
@pytest.mark.parametrize("streams", [True, False])
def test_a_reply_is_read_whatever_its_content_type(
    wire: WireName, kind: str, streams: bool
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    for body in (events(WORDS[wire]), json.dumps(WHOLE[wire]).encode()):
        response, told, _ = heard(wire, body, headers=headers, streams=streams)
        assert response.content == "Schön."
        assert "".join(told) == ("Schön." if streams else "")


@every_wire
def test_a_list_of_pieces_and_one_event_that_holds_all_are_read_too(wire: WireName) -> None:
    for body in (json.dumps(WORDS[wire]).encode(), events([WHOLE[wire]])):
        assert heard(wire, body)[0].content == "Schön."


@every_wire
def test_the_mark_of_the_end_is_an_end_also_without_a_reason(wire: WireName) -> None:
    without = [it for it in WORDS[wire] if it not in ENDED]
    without = json.loads(json.dumps(without).replace("finishReason", "other"))
    pieces = [it for it in without if "stop" not in json.dumps(it)]
    response, _, asked = heard(wire, events(pieces))
    assert (response.content, asked) == ("Schön.", 1)


@every_wire
def test_a_server_that_holds_the_connection_after_the_end_is_not_waited_for(
    wire: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.providers.transport._LINGERING_SECONDS", 0.01)
    response, _, _ = heard(wire, events(WORDS[wire]), holds=True)
    assert response.content == "Schön."


@every_wire
def test_a_stream_without_any_end_is_asked_for_once_more(wire: WireName) -> None:
    with pytest.raises(LLMError, match="ended before the answer did"):
        heard(wire, events(WORDS[wire][:1], done=False), most=2)


# --- errors in a stream that began as a success

ERRORS: dict[str, bytes] = {
    "as OpenAI has them": b'data: {"error": {"message": "Too much.", "code": 400}}\n\n',
    "with a code in quotes": b'data: {"error": {"message": "Too much.", "code": "400"}}\n\n',
    "of vLLM": b'data: {"object": "error", "message": "Too much.", "code": 400}\n\n',
    "of an event": b'event: error\ndata: {"message": "Too much.", "code": 400}\n\n',
}


@every_wire
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_in_a_stream_is_the_servers_error(wire: WireName, error: str) -> None:
    if wire != "openai" and error == "of vLLM":
        return  # it speaks OpenAI's format
    for body in (ERRORS[error], events(WORDS[wire][:1], done=False) + ERRORS[error]):
        with pytest.raises(LLMStatusError, match=r"Too much\.") as caught:
            heard(wire, body)
        assert caught.value.status == 400


@every_wire
def test_an_error_in_plain_words_keeps_them(wire: WireName) -> None:
    with pytest.raises(LLMError, match="upstream went away"):
        heard(wire, b"event: error\ndata: upstream went away\n\n", most=2)


# --- calls


def call(
    name: str | None = None,
    arguments: object = "",
    **more: Any,  # noqa: ANN401
) -> dict[str, Any]:
    return openai(tool_calls=[{**more, "function": {"name": name, "arguments": arguments}}])


ONE = [("s.t", {"a": 1})]
TWO = [("s.t", {"a": 1}), ("s.u", {})]
SAME = [("s.t", {"a": 1}), ("s.t", {"a": 2})]
CALLS: dict[str, tuple[Pieces, Sequence[tuple[str, object]]]] = {
    "name and id with each piece": (
        [call("s_t", it, index=0, id="1") for it in ("", '{"a":', "1}")],
        ONE,
    ),
    "the name alone with each piece": (
        [call("s_t", "", index=0, id="1"), *[call("s_t", it, index=0) for it in ('{"a":', "1}")]],
        ONE,
    ),
    "a name in pieces": (
        [call("s", "", index=0, id="1"), call("_t", "", index=0), call(None, '{"a":1}', index=0)],
        ONE,
    ),
    "another id with each piece": (
        [call("s_t", '{"a":', index=0, id="1"), call("s_t", "1}", index=0, id="2")],
        ONE,
    ),
    "an id that comes late": (
        [call("s_t", "", index=0, id=None), call(None, '{"a":1}', index=0, id="1")],
        ONE,
    ),
    "one call at two indexes": (
        [call("s_t", '{"a":1}', index=0, id="1"), call("s_t", '{"a":1}', index=1, id="1")],
        ONE,
    ),
    "another index with each piece": (
        [call("s_t", '{"a":', index=0, id="1"), call(None, "1}", index=1, id="1")],
        ONE,
    ),
    "the whole once more at the end": (
        [
            *[call("s_t", it, index=0, id="1") for it in ('{"a":', "1}")],
            call("s_t", '{"a": 1}', index=0, id="1"),
        ],
        ONE,
    ),
    "an empty object first": (
        [
            call("s_t", "{}", index=0, id="1"),
            call(None, '{"a":', index=0),
            call(None, "1}", index=0),
        ],
        ONE,
    ),
    "all so far with each piece": (
        [call("s_t", it, index=0, id="1") for it in ("", '{"', '{"a', '{"a":', '{"a":1}')],
        ONE,
    ),
    "an object within one, under the same name": (
        [call("s_t", '{"a":', index=0, id="1"), call(None, '{"a":1}}', index=0)],
        [("s.t", {"a": {"a": 1}})],
    ),
    "all so far, without the name": (
        [
            call("s_t", "{", index=0, id="1"),
            call(None, '{"a":', index=0),
            call(None, '{"a":1}', index=0),
        ],
        ONE,
    ),
    "all so far, as an object that grows": (
        [call("s_t", it, index=0, id="1") for it in ("{}", '{"b": ""}', '{"a": 1}')],
        ONE,
    ),
    "the whole twice behind nothing": (
        [call("s_t", "", index=0, id="1"), *[call(None, '{"a": 1}', index=0)] * 2],
        ONE,
    ),
    "arguments as an object": ([call("s_t", {"a": 1}, index=0, id="1")], ONE),
    "arguments of false": ([call("s_t", False, index=0, id="1")], [("s.t", False)]),
    "arguments as null": (
        [call("s_t", None, index=0, id="1"), call(None, '{"a":1}', index=0)],
        ONE,
    ),
    "no index": ([call("s_t", '{"a":', id="1"), call(None, "1}"), call("s_u", "{}", id="2")], TWO),
    "null as the index": (
        [call("s_t", '{"a":', index=None, id="1"), call(None, "1}", index=None)],
        ONE,
    ),
    "an index in quotes": (
        [call("s_t", '{"a":', index="0", id="1"), call(None, "1}", index="0")],
        ONE,
    ),
    "neither id nor index": ([call("s_t", '{"a":1}'), call("s_u", "{}")], TWO),
    "one index for two": (
        [call("s_t", '{"a":1}', index=0, id="1"), call("s_u", "{}", index=0, id="2")],
        TWO,
    ),
    "one id for two": (
        [call("s_t", '{"a":1}', index=0, id="1"), call("s_u", "{}", index=1, id="1")],
        TWO,
    ),
    "one id for two of one tool": (
        [call("s_t", '{"a":1}', index=0, id="1"), call("s_t", '{"a":2}', index=1, id="1")],
        SAME,
    ),
    "two of one tool": (
        [call("s_t", '{"a":1}', index=0, id="1"), call("s_t", '{"a":2}', index=1, id="2")],
        SAME,
    ),
    "two in turns": (
        [
            call("s_t", '{"a":', index=0, id="1"),
            call("s_u", "{", index=1, id="2"),
            call(None, "1}", index=0),
            call(None, "}", index=1),
        ],
        TWO,
    ),
    "null in the place of what is not there": (
        [
            openai(content=None, tool_calls=None),
            {"choices": [{"delta": None}]},
            {"choices": None},
            {"choices": []},
            call("s_t", '{"a":1}', index=0, id="1"),
            openai(tool_calls=[{"index": 0, "function": None}, None]),
        ],
        ONE,
    ),
    "several choices": (
        [
            openai(
                index=0,
                tool_calls=[{"id": "1", "function": {"name": "s_t", "arguments": '{"a":1}'}}],
            ),
            openai(
                index=1, tool_calls=[{"id": "2", "function": {"name": "s_u", "arguments": "{}"}}]
            ),
        ],
        ONE,
    ),
    "OpenAI's form before tools": (
        [
            openai(function_call={"name": "s_t", "arguments": '{"a":'}),
            openai(function_call={"arguments": "1}"}),
        ],
        ONE,
    ),
    "no inner object": (
        [
            openai(tool_calls=[{"index": 0, "id": "1", "name": "s_t", "arguments": '{"a":'}]),
            openai(tool_calls=[{"index": 0, "arguments": "1}"}]),
        ],
        ONE,
    ),
    "a call that is not in a list": (
        [openai(tool_calls={"id": "1", "function": {"name": "s_t", "arguments": '{"a":1}'}})],
        ONE,
    ),
    "all at once": (
        [
            {
                "choices": [
                    {
                        "message": {
                            "content": "",
                            "tool_calls": [
                                {"id": "1", "function": {"name": "s_t", "arguments": '{"a":1}'}}
                            ],
                        }
                    }
                ]
            }
        ],
        ONE,
    ),
}


def made(response: LLMResponse) -> list[tuple[str, dict[str, int]]]:
    calls = response.tool_calls or ()
    assert len({it.id for it in calls}) == len(calls)
    return [(it.function.name, json.loads(it.function.arguments)) for it in calls]


@pytest.mark.parametrize("case", CALLS)
def test_each_call_is_made_once_however_it_is_sent(case: str) -> None:
    pieces, expected = CALLS[case]
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    response, _, _ = heard("openai", events([*pieces, openai("tool_calls"), usage]))
    assert made(response) == list(expected)
    assert response.spent.total_tokens == 7


def item(kind: str, place: int | None = 0, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    whole = {"type": "function_call", "name": "s_t", "call_id": "1", "arguments": "", **fields}
    at = {} if place is None else {"output_index": place}
    return {"type": f"response.output_item.{kind}", **at, "item": whole}


def typed(kind: str, place: int | None = 0, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    at = {} if place is None else {"output_index": place}
    return {"type": f"response.function_call_arguments.{kind}", **at, **fields}


LAST = item("done")["item"] | {"arguments": '{"a":1}'}
RESPONSES_CALLS: dict[str, tuple[Pieces, Sequence[tuple[str, dict[str, int]]]]] = {
    "in pieces": ([item("added"), typed("delta", delta='{"a":'), typed("delta", delta="1}")], ONE),
    "all so far with each piece": (
        [item("added"), *[typed("delta", delta=it) for it in ("{", '{"a":', '{"a":1}')]],
        ONE,
    ),
    "whole at the end": ([item("added"), item("done", arguments='{"a":1}')], ONE),
    "without its item": (
        [typed("done", arguments='{"a":1}', name="s_t", call_id="1")],
        ONE,
    ),
    "no index": ([item("added", None), typed("delta", None, delta='{"a":1}')], ONE),
    "one call at two indexes": (
        [item("done", arguments='{"a":1}'), item("done", 1, arguments='{"a":1}')],
        ONE,
    ),
    "one id for two of one tool": (
        [item("done", arguments='{"a":1}'), item("done", 1, arguments='{"a":2}')],
        SAME,
    ),
    "two": (
        [item("done", arguments='{"a":1}'), item("done", 1, name="s_u", call_id="2")],
        TWO,
    ),
    "arguments as an object": ([item("done", arguments={"a": 1})], ONE),
    "only in the last piece": (
        [{"type": "response.completed", "response": {"output": [LAST]}}],
        ONE,
    ),
    "ids of items for indexes": (
        [
            item("added", None, id="i"),
            item("added", None, id="j", call_id="2", name="s_u"),
            typed("done", None, item_id="i", arguments='{"a":1}'),
            item("done", None, id="j", call_id="2", name="s_u"),
        ],
        TWO,
    ),
    "another name of the last piece": (
        [{"type": "response.done", "response": {"output": [LAST]}}],
        ONE,
    ),
    "all of it in one piece": ([{"object": "response", "output": [LAST]}], ONE),
    "a ping first": ([{"type": "ping"}, item("done", arguments='{"a":1}')], ONE),
}


@pytest.mark.parametrize("case", RESPONSES_CALLS)
def test_each_call_of_a_response_is_made_once_however_it_is_sent(case: str) -> None:
    pieces, expected = RESPONSES_CALLS[case]
    used = {"input_tokens": 5, "output_tokens": 2}
    end = {"type": "response.completed", "response": {"usage": used}}
    response, _, _ = heard("responses", events([*pieces, end]))
    assert made(response) == list(expected)
    assert response.spent.total_tokens == 7


def test_a_part_with_a_number_that_cannot_be_is_the_first_one() -> None:
    end = {"type": "response.completed", "response": {"status": "completed"}}
    for number in (-1, 10**12, "1", None):
        word: dict[str, Any] = {"type": "response.output_text.delta", "content_index": number}
        pieces = [{**word, "delta": "Schö"}, {**word, "delta": "n."}, end]
        response, told, _ = heard("responses", events(pieces))
        assert response.content == "".join(told) == "Schön."


def use(name: str, given: object, call_id: str | None = "1") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def json_delta(index: int | None, text: object) -> dict[str, Any]:
    return grown(index, type="input_json_delta", partial_json=text)


ANTHROPIC_CALLS: dict[str, tuple[Pieces, Sequence[tuple[str, dict[str, int]]]]] = {
    "no index": ([block(None, use("s_t", {})), json_delta(None, '{"a":1}')], ONE),
    "an index only at the beginning": (
        [block(0, use("s_t", {})), json_delta(None, '{"a":'), json_delta(None, "1}")],
        ONE,
    ),
    "one index for two": (
        [block(0, use("s_t", {})), json_delta(0, '{"a":1}'), block(0, use("s_u", {}, "2"))],
        TWO,
    ),
    "one call at two indexes": (
        [block(0, use("s_t", {"a": 1})), block(1, use("s_t", {"a": 1}))],
        ONE,
    ),
    "one id for two": ([block(0, use("s_t", {"a": 1})), block(1, use("s_u", {}))], TWO),
    "all so far with each piece": (
        [block(0, use("s_t", {})), *[json_delta(0, it) for it in ("", "{", '{"a":', '{"a":1}')]],
        ONE,
    ),
    "arguments at once": ([block(0, use("s_t", {"a": 1}))], ONE),
    "arguments as text": ([block(0, use("s_t", '{"a": 1}'))], ONE),
    "arguments as an object": ([block(0, use("s_t", {})), json_delta(0, {"a": 1})], ONE),
    "arguments as null": (
        [block(0, use("s_t", None)), json_delta(0, None), json_delta(0, '{"a":1}')],
        ONE,
    ),
    "null in the place of what is not there": (
        [
            {"type": "content_block_delta", "index": 0, "delta": None},
            {"type": "content_block_start", "index": 1, "content_block": None},
            {"type": None},
            block(2, use("s_t", {"a": 1})),
        ],
        ONE,
    ),
    "no id": ([block(0, use("s_t", {"a": 1}, None)), block(1, use("s_u", {}, None))], TWO),
}


@pytest.mark.parametrize("case", ANTHROPIC_CALLS)
def test_each_call_is_made_once_on_anthropics_wire_too(case: str) -> None:
    pieces, expected = ANTHROPIC_CALLS[case]
    response, _, _ = heard("anthropic", events([BEGUN, *pieces, *ENDED]))
    assert made(response) == list(expected)


def test_events_of_anthropic_may_say_their_type_only_in_their_name() -> None:
    pieces = WORDS["anthropic"]
    named = [(it["type"], {key: it[key] for key in it if key != "type"}) for it in pieces]
    body = "".join(f"event: {name}\ndata: {json.dumps(it)}\n\n" for name, it in named)
    assert heard("anthropic", body.encode())[0].content == "Schön."


def called(name: str, args: object, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"functionCall": {"name": name, "args": args, **more}}


GEMINI_CALLS: dict[str, tuple[Pieces, Sequence[tuple[str, dict[str, int]]]]] = {
    "one call twice": (
        [
            gemini(None, called("s_t", {"a": 1}, id="1")),
            gemini(None, called("s_t", {"a": 1}, id="1")),
        ],
        ONE,
    ),
    "one id for two": (
        [gemini(None, called("s_t", {"a": 1}, id="1"), called("s_u", {}, id="1"))],
        TWO,
    ),
    "no ids": ([gemini(None, called("s_t", {"a": 1})), gemini(None, called("s_u", None))], TWO),
    "arguments as text": ([gemini(None, called("s_t", '{"a": 1}'))], ONE),
    "null in the place of what is not there": (
        [
            {"candidates": None, "error": None},
            {"candidates": [{"content": None, "finishReason": None}]},
            {"candidates": [{"content": {"parts": None}}], "promptFeedback": None},
            gemini(None, called("s_t", {"a": 1})),
        ],
        ONE,
    ),
    "several candidates": (
        [
            gemini(None, called("s_t", {"a": 1})),
            {"candidates": [{**gemini(None, called("s_u", {}))["candidates"][0], "index": 1}]},
        ],
        ONE,
    ),
}


@pytest.mark.parametrize("case", GEMINI_CALLS)
def test_each_call_is_made_once_on_geminis_wire_too(case: str) -> None:
    pieces, expected = GEMINI_CALLS[case]
    response, _, _ = heard("gemini", events([*pieces, gemini("STOP")]))
    assert made(response) == list(expected)


def test_an_event_is_read_as_soon_as_its_blank_line_is_there() -> None:
    reader = EventReader()
    for ends in ("\n\n", "\r\r", "\r\n\r\n"):
        assert [*reader.feed(f'data: {{"a": 1}}{ends}'.encode())] == [{"a": 1}]
