"""What a model says and thinks, told while it comes, on every wire."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import Ghost, get_llm_client, mcp_ghost
from mcp_ghost.events import ModelReply, RunEnd, RunStart, Text
from mcp_ghost.golden import compare_golden, load_golden, record_golden, replay_golden
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.providers.streaming import EventReader
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Notes, assert_well_formed, play
from tests.support.wires import provider_of, spoken

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse
    from mcp_ghost.providers.common import StreamingProvider
    from mcp_ghost.testing.wires import WireName

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
CALLS = [("notes.write", {"name": "a", "text": "milk and\nhoney"}), ("notes.count", {})]


class Heard:
    """Remembers the events of a run."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: dict[str, Any]) -> None:
        self.events.append({**event, "at": time.monotonic()})

    def said(self, kind: str) -> dict[int, str]:
        """By iteration: the text of that kind."""
        texts: dict[int, str] = {}
        for event in self.events:
            if event["type"] == kind:
                texts[event["iteration"]] = texts.get(event["iteration"], "") + event["text"]
        return texts

    def times(self, kind: str) -> list[float]:
        return [event["at"] for event in self.events if event["type"] == kind]


@pytest.mark.mcp
@every_provider
def test_words_and_thoughts_come_in_pieces_and_the_run_is_the_same(
    tmp_path: Path, provider: WireName
) -> None:
    heard = Heard()
    said = tool_reply(CALLS, "Let me write.", reasoning="The milk first.")
    script = [said, content_reply("It is all done.", reasoning="Well then.")]
    servers = {"notes": Notes(tmp_path).config}
    result, model = play(script, servers, provider, stream=True, on_event=heard)
    assert heard.said("text") == {1: "Let me write.", 2: "It is all done."}
    assert heard.said("thinking") == {1: "The milk first.", 2: "Well then."}
    assert len(heard.times("text")) == 7
    assert [it["arguments"] for it in result["tool_chain"]] == [it for _, it in CALLS]
    plain, _ = play(script, {"notes": Notes(tmp_path, "more").config}, provider)
    for key in ("final_result", "success"):
        assert result[key] == plain[key]
    usages = [it["execution_metadata"]["token_usage"] for it in (result, plain)]
    assert usages[0] == usages[1]
    assert len(model.requests) == 2


@every_provider
def test_each_piece_is_told_when_it_comes(provider: WireName) -> None:
    heard = Heard()
    reply = Reply(content_reply("one two three four five").body, pace=0.05)
    play([reply], {}, provider, stream=True, on_event=heard)
    first, *_, last = heard.times("text")
    assert last - first > 0.15
    assert heard.times("model_reply")[0] - first > 0.15


