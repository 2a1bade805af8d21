"""The client for language models, tried again and guarded by its breaker."""

import threading

import pytest

from llm_client import MORE_ROOM
from mcp_ghost.errors import (
    LLMError,
    LLMReplyError,
    LLMStatusError,
    LLMUnavailableError,
)
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, error_reply
from tests.support import PATIENCE
from tests.support.clients import MESSAGES, ask, client_of


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with ModelServer([error_reply(status), error_reply(status), "ok"]) as server:
        assert ask(client_of(server)) == "ok"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("options", "asked"), [({}, 3), ({"retry_max_attempts": 2}, 2)])
def test_attempts_are_limited(options: dict[str, int], asked: int) -> None:
    with ModelServer([error_reply(500)] * asked) as server:
        with pytest.raises(LLMStatusError) as caught:
            ask(client_of(server, None, **options))
        assert caught.value.status == 500
    assert len(server.requests) == asked


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_a_request_that_was_refused_is_sent_once(status: int) -> None:
    with ModelServer([error_reply(status, "not like this")]) as server:
        with pytest.raises(LLMStatusError, match="not like this") as caught:
            ask(client_of(server))
        assert caught.value.status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This response_format type is unavailable now"),
        (422, "response_format.type `json_schema` is unavailable now"),
        (404, "No endpoints found that can handle the requested parameters."),
    ],
)
def test_a_model_that_knows_no_schemas_is_asked_without_from_then_on(
    status: int, words: str
) -> None:
    form = {"type": "json_object"}
    with ModelServer([error_reply(status, words), "one", "two", "three"]) as server:
        client = client_of(server)
        assert [ask(client, response_format=form) for _ in range(2)] == ["one", "two"]
        assert ask(client, "other-model", response_format=form) == "three"
    assert ["response_format" in each.body for each in server.requests] == [
        True,
        False,
        False,
        True,
    ]


def test_what_is_refused_although_it_was_left_out_is_an_error() -> None:
    with ModelServer([error_reply(400, "bad temperature")] * 2) as server:
        client = client_of(server)
        with pytest.raises(LLMStatusError, match="bad temperature"):
            ask(client, temperature=0.5)
    assert len(server.requests) == 2


def test_a_slow_answer_is_given_up_and_asked_for_again() -> None:
    def reply(_: ModelRequest) -> Reply:
        return content_reply("late").after(30) if len(server.requests) == 1 else content_reply("ok")

    with ModelServer(reply) as server:
        assert ask(client_of(server, client_timeout_seconds=0.2)) == "ok"
    assert len(server.requests) > 1


@pytest.mark.parametrize("header", ["0.3", "Retry-After-less"])
def test_the_server_says_how_long_to_wait(header: str, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Retry-After": header}
    with ModelServer([error_reply(429, headers=headers), "ok"]) as server:
        assert ask(client_of(server, retry_max_delay=0.5)) == "ok"
    (retry,) = [it for it in caplog.records if it.__dict__.get("event_type") == "llm_retry"]
    assert (retry.__dict__["delay_seconds"] >= 0.3) == (header == "0.3")


def test_waiting_is_limited_whatever_the_server_says() -> None:
    with ModelServer([error_reply(503, headers={"Retry-After": "3600"}), "ok"]) as server:
        assert ask(client_of(server)) == "ok"


def test_an_empty_answer_is_asked_for_once_more_and_then_taken() -> None:
    with ModelServer(["", content_reply(None, finish_reason="length")]) as server:
        response = client_of(server).chat_completions_create("m", MESSAGES)
    assert (response.content, response.tool_calls) == (None, None)
    assert response.finish_reason == "length"
    assert len(server.requests) == 2


def test_after_an_empty_answer_a_full_one_is_taken() -> None:
    with ModelServer([error_reply(500), "<think>only</think>", "ok"]) as server:
        assert ask(client_of(server)) == "ok"


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b'{"choices": []}', b"[1]"])
def test_an_unusable_reply_is_asked_for_once_more(body: bytes) -> None:
    with ModelServer([Reply(body)] * 2) as server, pytest.raises(LLMReplyError):
        ask(client_of(server))
    assert len(server.requests) == 2


def test_closing_a_client_ends_calls_that_wait() -> None:
    arrived = threading.Event()

    def script(_request: ModelRequest) -> Reply:
        arrived.set()
        return content_reply("late").after(60)

    with ModelServer(script) as server:
        patient = {"retry_initial_delay": 60, "retry_max_delay": 60, "client_timeout_seconds": 60}
        client = client_of(server, None, **patient)
        raised: list[Exception] = []

        def wait_for_reply() -> None:
            try:
                ask(client)
            except LLMError as error:
                raised.append(error)

        thread = threading.Thread(target=wait_for_reply)
        thread.start()
        assert arrived.wait(PATIENCE)
        client.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert "was closed here" in str(raised[0])


# --- the circuit breaker


def test_the_breaker_counts_calls_and_then_spares_the_server() -> None:
    with ModelServer([error_reply(500)] * 6) as server:
        client = client_of(server, breaker_failure_threshold=2)
        for _ in range(2):
            with pytest.raises(LLMStatusError):
                ask(client)
        assert len(server.requests) == 6
        with pytest.raises(LLMUnavailableError, match=r"2 times in a row.*again in 60 s"):
            ask(client)
    assert len(server.requests) == 6


def test_after_the_recovery_time_one_success_closes_the_breaker() -> None:
    script: list[Reply | str] = [error_reply(500), "ok", error_reply(500), "ok"]
    options = {"breaker_failure_threshold": 1, "breaker_recovery_seconds": 0}
    with ModelServer(script) as server:
        client = client_of(server, None, retry_max_attempts=1, **options)
        for _ in range(2):
            with pytest.raises(LLMStatusError):
                ask(client)
            assert ask(client) == "ok"


def test_refused_requests_do_not_open_the_breaker() -> None:
    with ModelServer([*[error_reply(400)] * 4, "ok"]) as server:
        client = client_of(server, breaker_failure_threshold=1)
        for _ in range(4):
            with pytest.raises(LLMStatusError):
                ask(client)
        assert ask(client) == "ok"


def cut_off(text: str) -> Reply:
    """A reply that reached its limit, with what a reasoning model thought before."""
    message = {"role": "assistant", "content": text, "reasoning_content": "Hm, hm."}
    choice = {"index": 0, "finish_reason": "length", "message": message}
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}
    body = {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    return Reply(body=body)


def test_a_reply_that_was_cut_off_is_asked_for_once_more_with_more_room(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ModelServer([cut_off('{"thin'), "whole"]) as server:
        client = client_of(server)
        response = client.chat_completions_create(model="m", messages=MESSAGES, max_tokens=50)
    assert [request.chat["max_tokens"] for request in server.requests] == [50, 50 * MORE_ROOM]
    assert response.content == "whole"
    assert response.spent.calls == 2
    assert response.spent.completion_tokens > 50
    assert "cut off after 50 tokens; asked again with 200" in caplog.text


def test_a_reply_that_is_cut_off_again_is_taken_as_it_is() -> None:
    with ModelServer([cut_off("one"), cut_off("two")]) as server:
        response = client_of(server).chat_completions_create(
            model="m", messages=MESSAGES, max_tokens=50
        )
    assert (response.content, response.finish_reason) == ("two", "length")
    assert response.reasoning == "Hm, hm."


def test_where_no_length_is_given_there_is_no_more_room_to_give() -> None:
    with ModelServer([cut_off("one")]) as server:
        assert ask(client_of(server)) == "one"
