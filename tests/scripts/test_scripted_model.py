"""The scripted players for trying ZorkGPT without a provider."""

from mcp_ghost.testing import ModelRequest
from scripts.scripted_model import action_reply, walkthrough

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