@every_provider
def test_a_reply_that_breaks_off_is_asked_for_again_and_what_was_told_is_void(
    provider: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.providers.transport.RetryPolicy.delay", lambda *_: 0.0)
    heard = Heard()
    behind_a_word = 6 if provider == "responses" else 4
    broken = Reply(content_reply("one two three").body, cut_after=behind_a_word)
    result, _ = play([broken, "All of it."], {}, provider, stream=True, on_event=heard)
    assert result["final_result"] == "All of it."
    kinds = [it["type"] for it in heard.events if it["type"] in ("text", "reply_restart")]
    restart = kinds.index("reply_restart")
    assert 0 < restart < len(kinds) - 1
    assert "".join(
        it["text"] for it in heard.events[heard.events.index(restart_of(heard)) :] if "text" in it
    ) == "All of it."  # fmt: skip


def restart_of(heard: Heard) -> dict[str, Any]:
    return next(it for it in heard.events if it["type"] == "reply_restart")


@every_provider
def test_what_is_broken_off_for_good_is_an_error_that_says_so(
    provider: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.providers.transport.RetryPolicy.delay", lambda *_: None)
    broken = Reply(content_reply("one two three").body, cut_after=3)
    result, _ = play([broken], {}, provider, stream=True)
    assert "The connection to http://127.0.0.1" in result["errors"][0]["error"]
    assert "broke during the answer" in result["errors"][0]["error"]


@pytest.mark.parametrize("field", ["stream_options", "stream"])
def test_a_server_that_refuses_to_stream_answers_at_once(field: str) -> None:
    heard = Heard()
    refused = error_reply(400, f"Your organization must be verified to use '{field}'.")
    result, model = play([refused, "Fine, thank you."], {}, stream=True, on_event=heard)
    assert result["final_result"] == "Fine, thank you."
    assert heard.said("text") == {1: "Fine, thank you."}
    assert field not in model.requests[1].body
    assert "stream_options" not in model.requests[1].body


def test_an_error_in_the_middle_of_a_stream_is_the_providers_error() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}
    body = b'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
    body += f"event: error\ndata: {json.dumps(overloaded)}\n\n".encode()
    reply = Reply(body, headers={"Content-Type": "text/event-stream"})
    result, model = play([reply, "At last."], {}, "anthropic", stream=True)
    assert result["final_result"] == "At last."
    assert len(model.requests) == 2


# --- Ghost.stream


def streaming(model: ModelServer, provider: WireName, **options: Any) -> Ghost:  # noqa: ANN401
    at: Any = {**spoken(provider), "base_url": model.base_url, "api_key": KEY, **options}
    return Ghost(server_config={"mcpServers": {}}, **at)


@every_provider
def test_a_ghost_gives_out_its_events_and_at_last_the_result(provider: WireName) -> None:
    heard = Heard()

    async def main(model: ModelServer) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        async with streaming(model, provider, on_event=heard) as ghost:
            events = [event async for event in ghost.stream("Good morning.")]
            return events, await ghost.run("And now?")

    with ModelServer(["How are you?", "Fine."], wire=provider) as model:
        events, after = asyncio.run(main(model))
    assert model.refusals == []
    assert "".join(it["text"] for it in events if it["type"] == "text") == "How are you?"
    assert_well_formed(events[-1]["result"])
    assert [it["type"] for it in events].count("run_end") == 1
    assert events[-1]["result"]["final_result"] == "How are you?"
    assert after["final_result"] == "Fine."
    assert [it["type"] for it in heard.events].count("run_end") == 2


async def test_the_events_of_a_stream_come_as_types() -> None:
    with ModelServer(["Good morning."]) as model:
        options: dict[str, Any] = {"server_config": {"mcpServers": {}}, "api_key": KEY}
        async with Ghost(provider="openai", base_url=model.base_url, **options) as ghost:
            heard = [event async for event in ghost.events("Hello?")]
    kinds = [RunStart, *[Text] * (len(heard) - 3), ModelReply, RunEnd]
    assert [type(event) for event in heard] == kinds
    assert "".join(it.text for it in heard if isinstance(it, Text)) == "Good morning."
    (end,) = (event for event in heard if isinstance(event, RunEnd))
    assert end.result is not None
    assert end.result["final_result"] == "Good morning."


@pytest.mark.parametrize("closes", [True, False])
async def test_leaving_the_loop_ends_the_request_and_the_next_one_goes_on(closes: bool) -> None:
    slow = Reply(content_reply("Once upon a time " * 100).body, pace=0.1)
    with ModelServer([slow, "Fine."]) as model:
        async with streaming(model, "openai") as ghost:
            events = ghost.stream("Tell a story.")
            async for event in events:
                if event["type"] == "text":
                    break
            if closes:
                await events.aclose()
            del events
            assert (await ghost.run("Something else."))["final_result"] == "Fine."


@pytest.mark.parametrize("kind", ["run_start", "text"])
def test_a_stream_that_was_left_ends_with_its_ghost_even_if_it_is_still_held(kind: str) -> None:
    async def main(model: ModelServer) -> set[asyncio.Task[Any]]:
        async with streaming(model, "openai") as ghost:
            events = ghost.stream("Tell a story.")
            while (await anext(events))["type"] != kind:
                pass
        return asyncio.all_tasks() - {asyncio.current_task()}

    slow = Reply(content_reply("Once upon a time " * 100).body, pace=0.1)
    with ModelServer([slow]) as model:
        assert asyncio.run(main(model)) == set()


def test_an_empty_request_is_refused_when_it_is_streamed() -> None:
    async def main(model: ModelServer) -> None:
        async with streaming(model, "openai") as ghost:
            async for _ in ghost.stream(" "):
                pass

    with ModelServer() as model, pytest.raises(ValueError, match="user_prompt is empty"):
        asyncio.run(main(model))


# --- pieces that others send


def read(
    provider: str, *sent: Mapping[str, Any] | str
) -> tuple[LLMResponse, list[tuple[str, str]]]:
    """The reply in these pieces, and what was told of them."""
    known: StreamingProvider = provider_of(provider)  # type: ignore[assignment]
    assembler = known.assembler()
    text = "".join(f"data: {it if isinstance(it, str) else json.dumps(it)}\r\n\r\n" for it in sent)
    told = [it for piece in EventReader().feed(text.encode()) for it in assembler.add(piece)]
    assert assembler.is_complete
    from mcp_ghost.names import ToolNames

    return known.decode(assembler.body(), ToolNames([]), model="m"), [*told]


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"model": "m", "choices": [{"delta": delta, "finish_reason": finish_reason}]}


def test_thinking_between_tags_is_told_as_thinking() -> None:
    pieces = ["<th", "ink>so", " it </", "thi", "nk>\n\nYes, </b>", " <think> is a word"]
    reply, told = read("openai", *[chunk(content=it) for it in pieces], chunk("stop"), "[DONE]")
    assert "".join(text for kind, text in told if kind == "thinking") == "so it "
    assert "".join(text for kind, text in told if kind == "text") == "Yes, </b> <think> is a word"
    assert reply.reasoning == "so it"


