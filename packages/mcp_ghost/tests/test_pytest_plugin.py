"""What the plug-in gives to a user's tests, and that it costs nobody else anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.errors import GoldenError
from mcp_ghost.pytest_plugin import GoldenRun
from mcp_ghost.testing import ModelServer, content_reply, tool_reply
from tests.support import ghost_example, warm

NOWHERE = "http://127.0.0.1:9/v1"
ALSO = """
import asyncio
import pytest
from test_notes import SERVERS, no_notes_yet

ASKED = {"system_prompt": "", "provider": "openai", "user_prompt": "Note that the milk is gone."}

@pytest.mark.record_golden
def test_marked() -> None:
    pass

@pytest.mark.parametrize("case", ["a/b", "c"])
def test_in_a_coroutine(golden, case) -> None:
    options = {"path": "kept/mine.json", "volatile": ["notes.*"], "servers": "recorded"}
    asyncio.run(golden.run(**options, server_config=SERVERS, **ASKED))
    assert golden.path.name == f"test_in_a_coroutine_{case.replace('/', '_')}.json"
"""


def pytest_in(folder: Path, base_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A user's run of pytest, as strict as it can be."""
    plugins = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "mcp_ghost.pytest_plugin")
    # What was imported beforehand is so only for speed.
    strict = (
        "-W",
        "error",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "--strict-markers",
        "--strict-config",
    )
    command = (sys.executable, "-m", "pytest", "-q", "-rs", *plugins, *strict, *arguments)
    env = os.environ | {"OPENAI_BASE_URL": base_url}
    return warm.run(command, cwd=folder, env=env)


@pytest.mark.mcp
@pytest.mark.soak
def test_the_readmes_test_is_recorded_with_the_flag_and_replayed_without(tmp_path: Path) -> None:
    ghost_example.write_files(tmp_path)
    (tmp_path / "test_also.py").write_text(ALSO)
    call = tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})])
    with ModelServer([call, content_reply("Noted.")] * 3) as server:
        recorded = pytest_in(tmp_path, server.base_url, "--record-golden")
    assert "4 passed" in recorded.stdout, recorded.stdout
    replayed = pytest_in(tmp_path, NOWHERE)
    assert "3 passed, 1 skipped" in replayed.stdout, replayed.stdout
    assert "runs only with --record-golden" in replayed.stdout

    golden = tmp_path / "goldens" / "test_notes.json"
    content = json.loads(golden.read_text())
    content["golden_output"]["tool_chain"][0]["arguments"]["text"] = "The bread is gone."
    golden.write_text(json.dumps(content))
    (tmp_path / "kept" / "mine.json").unlink()
    failed = pytest_in(tmp_path, NOWHERE)
    assert "3 failed, 1 skipped" in failed.stdout, failed.stdout
    assert 'call 1 (notes.add): arguments.text: recorded "The bread is gone.", now' in failed.stdout
    assert f"No golden at {tmp_path / 'kept/mine.json'}. Record it with --record-golden" in (
        failed.stdout
    )


def test_loading_the_plugin_loads_nothing_else() -> None:
    code = (
        "import pytest, asyncio, sys; before = {*sys.modules}; import mcp_ghost.pytest_plugin;"
        "print(*sorted({*sys.modules} - before))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["mcp_ghost", "mcp_ghost.pytest_plugin"]


async def test_what_was_just_recorded_is_not_written_over(tmp_path: Path) -> None:
    recorders: dict[Path, str] = {}

    def golden(test: str) -> GoldenRun:
        path = tmp_path / "goldens" / "test_it.json"
        return GoldenRun(path, is_recording=True, test=test, recorders=recorders)

    asked: dict[str, Any] = {"server_config": {"mcpServers": {}}, "system_prompt": ""}
    asked |= {"provider": "openai", "user_prompt": "Hello."}
    with ModelServer(["Hello."] * 3) as server:
        first, again, other = (
            golden("a.py::test_it"),
            golden("a.py::test_it"),
            golden("b.py::test_it"),
        )
        for each in (first, again):  # as if a plug-in ran the test twice
            await each.run(**asked, base_url=server.base_url)
        for each in (first, other):
            with pytest.raises(pytest.fail.Exception, match=r"a\.py::test_it has just recorded"):
                await each.run(**asked, base_url=server.base_url)
        await other.run("goldens/other.json", **asked, base_url=server.base_url)
    assert len([*tmp_path.glob("goldens/*")]) == 2


async def test_a_test_fails_where_its_golden_could_not_be_written(tmp_path: Path) -> None:
    golden = GoldenRun(tmp_path / "test_it.json", is_recording=True)
    golden.path.mkdir()
    asked: dict[str, Any] = {"server_config": {"mcpServers": {}}, "provider": "openai"}
    with ModelServer(["Hello."]) as server, pytest.raises(GoldenError, match="cannot be written"):
        await golden.run(**asked, user_prompt="Hello.", base_url=server.base_url)


async def test_in_a_coroutine_it_says_how_to_call_it(tmp_path: Path) -> None:
    golden = GoldenRun(tmp_path / "goldens" / "test_it.json", is_recording=False)
    with pytest.raises(RuntimeError, match=r"use 'await golden.run\(\.\.\.\)'"):
        golden(server_config={"mcpServers": {}})
