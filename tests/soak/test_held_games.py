"""A paused game in a process of its own: killed, resumed, and stopped by Ctrl-C."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from orchestration.replay import replay
from session.record.event_log import read
from session.record.schema import ModelCall
from tests.support import PATIENCE
from tests.support.episodes import read_events
from tests.support.program import Program
from workshop.scripted_model import action_reply

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.soak
HINT = "There is a letter."


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"It never said {words!r}.")


def pressed(page: tuple[str, str], act: str, text: str = "") -> int:
    address, token = page
    body, headers = {"act": act, "text": text}, {"authorization": f"Bearer {token}"}
    place = f"{address}data/latest/control"
    return httpx2.post(place, json=body, headers=headers, timeout=PATIENCE).status_code


def place_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    found = re.search(r"(http://[\d.:]+/)#/latest\?token=(\S+)", read_until(process, "Watch at"))
    assert found
    return found[1], found[2]


def test_a_paused_game_is_killed_and_goes_on_and_ctrl_c_ends_it_with_its_servers(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    program.serve_tools()
    watching = ("--watch", "--no-open", "--mcp")
    program.env["ZORKGPT_MCP_SESSION"] = "episode"
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Reply:
        asked.append(request)
        if len(asked) == 2:  # the page is open by now
            assert pressed(place, "pause") == 204
        return action_reply("look")

    with ModelServer(answer) as model:
        process = program.start(*program.flags(model.base_url, 6), *watching)
        place = place_of(process)
        assert "Paused before turn 3" in read_until(process, "Paused")
        assert pressed(place, "hint", HINT) == 204
        read_until(process, HINT)
        process.send_signal(signal.SIGKILL)
        process.communicate()

        resume = ("--resume", "latest", "--base-url", model.base_url, *watching)
        process = program.start(*resume)
        again = place_of(process)
        assert again[1] != place[1], "each run has a token of its own"
        read_until(process, "Turn 3")
        while pressed(again, "pause") != 204:
            pass
        read_until(process, "Paused")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[0]
        assert process.returncode == 130
    assert "1 hint from the person watching" in said
    assert program.leftovers() == []
    (folder,) = program.episodes()
    kinds = [event["event_type"] for event in read_events(folder)]
    assert kinds.count("hint") == 1
    assert kinds[-2:] == ["episode_end", "mcp_server_stopped"]
    calls = [it.event for it in read(folder) if isinstance(it.event, ModelCall)]
    told = [call.turn for call in calls if HINT in str(call.request["messages"])]
    assert set(told) == {3}
    assert replay(folder).turns >= 3
