"""Every configuration of servers that a page shows comes up whole in a fresh process."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from mcp_ghost.config import load_servers
from mcp_ghost.testing import ModelServer
from tests.support import ROOT, warm
from tests.support.servers import FAULTY
from tests.support.servers.over_http import faulty_http

pytestmark = pytest.mark.mcp

SHIPPED = ("mcp_config.json", "packages/movie_generator/movie_generator/mcp.jsonc")
STARTED_ELSEWHERE = {"docs/doors.md"}
"""Pages whose own test starts what they show."""
PAGES = [
    *("README.md", "packages/mcp_ghost/README.md", "packages/movie_generator/README.md"),
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
    "packages/mcp_ghost/docs/servers.md",
    "packages/mcp_ghost/docs/signing-in.md",
]


def shown() -> list[tuple[str, str]]:
    """The JSON of the pages, and of the files that they point to."""
    found = [(name, (ROOT / name).read_text()) for name in SHIPPED]
    for name in PAGES:
        blocks = re.findall(r"```jsonc?\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
        found += [(name, block) for block in blocks if "mcpServers" in block]
    return [each for each in found if each[0] not in STARTED_ELSEWHERE]


def stand_ins(folder: Path) -> Path:
    """A folder with programs of the names in them, each a local server."""
    folder.mkdir()
    for name in ("npx", "uvx"):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{FAULTY}" ok\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(("where", "text"), shown(), ids=[where for where, _ in shown()])
def test_a_configuration_shown_to_users_comes_up_in_a_fresh_process(
    where: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "servers.jsonc"
    programs = os.pathsep.join([str(stand_ins(tmp_path / "bin")), os.environ["PATH"]])
    env = {**os.environ, "PATH": programs, "HTTPS_PROXY": "http://proxy", "TICKETS_TOKEN": "t"}
    command = ["-m", "mcp_ghost", "run", "--json", "--quiet", "--provider", "openai"]
    with faulty_http("") as remote, ModelServer(["Done."]) as model:
        file.write_text(re.sub(r'"https://[^"]*/mcp"', json.dumps(remote.url), text))
        wanted = [name for name, it in load_servers(file).items() if not it.disabled]
        arguments = ["--config", str(file), "--prompt", "Go.", "--base-url", model.base_url]
        done = warm.run([sys.executable, *command, *arguments], cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["errors"] == [], where
    assert result["execution_metadata"]["servers_connected"] == len(wanted) > 0
