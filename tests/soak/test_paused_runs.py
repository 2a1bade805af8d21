"""Runs that pause, in programs that are killed at any instant: each effect happens exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import PATIENCE, ghost_example, warm
from tests.support.ghosts import PROVIDERS
from tests.support.wires import name_of, spoken

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

KILLS = int(os.environ.get("SOAK_KILLS", "50"))
WANTED = [str(number) for number in range(6)]
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from mcp_ghost import mcp_ghost, resume

SPOKEN = json.loads(sys.argv[1])
SERVERS = {"mcpServers": {"notes": {"command": sys.executable, "args": ["notes_server.py"]}}}
RUN = Path("run.json")

async def main():
    options = {"server_config": SERVERS, **SPOKEN, "pause": True, "max_iterations": 99}
    while True:
        if RUN.exists():
            pending = json.loads(RUN.read_text())["pending"]
            result = await resume(RUN, {it["id"]: True for it in pending}, **options)
        else:
            asked = {"system_prompt": "", "user_prompt": "Note the numbers.", "checkpoint": RUN}
            result = await mcp_ghost(**options, **asked)
        if "pending" not in result:
            print(result["final_result"])
            return

asyncio.run(main())
"""

pytestmark = pytest.mark.soak


def model(request: ModelRequest) -> Reply:
    """Has six notes made, two at a time; where it is told of doubt, it reads before it repeats."""
    said = [message["content"] for message in request.messages if message["role"] == "tool"]
    sure = {it.removeprefix('{"result": "Kept: ')[0] for it in said if "Kept" in it}
    for read in (it for it in said if it.startswith('{"result": [')):
        sure |= {*json.loads(read)["result"]}
    if request.last["role"] == "tool" and "may have taken effect" in json.dumps(
        [it["content"] for it in request.messages[-2:] if it["role"] == "tool"]
    ):
        return tool_reply([("mcp_ghost.notes.read_all", {})])
    left = [it for it in WANTED if it not in sure]
    if not left:
        return content_reply("All noted.")
    return tool_reply([("mcp_ghost.notes.add", {"text": it}) for it in left[:2]])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_effect_happens_once_however_often_the_program_is_killed(
    provider: WireName, tmp_path: Path
) -> None:
    ghost_example.write_files(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    generator = random.Random(1)
    killed = runs = 0
    with ModelServer(model, wire=provider) as server:
        variable = get_provider(name_of(provider)).base_url_variable
        env = {**os.environ, variable: server.base_url}
        began = time.monotonic()
        assert finished(tmp_path, provider, env, PATIENCE)
        lasts = time.monotonic() - began
        while killed < KILLS // len(PROVIDERS) + 1:
            (tmp_path / "notes.txt").unlink(missing_ok=True)
            (tmp_path / "run.json").unlink(missing_ok=True)
            runs += 1
            while not finished(tmp_path, provider, env, generator.uniform(0.1, 1.3) * lasts):
                killed += 1
            assert sorted((tmp_path / "notes.txt").read_text().split()) == WANTED
    assert server.refusals == []
    print(f"{provider}: {killed} kills in {runs} runs, {len(server.requests)} requests")


def finished(folder: Path, provider: str, env: dict[str, str], seconds: float) -> bool:
    """Start it, and kill it after ``seconds``, unless it is done before."""
    command = [sys.executable, "program.py", json.dumps(spoken(provider))]
    with warm.WarmPopen(command, cwd=folder, env=env, stdout=subprocess.PIPE) as process:
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
            return False
        assert process.stdout is not None
        assert process.stdout.read() == "All noted.\n"
        return True
