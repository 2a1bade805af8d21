import json
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_ghost.errors import LLMReplyError, LLMStatusError
from mcp_ghost.messages import LLMResponse, assistant_message, tool_message
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import openai
from mcp_ghost.testing.refusals import refusal
from tests.support.provider_requests import request_for

Anything: TypeAlias = Any


def reply(message: dict[str, Anything], **body: Anything) -> LLMResponse:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return openai.OpenAI().decode({"choices": [choice], **body}, ToolNames([]), model="asked-for")


def call(name: str, arguments: Anything = "{}", call_id: str = "c1") -> dict[str, Anything]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def sent_back(response: LLMResponse) -> dict[str, Anything]:
    """``response`` as part of the history of the next request."""
    messages = [assistant_message(response)]
    message: dict[str, Anything] = (
        openai.OpenAI().encode(request_for(messages)).payload["messages"][0]
    )
    return message


def test_an_answer_is_read_with_model_usage_and_cost() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
        "cost": 0.25,
    }
    assert reply({"content": "Hello."}, model="served", usage=usage) == LLMResponse(
        content="Hello.",
        model="served",
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "cached_tokens": 8,
        },
        finish_reason="stop",
        cost=0.25,
    )


def test_a_body_without_model_or_usage_is_read_too() -> None:
    response = reply({"content": "Hello."}, usage=None)
    assert (response.model, response.usage, response.cost) == ("asked-for", None, None)


def test_calls_win_over_text_which_is_kept_beside_them() -> None:
    response = reply({"content": "I look it up.", "tool_calls": [call("a_b")]})
    assert response.content is None
    assert response.text == "I look it up."
    assert response.tool_calls is not None


@pytest.mark.parametrize(
    "content",
    [
        "Hello.",
        ["Hel", "lo."],
        {"type": "text", "text": "Hello."},
        [{"type": "output_text", "text": "Hel"}, {"text": "lo."}],
    ],
)
def test_text_is_read_in_every_form(content: Anything) -> None:
    assert reply({"content": content}).content == "Hello."


def test_the_forms_before_chat_and_tools_are_read() -> None:
    choice = {"text": "Hello.", "finish_reason": "stop"}
    read = openai.OpenAI().decode({"choices": [choice]}, ToolNames([]), model="m")
    assert read.content == "Hello."
    (made,) = reply({"function_call": call("a")["function"]}).tool_calls or []
    assert made.function.name == "a"


def test_text_and_calls_in_choices_of_their_own_are_one_reply() -> None:
    said = {"index": 0, "message": {"content": "I look."}, "finish_reason": "tool_calls"}
    asks = {"message": {"tool_calls": [call("a_b")]}, "finish_reason": "tool_calls"}
    response = openai.OpenAI().decode({"choices": [said, asks]}, ToolNames([]), model="m")
    assert [it.id for it in response.tool_calls or ()] == ["c1"]
    assert response.text == "I look."


def test_a_call_that_stands_in_no_list_is_read() -> None:
    signed = {**call("a_b"), "extra_content": {"x": 1}}
    response = reply({"tool_calls": signed})
    assert sent_back(response)["tool_calls"][0]["extra_content"] == {"x": 1}


def test_a_reply_that_ends_with_an_error_is_none() -> None:
    choice = {"message": {"content": "Hel"}, "finish_reason": "error"}
    with pytest.raises(LLMReplyError, match="ended the reply with an error"):
        openai.OpenAI().decode({"choices": [choice]}, ToolNames([]), model="m")


