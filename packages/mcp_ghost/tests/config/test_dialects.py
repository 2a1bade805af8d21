"""Configurations of other programs, as they document them, used in fresh processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.config.dialects import DIALECTS, KEYS, translated
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import ROOT, warm
from tests.support.servers import FAULTY
from tests.support.servers.over_http import faulty_http
from workshop.interoperability.dialects import EXAMPLES, NOTES, SERVE, URL, Example

pytestmark = pytest.mark.mcp

NONE = "\N{EN DASH}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an envFile and a program that notes what it was given, and serves."""
    serve = f'env > "$1"; pwd -P > "$1.cwd"; exec "{sys.executable}" -S "{FAULTY}" ok'
    (tmp_path / "serve").write_text(f"#!/bin/sh\n{serve}\n")
    (tmp_path / "serve").chmod(0o755)
    (tmp_path / "src").mkdir()
    (tmp_path / ".env").write_text("# of the server\nexport FROM_FILE='yes $HOME'\nTOKEN=below\n")
    return tmp_path


def written(project: Path, example: Example, url: str = URL) -> Path:
    path = project / example.file
    path.parent.mkdir(exist_ok=True)
    text = example.text.replace(SERVE, str(project / "serve")).replace(URL, url)
    path.write_text(text.replace(NOTES, str(project / "notes")))
    return path


def looking_at(tools: set[str]) -> Callable[[ModelRequest], Reply]:
    """A model that notes the tools on offer and calls one."""

    def script(request: ModelRequest) -> Reply:
        tools.update(request.tool_names)
        if request.last["role"] == "tool":
            return content_reply("Done.")
        return tool_reply([("mcp_ghost_local_echo", {"text": "here"})])

    return script


@pytest.mark.parametrize("program", EXAMPLES)
def test_the_configuration_of_another_program_works_as_it_is(program: str, project: Path) -> None:
    example = EXAMPLES[program]
    tools: set[str] = set()
    env = os.environ | {"MY_TOKEN": "t0ken", "LANG_OF_GAME": "en", "NOT_FOR_ALL": "x"}
    with faulty_http("") as remote, ModelServer(looking_at(tools)) as model:
        file = written(project, example, remote.url)
        command = ["-m", "mcp_ghost", "run", "--config", str(file), "--json", "--quiet"]
        asked = ["--provider", "openai", "--base-url", model.base_url, "--prompt", "Go."]
        done = warm.run([sys.executable, *command, *asked], cwd=project, env=env)
    assert (done.returncode, done.stderr) == (0, ""), "nothing is unknown here"
    result = json.loads(done.stdout)
    assert result["errors"] == []
    assert [step["result"] for step in result["tool_chain"]] == ["here"]
    lines = (project / "notes").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if "=" in line)
    wanted = {name: it.format(project=project) for name, it in example.variables.items()}
    assert {name: given[name] for name in ("TOKEN", *wanted)} == {"TOKEN": "t0ken", **wanted}
    assert ("NOT_FOR_ALL" in given) == (program != "Codex")
    assert Path((project / "notes.cwd").read_text().strip()) == (project / example.folder).resolve()
    assert {f"mcp_ghost_local_{it}" for it in ("echo", "die", "fail")} - tools == {
        f"mcp_ghost_local_{it}" for it in example.not_offered
    }
    assert bool(remote.requests) == bool(example.headers)
    for _, _, headers in remote.requests:
        received = {name.lower(): it for name, it in headers.items()}
        assert {name: received[name] for name in example.headers} == example.headers


def test_every_program_of_the_table_has_an_example_here() -> None:
    assert {*DIALECTS} - {"mcp_ghost"} == {*EXAMPLES}


def test_the_readme_shows_the_table() -> None:
    text = (ROOT / "packages/mcp_ghost/docs/servers.md").read_text(encoding="utf-8")
    for program, dialect in [*DIALECTS.items()][1:]:
        ours = (f"`{name}`: `{KEYS[name].ours}`" for name in dialect.get("keys", ()))
        keys, without_effect = ", ".join(ours) or NONE, dialect.get("without_effect", ())
        others = ", ".join(f"`{name}`" for name in without_effect) or NONE
        row = f"| {program} | `{dialect['holder']}` | {keys} | {others} |\n"
        assert row in text


@pytest.mark.parametrize("program", EXAMPLES)
def test_what_was_translated_is_not_translated_again(program: str, project: Path) -> None:
    found = load_servers(written(project, EXAMPLES[program]))
    servers = {name: it for name, it in found.items() if not it.disabled}
    for server in servers.values():
        fields = server.model_dump(exclude_defaults=True)
        assert translated(fields)[0] == fields
    again = {name: it.model_dump(exclude_defaults=True) for name, it in servers.items()}
    assert load_servers({"mcpServers": again}) == servers


def test_servers_may_stand_under_no_key_and_have_numbers_and_null() -> None:
    env = {"PORT": 3000, "NOT_SET": None}
    local, remote = load_servers(
        {"s": {"command": "x", "env": env}, "t": {"url": URL, "auth": "oauth"}}
    ).values()
    assert local.env == {"PORT": "3000"}
    assert remote.auth
    with pytest.raises(MCPConfigError, match="expected"):
        load_servers({"s": {"command": "x"}, "title": "mine"})


def test_the_way_to_a_server_may_be_an_object_of_its_own() -> None:  # as Cline writes it
    local, remote = load_servers(
        {
            "mcpServers": {
                "s": {"transport": {"type": "stdio", "command": "x", "args": ["a"]}},
                "t": {"transport": {"type": "streamableHttp", "url": URL}, "disabled": True},
            }
        }
    ).values()
    assert (local.command, local.args, local.type) == ("x", ["a"], "stdio")
    assert (remote.url, remote.type, remote.disabled) == (URL, "streamable-http", True)


def test_what_only_its_own_program_can_start_is_left_out() -> None:
    zed = {"context_servers": {"s": {"source": "extension", "enabled": True, "settings": {}}}}
    assert load_servers(zed)["s"].disabled


@pytest.mark.parametrize("key", ["type", "transport", "transportType"])
@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("sse", "sse"),
        ("SSE", "sse"),
        *((it, "http") for it in ("http", "https", "httpStream", "streamable")),
        *(
            (it, "streamable-http")
            for it in ("streamable-http", "streamableHttp", "STREAMABLE_HTTP")
        ),
    ],
)
def test_a_transport_is_read_in_every_spelling(key: str, spelled: str, meant: str) -> None:
    entry = ServerConfig.of_entry("s", {"url": URL, key: spelled}, "here")
    assert entry.checked().type == meant


def test_a_transport_that_there_is_not_is_refused_under_the_key_that_was_used() -> None:
    entry = ServerConfig.of_entry("s", {"url": URL, "transport": "websocket"}, "here")
    with pytest.raises(MCPConfigError, match="'transport': Input should be 'stdio', 'http'"):
        entry.checked()
