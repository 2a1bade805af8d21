import logging
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from llm_client import LLMClient
from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import Usage
from mcp_ghost.network import tls_context
from mcp_ghost.providers.exchange import Exchange
from mcp_ghost.providers.transport import Endpoint, Transport
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply
from session.events import context_value
from session.game_configuration import GameConfiguration
from tests.support.clients import IMPATIENT, KEY, MESSAGES, ask, client_of

# --- the call itself


def test_both_spellings_of_the_call_do_the_same() -> None:
    with ModelServer(["one", "two"]) as server:
        client = client_of(server)
        assert client.chat_completions_create("m", MESSAGES, 0.5).content == "one"
        create = client.chat.completions.create
        assert create(model="m", messages=MESSAGES, temperature=0.5).content == "two"
    assert server.requests[0].body == server.requests[1].body
    assert server.requests[0].body["temperature"] == 0.5


def test_one_connection_serves_all_calls() -> None:
    ports = set()

    class Counting(ModelServer):
        def answer(self, body: object, headers: dict[str, str]) -> Reply:
            ports.add(threading.get_ident())  # the server has a thread per connection
            return super().answer(body, headers)

    with Counting(["1", "2", "3"]) as server:
        client = client_of(server)
        assert [ask(client) for _ in range(3)] == ["1", "2", "3"]
    assert len(ports) == 1


def test_extra_headers_and_fields_reach_the_server() -> None:
    with ModelServer(["ok"]) as server:
        ask(client_of(server), extra_headers={"X-Trace": "7"}, guided_json={"type": "object"})
    assert server.requests[0].headers["x-trace"] == "7"
    assert server.requests[0].body["guided_json"] == {"type": "object"}


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    with ModelServer(["ok"]) as server:
        messages = [{"role": "user", "content": "broken \ud83d emoji"}]
        assert client_of(server).chat_completions_create("m", messages).content == "ok"
    assert server.requests[0].last["content"] == "broken ? emoji"


# --- messages and keys


def provider_client(server: ModelServer, url: str, **options: Any) -> LLMClient:  # noqa: ANN401  any setting
    config = GameConfiguration(**{**IMPATIENT, "client_base_url": url, **options})
    return LLMClient(config=config, transport=server.async_transport())


def test_a_wrong_key_names_the_variable_that_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with ModelServer([error_reply(401, "No auth")], dialect="openrouter") as server:
        client = provider_client(server, "https://openrouter.ai/api/v1")
        with pytest.raises(LLMStatusError, match="Check the key in OPENROUTER_API_KEY"):
            ask(client)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_words_of_the_provider_behind_a_router_are_told() -> None:
    metadata = {"raw": "Function call is missing a thought_signature", "provider_name": "Google"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}
    said = "returned error: Function call is missing"
    with ModelServer([Reply({"error": error}, 400)]) as server:
        client = client_of(server)
        with pytest.raises(LLMStatusError, match=said):
            ask(client)


def test_a_redirect_says_where_it_leads() -> None:
    reply = Reply(status=308, headers={"Location": "https://new.example/v1"})
    with ModelServer([reply]) as server:
        client = client_of(server)
        with pytest.raises(LLMStatusError, match=r"moved to https://new\.example/v1\. Correct the"):
            ask(client)


def test_an_unusual_refusal_is_not_called_a_problem_of_the_server() -> None:
    with ModelServer([error_reply(422, "bad field")]) as server:
        client = client_of(server)
        with pytest.raises(LLMStatusError, match=r"bad field\. The request does not suit"):
            ask(client)


def test_a_missing_key_is_said_to_be_missing() -> None:
    with ModelServer([error_reply(401, "No auth")]) as server:
        client = provider_client(server, "https://api.openai.com/v1")
        with pytest.raises(LLMStatusError, match="No key was sent: set OPENAI_API_KEY"):
            ask(client)
    assert "authorization" not in server.requests[0].headers


def test_a_key_for_one_provider_is_not_shown_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with ModelServer(["ok"]) as server:
        ask(LLMClient(config=GameConfiguration(), base_url=server.base_url))
    assert "authorization" not in server.requests[0].headers


