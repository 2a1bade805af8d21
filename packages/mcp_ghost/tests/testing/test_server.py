"""The strict model server refuses what it says, and serves what it is told."""

import json
import socket
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from mcp_ghost.testing.refusals import ServerDialect, refusal
from tests.support import FOREVER, PATIENCE

USER = {"role": "user", "content": "Go on."}
CALL = {"id": "c1", "type": "function", "function": {"name": "a_b", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "done"}
TOOL = {
    "type": "function",
    "function": {"name": "a_b", "parameters": {"type": "object", "properties": {}}},
}
MARK = {"type": "ephemeral"}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"model": "m", "messages": list(messages or [USER]), **fields}


def tool(**function: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"type": "function", "function": {**TOOL["function"], **function}}  # type: ignore[dict-item]  # a literal


def called(**function: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    changed = {**CALL, "function": {**CALL["function"], **function}}  # type: ignore[dict-item]  # a literal
    return {**ASKED, "tool_calls": [changed]}


def strict(schema: dict[str, Any], name: str = "Answer") -> dict[str, Any]:
    named = {"name": name, "strict": True, "schema": schema}
    return body(response_format={"type": "json_schema", "json_schema": named})


def closed(**properties: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def part(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"role": "user", "content": [{"type": "text", "text": "hi", **fields}]}


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ("text", "not a JSON object"),
        ({"messages": [USER]}, "model parameter"),
        ({"model": "m"}, "at least one message"),
        ({"model": "m", "messages": []}, "at least one message"),
        (body(stream_options={"include_usage": True}), "only allowed when 'stream'"),
        (body("hi"), "role"),
        (body({"role": "narrator", "content": "x"}), "role"),
        (body({**USER, "cache_control": MARK}), "cache_control"),
        (body({"role": "user", "content": None}), "got null"),
        (body({"role": "assistant", "content": None}), "got null"),
        (body({"role": "user", "content": 3}), "a string or parts"),
        (body(part(cache_control=MARK)), "cache_control"),
        (body({"role": "user", "content": [{"type": "text"}]}), "Missing text"),
        (body(USER, {**ASKED, "content": "", "tool_calls": []}), "at least one call"),
        (body(USER, called(name="a.b"), ANSWER), "does not match"),
        (body(USER, called(name="x" * 65), ANSWER), "does not match"),
        (body(USER, called(arguments={}), ANSWER), "JSON object"),
        (body(USER, called(arguments="{x"), ANSWER), "JSON object"),
        (body(USER, {**ASKED, "tool_calls": [CALL, CALL]}, ANSWER), "not unique"),
        (body(USER, ASKED), "must be followed"),
        (body(USER, ASKED, USER), "must be followed"),
        (body(USER, ASKED, USER, ANSWER), "must be followed"),
        (body(USER, ANSWER), "no preceding"),
        (body(USER, ASKED, ANSWER, ANSWER), "no preceding"),
        (body(USER, ASKED, {**ANSWER, "tool_call_id": "c2"}), "no preceding"),
        (body(tools=[]), "empty array"),
        (body(tool_choice="auto"), "only allowed"),
        (body(tools=[tool(name="a.b")]), "does not match"),
        (body(tools=[TOOL, TOOL]), "unique"),
        (body(tools=[TOOL], tool_choice="c"), "names no tool"),
        (body(tools=[tool(parameters={"type": "string"})]), "type"),
        (body(tools=[tool(parameters={"type": "object"})]), "missing properties"),
        (body(tools=[tool(parameters={**closed(), "anyOf": []})]), "top level"),
        (body(response_format={"type": "xml"}), "response_format"),
        (strict(closed(), name="no spaces"), "name"),
        (strict({"type": "array", "items": {"type": "string"}}), "must be an object"),
        (strict({**closed(), "additionalProperties": True}), "additionalProperties"),
        (strict({**closed(a={"type": "string"}), "required": []}), "required"),
        (strict(closed(a={"type": "string", "default": ""})), "'default' is not permitted"),
        (strict(closed(a={"type": "string", "minLength": 1})), "'minLength' is not permitted"),
        (strict(closed(a={})), "must have a 'type'"),
        (strict(closed(a={"type": "array"})), "missing items"),
        (strict(closed(a={"$ref": "#/$defs/No"})), "lead somewhere"),
        (strict(closed(a={"type": "array", "items": {"type": "object"}})), "a.items"),
    ],
)
def test_what_every_provider_refuses_is_refused(refused: Any, why: str) -> None:  # noqa: ANN401  any JSON
    assert why in (refusal(refused) or "accepted")


