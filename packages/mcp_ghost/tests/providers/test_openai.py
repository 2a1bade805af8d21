from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_ghost.messages import Message, tool_message
from mcp_ghost.providers import openai
from mcp_ghost.providers.common import tool_names
from mcp_ghost.providers.hosted import OPENROUTER
from mcp_ghost.testing.refusals import ServerDialect, refusal
from tests.support.provider_requests import request_for

Anything: TypeAlias = Any
CACHE = {"type": "ephemeral"}
USER: Message = {"role": "user", "content": "Go on."}
ADDRESSES: dict[ServerDialect, str] = {
    "generic": "http://127.0.0.1:8080/v1",
    "openai": openai.OpenAI.base_url,
    "openrouter": OPENROUTER.base_url,
}


def payload(
    messages: list[Message], model: str = "gpt-4.1", **options: Anything
) -> dict[str, Anything]:
    address = ADDRESSES[options.pop("dialect", "generic")]
    request = request_for(messages, model, base_url=address, **options)
    return openai.OpenAI().encode(request).payload


def tool(name: str, **function: Anything) -> dict[str, Anything]:
    return {"type": "function", "function": {"name": name, **function}}


def call(name: str, arguments: Anything = "{}", call_id: str = "c1") -> dict[str, Anything]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def history(name: str = "thoughtbox.think", arguments: Anything = "{}") -> list[Message]:
    asked: Message = {"role": "assistant", "content": None, "tool_calls": [call(name, arguments)]}
    return [{"role": "system", "content": "Play."}, USER, asked, tool_message("c1", "done"), USER]


# --- dialects


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://eu.openrouter.ai/api/v1", "openrouter"),
        ("https://api.openai.com/v1", "openai"),
        ("http://127.0.0.1:8080/v1", "generic"),
        ("https://openrouter.ai.example.org/v1", "generic"),
        ("https://notopenrouter.ai/v1", "generic"),
    ],
)
def test_the_host_decides_the_dialect(url: str, dialect: openai.Dialect) -> None:
    assert openai.dialect_of(url) == dialect