def test_no_key_appears_in_logs_errors_or_the_client(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    script = [error_reply(500, f"key {KEY}"), Reply(f'{{"error": "{KEY}"}}'.encode())]
    script += [error_reply(401, f"Incorrect API key provided: {KEY}")]
    with ModelServer(script) as server:
        client = client_of(server, KEY)
        with pytest.raises(LLMStatusError) as caught:
            ask(client)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = "".join(traceback.format_exception(caught.value)) + repr(client) + repr(vars(client))
    assert "Incorrect API key provided" in shown
    assert KEY not in shown
    assert "Attempt 2 failed" in caplog.text
    assert KEY not in caplog.text


def test_retries_and_failures_are_events_with_their_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ModelServer([error_reply(503)] * 2) as server:
        options = {"retry_max_attempts": 2, "breaker_failure_threshold": 1}
        with pytest.raises(LLMStatusError):
            ask(client_of(server, None, **options), name="Agent")
    events = {vars(record)["event_type"]: vars(record) for record in caplog.records}
    assert events.keys() == {"llm_retry", "llm_error", "llm_breaker_open"}
    assert events["llm_retry"]["attempt"] == 1
    assert {event["role"] for event in events.values()} == {"Agent"}
    assert {event["model"] for event in events.values()} == {"some-model"}


# --- what it costs


PAID = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 60},
    "cost": 0.5,
}


def test_an_empty_answer_costs_too() -> None:
    with ModelServer([content_reply("", usage=PAID), content_reply("ok", usage=PAID)]) as server:
        response = client_of(server).chat_completions_create("m", MESSAGES)
    assert response.content == "ok"
    assert response.spent == Usage(2, 200, 120, 20, 1.0)


def test_each_call_is_told_of_in_the_context_of_its_role() -> None:
    told: list[tuple[object, object]] = []

    def tell(exchange: Exchange) -> None:
        told.append((context_value("role"), exchange.reply and exchange.reply.content))

    with ModelServer(["one", "two"]) as server:
        config = GameConfiguration(client_base_url=server.base_url)
        client = LLMClient(config, on_exchange=tell)
        ask(client, name="Agent")
        ask(client, name="Critic")
    assert told == [("Agent", "one"), ("Critic", "two")]


def test_plain_http_never_reads_certificates_and_https_does_so_once() -> None:
    tls_context.cache_clear()
    Transport(Endpoint("http://127.0.0.1:9/v1"))
    assert tls_context.cache_info().misses == 0
    for host in ("api.openai.com", "openrouter.ai"):
        Transport(Endpoint(f"https://{host}/v1"))
    assert (tls_context.cache_info().misses, tls_context.cache_info().hits) == (1, 1)


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer(["ok"]) as server:
        assert ask(client_of(server)) == "ok"


# --- traces


@pytest.fixture(scope="module")
def langfuse() -> Iterator[tuple[Any, Any]]:
    from langfuse import Langfuse
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    client = Langfuse(
        public_key="pk-test-llm-client",
        secret_key="sk-test",
        base_url="http://127.0.0.1:9",
        span_exporter=exporter,
    )
    yield client, exporter
    client.shutdown()


def spans(langfuse: tuple[Any, Any]) -> list[Any]:
    client, exporter = langfuse
    client.flush()
    finished = list(exporter.get_finished_spans())
    exporter.clear()
    return finished


def test_a_call_is_one_generation_with_usage_and_cost(langfuse: tuple[Any, Any]) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.5}
    usage["prompt_tokens_details"] = {"cached_tokens": 4}  # type: ignore[assignment]  # a nested one
    with ModelServer([error_reply(500), content_reply("ok", usage=usage)]) as server:
        config = GameConfiguration(**IMPATIENT)
        client = LLMClient(config=config, base_url=server.base_url, langfuse_client=langfuse[0])
        ask(client, name="Agent", temperature=0.5)
    (span,) = spans(langfuse)
    attributes = span.attributes
    assert span.name == "Agent"
    assert attributes["langfuse.observation.type"] == "generation"
    assert attributes["langfuse.observation.model.name"] == "some-model"
    assert attributes["langfuse.observation.output"] == "ok"
    assert '"input": 5' in attributes["langfuse.observation.usage_details"]
    assert '"cache_read_input_tokens": 4' in attributes["langfuse.observation.usage_details"]
    assert attributes["langfuse.observation.cost_details"] == '{"total": 0.5}'
    assert '"temperature": 0.5' in attributes["langfuse.observation.model.parameters"]


def test_a_failed_call_is_one_generation_and_one_request(langfuse: tuple[Any, Any]) -> None:
    with ModelServer([error_reply(400, "too long")]) as server:
        config = GameConfiguration(**IMPATIENT)
        client = LLMClient(config=config, base_url=server.base_url, langfuse_client=langfuse[0])
        with pytest.raises(LLMStatusError):
            ask(client)
    (span,) = spans(langfuse)
    assert span.attributes["langfuse.observation.level"] == "ERROR"
    assert "too long" in span.attributes["langfuse.observation.status_message"]
    assert len(server.requests) == 1
