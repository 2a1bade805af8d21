"""Replies as servers were seen to send them, whole and piece by piece, at addresses of all kinds.

The tables name the servers or the reports: https://github.com/vllm-project/vllm/issues/32587,
https://github.com/NVIDIA/TensorRT-LLM/issues/9256, https://github.com/lidge-jun/opencodex/issues/361,
https://github.com/SillyTavern/SillyTavern/pull/2121.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import pytest

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import LLMResponse
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.testing.wires import WireName
from tests.support.wires import llm_client

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("s.t", "s.u")]
ROOT = "http://127.0.0.1:1"


def asked(
    wire: WireName,
    answer: Callable[[httpx2.Request], httpx2.Response],
    base_url: str = f"{ROOT}/v1",
    *,
    streams: bool = False,
    **more: Any,  # noqa: ANN401
) -> tuple[LLMResponse, str]:
    """The reply that a server makes of ``answer``, and what was told of its text."""
    told: list[str] = []

    async def tell(delta: tuple[str, str]) -> None:
        told.extend([delta[1]] if delta[0] == "text" else [])

    client = llm_client(
        wire,
        "key",
        "m",
        base_url,
        transport=httpx2.MockTransport(answer),
        retry=RetryPolicy(max_attempts=1),
        **more,
    )
    said = [{"role": "user", "content": "Hello."}]
    reply = asyncio.run(client.complete(said, tools=TOOLS, on_delta=tell if streams else None))
    return reply, "".join(told)


def chat(message: Mapping[str, Any], finish: str = "stop") -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def pieces(text: str, **envelopes: dict[str, Any]) -> bytes:
    """``text`` in a stream, three characters at a time, in ``envelopes`` by the field of each."""
    deltas = [{"content": text[at : at + 3]} for at in range(0, len(text), 3)]
    choices = [{"delta": it} for it in deltas] + [{"delta": {}, "finish_reason": "stop"}]
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, **it}]} for it in choices]
    for field, rest in envelopes.items():
        events = [{**rest, field: it} for it in events]
    return b"".join(b"data: %s\n\n" % json.dumps(it).encode() for it in events)


THINKS = "<|channel|>analysis<|message|>Hm.<|end|>"
TEXTS = {
    "ChatML": ("Yes.<|im_end|>", "Yes.", None),
    "ChatML with a line": ("Yes.<|im_end|>\n", "Yes.", None),
    "ChatML that begins, too": ("<|im_start|>assistant\nYes.<|im_end|>", "Yes.", None),
    "another turn": ("Yes.<|im_end|>\n<|im_start|>user\nAnd then?", "Yes.", None),
    "Llama": ("Yes.<|eot_id|>", "Yes.", None),
    "Llama's next turn": (
        "Yes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nNo",
        "Yes.",
        None,
    ),
    "Llama's header": (
        "<|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eom_id|>",
        "Yes.",
        None,
    ),
    "Mistral": ("Yes.</s>", "Yes.", None),
    "Mistral at both ends": ("<s>Yes.</s>", "Yes.", None),
    "HTML": ("Now $8, not <s>$10</s>", "Now $8, not <s>$10</s>", None),
    "HTML at the start": ("<s>$10</s> $8", "<s>$10</s> $8", None),
    "Gemma": ("Yes.<end_of_turn>\n<eos>", "Yes.", None),
    "Phi": ("Yes.<|end|><|endoftext|>", "Yes.", None),
    "GLM": ("Yes.<|user|>", "Yes.", None),
    "DeepSeek": ("Yes.<\uff5cend\u2581of\u2581sentence\uff5c>", "Yes.", None),
    "thinking before a mark": ("<think>Hm.</think>Yes.<|im_end|>", "Yes.", "Hm."),
    "JSON before a mark": ('{"a": 1}<|im_end|>', '{"a": 1}', None),
    "gpt-oss": (f"{THINKS}<|start|>assistant<|channel|>final<|message|>Yes.", "Yes.", "Hm."),
    "gpt-oss to its end": (
        f"<|start|>assistant{THINKS}<|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
        "Yes.",
        "Hm.",
    ),
    "gpt-oss without its first mark": (
        "Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
        "Yes.",
        "Hm.",
    ),
    "gpt-oss, a form of answers": (
        "<|channel|>final <|constrain|>JSON<|message|>{}",
        "{}",
        None,
    ),
    "gpt-oss, only remarks": ("<|channel|>commentary<|message|>{}<|end|>", "{}", None),
    "gpt-oss, several thoughts": (
        f"{THINKS}{THINKS}<|channel|>final<|message|>Yes.<|end|>",
        "Yes.",
        "Hm.\nHm.",
    ),
    "gpt-oss without marks": ("analysisHm.assistantfinalYes.", "Yes.", "Hm."),
    "gpt-oss, a call in words": (
        "<|channel|>commentary to=functions.s_t <|constrain|>json<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.s_t <|constrain|>json<|message|>{}",
        None,
    ),
    "words about a mark": ("Not <|im_end|>, no.", "Not <|im_end|>, no.", None),
    "less than": ("1 <|2| < 3", "1 <|2| < 3", None),
    "an example of ChatML": (
        "So: <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant, and so on.",
        "So: <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant, and so on.",
        None,
    ),
    "the word": ("analysis is done", "analysis is done", None),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_marks_of_chat_templates_are_no_part_of_an_answer(kind: str) -> None:
    text, answer, thought = TEXTS[kind]
    body = chat({"content": text})
    whole, _ = asked("openai", lambda _: httpx2.Response(200, json=body))
    assert (whole.content, whole.reasoning) == (answer, thought)
    stream = httpx2.Response(200, content=pieces(text))
    grown, told = asked("openai", lambda _: stream, streams=True)
    assert (grown.content, grown.reasoning) == (answer, thought)
    if "start" not in text and "analysisHm" not in text:
        assert told.strip() in (answer, text.strip())


@pytest.mark.parametrize("mark", ["<|im_end|>", "<|eot_id|>", "</s>"])
def test_marks_are_read_on_other_wires_and_in_arguments_too(mark: str) -> None:
    block = {"content": [{"type": "text", "text": f"Yes.{mark}"}], "stop_reason": "end_turn"}
    assert asked("anthropic", lambda _: httpx2.Response(200, json=block))[0].content == "Yes."
    function = {"name": f"s_t{mark}", "arguments": f'{{"a": 1}}{mark}'}
    body = chat({"content": None, "tool_calls": [{"id": "1", "function": function}]}, "tool_calls")
    reply, _ = asked("openai", lambda _: httpx2.Response(200, json=body))
    assert made(reply) == [("s.t", {"a": 1})]


def made(reply: LLMResponse) -> list[tuple[str, Any]]:
    calls = reply.tool_calls or ()
    return [(it.function.name, json.loads(it.function.arguments)) for it in calls]


@pytest.mark.parametrize(
    "name",
    [
        "s_t<|channel|>commentary",
        "s_t<|constrain|>json",
        "s_t<|im_end|>",
        "functions.s_t",
        "commentary to=functions.s_t",
        "assistant<|channel|>commentary to=functions.s_t <|constrain|>json",
        " s_t\n",
    ],
)
def test_marks_around_the_name_of_a_tool_are_no_part_of_it(name: str) -> None:
    call = {"id": "1", "function": {"name": name, "arguments": "{}"}}
    body = chat({"content": None, "tool_calls": [call]}, "tool_calls")
    assert made(asked("openai", lambda _: httpx2.Response(200, json=body))[0]) == [("s.t", {})]


def test_a_call_that_a_proxy_sums_up_behind_its_pieces_is_made_once() -> None:
    """As https://github.com/BerriAI/litellm/issues/20480 has it, with JSON in JSON."""
    written = '{"a": "b"}'
    said = [written[:4], written[4:], json.dumps(written)]
    calls = [{"index": 0, "id": "1", "function": {"name": "s_t", "arguments": it}} for it in said]
    events = [{"choices": [{"delta": {"tool_calls": [it]}, "finish_reason": None}]} for it in calls]
    body = b"".join(b"data: %s\n\n" % json.dumps(it).encode() for it in events)
    stream = httpx2.Response(200, content=body + b"data: [DONE]\n\n")
    assert made(asked("openai", lambda _: stream, streams=True)[0]) == [("s.t", {"a": "b"})]