def test_generic_servers_get_plain_strings() -> None:
    marked: list[Message] = [
        {"role": "system", "content": "Play.", "cache_control": CACHE},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    assert payload(marked)["messages"] == [
        {"role": "system", "content": "Play."},
        {"role": "user", "content": "a\nb"},
    ]


def test_two_user_messages_in_a_row_become_one() -> None:
    messages = [USER, {"role": "user", "content": ""}, {"role": "user", "content": "Now."}]
    assert payload(messages)["messages"] == [{"role": "user", "content": "Go on.\n\nNow."}]
    answered: list[Message] = [USER, {"role": "assistant", "content": "So?"}, USER]
    assert [m["role"] for m in payload(answered)["messages"]] == ["user", "assistant", "user"]


def test_the_marker_and_the_images_of_joined_messages_stay_where_they_were() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/map.png"}}
    messages: list[Message] = [
        {**USER, "cache_control": CACHE},
        {"role": "user", "content": [image]},
    ]
    (sent,) = payload(messages, dialect="openrouter")["messages"]
    assert sent["content"] == [{"type": "text", "text": "Go on.", "cache_control": CACHE}, image]
    assert "cache_control" in messages[0]
    (plain,) = payload(messages)["messages"]
    assert plain["content"] == [{"type": "text", "text": "Go on."}, image]


def test_openrouter_gets_the_marker_inside_the_part() -> None:
    marked: list[Message] = [{"role": "user", "content": "Look.", "cache_control": CACHE}]
    part = {"type": "text", "text": "Look.", "cache_control": CACHE}
    sent = payload(marked, dialect="openrouter")
    assert sent["messages"] == [{"role": "user", "content": [part]}]
    assert sent["usage"] == {"include": True}


def test_of_too_many_markers_the_head_and_the_latest_are_kept() -> None:
    marked: list[Message] = [
        {"role": "user", "content": str(n), "cache_control": CACHE} for n in range(7)
    ]
    (sent,) = payload(marked, dialect="openrouter")["messages"]
    kept = [int(part["text"]) for part in sent["content"] if "cache_control" in part]
    assert kept == [0, 4, 5, 6]


def test_images_stay_parts_without_a_marker_of_their_own() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = [{"type": "text", "text": "See", "cache_control": CACHE}, image]
    sent = payload([{"role": "user", "content": parts}])
    assert sent["messages"][0]["content"] == [{"type": "text", "text": "See"}, image]


@pytest.mark.parametrize("model", ["o3", "o4-mini", "gpt-5", "gpt-5.1-mini"])
def test_openai_reasoning_models_get_only_what_they_take(model: str) -> None:
    sent = payload(
        [{"role": "system", "content": "Play."}],
        model,
        dialect="openai",
        temperature=0.5,
        top_p=0.9,
        top_k=4,
        stop=["x"],
        max_tokens=9,
    )
    message = {"role": "developer", "content": "Play."}
    assert sent == {"model": model, "messages": [message], "max_completion_tokens": 9}


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-5-chat-latest", "gpt-4o"])
def test_other_openai_models_keep_sampling_but_not_foreign_parameters(model: str) -> None:
    sent = payload([USER], model, dialect="openai", temperature=0.5, min_p=0.1, max_tokens=9)
    assert sent == {"model": model, "messages": [USER], "temperature": 0.5, "max_tokens": 9}


def test_claude_gets_one_of_the_two_samplers_that_it_refuses_together() -> None:
    model = "anthropic/claude-sonnet-4.5"
    both = payload([USER], model, dialect="openrouter", temperature=0.6, top_p=0.9)
    assert both["temperature"] == 0.6
    assert "top_p" not in both
    assert payload([USER], model, temperature=None, top_p=0.9)["top_p"] == 0.9


def test_openrouter_must_find_a_provider_that_honours_the_schema() -> None:
    form = {"type": "json_object"}
    options = {"dialect": "openrouter", "top_k": 3, "provider": {"sort": "price"}}
    sent = payload([USER], "x/y", response_format=form, **options)
    assert sent["provider"] == {"require_parameters": True, "sort": "price"}
    assert "top_k" not in sent
    assert payload([USER], "x/y", **options)["top_k"] == 3


def test_unknown_options_reach_the_server_and_unset_ones_do_not() -> None:
    sent = payload([USER], guided_json={"type": "object"}, seed=None)
    assert sent["guided_json"] == {"type": "object"}
    assert "seed" not in sent


# --- tools


@pytest.mark.parametrize(
    "parameters",
    [None, {}, {"type": "string"}, {"properties": None}, {"anyOf": [{"type": "object"}]}, []],
)
def test_whatever_the_schema_the_parameters_are_an_object(parameters: Anything) -> None:
    sent = payload([USER], tools=[tool("a.b", parameters=parameters)])
    assert sent["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_openai_gets_descriptions_of_the_length_that_it_takes() -> None:
    tools = [tool("a.b", description="word " * 600)]
    for dialect, model in (("openai", "gpt-4.1"), ("openrouter", "openai/gpt-4.1")):
        sent = payload([USER], model, tools=tools, dialect=dialect)
        assert len(sent["tools"][0]["function"]["description"]) <= 1024
    whole = payload([USER], tools=tools)["tools"][0]["function"]["description"]
    assert whole == "word " * 600


def test_a_named_choice_is_sent_under_its_wire_name() -> None:
    choice = {"type": "function", "function": {"name": "a.b"}}
    sent = payload([USER], tools=[tool("a.b")], tool_choice=choice)
    assert sent["tool_choice"]["function"]["name"] == "a_b"


def test_an_empty_list_of_tools_is_no_tools() -> None:
    assert payload([USER], tools=[], tool_choice="auto").keys() == {"model", "messages"}


def test_the_forced_final_request_defines_tools_where_the_server_wants_them() -> None:
    known = [tool("thoughtbox.think", description="Think.")]
    sent = payload(history(), tools=None, known_tools=known, dialect="openrouter")
    assert sent["tool_choice"] == "none"
    assert sent["tools"][0]["function"]["description"] == "Think."
    assert sent["tools"][0]["function"]["name"] == "thoughtbox_think"


def test_without_known_tools_the_history_gives_their_names() -> None:
    sent = payload(history(), dialect="openrouter")
    assert [each["function"]["name"] for each in sent["tools"]] == ["thoughtbox_think"]
    assert refusal(sent, "openrouter") is None


def test_other_servers_get_the_forced_final_request_without_tools() -> None:
    known = [tool("thoughtbox.think")]
    for dialect in ("generic", "openai"):
        assert "tools" not in payload(history(), known_tools=known, dialect=dialect)
    assert "tools" not in payload([USER], known_tools=known, dialect="openrouter")


@pytest.mark.parametrize("arguments", ["{broken", "[1]", "", None, {"a": 1}, "null"])
def test_arguments_in_the_history_are_always_the_text_of_an_object(arguments: Anything) -> None:
    sent = payload(history(arguments=arguments))
    assert refusal(sent) is None


def test_text_beside_calls_is_kept_and_blank_text_is_null() -> None:
    messages = history()
    assert payload(messages)["messages"][2]["content"] is None
    messages[2]["content"] = "Let me think."
    assert payload(messages)["messages"][2]["content"] == "Let me think."
    messages[2]["content"] = "\n"
    assert payload(messages)["messages"][2]["content"] is None


names_st = st.text(min_size=0, max_size=80)
json_st = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


# Property 10: Tool Schemas in OpenAI Format
@settings(max_examples=100)
@given(
    offered=st.lists(
        st.tuples(names_st, names_st, st.text(max_size=2000), json_st), min_size=1, max_size=5
    ),
    called=st.lists(st.tuples(names_st, st.text(max_size=20)), max_size=3),
    dialect=st.sampled_from(["generic", "openai", "openrouter"]),
    final=st.booleans(),
)
def test_whatever_tools_are_offered_no_provider_refuses_the_request(
    offered: list[tuple[str, str, str, Anything]],
    called: list[tuple[str, str]],
    dialect: ServerDialect,
    final: bool,
) -> None:
    tools = list(
        {
            f"{server}.{name}": tool(f"{server}.{name}", description=text, parameters=schema)
            for server, name, text, schema in offered
        }.values()
    )
    messages: list[Message] = [USER]
    if called:
        calls = [call(name, text, f"c{index}") for index, (name, text) in enumerate(called)]
        messages += [{"role": "assistant", "content": None, "tool_calls": calls}]
        messages += [tool_message(each["id"], "done") for each in calls]
    offer = {"tools": None, "known_tools": tools} if final else {"tools": tools}
    sent = payload(messages, dialect=dialect, **offer)
    assert refusal(sent, dialect) is None
    if not final:
        wires = [each["function"]["name"] for each in sent["tools"]]
        table = tool_names(messages, tools)
        assert [table.decode(wire) for wire in wires] == [t["function"]["name"] for t in tools]
