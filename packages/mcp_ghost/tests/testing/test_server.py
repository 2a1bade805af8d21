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
from tests.support import FOREVER, PATIENCE

USER = {"role": "user", "content": "Go on."}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"model": "m", "messages": list(messages or [USER]), **fields}


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
