"""Secrets planted wherever one can come from: none is in a file, a result, an event or a trace."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.golden import record_golden
from mcp_ghost.testing import ModelServer, Reply, tool_reply, walkthrough
from tests.support import ROOT, warm
from tests.support.collector import PUBLIC_KEY, SECRET_KEY, running_collector
from tests.support.servers import leaky, write_config

pytestmark = pytest.mark.mcp

VARIABLES = {
    "PLANTED_SETTING": "planted-in-configured-env",
    "PLANTED_HEADER": "planted-in-header",
    "PLANTED_QUERY": "planted in query/ü",
    "SOME_ACCESS_TOKEN": 'planted "in" inherited',
    "KEYBOARD_LAYOUT": leaky.KEYBOARD,
}
PLANTED = {
    "configured env": VARIABLES["PLANTED_SETTING"],
    "header": VARIABLES["PLANTED_HEADER"],
    "url query": "planted%20in%20query",
    "url query, decoded": VARIABLES["PLANTED_QUERY"],
    "inherited variable": "inherited",
    "tool's text": leaky.IN_TEXT,
    "structured content": leaky.IN_STRUCTURE,
    "embedded resource": leaky.IN_RESOURCE,
    "tool's error": leaky.IN_ERROR,
    "server's stderr": leaky.IN_STDERR,
    "exception": leaky.IN_EXCEPTION,
}
ONLY_BY_URL = ("PLANTED_HEADER", "PLANTED_QUERY")
"""Known to be secret where a server by URL is configured with them."""
TOOLS = ("tell", "fail", "break", "die")
STDIO = ServerConfig(
    command=sys.executable,
    args=["-S", leaky.__file__ or "", "stdio"],
    env={"LEAKY_SETTING": "${PLANTED_SETTING}"},
)


@contextmanager
def leaky_http() -> Iterator[ServerConfig]:
    """The leaky server by URL, with a secret in its query and one in a header."""
    command = [sys.executable, "-S", leaky.__file__ or "", "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            yield ServerConfig(
                url=f"http://127.0.0.1:{port}/mcp?ticket=planted%20in%20query%2F%C3%BC",
                headers={"X-Desk": "Token ${PLANTED_HEADER}"},
            )
        finally:
            process.kill()


def found_in(text: str) -> list[str]:
    """The planted secrets that ``text`` holds, as they are or as JSON writes them."""
    return [
        place
        for place, secret in PLANTED.items()
        if secret in text or json.dumps(secret)[1:-1] in text
    ]


def found_below(folder: Path) -> dict[str, list[str]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {str(path): found_in(path.read_bytes().decode(errors="replace")) for path in files}
    return {path: places for path, places in found.items() if places}


def test_no_planted_secret_leaves_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    events: list[Any] = []
    script: list[Reply | str] = [
        tool_reply([(f"desk.{tool}", {}) for tool in TOOLS]),
        tool_reply([("far.tell", {}), ("far.fail", {}), ("far.break", {})]),
        "Done.",
    ]
    with leaky_http() as far, ModelServer(script) as model:
        recording = record_golden(
            tmp_path / "golden.json",
            server_config={"mcpServers": {"desk": STDIO, "far": far}},
            system_prompt="Ask.",
            user_prompt="Tell me all.",
            provider="openai",
            api_key="sk-of-the-model-0123456789",
            base_url=model.base_url,
            on_event=events.append,
        )
        result = asyncio.run(recording)
    assert result["success"]
    assert [call["success"] for call in result["tool_chain"]].count(True) == 2
    assert leaky.KEYBOARD in json.dumps(result["tool_chain"][0])
    assert found_in(json.dumps(result)) == []
    assert found_in(json.dumps(events)) == []
    assert found_in(json.dumps([request.body for request in model.requests])) == []
    assert found_in(caplog.text) == []
    assert found_below(tmp_path) == {}


def test_no_planted_secret_is_in_a_file_or_trace_of_an_episode(tmp_path: Path) -> None:
    config = write_config(tmp_path / "mcp.json", desk=STDIO)
    calls: list[tuple[str, object]] = [(f"desk.{tool}", {}) for tool in TOOLS]
    episode = """
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    ZorkOrchestratorV2("planted", max_turns_per_episode=2).play_episode()
    """
    with running_collector() as collector, ModelServer(walkthrough(["look"] * 2, calls)) as model:
        variables = {
            **{name: value for name, value in os.environ.items() if "LANGFUSE" not in name},
            **{name: it for name, it in VARIABLES.items() if name not in ONLY_BY_URL},
            "PYTHONPATH": str(ROOT),
            "LANGFUSE_PUBLIC_KEY": PUBLIC_KEY,
            "LANGFUSE_SECRET_KEY": SECRET_KEY,
            "LANGFUSE_BASE_URL": collector.base_url,
            "ZORKGPT_STORY": "bundled",
            "ZORKGPT_CLIENT_BASE_URL": model.base_url,
            "ZORKGPT_AGENT_MODEL": "scripted",
            "ZORKGPT_MCP_ENABLED": "true",
            "ZORKGPT_MCP_CONFIG_FILE": str(config),
        }
        command = [sys.executable, "-c", "\n".join(line.strip() for line in episode.splitlines())]
        done = warm.run(command, env=variables, cwd=tmp_path, warm=warm.TRACED)
    assert done.returncode == 0, done.stderr
    (log,) = (path.read_text() for path in tmp_path.rglob("events.jsonl"))
    assert "A token: ***. What I know" in log
    assert leaky.KEYBOARD in log
    assert found_below(tmp_path) == {}
    traced = json.dumps([span.attributes for span in collector.spans], ensure_ascii=False)
    assert "A token: ***. What I know" in traced
    for text in (traced, done.stdout, done.stderr):
        assert [SECRET_KEY] * text.count(SECRET_KEY) + found_in(text) == []
