"""What the specification says of the wire: on every one, by the strict double of its server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import given, note
from hypothesis import strategies as st

from mcp_ghost.messages import assistant_message, tool_message
from mcp_ghost.providers.common import LLMRequest, tool_names
from mcp_ghost.providers.hosted import OPENROUTER
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing.anthropic import ANTHROPIC
from mcp_ghost.testing.gemini import GEMINI
from mcp_ghost.testing.responses import responses_wire
from mcp_ghost.testing.wires import Wire, openai_wire
from tests.specification.test_mcp_properties import arguments, hundred_times
from tests.support.conversations import NAMES, TOOLS, USER, call, conversations, tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_ghost.messages import LLMResponse, Message

CACHE = {"type": "ephemeral"}


@dataclass(frozen=True)
class Line:
    """A provider, and the double of its server."""

    provider: str
    model: str
    server: Wire
    base_url: str = ""
    markers: int = 0
    """How many it honours."""
    wire: Literal["chat", "responses"] = "chat"

    def send(self, messages: Sequence[Message], **given: Any) -> tuple[Any, Any]:  # noqa: ANN401  any field
        """A request as it goes out and as the server reads it, which must not refuse it."""
        provider = get_provider(self.provider)
        url = self.base_url or provider.base_url
        request = LLMRequest(
            messages=messages,
            model=self.model,
            base_url=url,
            api_key="key",
            wire=self.wire,
            **given,
        )
        sent = provider.encode(request)
        headers = {**sent.headers, ":path": sent.path}
        assert self.server.refusal(sent.payload, headers) is None
        return sent.payload, self.server.read(sent.payload, headers)

    def receive(self, message: dict[str, Any]) -> LLMResponse:
        """A reply to a request with TOOLS, from what it says in OpenAI's shape."""
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = {"id": "chatcmpl-1", "model": self.model, "choices": [choice], "usage": usage}
        provider, names = get_provider(self.provider), tool_names([], TOOLS)
        return provider.decode(self.server.write(body), names, model=self.model)


LINES = {
    "generic": Line("openai", "m", openai_wire("generic"), "http://127.0.0.1:8080/v1"),
    "openai": Line("openai", "gpt-4.1", openai_wire("openai")),
    "openrouter": Line("openai", "m", openai_wire("openrouter"), OPENROUTER.base_url, 4),
    "responses": Line("openai", "gpt-6-luna", responses_wire("openai"), wire="responses"),
    "anthropic": Line("anthropic", "claude-sonnet-4-6", ANTHROPIC, markers=4),
    "gemini": Line("gemini", "gemini-3.5-flash", GEMINI),
}


def every_line() -> Iterator[Line]:
    """The lines one after the other; a failure names its own."""
    for name, line in LINES.items():
        note(name)
        yield line


texts = st.text(max_size=20)
schemas = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]),
    max_size=3,
).map(lambda properties: {"type": "object", "properties": properties})
wire_names = st.sampled_from([tool_names([], TOOLS).encode(name) for name in NAMES])
wire_calls = st.lists(st.tuples(wire_names, arguments), max_size=4)


def said(content: str | None, wanted: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A message of a model, in OpenAI's shape."""
    calls = [call(name, given, f"call_{at}") for at, (name, given) in enumerate(wanted)]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


# Property 10: Tool Schemas in OpenAI Format
@hundred_times
@given(
    offered=st.dictionaries(
        st.tuples(st.text(max_size=40), st.text(max_size=40)), st.tuples(texts, schemas), min_size=1
    ),
    history=conversations(),
)
def test_tools_arrive_on_every_wire_with_a_name_that_leads_back_to_theirs(
    offered: dict[tuple[str, str], tuple[str, dict[str, Any]]], history: list[Message]
) -> None:
    tools = {
        name: tool(name, schema, description=text)
        for name, (text, schema) in (
            (f"{server}.{bare}", offer) for (server, bare), offer in offered.items()
        )
    }
    table = tool_names(history, tools.values())
    for line in every_line():
        _, read = line.send(history, tools=[*tools.values()])
        arrived = {table.decode(it["function"]["name"]): it["function"] for it in read["tools"]}
        assert {it["type"] for it in read["tools"]} == {"function"}
        for name, ours in tools.items():
            schema = (
                arrived[name].get("parameters") or arrived[name].get("parametersJsonSchema") or {}
            )
            properties = json.dumps(dict.fromkeys(schema.get("properties") or {}))
            assert json.loads(table.decode_arguments(properties)).keys() == (
                ours["function"]["parameters"]["properties"].keys()
            )


# Property 11: Tool Calls Parsing
@hundred_times
@given(content=st.none() | texts, wanted=wire_calls.filter(bool))
def test_calls_are_read_from_every_wire_and_can_be_sent_back(
    content: str | None, wanted: list[tuple[str, dict[str, Any]]]
) -> None:
    table = tool_names([], TOOLS)
    for line in every_line():
        response = line.receive(said(content, wanted))
        calls = response.tool_calls or []
        read = [(it.function.name, json.loads(it.function.arguments)) for it in calls]
        assert read == [(table.decode(name), given) for name, given in wanted]
        assert len({it.id for it in calls}) == len(calls)
        answers = [tool_message(it.id, "done") for it in calls]
        line.send([USER, assistant_message(response), *answers], tools=TOOLS)


# Property 12: Response Content Exclusivity
@hundred_times
@given(content=st.none() | texts, wanted=wire_calls)
def test_what_comes_from_any_wire_has_content_or_calls_but_never_both(
    content: str | None, wanted: list[tuple[str, dict[str, Any]]]
) -> None:
    for line in every_line():
        response = line.receive(said(content, wanted))
        assert (response.tool_calls is not None) == bool(wanted)
        assert response.content is None or response.tool_calls is None
        if not wanted and (content or "").strip():
            assert response.content is not None


# Property 15: Cache Control Metadata
@hundred_times
@given(
    roles=st.lists(st.sampled_from(["system", "user"]), min_size=1, max_size=8),
    content=st.text(max_size=30),
)
def test_markers_go_to_the_providers_that_honour_them_and_to_no_other(
    roles: list[str], content: str
) -> None:
    messages: list[Message] = [
        {"role": role, "content": content, "cache_control": CACHE} for role in roles
    ]
    wanted = len(roles) if content.strip() else 0
    for line in every_line():
        sent, _ = line.send(messages)
        assert json.dumps(sent).count('"cache_control"') == min(wanted, line.markers)
