"""Secrets planted wherever one can come from: none is in a file, a result, an event or a trace."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.golden import record_golden
from mcp_ghost.redact import Redactor
from mcp_ghost.servers.oauth.sign_in import SignIn
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.testing import ModelServer, error_reply, tool_reply
from tests.support import ROOT, warm
from tests.support.collector import PUBLIC_KEY, SECRET_KEY, running_collector
from tests.support.servers import leaky, write_config
from tests.support.servers.guarded import Guarded, guarded
from workshop.scripted_model import walkthrough

pytestmark = pytest.mark.mcp

MODEL_KEY = "sk-of-the-model-0123456789"
VARIABLES = {
    "PLANTED_SETTING": "planted-in-configured-env",
    "PLANTED_HEADER": "planted-in-header",
    "PLANTED_QUERY": "planted in query/ü",
    "SOME_ACCESS_TOKEN": 'planted "in" inherited',
    "KEYBOARD_LAYOUT": leaky.KEYBOARD,
}
LOGIN = "ada:planted-as-password"
PLANTED = {
    "configured env": VARIABLES["PLANTED_SETTING"],
    "env file": "planted-in-env-file",
    "argument": "planted-in-argument",
    "header": VARIABLES["PLANTED_HEADER"],
    "url query": "planted%20in%20query",
    "url query, decoded": VARIABLES["PLANTED_QUERY"],
    "password of the url": "planted-as-password",
    "password of the url, sent": base64.b64encode(LOGIN.encode()).decode(),
    "inherited variable": "inherited",
    "tool's text": leaky.IN_TEXT,
    "structured content": leaky.IN_STRUCTURE,
    "embedded resource": leaky.IN_RESOURCE,
    "tool's error": leaky.IN_ERROR,
    "server's stderr": leaky.IN_STDERR,
    "exception": leaky.IN_EXCEPTION,
    "model's error": leaky.IN_MODEL_ERROR,
    "model's key": MODEL_KEY,
}
EPISODE = """
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
ZorkOrchestratorV2("planted", max_turns_per_episode=2).play_episode()
"""
TOOLS = ("tell", "fail", "break", "die")
CALLS: list[tuple[str, object]] = [
    *((f"desk.{tool}", {}) for tool in TOOLS),
    *((f"far.{tool}", {}) for tool in TOOLS[:3]),
    ("shop.leak", {}),
]
REFUSED = error_reply(
    429,
    f"Too many requests of {MODEL_KEY}; ours is {leaky.IN_MODEL_ERROR}",
    {"retry-after": "0"},
)


def desk(folder: Path) -> ServerConfig:
    """The leaky server as a process, with secrets in a file, in a flag and in its environment."""
    file = folder / "desk.env"
    file.write_text("LEAKY_FILE=planted-in-env-file\n")
    return ServerConfig(
        command=sys.executable,
        args=["-S", leaky.__file__ or "", "stdio", "--token", "planted-in-argument"],
        env={"LEAKY_SETTING": "${PLANTED_SETTING}"},
        env_file=str(file),
    )


@contextmanager
def leaky_http() -> Iterator[ServerConfig]:
    """The leaky server by URL, with a secret in its query, in a header and as a password."""
    command = [sys.executable, "-S", leaky.__file__ or "", "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            yield ServerConfig(
                url=f"http://{LOGIN}@127.0.0.1:{port}/mcp?ticket=planted%20in%20query%2F%C3%BC",
                headers={"X-Desk": "Token ${PLANTED_HEADER}"},
            )
        finally:
            process.kill()


@pytest.fixture
def shop(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Guarded]:
    """A server to which somebody has signed in before; its tokens are kept elsewhere."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))

    async def sign_in(server: Guarded) -> None:
        async with ServerSession("shop", server.config(), authorize=server.authorize):
            assert server.issued

    with guarded() as server:
        asyncio.run(sign_in(server))
        yield server


def found_in(text: str, tokens: Sequence[str]) -> list[str]:
    """The planted secrets that ``text`` holds, as they are or as JSON writes them."""
    planted = [*PLANTED.items(), *(("token", token) for token in tokens)]
    return [
        place for place, secret in planted if secret in text or json.dumps(secret)[1:-1] in text
    ]


