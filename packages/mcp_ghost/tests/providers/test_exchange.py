from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import run_ghost
from mcp_ghost.breaker import CircuitBreaker
from mcp_ghost.errors import LLMError, LLMStatusError, LLMUnavailableError
from mcp_ghost.messages import Usage
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, error_reply
from tests.support.conversations import READ
from tests.support.provider_clients import KEY, ask, client_of
from tests.support.wires import WIRES, name_of

if TYPE_CHECKING:
    from mcp_ghost.providers.exchange import Exchange
    from mcp_ghost.testing.wires import WireName

PAID = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6, "cost": 0.25}
AT_ONCE = RetryPolicy(max_attempts=3, initial_delay=0.0)


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_is_told_of_once_in_neutral_form_and_without_the_key(wire: WireName) -> None:
    told: list[Exchange] = []
    with ModelServer(["Fine."], wire=wire) as server:
        reply = ask(client_of(server, wire, on_exchange=told.append), tools=[READ], max_tokens=9)
        where = server.base_url
    (exchange,) = told
    assert exchange.reply == reply
    assert exchange.request.tools == [READ]
    assert exchange.request.given["max_tokens"] == 9
    assert (exchange.provider, exchange.where) == (name_of(wire), where)
    assert (exchange.error, exchange.tries, exchange.left_out) == (None, (), ())
    assert exchange.seconds > 0
    assert KEY not in json.dumps(asdict(exchange), default=repr)


SAMPLING: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 7,
    "stop": ["END"],
    "reasoning_effort": "low",
}


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_wire_says_besides_messages_and_tools_is_told_to_the_letter(
    wire: WireName,
) -> None:
    told: list[Exchange] = []
    more: dict[str, Any] = {"safetySettings": []} if wire == "gemini" else {"service_tier": "auto"}
    with ModelServer(["Fine."], wire=wire) as server:
        client = client_of(server, wire, on_exchange=told.append)
        ask(client, tools=[READ], extra_body=more, max_tokens=9, **SAMPLING)
    (body,) = (request.body for request in server.requests)
    told_anyway = {"messages", "system", "contents", "systemInstruction", "tools"}
    told_anyway |= {"input", "instructions"}
    assert told[0].sent == {name: body[name] for name in body.keys() - told_anyway}
    assert told[0].sent.items() >= more.items()


def test_tools_that_only_extra_body_holds_are_told() -> None:
    told: list[Exchange] = []
    search = {
        "type": "function",
        "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
    }
    with ModelServer(["Fine."]) as server:
        ask(client_of(server, on_exchange=told.append), extra_body={"tools": [search]})
    assert told[0].sent["tools"] == server.requests[0].body["tools"] == [search]


def test_a_field_that_was_capped_is_told_as_it_was_sent() -> None:
    told: list[Exchange] = []
    refused = error_reply(400, "max_tokens: 64000 > 4096, which is the maximum")
    with ModelServer([refused, "Fine."]) as server:
        ask(client_of(server, on_exchange=told.append), max_tokens=64_000)
    assert told[0].request.given["max_tokens"] == 64_000
    assert told[0].sent["max_tokens"] == 4096


def test_an_empty_reply_is_told_with_its_end_and_its_thoughts() -> None:
    told: list[Exchange] = []
    empty = content_reply("", finish_reason="length", reasoning="Hm, hm.")
    with ModelServer([empty, "Fine."]) as server:
        ask(client_of(server, on_exchange=told.append, retry=AT_ONCE))
    (failed,) = told[0].tries
    assert failed.reply
    assert (failed.reply.finish_reason, failed.reply.reasoning) == ("length", "Hm, hm.")


def test_failed_tries_are_told_with_what_they_took() -> None:
    told: list[Exchange] = []
    script = [error_reply(503, "Busy."), content_reply("", usage=PAID)]
    with ModelServer([*script, content_reply("Fine.", usage=PAID)]) as server:
        reply = ask(client_of(server, on_exchange=told.append, retry=AT_ONCE))
    (exchange,) = told
    assert ["Busy" in failed.error for failed in exchange.tries] == [True, False]
    assert [failed.usage.cost for failed in exchange.tries] == [0.0, 0.25]
    assert exchange.reply
    assert exchange.reply.spent == Usage(1, 5, 0, 1, 0.25)
    assert exchange.usage == reply.spent == Usage(2, 10, 0, 2, 0.5)


def test_a_call_without_a_reply_is_told_too_and_its_error_says_what_it_took() -> None:
    told: list[Exchange] = []
    script = [content_reply("", usage=PAID), error_reply(401, "No.")]
    with ModelServer(script) as server:
        client = client_of(server, on_exchange=told.append, retry=AT_ONCE)
        with pytest.raises(LLMStatusError) as caught:
            ask(client)
    (exchange,) = told
    assert exchange.reply is None
    assert exchange.error == str(caught.value)
    assert exchange.tries[-1].error == exchange.error
    assert exchange.usage == caught.value.usage == Usage(1, 5, 0, 1, 0.25)


def test_a_call_that_is_cut_off_is_told_too() -> None:
    told: list[Exchange] = []

    async def cut_off() -> None:
        with ModelServer([Reply({}, delay=30.0)]) as server:
            client = client_of(server, on_exchange=told.append)
            async with asyncio.timeout(0.2):
                await client.complete([{"role": "user", "content": "Hello."}])

    with pytest.raises(TimeoutError):
        asyncio.run(cut_off())
    assert [exchange.error for exchange in told] == ["CancelledError"]


def test_fields_that_a_model_refuses_are_told_and_left_out_for_it_alone() -> None:
    told: list[Exchange] = []

    def script(request: ModelRequest) -> Reply | str:
        refused = request.body["model"] == "picky" and "temperature" in request.body
        return error_reply(400, "`temperature` is not supported.") if refused else "ok"

    with ModelServer(script) as server:
        client = client_of(server, temperature=0.5, on_exchange=told.append)
        for model in ("picky", "picky", "easy"):
            ask(client, model=model)
    assert [exchange.left_out for exchange in told] == [("temperature",), ("temperature",), ()]
    assert [len(exchange.tries) for exchange in told] == [1, 0, 0]


def test_a_breaker_counts_calls_and_what_it_refuses_is_told() -> None:
    told: list[Exchange] = []
    breaker = CircuitBreaker(
        2,
        60.0,
        is_failure=lambda exc: isinstance(exc, LLMError),
        refusal=lambda seconds: LLMUnavailableError(f"In {seconds:.0f} s again."),
    )
    with ModelServer(lambda _: error_reply(503, "Busy.")) as server:
        client = client_of(server, breaker=breaker, retry=AT_ONCE, on_exchange=told.append)
        for _ in range(3):
            with pytest.raises(LLMError):
                ask(client)
    assert len(server.requests) == 2 * AT_ONCE.max_attempts
    assert [len(exchange.tries) for exchange in told] == [3, 3, 0]
    assert told[-1].error == "In 60 s again."


def test_a_run_counts_what_a_failed_call_took_all_the_same() -> None:
    script = [content_reply("", usage=PAID), error_reply(401, "No.")]
    with ModelServer(script) as server:
        result = asyncio.run(
            run_ghost(
                {"mcpServers": {}}, "", "openai", KEY, user_prompt="Go.", base_url=server.base_url
            )
        )
    assert not result.success
    assert result.execution_metadata.token_usage == Usage(1, 5, 0, 1, 0.25)
