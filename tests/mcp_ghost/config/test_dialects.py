"""Configurations of other programs, as they document them, used in fresh processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from mcp_ghost.config import load_servers
from mcp_ghost.config.dialects import DIALECTS, translated
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import ROOT, warm
from tests.support.servers import FAULTY
from tests.support.servers.over_http import faulty_http

pytestmark = pytest.mark.mcp

NONE = "\N{EN DASH}"
SERVE, NOTES, URL = "/opt/serve", "/srv/notes", "https://remote.example/mcp"
"""Replaced by the real ones."""
FROM_FILE = {"FROM_FILE": "yes $HOME", "PROJECT": "{project}/src"}
CLAUDE_DESKTOP = """{
  "globalShortcut": "",
  "mcpServers": {
    "local": {"command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"}}
  }
}"""
CLAUDE_CODE = """{
  "mcpServers": {
    "local": {
      "type": "stdio", "command": "${SERVER:-/opt/serve}", "args": ["${NOTES:-/srv/notes}"],
      "env": {"TOKEN": "${MY_TOKEN}"}, "timeout": 600000
    },
    "remote": {
      "type": "http", "url": "${REMOTE:-https://remote.example/mcp}",
      "headers": {"Authorization": "Bearer ${MY_TOKEN}"}, "alwaysLoad": true
    }
  }
}"""
CURSOR = """{
  "mcpServers": {
    "local": {
      "type": "stdio", "command": "/opt/serve", "args": ["/srv/notes"],
      "env": {"TOKEN": "${env:MY_TOKEN}", "PROJECT": "${workspaceFolder}${/}src"},
      "envFile": "${workspaceFolder}/.env"
    },
    "remote": {
      "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}
    }
  }
}"""
VS_CODE = """{
  // Shared with the team.
  "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true}],
  "servers": {
    "local": {
      "type": "stdio", "command": "/opt/serve", "args": ["/srv/notes"], /* and a file */
      "envFile": ".env",
      "env": {"TOKEN": "${env:MY_TOKEN}", "PROJECT": "${workspaceFolder}/src"},
      "dev": {"watch": "src/**/*.py"},
    },
    "remote": {
      "type": "http", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"},
    },
  },
}"""
CLINE = """{
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
      "disabled": false, "autoApprove": ["echo"], "timeout": 60, "transportType": "stdio"
    },
    "remote": {
      "type": "streamableHttp", "url": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer t0ken"}, "autoApprove": [], "timeout": 30
    },
    "off": {"transportType": "pigeon", "disabled": true, "timeout": "soon"}
  }
}"""
WINDSURF = """{
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "${env:MY_TOKEN}"},
      "disabled": false, "disabledTools": ["die"]
    },
    "remote": {
      "serverUrl": "https://remote.example/mcp",
      "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}
    }
  }
}"""
GEMINI_CLI = """{
  "theme": "Default", // of the terminal
  "mcpServers": {
    "local": {
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "$MY_TOKEN"},
      "cwd": "./src", "timeout": 15000, "trust": false,
      "includeTools": ["echo", "die"], "excludeTools": ["die"]
    },
    "remote": {
      "httpUrl": "https://remote.example/mcp", "headers": {"Authorization": "Bearer $MY_TOKEN"},
      "timeout": 5000, "description": "Elsewhere"
    }
  }
}"""
ZED = """{
  "buffer_font_size": 15,
  "context_servers": {
    "local": {
      "source": "custom", "enabled": true,
      "command": "/opt/serve", "args": ["/srv/notes"], "env": {"TOKEN": "t0ken"},
    },
    // over HTTP
    "remote": {
      "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer t0ken"},
    },
    "off": {"source": "extension", "enabled": false, "settings": {}},
  },
}"""
CODEX = """
model = "some-model"

[mcp_servers.local]
command = "/opt/serve"
args = ["/srv/notes"]
env = { "TOKEN" = "t0ken" }
env_vars = ["LANG_OF_GAME", { name = "MY_TOKEN", source = "local" }]
enabled_tools = ["echo", "die"]
disabled_tools = ["die"]
startup_timeout_sec = 20

[mcp_servers.remote]
url = "https://remote.example/mcp"
bearer_token_env_var = "MY_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Language" = "LANG_OF_GAME" }

[mcp_servers.off]
enabled = false
"""


class Example(NamedTuple):
    """A program's file in a project, and what comes of it."""

    file: str
    text: str
    variables: Mapping[str, str] = MappingProxyType({})
    """What the local server knows besides its TOKEN."""
    not_offered: tuple[str, ...] = ()
    folder: str = "."
    """Where the local server works."""
    headers: Mapping[str, str] = MappingProxyType({"authorization": "Bearer t0ken"})


EXAMPLES = {
    "Claude Desktop": Example("claude_desktop_config.json", CLAUDE_DESKTOP, headers={}),
    "Claude Code": Example(".mcp.json", CLAUDE_CODE),
    "Cursor": Example(".cursor/mcp.json", CURSOR, FROM_FILE),
    "VS Code": Example(".vscode/mcp.json", VS_CODE, FROM_FILE),
    "VS Code's settings.json": Example("settings.json", f'{{"mcp": {VS_CODE}}}', FROM_FILE),
    "Cline": Example("cline_mcp_settings.json", CLINE),
    "Windsurf": Example("mcp_config.json", WINDSURF, not_offered=("die",)),
    "Gemini CLI": Example(
        ".gemini/settings.json", GEMINI_CLI, not_offered=("die", "fail"), folder="src"
    ),
    "Zed": Example(".zed/settings.json", ZED),
    "Codex": Example(
        ".codex/config.toml",
        CODEX,
        {"LANG_OF_GAME": "en", "MY_TOKEN": "t0ken"},
        not_offered=("die", "fail"),
        headers={"authorization": "Bearer t0ken", "x-region": "eu", "x-language": "en"},
    ),
}


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
        done = warm.run([sys.executable, *command, *asked], warm=warm.GHOST, cwd=project, env=env)
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
    assert {it.program for it in DIALECTS} - {"mcp_ghost"} == {*EXAMPLES}


def test_the_readme_shows_the_table() -> None:
    text = (ROOT / "mcp_ghost/README.md").read_text(encoding="utf-8")
    for dialect in DIALECTS[1:]:
        keys = ", ".join(f"`{name}`: `{key.ours}`" for name, key in dialect.keys.items()) or NONE
        without_effect = ", ".join(f"`{name}`" for name in dialect.without_effect) or NONE
        row = f"| {dialect.program} | `{dialect.holder}` | {keys} | {without_effect} |\n"
        assert row in text


@pytest.mark.parametrize("program", EXAMPLES)
def test_what_was_translated_is_not_translated_again(program: str, project: Path) -> None:
    found = load_servers(written(project, EXAMPLES[program]))
    servers = {name: it for name, it in found.items() if not it.disabled}
    for server in servers.values():
        fields = server.model_dump(exclude_defaults=True)
        assert translated(fields).fields == fields
    again = {name: it.model_dump(exclude_defaults=True) for name, it in servers.items()}
    assert load_servers({"mcpServers": again}) == servers
