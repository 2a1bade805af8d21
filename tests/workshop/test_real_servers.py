"""The tour of other people's servers, with servers of our own in their places."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_ghost.config import load_servers
from tests.support import PATIENCE, ROOT
from tests.support.servers import FAULTY, faulty, write_config
from workshop.interoperability.cases import with_real_servers
from workshop.interoperability.catalogue import Call, Place, over_http, over_stdio
from workshop.interoperability.dialects import EXAMPLES, URL
from workshop.interoperability.run import COMMAND_LINE, GAME, LIBRARY, Front, play

HERE = Call("echo", {"text": "a copper kettle"}, "a copper kettle")


@pytest.mark.soak
@pytest.mark.mcp
@pytest.mark.parametrize("front", [LIBRARY, COMMAND_LINE, GAME], ids=lambda front: front.name)
def test_a_run_passes_whose_model_is_told_what_the_servers_know(
    front: Front, tmp_path: Path
) -> None:
    config = write_config(tmp_path / "mcp.json", one=faulty(), other=faulty())
    outcome = play(front, config, tmp_path, {"one": HERE, "other": HERE}, {})
    assert outcome.faults == ()
    assert outcome.passed
    assert outcome.tools > 2
    assert outcome.revisions == (
        {"one": "2025-11-25", "other": "2025-11-25"} if front is LIBRARY else {}
    )


@pytest.mark.soak
@pytest.mark.mcp
def test_a_run_fails_whose_model_is_not_told(tmp_path: Path) -> None:
    config = write_config(tmp_path / "mcp.json", one=faulty(), other=faulty("exit3"))
    other = Call("echo", {"text": "tea"}, "coffee")
    outcome = play(LIBRARY, config, tmp_path, {"one": other, "other": HERE}, {})
    assert "no answer of the server to one.echo, other.echo" in outcome.faults[0]
    assert "exited with status 3" in outcome.faults[-1]


def tour(folder: Path, uvx: str) -> subprocess.CompletedProcess[str]:
    """The row of one server, where ``uvx`` does as it is told."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "uvx").write_text(f"#!/bin/sh\n{uvx}\n")
    (programs / "uvx").chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "workshop/real_servers.py", "--only", "time stdio mcp_ghost", "--details"],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.soak
@pytest.mark.mcp
def test_a_server_without_the_tool_is_a_failure(tmp_path: Path) -> None:
    done = tour(tmp_path, f'exec "{sys.executable}" -S "{FAULTY}" ok')
    assert done.returncode == 1, done.stderr
    assert "0 passed, 2 failed, 0 not available on this machine" in done.stdout
    assert "no answer of the server to time.convert_time" in done.stdout
    assert done.stdout.count("FAIL: convert_time") == 2


@pytest.mark.soak
@pytest.mark.mcp
def test_what_cannot_be_had_is_told_as_such(tmp_path: Path) -> None:
    done = tour(tmp_path, "echo 'error: no route to the registry' >&2; exit 2")
    assert done.returncode == 1, done.stderr
    assert "0 passed, 0 failed, 2 not available on this machine" in done.stdout
    assert "mcp-server-time cannot be installed: error: no route to the registry" in done.stdout
    assert "not here: convert_time" in done.stdout


@pytest.mark.parametrize("program", EXAMPLES)
def test_the_files_of_other_programs_have_real_servers_in_them(
    program: str, tmp_path: Path
) -> None:
    example = EXAMPLES[program]
    file = tmp_path / Path(example.file).name
    file.write_text(with_real_servers(example.text, "/srv/files", "http://127.0.0.1:9/mcp"))
    variables = {"MY_TOKEN": "t", "LANG_OF_GAME": "en"}
    servers = load_servers(file)
    (tmp_path / ".env").write_text("")
    local = servers["local"].resolved(variables)
    assert local.command_line() == "npx -y @modelcontextprotocol/server-filesystem /srv/files"
    assert local.offers("read_text_file")
    assert ("remote" in servers) == (URL in example.text)
    if "remote" in servers:
        assert servers["remote"].resolved(variables).url == "http://127.0.0.1:9/mcp"


def test_the_documentation_names_only_servers_that_are_toured(tmp_path: Path) -> None:
    recipe = re.compile(r'"(?:npx|uvx)",\s*"args": \[(?:"-y", )?"([^"]+)"')
    pages = (ROOT / "docs" / "mcp.md", ROOT / "packages/mcp_ghost/docs/servers.md")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    named = {package for text in texts for package in recipe.findall(text)}
    toured = {server.package for server in over_stdio(Place(tmp_path, ""))}
    assert len(named) > 2
    assert named - toured == set()


def test_nobody_is_asked_for_what_the_model_says_itself(tmp_path: Path) -> None:
    place = Place(tmp_path, "http://127.0.0.1:9/index.html")
    servers = [*over_stdio(place), *over_http((1, 2)).values()]
    assert len({server.name for server in servers}) == len(servers) == 9
    for server in servers:
        assert server.call.tells not in str(server.call.arguments), server.name