WHOLE: dict[WireName, dict[str, Any]] = {
    "openai": chat({"content": "Yes."}),
    "responses": {
        "object": "response",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}],
    },
    "anthropic": {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]},
}


@pytest.mark.parametrize("wire", WHOLE)
@pytest.mark.parametrize(
    "envelope",
    [
        {"data": ...},
        {"result": ...},
        {"code": 0, "msg": "ok", "data": ...},
        {"success": True, "errors": [], "messages": [], "result": ...},
        {"jsonrpc": "2.0", "id": 1, "error": None, "result": ...},
        {"choices": None, "data": ...},
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_a_reply_is_read_in_an_envelope(
    wire: WireName, envelope: Mapping[str, Any], streams: bool
) -> None:
    body = {key: WHOLE[wire] if it is ... else it for key, it in envelope.items()}
    reply, _ = asked(wire, lambda _: httpx2.Response(200, json=body), streams=streams)
    assert reply.content == "Yes."


def test_the_pieces_of_a_stream_may_have_envelopes() -> None:
    stream = pieces("Yes.", data={"code": 0})
    _, told = asked("openai", lambda _: httpx2.Response(200, content=stream), streams=True)
    assert told == "Yes."


def test_an_error_in_an_envelope_is_an_error() -> None:
    body = {"data": {"error": {"message": "Too much.", "code": 400}}}
    with pytest.raises(LLMStatusError, match="Too much"):
        asked("openai", lambda _: httpx2.Response(200, json=body))


ADDRESSES: Sequence[tuple[WireName, str, str]] = [
    ("openai", f"{ROOT}/v1/models", "/v1/chat/completions"),
    ("openai", f"{ROOT}/v1/models/", "/v1/chat/completions"),
    ("openai", f"{ROOT}/v1/completions", "/v1/chat/completions"),
    ("openai", f"{ROOT}/v1/chat/completions", "/v1/chat/completions"),
    ("openai", f"{ROOT}/openai/v1/completions?k=1", "/openai/v1/chat/completions"),
    ("openai", ROOT, "/v1/chat/completions"),
    ("openai", f"{ROOT}/", "/v1/chat/completions"),
    ("openai", f"{ROOT}/api/chat", "/v1/chat/completions"),
    ("openai", f"{ROOT}/api/generate", "/v1/chat/completions"),
    ("openai", f"{ROOT}/api/tags", "/v1/chat/completions"),
    ("openai", "https://api.openai.com", "/v1/chat/completions"),
    ("openai", "https://openrouter.ai", "/api/v1/chat/completions"),
    ("openai", f"{ROOT}/models", "/models/chat/completions"),
    ("openai", f"{ROOT}/api", "/api/chat/completions"),
    ("anthropic", f"{ROOT}/v1/models", "/v1/messages"),
    ("anthropic", f"{ROOT}/v1/messages", "/v1/messages"),
    ("gemini", f"{ROOT}/v1beta/models", "/v1beta/models/m:generateContent"),
]


@pytest.mark.parametrize(("wire", "base_url", "path"), ADDRESSES)
@pytest.mark.parametrize(
    "nowhere",
    [
        httpx2.Response(404, text="404 page not found"),
        httpx2.Response(404, json={"detail": "Not Found"}),
        httpx2.Response(405, text="Method Not Allowed"),
        httpx2.Response(200, json={"error": "Unexpected endpoint or method. (POST /x)"}),
    ],
    ids=["Ollama", "vLLM", "a page", "LM Studio"],
)
def test_the_address_of_a_server_is_found(
    wire: WireName, base_url: str, path: str, nowhere: httpx2.Response
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path != path:
            return httpx2.Response(nowhere.status_code, content=nowhere.content)
        return httpx2.Response(200, json=WHOLE[wire])

    assert asked(wire, answer, base_url)[0].content == "Yes."


def test_a_server_without_any_address_for_models_is_asked_twice() -> None:
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(404, text="Not here")

    with pytest.raises(LLMStatusError, match="base URL"):
        asked("openai", answer, ROOT)
    assert paths == ["/chat/completions", "/v1/chat/completions"]


def test_a_model_that_is_missing_is_no_wrong_address() -> None:
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(404, json={"error": {"message": "model 'm' not found"}})

    with pytest.raises(LLMStatusError, match="not found"):
        asked("openai", answer, ROOT)
    assert paths == ["/chat/completions"]