def test_the_wire_name_is_decoded() -> None:
    names = ToolNames(["thoughtbox.think"])
    body = {"choices": [{"message": {"tool_calls": [call("thoughtbox_think"), call("made_up")]}}]}
    calls = openai.OpenAI().decode(body, names, model="?").tool_calls or []
    assert [each.function.name for each in calls] == ["thoughtbox.think", "made_up"]


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (None, "{}"),
        ("", "{}"),
        ({"a": "é"}, '{"a": "é"}'),
        ("{broken", "{broken"),
        ([1], "[1]"),
        ("null", "{}"),
        ("[]", "{}"),
        ([], "{}"),
        (' {"a":1} ', ' {"a":1} '),
        (r'"{\"a\": 1}"', '{"a": 1}'),
        (r'"\"{}\""', "{}"),
        ('"{}x"', '"{}x"'),
        ('"a"', '"a"'),
        ("0", "0"),
        ('{"a": "b\nc"}', r'{"a": "b\nc"}'),
        ('\ufeff{"a": 1}', '{"a": 1}'),
        ('{"a": 1}{"a": 1}', '{"a": 1}'),
        ('{}\n{"a": 1}', '{"a": 1}'),
        ('{"a": 1}{"a": 2}', '{"a": 1}{"a": 2}'),
        ("[" * 10_000, "[" * 10_000),
    ],
)
def test_arguments_are_read_as_text(sent: Anything, read: str) -> None:
    calls = reply({"tool_calls": [call("a", sent)]}).tool_calls or []
    assert calls[0].function.arguments == read


def test_parameters_are_read_as_the_arguments_that_a_call_lacks() -> None:
    said = {"id": "c1", "function": {"name": "a", "parameters": {"x": 1}}}
    calls = reply({"tool_calls": [said]}).tool_calls or []
    assert calls[0].function.arguments == '{"x": 1}'


def test_what_providers_want_back_with_their_calls_is_sent_back_with_them() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    thinking = {
        "reasoning_content": "Hm.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2lnbmVk"}],
    }
    calls = [call("a_b"), {**call("a_b", call_id="c2"), "extra_content": signature}]
    sent = sent_back(reply({"content": None, "tool_calls": calls, **thinking}))
    assert {key: sent[key] for key in thinking} == thinking
    assert [entry.get("extra_content") for entry in sent["tool_calls"]] == [None, signature]


def test_thinking_beside_an_answer_is_not_sent_back() -> None:
    sent = sent_back(reply({"content": "Done.", "reasoning_content": "Hm."}))
    assert sent == {"role": "assistant", "content": "Done."}


@pytest.mark.parametrize("number", [float("nan"), "12", None])
def test_what_is_not_a_number_counts_nothing(number: Anything) -> None:
    read = reply({"content": "Done."}, usage={"prompt_tokens": number, "cost": number})
    assert read.usage is not None
    assert read.usage["prompt_tokens"] == 0
    assert read.cost is None


def test_missing_and_repeated_ids_are_replaced() -> None:
    nameless = {"function": {"name": "a"}}
    response = reply({"tool_calls": [call("a"), call("a"), nameless, nameless, "nonsense"]})
    calls = response.tool_calls or []
    assert len({each.id for each in calls}) == 5
    assert calls[0].id == "c1"
    assert {each.type for each in calls} == {"function"}


@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("<think>hm</think>go north", "go north", "hm"),
        ("<THINKING>\nhm\n</THINKING>\n\ngo north", "go north", "hm"),
        ("hm, north</think>go north", "go north", "hm, north"),
        ("<think>still thinking when the tok", None, "still thinking when the tok"),
        ("<think>a</think>x<think>b</think>y", "xy", "a\nb"),
        ("<think>a<think>b</think>c</think>y", "y", "a<think>b\nc"),
        ("a tag like <think> in the text", "a tag like <think> in the text", None),
        ('{"thinking": "<think>a</think>"}', '{"thinking": "<think>a</think>"}', None),
        ("<think></think>go", "go", None),
        (" \n ", None, None),
    ],
)
def test_thinking_is_taken_out_of_the_answer(
    text: str, answer: str | None, thinking: str | None
) -> None:
    response = reply({"content": text})
    assert (response.content, response.reasoning) == (answer, thinking)


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_thinking_in_a_field_of_its_own_is_read(key: str) -> None:
    assert reply({"content": "go", key: "hm"}).reasoning == "hm"


