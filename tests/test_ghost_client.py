"""The client by itself: one shape of reply for every provider, and providers that users add."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import get_llm_client, mcp_ghost, register_provider
from mcp_ghost.providers import registry
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.testing import ModelServer, Reply, content_reply, tool_reply
from tests.conversations import READ, USER
from tests.ghosts import KEY, PROVIDERS, Notes

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
SHAPE = {"content", "tool_calls", "finish_reason", "model", "usage", "reasoning", "provider_state"}


def completion(reply: Reply, wire: WireName) -> dict[str, Any]:
    """What ``create_completion`` makes of ``reply``."""
    with ModelServer([reply], wire=wire) as model:
        client = get_llm_client(wire, KEY, "some-model", model.base_url)
        answer = asyncio.run(client.create_completion([USER], [READ]))
    assert model.refusals == []
    assert model.requests[0].tool_names
    assert set(answer) == SHAPE
    json.dumps(answer)
    return answer


@pytest.mark.parametrize("wire", PROVIDERS)
def test_an_answer_has_the_same_shape_from_every_provider(wire: WireName) -> None:
    answer = completion(content_reply("Good morning.", usage=USAGE), wire)
    assert (answer["content"], answer["tool_calls"]) == ("Good morning.", None)
    assert {name: answer["usage"][name] for name in USAGE} == USAGE


@pytest.mark.parametrize("wire", PROVIDERS)
def test_calls_have_the_same_shape_from_every_provider(wire: WireName) -> None:
    answer = completion(tool_reply([("fs.read", {"path": "a"})], "I look.", usage=USAGE), wire)
    assert answer["content"] == "I look."
    (call,) = answer["tool_calls"]
    assert set(call) == {"id", "type", "function"}
    assert call["function"]["name"] == "fs.read"
    assert json.loads(call["function"]["arguments"]) == {"path": "a"}


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_PROVIDERS", dict(registry._PROVIDERS))


@pytest.mark.usefixtures("own_registry")
def test_a_provider_that_a_user_adds_works_like_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(OpenAI):
        name = "other"
        key_variables = ("OTHER_API_KEY",)
        base_url_variable = "OTHER_BASE_URL"
        default_model = "other-1"

    register_provider(Other())
    notes = Notes(tmp_path)
    script: list[Reply | str] = [
        tool_reply([("mcp_ghost.notes.write", {"name": "a", "text": "milk"})]),
        "Done.",
    ]
    with ModelServer(script) as model:
        monkeypatch.setenv("OTHER_API_KEY", KEY)
        monkeypatch.setenv("OTHER_BASE_URL", model.base_url)
        servers = {"mcpServers": {"notes": notes.config}}
        result = asyncio.run(mcp_ghost(servers, "", "other", user_prompt="Note it."))
    assert result["success"]
    assert notes.file("a") == "milk"
    assert model.requests[0].body["model"] == "other-1"
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
