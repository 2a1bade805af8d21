"""Every provider's key and wire is enough to play."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llm_client import LLMClient
from mcp_ghost.errors import LLMError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from session.game_configuration import GameConfiguration
from tests.support import PATIENCE, ROOT
from tests.support.program import Program
from tests.support.wires import WIRES, name_of
from workshop.scripted_model import action_reply

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

THOUGHT = {"thought": "é", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
EFFORT = {
    "openai": '"reasoning_effort": "low"',
    "responses": '"reasoning": {"effort": "low"',
    "anthropic": '"output_config": {"effort": "low"',
    "gemini": '"thinkingLevel": "low"',
}
CACHED = {"anthropic": '"cache_control": {"type": "ephemeral"}'}
KEYS = {
    "OPENROUTER_API_KEY": "openrouter.ai",
    "OPENAI_API_KEY": "api.openai.com",
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "GOOGLE_API_KEY": "generativelanguage.googleapis.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com",
}


@pytest.mark.parametrize("wire", WIRES)
def test_each_wire_is_played_through(wire: WireName, tmp_path: Path) -> None:
    """Tools, thinking that is handed back, the forced form of answers, effort and caching."""

    def script(request: ModelRequest) -> Reply:
        if request.last["role"] == "tool" or not request.tool_names:
            return action_reply("wait")
        return tool_reply([(request.tool_names[0], THOUGHT)], reasoning="Let me see.")

    program = Program(tmp_path)
    program.env |= {
        "ZORKGPT_PROVIDER": name_of(wire),
        "ZORKGPT_LLM_WIRE": "responses" if wire == "responses" else "auto",
        "ZORKGPT_CLIENT_API_KEY": "sk-made-up-0123",
        "ZORKGPT_AGENT_REASONING_EFFORT": "low",
        "ZORKGPT_MCP_CONFIG_FILE": str(ROOT / "mcp_config.json"),
        "ZORKGPT_CRITIC_ENABLED": "true",
    }
    with ModelServer(script, wire=wire) as model:
        flags = ("--base-url", model.base_url, "--mcp", "--story", "bundled", "--max-turns", "2")
        played = program.run(*flags)
    assert played.returncode == 0, played.stderr
    assert model.refusals == []
    assert [request.last["role"] == "tool" for request in model.requests].count(True) == 2
    sent = json.dumps(model.requests[0].body)
    assert EFFORT[wire] in sent
    assert CACHED.get(wire, "") in sent
    (log,) = tmp_path.glob("game_files/episodes/*/events.jsonl")
    assert "sk-made-up-0123" not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("variable", KEYS)
def test_a_key_alone_is_enough_to_ask_its_provider(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing leaves this machine: a proxy here is told where the connection was to lead."""
    asked: list[bytes] = []

    def proxy(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            asked.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 502 Not from here\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=proxy, args=(listener,), daemon=True)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv(variable, "sk-made-up-0123")
        config = GameConfiguration(retry_max_attempts=1)
        client = LLMClient(config)
        with pytest.raises(LLMError):
            client.chat_completions_create(config.role().model, [{"role": "user", "content": "?"}])
        client.close()
        thread.join(PATIENCE)
    assert asked[0].startswith(f"CONNECT {KEYS[variable]}:443 ".encode())
