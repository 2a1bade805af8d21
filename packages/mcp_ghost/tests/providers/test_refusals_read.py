"""What is left out, renamed or clipped after a refusal, whoever words it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal

import pytest

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.messages import assistant_message, tool_message
from mcp_ghost.providers.client import ProviderClient, get_llm_client
from mcp_ghost.providers.common import LLMRequest, error_names, error_text, wire_id
from mcp_ghost.providers.refusal import Accepted
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.transport import Endpoint, joined_url, network_transport
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject
    from mcp_ghost.testing.refusals import ServerDialect
    from mcp_ghost.testing.wires import WireName

GONE = object()


def openai(message: str, param: str | None = None) -> JSONObject:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param}}


def pydantic(place: str, message: str) -> JSONObject:
    return {"detail": [{"loc": ["body", place], "msg": message, "type": "extra_forbidden"}]}


def config(**fields: object) -> JSONObject:
    return {"generationConfig": fields}


UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."
DEAR: JSONObject = {
    "error": {
        "message": "This request requires more credits, or fewer max_tokens. You requested up to "
        "65536 tokens, but can only afford 3000.",
        "code": 402,
    }
}
# (what is sent, the body of the refusal, what is sent from then on)
REFUSALS: dict[str, tuple[JSONObject, JSONObject, JSONObject]] = {
    "another name": (
        {"max_tokens": 9},
        openai(UNSUPPORTED.format("max_tokens") + " Use 'max_completion_tokens' instead."),
        {"max_completion_tokens": 9},
    ),
    "a length that is not known": (
        {"max_completion_tokens": 9},
        openai("Unrecognized request argument supplied: max_completion_tokens"),
        {"max_tokens": 9},
    ),
    "stop": ({"stop": ["E"]}, openai(UNSUPPORTED.format("stop"), "stop"), {}),
    "stop without a param": ({"stop": ["E"]}, openai(UNSUPPORTED.format("stop")), {}),
    "stop in too many words": (
        {"stop": ["a", "b", "c", "d", "e"]},
        openai(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an "
            "array with length 5 instead.",
            "stop",
        ),
        {"stop": ["a", "b", "c", "d"]},
    ),
    "only the default": (
        {"temperature": 0.2},
        openai(
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the "
            "default (1) value is supported.",
            "temperature",
        ),
        {},
    ),
    "one of two": (
        {"temperature": 0.2, "top_p": 0.9},
        openai("`temperature` and `top_p` cannot both be specified for this model."),
        {"temperature": 0.2},
    ),
    "a most": (
        {"temperature": 1.8},
        pydantic("temperature", "Input should be less than or equal to 1.5"),
        {"temperature": 1.5},
    ),
    "a range": (
        {"temperature": 1.8},
        openai("temperature: range: 0..1"),
        {"temperature": 1.0},
    ),
    "a range in words": (
        config(temperature=3.0),
        openai(
            "Unable to submit request because it has a temperature value of 3.0 but the supported "
            "range is from 0 (inclusive) to 2 (inclusive). Update the value and try again."
        ),
        config(temperature=2.0),
    ),
    "a least": (
        {"top_logprobs": 0},
        openai(
            "Invalid 'top_logprobs': integer below minimum value. Expected a value >= 1.",
            "top_logprobs",
        ),
        {"top_logprobs": 1},
    ),
    "a length in a range": (
        {"max_tokens": 64_000},
        openai("Range of max_tokens should be [1, 8192]"),
        {"max_tokens": 8192},
    ),
    "a length of Groq": (
        {"max_tokens": 64_000},
        openai(
            "`max_tokens` must be less than or equal to `8192`, the maximum value for this model"
        ),
        {"max_tokens": 8192},
    ),
    "a length of vLLM": (
        {"max_tokens": 64_000},
        {
            "object": "error",
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's "
            "maximum context length is 32768 tokens and your request has 5000 input tokens "
            "(64000 > 32768 - 5000).",
        },
        {"max_tokens": 27_768},
    ),
    "an effort of others": (
        {"reasoning_effort": "minimal"},
        openai(
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'low', 'medium', and 'high'.",
            "reasoning_effort",
        ),
        {"reasoning_effort": "low"},
    ),
    "no effort": (
        {"reasoning_effort": "low"},
        openai("Unrecognized request argument supplied: reasoning_effort"),
        {},
    ),
    # openai/openai.go in Ollama
    "an effort that Ollama does not know": (
        {"reasoning_effort": "xhigh"},
        {"message": 'invalid reasoning value: \'xhigh\' (must be "high", "medium", or "low")'},
        {"reasoning_effort": "high"},
    ),
    "no thinking at Ollama": (
        {"reasoning_effort": "low"},
        {"error": '"qwen2.5:7b" does not support thinking'},
        {},
    ),
    "LiteLLM's list": (
        {"reasoning_effort": "low", "parallel_tool_calls": True},
        openai(
            "litellm.UnsupportedParamsError: openai does not support parameters: "
            "['reasoning_effort', 'parallel_tool_calls'], for model=gpt-4o. To drop these, set "
            "`litellm.drop_params=True`"
        ),
        {},
    ),
    "wrapped by LiteLLM": (
        {"max_tokens": 9},
        openai(
            "litellm.BadRequestError: AzureException - Error code: 400 - {'error': {'message': "
            "\"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.\", 'param': 'max_tokens'}}"
        ),
        {"max_completion_tokens": 9},
    ),
    "Pydantic's extra": (
        {"parallel_tool_calls": True},
        pydantic("parallel_tool_calls", "Extra inputs are not permitted"),
        {},
    ),
    "Anthropic's extra": (
        {"thinking": {"type": "adaptive"}, "seed": 7},
        {"type": "error", "error": {"message": "seed: Extra inputs are not permitted"}},
        {"thinking": {"type": "adaptive"}},
    ),
    "Claude without effort": (
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low", "format": {}}},
        openai("This model does not support the effort parameter."),
        {"thinking": {"type": "adaptive"}, "output_config": {"format": {}}},
    ),
    "Claude without adaptive thinking": (
        {"thinking": {"type": "adaptive"}},
        openai("adaptive thinking is not supported on this model"),
        {},
    ),
    "Gemini always thinks": (
        config(thinkingConfig={"thinkingBudget": 0}, topK=3),
        openai("Budget 0 is invalid. This model only works in thinking mode."),
        config(topK=3),
    ),
    "Gemini's unknown name": (
        config(presencePenalty=0.5),
        openai(
            'Invalid JSON payload received. Unknown name "presence_penalty" at '
            "'generation_config': Cannot find field."
        ),
        {"generationConfig": {}},
    ),
    "no form": (
        {"response_format": {"type": "json_schema"}},
        openai("This response_format type is unavailable now"),
        {},
    ),
    "no choice": (
        {"tool_choice": "required"},
        openai("tool_choice 'required' is not supported by this model."),
        {},
    ),
    "cache markers": (
        {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
        openai("system.0.cache_control: Extra inputs are not permitted"),
        {"system": [{"type": "text", "text": "a"}]},
    ),
    "another's thinking": (
        {"input": [{"role": "assistant", "reasoning_content": "hm"}]},
        openai("'messages.2' : property 'reasoning_content' is unsupported"),
        {"input": [{"role": "assistant"}]},
    ),
    "the only word of xAI": (
        {"stop": ["E"], "seed": 1},
        {"code": "invalid-argument", "error": "Argument not supported on this model: stop"},
        {"seed": 1},
    ),
    "efforts that are none of ours": (  # https://github.com/earendil-works/pi/issues/1745
        {"reasoning_effort": "low"},
        openai("`reasoning_effort` must be one of `none` or `default`"),
        {},
    ),
    "no effort at a model that always thinks": (
        {"reasoning_effort": "none"},
        openai("Budget 0 is invalid. This model only works in thinking mode."),
        {},
    ),
    "a part of what is sent": (
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh", "format": {}}},
        openai("output_config.effort: Input should be 'low', 'medium' or 'high'"),
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high", "format": {}}},
    ),
    "a level of Gemini": (  # https://github.com/fishjar/kiss-translator/pull/1051
        config(thinkingConfig={"thinkingLevel": "minimal"}),
        openai(
            "'minimal' is not a supported thinking level for this model. Allowed values are: "
            "medium, low, high."
        ),
        config(thinkingConfig={"thinkingLevel": "low"}),
    ),
    "a budget of Gemini": (
        config(thinkingConfig={"thinkingBudget": 99_999}),
        openai(
            "The thinking budget 99999 is invalid. Please choose a value between 128 and 32768."
        ),
        config(thinkingConfig={"thinkingBudget": 32_768}),
    ),
    "another kind of thinking": (
        {"thinking": {"type": "adaptive"}},
        openai(
            "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected "
            "tags: 'disabled', 'enabled'"
        ),
        {},
    ),
    "penalties of Gemini": (
        config(presencePenalty=0.5, topK=3),
        openai("Penalty is not enabled for models/gemini-2.5-flash"),
        config(topK=3),
    ),
    "JSON of Gemma": (
        config(responseMimeType="application/json", responseJsonSchema={}, topK=3),
        openai("JSON mode is not enabled for models/gemma-3-27b-it"),
        config(topK=3),
    ),
    "JSON beside tools of Groq": (
        {"response_format": {"type": "json_schema"}},
        openai("json mode cannot be combined with tool/function calling"),
        {},
    ),
    "a length of Bedrock": (
        {"max_tokens": 64_000},
        {
            "message": "The maximum tokens you requested exceeds the model limit of 8192. Try "
            "again with a maximum tokens value that is lower than 8192."
        },
        {"max_tokens": 8192},
    ),
    "a length that can be paid": ({"max_tokens": 65_536}, DEAR, {"max_tokens": 3000}),
    "a length where none was said": ({"messages": []}, DEAR, {"messages": [], "max_tokens": 3000}),
    "a length in a range of Zhipu": (
        {"max_tokens": 150_000},
        openai("max_tokens参数非法。取值范围[1,98304]"),
        {"max_tokens": 98_304},
    ),
    "a length of MiMo": (  # https://github.com/AQBot-Desktop/AQBot/issues/93
        {"max_tokens": 1_048_576},
        openai(
            "Param Incorrect",
            "max_tokens is too large: 1048576. This model supports at most 131072 completion "
            "tokens, whereas you provided 1048576.",
        ),
        {"max_tokens": 131_072},
    ),
    "a length of DeepSeek": (
        {"max_tokens": 500_000},
        openai("field MaxTokens invalid, should be in [1, 384000]"),
        {"max_tokens": 384_000},
    ),
    "a length of Fireworks": (
        {"max_tokens": 64_000},
        openai("Requests with max_tokens > 4096 must have stream=true"),
        {"max_tokens": 4096},
    ),
    "what is left of the context": (
        {"max_tokens": 8192},
        openai(
            "This model's maximum context length is 8192 tokens. However, you requested 8256 "
            "tokens (64 in the messages, 8192 in the completion). Please reduce the length of the "
            "messages or completion.",
            "messages",
        ),
        {"max_tokens": 8128},
    ),
    "what is left of the context at OpenRouter": (
        {"max_tokens": 64_000},
        openai(
            "This endpoint's maximum context length is 32768 tokens. However, you requested about "
            "69500 tokens (5000 of text input, 500 of tool input, 64000 in the output)."
        ),
        {"max_tokens": 27_268},
    ),
    "what is left of the context at Together": (
        {"max_tokens": 64_000},
        openai(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: "
            "200 `inputs` tokens and 64000 `max_new_tokens`"
        ),
        {"max_tokens": 7993},
    ),
    "an option of vLLM": (
        {"min_p": 0.1, "stream_options": {"include_usage": True}},
        {"error": {"message": "Unknown field: stream_options"}},
        {"min_p": 0.1},
    ),
}
OTHERS = {
    "a schema": openai(
        "Invalid schema for function 't': In context=('properties', 'temperature'), 'type' is "
        "required.",
        "tools[0].function.parameters",
    ),
    "a message": openai("Invalid 'messages[1].content': stop must be a string."),
    "too long": openai("This model's maximum context length is 8192 tokens. Please reduce it."),
    "the model": openai("The model 'm' does not exist"),
    "an ordinary word": openai("We cannot continue here and have to stop: try again."),
}


def refused(body: JSONObject) -> LLMStatusError:
    named = error_names(body)
    status = 402 if named.get("code") == "402" else 400
    error = LLMStatusError(error_text(body), status, named=named)
    return Endpoint("http://localhost").explained(error)


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_refused_is_corrected_once(case: str) -> None:
    given, body, expected = REFUSALS[case]
    payload = {"model": "m", **given}
    accepted = Accepted()
    assert accepted.learn(payload, refused(body))
    assert accepted.of(payload) == {"model": "m", **expected}


@pytest.mark.parametrize("case", OTHERS)
def test_a_refusal_of_something_else_teaches_nothing(case: str) -> None:
    payload = {"model": "m", "messages": [], "stop": ["E"], "temperature": 1, "max_tokens": 9}
    assert Accepted().learn(payload, refused(OTHERS[case])) == {}


def ask(model: ModelServer, provider: WireName = "openai", **more: Any) -> str | None:  # noqa: ANN401
    client = get_llm_client(
        provider, "k", more.pop("called", "m"), model.base_url, wire=more.pop("wire", "auto")
    )
    messages = more.pop("messages", [{"role": "user", "content": "Hello."}])
    return asyncio.run(client.complete(messages, **more)).content


def test_corrections_end_when_each_was_tried() -> None:
    def stubborn(request: ModelRequest) -> Reply:
        field = next((it for it in request.body if it not in ("model", "messages")), None)
        return Reply(openai(UNSUPPORTED.format(field), field), 400) if field else content_reply("!")

    with ModelServer(stubborn) as model:
        assert ask(model, max_tokens=9, temperature=1, stop=["E"], seed=1) == "!"
    asked = [json.dumps(request.body) for request in model.requests]
    assert len(asked) == len({*asked}) == 6


def test_a_server_that_always_wants_less_is_given_up() -> None:
    def stubborn(request: ModelRequest) -> Reply:
        asked = request.body["max_tokens"]
        return Reply(openai(f"max_tokens: {asked} > {asked - 1}, which is the maximum"), 400)

    with ModelServer(stubborn) as model, pytest.raises(LLMStatusError, match="the maximum"):
        ask(model, max_tokens=9_000)
    assert len(model.requests) == 41


CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a.b:c", "type": "function", "function": {"name": "s.t", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "a.b:c", "content": "1"},
]


@pytest.mark.parametrize(
    ("dialect", "called", "options", "requests"),
    [
        ("litellm", "my-claude", {}, 2),
        ("mistral", "my-model", {"max_completion_tokens": 9}, 3),
        ("mistral", "mistral-large", {}, 1),
        ("openai", "gpt-5", {"max_tokens": 9, "stop": ["E"], "temperature": 0.2}, 4),
    ],
)
def test_a_strict_server_gets_what_it_takes_after_its_refusals(
    dialect: ServerDialect, called: str, options: JSONObject, requests: int
) -> None:
    """At an address that does not say whose it is, so that only refusals can."""
    with ModelServer(["Done."], dialect=dialect) as model:
        assert ask(model, called=called, messages=CALLED, wire="chat", **options) == "Done."
    assert len(model.requests) == requests


def test_a_reply_stands_between_a_result_and_the_user_where_a_model_wants_one() -> None:
    messages = [*CALLED, {"role": "user", "content": "And then?"}]
    with ModelServer(["Done."], dialect="mistral") as model:
        assert ask(model, called="mistral-large", messages=messages, wire="chat") == "Done."
    roles = [[it["role"] for it in request.body["messages"]] for request in model.requests]
    asked = ["user", "assistant", "tool", "user"]
    assert roles == [asked, [*asked[:3], "assistant", "user"]]


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("openai", "System role not supported"),
        (
            "openai",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        ),
        ("gemini", "Developer instruction is not enabled for models/gemma-3-27b-it"),
    ],
)
def test_instructions_are_words_of_the_user_where_a_model_takes_no_others(
    provider: WireName, said: str
) -> None:
    def gemma(request: ModelRequest) -> Reply:
        takes = "system" not in json.dumps(request.body)
        return content_reply("Done.") if takes else Reply(openai(said), 400)

    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}]
    with ModelServer(gemma, wire=provider) as model:
        assert ask(model, provider, messages=messages) == "Done."
    assert len(model.requests) == 2
    assert "Be kind." in json.dumps(model.requests[-1].body)


WIRES: tuple[WireName, ...] = ("openai", "responses", "anthropic", "gemini")


@pytest.mark.parametrize("first", WIRES)
@pytest.mark.parametrize("second", WIRES)
def test_a_conversation_goes_on_with_any_other_provider(first: WireName, second: WireName) -> None:
    reply = tool_reply([("s.t", {"a": 1}), ("s.t", {})], "So.", reasoning="Hm.")
    for index, made in enumerate(reply.body["choices"][0]["message"]["tool_calls"]):  # type: ignore[call-overload]
        made["id"] = f"functions.s_t:{index}" + "x" * 40
    known = [{"type": "function", "function": {"name": "s.t"}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello."}]

    def client(model: ModelServer, wire: WireName) -> ProviderClient:
        provider = "openai" if wire == "responses" else wire
        spoken = {"responses": "responses", "openai": "chat"}.get(wire, "auto")
        name = {"gemini": "gemini-3.8-flash"}.get(wire, "m")
        return get_llm_client(provider, "k", name, model.base_url, wire=spoken)

    with ModelServer([reply], wire=first) as model:
        response = asyncio.run(client(model, first).complete(messages, tools=known))
    messages.append(assistant_message(response))
    messages += [tool_message(it.id, "1") for it in response.tool_calls or ()]
    for dialect in ("generic", "openai") if second == "openai" else ("generic",):
        with ModelServer(["Done."], wire=second, dialect=dialect) as model:
            reply_of_other = asyncio.run(client(model, second).complete(messages, tools=known))
        assert (reply_of_other.content, model.refusals) == ("Done.", [])


def test_an_id_of_a_call_is_kept_if_it_fits_and_else_always_becomes_the_same() -> None:
    kept = ["toolu_01A09q90qw90lq917835lq9", "call_abc", "D681PevKs"]
    assert [wire_id(it) for it in kept] == kept
    odd = ["", "a" * 41, "a.b", "a:b", "\ud800"]
    assert len({wire_id(it) for it in odd}) == len(odd)
    for it in odd:
        assert wire_id(it) == wire_id(it)
        assert wire_id(it, is_short=True).isalnum()


def test_the_query_of_a_base_url_stays_behind_the_path() -> None:
    azure = "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    assert joined_url(azure, "/chat/completions") == (
        "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"
    )
    assert joined_url("http://h/v1?k=1", "/m:stream?alt=sse") == "http://h/v1/m:stream?alt=sse&k=1"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions/?api-version=1", "/v1/chat/completions?api-version=1"),
        ("/v1/responses?api-version=1", "/v1/responses?api-version=1"),
    ],
)
def test_the_whole_address_of_an_endpoint_will_do_as_base_url(path: str, asked: str) -> None:
    with ModelServer(["Done."], dialect="openai") as model:
        client = get_llm_client("openai", "k", "m", model.base_url.removesuffix("/v1") + path)
        assert asyncio.run(client.complete([{"role": "user", "content": "Hi."}])).content == "Done."
    assert model.requests[0].headers[":path"] == asked


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models",
        "/v1beta/models/gemini-x:generateContent",
        "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    ],
)
def test_the_whole_address_of_a_gemini_will_do_and_names_the_model(path: str) -> None:
    model = "gemini-x" if path.endswith("/models") else None
    with ModelServer(["Done."], wire="gemini") as server:
        where = server.base_url
        client = get_llm_client("gemini", "k", model, where + path)
        assert asyncio.run(client.complete([{"role": "user", "content": "Hi."}])).content == "Done."
    assert server.requests[0].headers[":path"] == "/v1beta/models/gemini-x:generateContent"
    assert get_llm_client("gemini", "k", "mine", where + path).model == "mine"


def test_the_reasons_of_a_refusal_are_told_wherever_they_stand() -> None:
    details = [{"message": "'array' should be 'string'", "param": "/input"}, {"@type": "x"}]
    azure = {"error": {"code": "invalid_payload", "message": "Invalid", "details": details}}
    assert error_text(azure) == "Invalid: 'array' should be 'string'"
    minimax = {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    assert error_text(minimax) == "insufficient balance"
    assert error_text({"code": 1, "msg": "no such model"}) == "no such model"


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_azure_gets_the_key_in_a_header_of_its_own(wire: Literal["chat", "responses"]) -> None:
    azure = "https://x.openai.azure.com/openai/v1"
    for key, header in (("k", "api-key"), ("eyJ0", "Authorization")):
        request = LLMRequest(
            messages=[{"role": "user", "content": "Hi."}],
            model="m",
            base_url=azure,
            api_key=key,
            wire=wire,
        )
        assert [*get_provider("openai").encode(request).headers] == [header]


@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_that_needs_a_package_is_named_with_its_variable(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "socks5://user:secret@127.0.0.1:1080")
    monkeypatch.setattr("mcp_ghost.network.find_spec", lambda _: None)
    with pytest.raises(LLMError, match=rf"{variable} names a proxy.*socksio") as caught:
        network_transport(Endpoint("https://api.example.com/v1"))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_servers_say_is_read_only_when_one_has_said_something() -> None:
    program = "from mcp_ghost import tables; import mcp_ghost.providers.client; "
    program += "print(tables.patterns.cache_info().currsize)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout.strip() == b"0"
