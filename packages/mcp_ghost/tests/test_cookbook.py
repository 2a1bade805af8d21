"""Every program of the cookbook runs as it stands, with a script in place of the model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from tests.support import ghost_example

RECIPES = ghost_example.recipes()
STOCK = tool_reply([("mcp_ghost.python.stock", {"article": "milk"})])
DELETE = tool_reply([("mcp_ghost.python.rmtree", {"path": "old"})])
ITEMS = [{"name": "milk", "amount": 2}, {"name": "bread", "amount": 1}]
USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
PRINTS: dict[str, tuple[list[Reply | str], str]] = {
    "Let a model call your functions": ([STOCK, "No, there are two."], "No, there are two.\n"),
    "Get the answer as a type": ([json.dumps({"answer": ITEMS})], "3 items\n"),
    "Use your MCP servers, but only to read": (
        [tool_reply([("mcp_ghost.notes.read_all", {})]), "The milk is gone."],
        "The milk is gone.\n",
    ),
    "Ask before a tool changes anything": (
        [DELETE, "It stays."],
        "not executed: the user refused this call: the user said no - It stays.\n",
    ),
    "Set limits and list errors": (
        [error_reply(400, "No jokes today.")],
        "answered with status 400: No jokes today.",
    ),
    "Stream the answer": (["Once upon a time."], "Once upon a time."),
    "Continue a conversation later": (["Hello, Ada.", "Ada."], "Hello, Ada.\nAda.\n"),
    "Ask several questions in parallel": (["Lima", "Lima"], "['Lima', 'Lima']\n"),
    "Compare two models": (
        [content_reply("391", usage=USED)] * 2,
        "gpt-6-luna 391 10 tokens\ngpt-6.2-sol 391 10 tokens\n",
    ),
    "Test it without a model": ([], ""),
}


def test_there_are_ten() -> None:
    assert list(RECIPES) == list(PRINTS)
    assert len(RECIPES) == 10


@pytest.mark.parametrize("title", PRINTS)
def test_a_recipe_prints_what_its_model_answers(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replies, printed = PRINTS[title]
    monkeypatch.chdir(tmp_path)
    ghost_example.write_files(tmp_path)
    notes = {"command": sys.executable, "args": ["notes_server.py"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": notes}}))
    monkeypatch.setattr("builtins.input", lambda _: "n")
    program: dict[str, Any] = {}
    with ModelServer(replies) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        exec(compile(RECIPES[title], title, "exec"), program)  # noqa: S102  what the page says
        if test := program.get("test_the_mean_is_calculated"):
            test()
    assert model.refusals == []
    assert printed in capsys.readouterr().out
