"""The scripted players for trying ZorkGPT without a provider."""

import socket
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest
from workshop.scripted_model import action_reply, main, walkthrough

USER = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "function": {"name": "a_b", "parameters": {"type": "object"}}}


def test_a_walkthrough_plays_its_commands_after_its_tool_calls() -> None:
    script = walkthrough(["north", "take lamp"], [("a.b", {})])
    assert script(ModelRequest({"messages": [USER]}, {})) == action_reply("north")
    calls = script(ModelRequest({"messages": [USER], "tools": [TOOL]}, {})).body
    assert isinstance(calls, dict)
    assert calls["choices"][0]["finish_reason"] == "tool_calls"
    answered = [USER, {"role": "tool", "tool_call_id": "x", "content": "done"}]
    after = ModelRequest({"messages": answered, "tools": [TOOL]}, {})
    assert script(after) == action_reply("take lamp")
    assert script(after) == action_reply("look")


def test_a_port_that_is_taken_is_named_with_its_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "commands.txt").write_text("look\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit):
            main([str(tmp_path / "commands.txt"), "--port", port])
    assert f"port {port} (Address already in use): choose another --port" in capsys.readouterr().err