def found_below(folder: Path, tokens: Sequence[str]) -> dict[str, list[str]]:
    """The same of every file below ``folder``."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {
        str(path): found_in(path.read_bytes().decode(errors="replace"), tokens) for path in files
    }
    return {path: places for path, places in found.items() if places}


def told_by_a_run(
    folder: Path, shop: Guarded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> dict[str, str]:
    """Everything that a run leaves behind, and what the model was sent."""
    caplog.set_level(logging.DEBUG)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    events: list[Any] = []
    golden = folder / "golden.json"
    with leaky_http() as far, ModelServer([REFUSED, tool_reply(CALLS), "Done."]) as model:
        servers = {"desk": desk(folder), "far": far, "shop": shop.config()}
        recording = record_golden(
            golden,
            server_config={"mcpServers": servers},
            system_prompt="Ask.",
            user_prompt="Tell me all.",
            provider="openai",
            api_key=MODEL_KEY,
            base_url=model.base_url,
            on_event=events.append,
        )
        result = asyncio.run(recording)
    assert result["success"]
    assert [call["success"] for call in result["tool_chain"]].count(True) == 3
    return {
        "result": json.dumps(result),
        "events": json.dumps(events),
        "model": json.dumps([request.body for request in model.requests]),
        "logs": caplog.text,
        "golden": golden.read_text(),
    }


def test_no_planted_secret_leaves_a_run(
    tmp_path: Path, shop: Guarded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = told_by_a_run(tmp_path, shop, monkeypatch, caplog)
    assert leaky.KEYBOARD in told["result"]
    assert "Bearer ***" in told["result"]
    found = {sink: found_in(text, shop.issued) for sink, text in told.items()}
    assert {sink: places for sink, places in found.items() if places} == {}


def test_every_planted_secret_would_leave_a_run_that_cleans_nothing(
    tmp_path: Path, shop: Guarded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("__call__", "each", "words", "strictly"):
        monkeypatch.setattr(Redactor, name, lambda _, said: said)
    monkeypatch.setattr(SignIn, "secrets", frozenset())
    told = told_by_a_run(tmp_path, shop, monkeypatch, caplog)
    found = {place for text in told.values() for place in found_in(text, shop.issued)}
    assert found == {*PLANTED, "token"}


def test_no_planted_secret_is_in_a_file_page_or_trace_of_an_episode(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, shop: Guarded
) -> None:
    configured = tmp_path_factory.mktemp("configured")
    plays = walkthrough(["look"] * 2, CALLS)
    requests = itertools.count()
    with (
        leaky_http() as far,
        running_collector() as collector,
        ModelServer(lambda it: plays(it) if next(requests) else REFUSED) as model,
    ):
        servers = {"desk": desk(configured), "far": far, "shop": shop.config()}
        variables = {
            **{name: value for name, value in os.environ.items() if "LANGFUSE" not in name},
            **VARIABLES,
            "PYTHONPATH": str(ROOT),
            "LANGFUSE_PUBLIC_KEY": PUBLIC_KEY,
            "LANGFUSE_SECRET_KEY": SECRET_KEY,
            "LANGFUSE_BASE_URL": collector.base_url,
            "ZORKGPT_STORY": "bundled",
            "ZORKGPT_CLIENT_BASE_URL": model.base_url,
            "ZORKGPT_CLIENT_API_KEY": MODEL_KEY,
            "ZORKGPT_AGENT_MODEL": "scripted",
            "ZORKGPT_MCP_ENABLED": "true",
            "ZORKGPT_MCP_CONFIG_FILE": str(write_config(configured / "mcp.json", **servers)),
            "ZORKGPT_MCP_SERVERS": json.dumps([*servers]),
        }
        command = [sys.executable, "-c", EPISODE]
        done = warm.run(command, env=variables, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        export = [sys.executable, "-m", "viewer", "export", "site"]
        page = warm.run(export, env=variables, cwd=tmp_path)
        assert page.returncode == 0, page.stderr
    (log,) = (path.read_text() for path in tmp_path.rglob("events.jsonl"))
    shown = [path.read_text() for path in (tmp_path / "site").rglob("*.json")]
    traced = json.dumps([span.attributes for span in collector.spans], ensure_ascii=False)
    for text in (log, traced, "".join(shown)):
        assert "A token: ***. What I know" in text
        assert "Bearer ***" in text
    assert "Too many requests of ***" in log
    assert leaky.KEYBOARD in log
    assert found_below(tmp_path, shop.issued) == {}
    for text in (traced, done.stdout, done.stderr, page.stdout, page.stderr):
        assert [SECRET_KEY] * text.count(SECRET_KEY) + found_in(text, shop.issued) == []
