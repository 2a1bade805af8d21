"""The providers' own SDKs read from the model server's streams what we read from them."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.messages import assistant_message
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing import ModelServer, Reply
from tests.support.conversations import READ, SYSTEM, USER
from tests.support.provider_requests import KEY, REPLIES, payload
from tests.support.wires import WIRES, llm_client

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

Said = tuple[str, list[tuple[str, Any]], int]
"""Text, calls and completion tokens."""


def openai_says(server: ModelServer, sent: dict[str, Any]) -> Said:
    import openai

    text, calls, tokens = "", defaultdict[int, list[str]](lambda: ["", ""]), 0
    with openai.OpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        for chunk in client.chat.completions.create(**sent, **options):
            tokens = chunk.usage.completion_tokens if chunk.usage else tokens
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    calls[call.index][0] += call.function.name or ""
                    calls[call.index][1] += call.function.arguments or ""
    return text, [(name, json.loads(given)) for name, given in calls.values()], tokens


def responses_says(server: ModelServer, sent: dict[str, Any]) -> Said:
    import openai

    with (
        openai.OpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client,
        client.responses.stream(**sent) as stream,
    ):
        said = "".join(
            event.delta for event in stream if event.type == "response.output_text.delta"
        )
        reply = stream.get_final_response()
    calls = [
        (it.name, json.loads(it.arguments)) for it in reply.output if it.type == "function_call"
    ]
    assert said == reply.output_text
    assert reply.usage is not None
    return said, calls, reply.usage.output_tokens


def anthropic_says(server: ModelServer, sent: dict[str, Any]) -> Said:
    import anthropic

    with (
        anthropic.Anthropic(api_key=KEY, base_url=server.base_url, max_retries=0) as client,
        client.messages.stream(**sent) as stream,
    ):
        reply = stream.get_final_message()
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [(block.name, block.input) for block in reply.content if block.type == "tool_use"]
    return text, calls, reply.usage.output_tokens


def gemini_says(server: ModelServer, sent: dict[str, Any]) -> Said:
    from google import genai
    from google.genai import types

    text, calls, tokens = "", [], 0
    options = types.HttpOptions(base_url=server.base_url, api_version="v1beta")
    with genai.Client(api_key=KEY, http_options=options) as client:
        for chunk in client.models.generate_content_stream(
            model=get_provider("gemini").default_model,
            contents=[types.Content.model_validate_json(json.dumps(c)) for c in sent["contents"]],
            config=types.GenerateContentConfig(tools=sent.get("tools")),
        ):
            usage = chunk.usage_metadata
            tokens = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            for part in chunk.candidates[0].content.parts or []:
                text += part.text if part.text and not part.thought else ""
                if part.function_call:
                    calls.append((part.function_call.name, part.function_call.args))
    return text, calls, tokens


SAYS = {
    "openai": openai_says,
    "responses": responses_says,
    "anthropic": anthropic_says,
    "gemini": gemini_says,
}


async def we_say(server: ModelServer, wire: str) -> Said:
    async def ignore(_: object) -> None:
        pass

    client = llm_client(wire, KEY, base_url=server.base_url)
    response = await client.complete([SYSTEM, USER], tools=[READ], on_delta=ignore)
    message = assistant_message(response)
    calls = [
        (it.function.name.replace(".", "_"), json.loads(it.function.arguments))
        for it in response.tool_calls or ()
    ]
    return message["content"] or "", calls, response.spent.completion_tokens


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reply", REPLIES)
def test_the_sdk_reads_from_a_stream_what_we_read(wire: WireName, reply: Reply) -> None:
    with ModelServer([reply, reply], wire=wire) as server:
        theirs = SAYS[wire](server, payload(wire, [SYSTEM, USER], tools=[READ]))
        ours = asyncio.run(we_say(server, wire))
    assert server.refusals == []
    assert ours == theirs