@pytest.mark.parametrize(
    ("dialect", "refused", "why"),
    [
        ("openai", body(top_k=3), "Unknown parameter: 'top_k'"),
        ("openai", body(tools=[tool(description="x" * 1025)]), "maximum length"),
        ("openrouter", body(USER, ASKED, ANSWER), "must define tools"),
        ("openrouter", body(*[part(cache_control=MARK)] * 5), "maximum of 4"),
        ("openrouter", body(part(text=" ", cache_control=MARK)), "empty text"),
    ],
)
def test_what_one_provider_refuses_is_refused_there_only(
    dialect: ServerDialect, refused: dict[str, Any], why: str
) -> None:
    assert why in (refusal(refused, dialect) or "accepted")
    other: ServerDialect = "openai" if dialect == "openrouter" else "openrouter"
    assert why not in (refusal(refused, other) or "")


@pytest.mark.parametrize(
    "accepted",
    [
        body(),
        body(USER, ASKED, ANSWER, USER, tools=[TOOL], tool_choice="none"),
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "a_b"}}),
        body(tools=[TOOL], tool_choice="required", temperature=1),
        strict(closed(a={"anyOf": [{"type": "string"}, {"type": "null"}]})),
    ],
)
def test_what_is_right_is_accepted_by_all(accepted: dict[str, Any]) -> None:
    for dialect in ("generic", "openai", "openrouter"):
        assert refusal(accepted, dialect) is None


def post(server: ModelServer, payload: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(f"{server.base_url}/chat/completions", json=payload, trust_env=False)


def test_a_refusal_has_the_shape_of_openais_and_spares_the_script() -> None:
    with ModelServer(["hello"]) as server:
        refused = post(server, body(tools=[]))
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "invalid_request_error"
        answer = post(server, body()).json()
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "hello"}
    assert answer["usage"]["total_tokens"] > 0
    assert len(server.refusals) == 1


def test_tool_calls_are_spelled_as_on_the_wire() -> None:
    reply = tool_reply([("clock.now", {"zone": "é"})], "One moment.")
    assert isinstance(reply.body, dict)
    message = reply.body["choices"][0]["message"]
    (call,) = message["tool_calls"]
    assert message["content"] == "One moment."
    assert call["function"]["name"] == "clock_now"
    assert json.loads(call["function"]["arguments"]) == {"zone": "é"}


def test_a_mistake_in_the_script_is_raised_at_the_end() -> None:
    def script(request: ModelRequest) -> str:
        raise ZeroDivisionError(request.last["content"])

    with pytest.raises(ZeroDivisionError, match="Go on"), ModelServer(script) as server:
        assert post(server, body()).status_code == 400


def test_a_script_that_is_too_short_is_a_mistake() -> None:
    server = ModelServer(["one"])
    with pytest.raises(AssertionError, match="more requests"), server:
        assert [post(server, body()).status_code for _ in range(2)] == [200, 400]


def test_a_request_that_was_cut_off_is_not_counted() -> None:
    with ModelServer([content_reply("hello")]) as server:
        address = urlsplit(server.base_url)
        with socket.create_connection((address.hostname or "", address.port or 0)) as connection:
            head = (
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{"
            )
            connection.sendall(head)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
        assert server.requests == []
        answer = httpx2.post(f"{server.base_url}/chat/completions", json=body())
        assert answer.json()["choices"][0]["message"]["content"] == "hello"


def test_leaving_the_server_ends_answers_that_are_delayed() -> None:
    before = threading.active_count()
    arrived = threading.Event()

    def script(_request: ModelRequest) -> Reply:
        arrived.set()
        return content_reply("late").after(FOREVER)

    def ask_and_fail() -> None:
        with suppress(httpx2.HTTPError):  # or the end of the delayed answer comes through
            post(server, body())

    with ModelServer(script) as server:
        client = threading.Thread(target=ask_and_fail)
        client.start()
        assert arrived.wait(PATIENCE)
    client.join(PATIENCE)
    assert threading.active_count() == before