def test_content_in_parts_is_joined_without_its_thinking() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "go "},
        {"type": "text", "text": "north"},
    ]
    response = reply({"content": parts})
    assert (response.content, response.reasoning) == ("go north", "hm")


def test_a_refusal_is_the_answer() -> None:
    assert reply({"content": None, "refusal": "I will not."}).content == "I will not."


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, {"choices": ["x"]}])
def test_a_body_without_a_choice_is_an_error(body: dict[str, Anything]) -> None:
    with pytest.raises(LLMReplyError, match="without any choice"):
        openai.OpenAI().decode(body, ToolNames([]), model="?")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Overloaded", "code": 529}},
        {"choices": [{"error": {"message": "Overloaded", "code": "529"}, "message": {}}]},
    ],
)
def test_an_error_inside_a_success_is_an_error_with_its_status(body: dict[str, Anything]) -> None:
    with pytest.raises(LLMStatusError, match="Overloaded") as caught:
        openai.OpenAI().decode(body, ToolNames([]), model="?")
    assert caught.value.status == 529


def test_an_error_without_a_status_is_an_unusable_reply() -> None:
    with pytest.raises(LLMReplyError, match="model exploded"):
        openai.OpenAI().decode({"error": "model exploded"}, ToolNames([]), model="?")


json_st = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
wire_call_st = st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.text(max_size=6),
        "type": st.just("function"),
        "function": st.none()
        | st.fixed_dictionaries(
            {"name": st.sampled_from(["s_t", "x_y", ""])},
            optional={"arguments": st.none() | st.text(max_size=20) | json_st},
        ),
    },
)
content_st = st.none() | st.text(max_size=30) | st.sampled_from(["<think>a</think>b", "a</think>"])


# Property 11: Tool Calls Parsing
@settings(max_examples=100)
@example(raw=[{"function": {"name": "s_t", "arguments": False}}], content=None)
@example(raw=[{"function": {"name": "s_t", "arguments": {}}}], content=None)
@given(raw=st.lists(wire_call_st, min_size=1, max_size=4), content=content_st)
def test_every_call_is_read_and_can_be_sent_back(
    raw: list[dict[str, Anything]], content: str | None
) -> None:
    names = ToolNames(["s.t", "x.y"])
    body = {"choices": [{"message": {"content": content, "tool_calls": raw}}]}
    response = openai.OpenAI().decode(body, names, model="?")
    calls = response.tool_calls or []
    assert len(calls) == len(raw)
    for read, sent in zip(calls, raw, strict=True):
        function = sent.get("function") or {"name": ""}
        assert read.function.name == {"s_t": "s.t", "x_y": "x.y", "": ""}[function["name"]]
        arguments = function.get("arguments")
        if isinstance(arguments, str) and arguments.strip():
            said = read.function.arguments
            assert said == arguments or isinstance(json.loads(said), dict)
        else:
            assert json.loads(read.function.arguments) == (
                {} if arguments in (None, []) or isinstance(arguments, str) else arguments
            )
    answers = [tool_message(each.id, "done") for each in calls]
    messages = [{"role": "user", "content": "?"}, assistant_message(response), *answers]
    sent = openai.OpenAI().encode(request_for(messages)).payload
    assert refusal(sent) is None


# Property 12: Response Content Exclusivity
@settings(max_examples=100)
@given(raw=st.none() | st.lists(wire_call_st, max_size=3), content=content_st)
def test_a_reply_has_content_or_calls_but_never_both(
    raw: list[dict[str, Anything]] | None, content: str | None
) -> None:
    response = reply({"content": content, "tool_calls": raw})
    assert response.content is None or response.tool_calls is None
    assert (response.tool_calls is not None) == bool(raw)
    assert response.content is None or response.content.strip()
