"""How the environment says how a worker makes its scripts (A18 to A22)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from movie_generator.generate import generate_as_configured
from movie_generator.models import VideoScript
from movie_generator.queue.jobs import Job, JobQueue
from movie_generator.queue.worker import Worker
from tests.support import ROOT, warm
from tests.support.movie import SCRIPT, SERVERS, Site, script_reply, site

pytestmark = pytest.mark.mcp

HTML = "<title>Bridges</title><main><h1>Bridges</h1><p>A bridge crosses a river.</p></main>"
NAMES = ("CONFIG_PATH", "MCP_CONFIG_PATH")


def answer(request: ModelRequest) -> Reply | str:
    """The agent fetches the page once; the writer writes."""
    if "fetch" not in request.tool_names:
        return script_reply()
    if request.last["role"] == "tool":
        return "A bridge crosses a river."
    return tool_reply([("fetch", {"url": "http://pages.invalid/bridges"})])


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(answer) as model:
        monkeypatch.setenv("OPENROUTER_BASE_URL", model.base_url)
        monkeypatch.setenv("MOVIE_ALLOW_PRIVATE_URLS", "1")
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        yield model


@pytest.fixture
def bridges() -> Iterator[Site]:
    with site({"/bridges": ("text/html; charset=utf-8", HTML.encode())}) as served:
        yield served


def servers_file(folder: Path) -> str:
    """A file of MCP servers, whose server keeps a log of its calls."""
    (folder / "pages").mkdir()
    (folder / "pages" / "bridges").write_text("# Bridges\n\nA bridge crosses a river.\n")
    entry = {
        "command": sys.executable,
        "args": [str(SERVERS / "pages.py")],
        "env": {"PAGES": str(folder / "pages"), "SERVER_LOG": str(folder / "calls")},
    }
    file = folder / "mcp.jsonc"
    file.write_text("// by hand\n" + json.dumps({"mcpServers": {"pages": entry}}))
    return str(file)


def worked_on(url: str) -> Job:
    """A job for ``url`` after a worker went through the queue."""
    with closing(JobQueue("sqlite:///jobs.db")) as queue:
        queue.enqueue([url])
        asyncio.run(Worker(queue, generate_as_configured, poll=0.01).run(drain=True))
        return queue.jobs()[-1]


def asked_with_tools(model: ModelServer) -> list[bool]:
    return [bool(request.tool_names) for request in model.requests]


def test_with_servers_configured_an_agent_reads_the_page(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("model: ours/writer\n")
    monkeypatch.setenv("CONFIG_PATH", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("MCP_CONFIG_PATH", servers_file(tmp_path))
    job = worked_on("http://pages.invalid/bridges")
    assert (job.status, job.error_message) == ("completed", None)
    assert VideoScript.model_validate_json(job.result or "").title == SCRIPT["title"]
    assert (tmp_path / "calls").exists()
    assert asked_with_tools(model)[0] is True
    assert {request.body["model"] for request in model.requests} == {"ours/writer"}


def test_a_host_that_only_the_tools_can_find_is_left_to_them(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MOVIE_ALLOW_PRIVATE_URLS")
    monkeypatch.setenv("MCP_CONFIG_PATH", servers_file(tmp_path))
    assert worked_on("http://pages.invalid/bridges").status == "completed"
    assert (tmp_path / "calls").exists()
    refused = worked_on("http://127.0.0.1:9/")
    assert refused.status == "failed"
    assert "from which nothing is fetched" in str(refused.error_message)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_servers_configured_the_page_is_read_the_standard_way(
    model: ModelServer, bridges: Site, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    for name in NAMES:
        if value is not None:
            monkeypatch.setenv(name, value)
    job = worked_on(f"{bridges.url}/bridges")
    assert (job.status, job.error_message) == ("completed", None)
    assert bridges.asked == ["/robots.txt", "/bridges"]
    assert asked_with_tools(model) == [False]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("MCP_CONFIG_PATH", None, "MCP configuration not found: invalid"),
        ("MCP_CONFIG_PATH", '{"mcpServers": ', "Invalid JSON in invalid"),
        ("MCP_CONFIG_PATH", '{"mcpServers": {"a": {}}}', "needs either 'command'"),
        ("CONFIG_PATH", None, "Configuration not found: invalid"),
        ("CONFIG_PATH", "colour: red", "unknown key 'colour'"),
    ],
)
def test_a_configuration_that_cannot_be_used_fails_the_job_by_its_name(
    model: ModelServer,
    bridges: Site,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str | None,
    complaint: str,
) -> None:
    if text is not None:
        Path("invalid.jsonc").write_text(text)
    monkeypatch.setenv(name, "invalid.jsonc")
    monkeypatch.delenv("OPENROUTER_BASE_URL")  # and without a key: that is not what is said
    job = worked_on(f"{bridges.url}/bridges")
    assert job.status == "failed"
    assert complaint in str(job.error_message)
    assert (model.requests, bridges.asked) == ([], [])


def test_servers_may_be_commented_on_whatever_the_file_is_called(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = Path(servers_file(tmp_path)).rename(tmp_path / "mcp.json")
    monkeypatch.setenv("MCP_CONFIG_PATH", str(file))
    job = worked_on("http://pages.invalid/bridges")
    assert (job.status, job.error_message) == ("completed", None)


def test_the_configuration_is_read_for_each_job_anew(
    model: ModelServer, bridges: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MCP_CONFIG_PATH", str(tmp_path / "mcp.jsonc"))
    assert worked_on(f"{bridges.url}/bridges").status == "failed"
    servers_file(tmp_path)
    assert worked_on("http://pages.invalid/bridges").status == "completed"


def test_a_url_is_queued_worked_on_and_its_script_saved_from_the_command_line(
    model: ModelServer, bridges: Site
) -> None:
    def run(*flags: str) -> str:
        command = [sys.executable, "-m", "movie_generator", *flags]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = warm.run(command, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("enqueue", f"{bridges.url}/bridges") == "1\n"
    run("worker", "--drain")
    (job,) = json.loads(run("jobs", "--json"))
    assert (job["status"], job["error_message"], job["attempts"]) == ("completed", None, 1)
    run("result", "1", "-o", "script.yaml")
    assert VideoScript.load("script.yaml").model_dump() == job["result"]