def test_calls_without_an_index_and_with_the_same_index_are_kept_apart() -> None:
    def call(name: str, number: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"id": number, "function": {"name": name, "arguments": "{}"}, **more}

    same = [
        chunk(tool_calls=[call("a", "1", index=0)]),
        chunk(tool_calls=[call("b", "2", index=0)]),
    ]
    none = [chunk(tool_calls=[call("a", "1"), call("b", "2")])]
    for pieces in (same, none):
        reply, _ = read("openai", *pieces, chunk("tool_calls"))
        assert [(it.id, it.function.name) for it in reply.tool_calls or ()] == [
            ("1", "a"),
            ("2", "b"),
        ]


def test_what_openrouter_wants_back_is_put_together_again() -> None:
    def detail(index: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        return chunk(reasoning_details=[{"type": "reasoning.text", "index": index, **more}])

    called = [{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{}"}}]
    reply, _ = read(
        "openai",
        detail(0, text="One "),
        detail(0, text="two.", signature="s"),
        detail(1, text="Three."),
        chunk("tool_calls", tool_calls=called),
    )
    ((state,),) = reply.provider_state.values()
    assert state["message"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "One two.", "signature": "s"},
        {"type": "reasoning.text", "index": 1, "text": "Three."},
    ]


def test_parts_of_text_and_of_thinking_are_read_as_mistral_sends_them() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    pieces = [chunk(content=[thought]), chunk(content="Yes"), chunk("stop", content=".")]
    reply, told = read("openai", *pieces)
    assert told == [("thinking", "Hm."), ("text", "Yes"), ("text", ".")]
    assert (reply.content, reply.reasoning) == ("Yes.", "Hm.")


def test_arguments_that_were_cut_off_are_no_arguments() -> None:
    start = {"type": "tool_use", "id": "t1", "name": "a", "input": {}}
    pieces: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": [1'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
        {"type": "message_stop"},
    ]
    reply, _ = read("anthropic", *pieces)
    assert reply.finish_reason == "length"
    assert [it.function.arguments for it in reply.tool_calls or ()] == ['{"a": [1']


# --- elsewhere


def test_a_provider_that_cannot_stream_tells_its_words_at_once() -> None:
    class Plain:
        """What somebody added before replies could be streamed."""

        def __init__(self) -> None:
            self.inner = OpenAI()

        def __getattr__(self, name: str) -> object:
            if name in ("streamed", "assembler"):
                raise AttributeError(name)
            return getattr(self.inner, name)

    from mcp_ghost.providers.client import ProviderClient

    told: list[tuple[str, str]] = []

    async def tell(delta: tuple[str, str]) -> None:
        told.append(delta)

    with ModelServer([content_reply("Yes.", reasoning="Hm.")]) as model:
        client = ProviderClient(Plain(), "k", base_url=model.base_url)  # type: ignore[arg-type]
        asyncio.run(client.complete([{"role": "user", "content": "?"}], on_delta=tell))
    assert told == [("thinking", "Hm."), ("text", "Yes.")]


@every_provider
def test_a_streamed_run_is_recorded_whole_and_replayed(provider: WireName, tmp_path: Path) -> None:
    golden = tmp_path / "g.json"
    given: dict[str, Any] = {"server_config": {"mcpServers": {}}, "system_prompt": ""}
    with ModelServer(["Good morning."], wire=provider) as model:
        given |= {**spoken(provider), "user_prompt": "Hello?", "base_url": model.base_url}
        asyncio.run(record_golden(golden, **given, stream=True))
    (exchange,) = load_golden(golden)["provider_responses"]
    assert isinstance(exchange["response"], dict)
    assert exchange["token_usage"]["completion_tokens"] == 8
    options: list[dict[str, Any]] = [{}, {"stream": True}]
    for more in options:
        replayed = asyncio.run(replay_golden(golden, **more))
        assert replayed["final_result"] == "Good morning."
    assert compare_golden(asyncio.run(replay_golden(golden)), golden) == []


def test_a_client_of_its_own_streams_too() -> None:
    async def main(base_url: str) -> str:
        said = ""

        async def tell(delta: tuple[str, str]) -> None:
            nonlocal said
            said += delta[1]

        client = get_llm_client("gemini", "k", base_url=base_url)
        await client.complete([{"role": "user", "content": "?"}], on_delta=tell)
        return said

    with ModelServer(["One two."], wire="gemini") as model:
        assert asyncio.run(main(model.base_url)) == "One two."


def test_nothing_is_streamed_unless_it_is_wished() -> None:
    with ModelServer(["Yes."]) as model:
        at: Any = {"user_prompt": "?", "base_url": model.base_url}
        asyncio.run(mcp_ghost({"mcpServers": {}}, "", "openai", **at))
    assert "stream" not in model.requests[0].body
