"""``episode.log`` is the episode for reading, drawn as ``viewer show`` draws it."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from typing import Any

from rich.console import Console

from mcp_ghost.cli.screen import Screen
from mcp_ghost.testing import content_reply, tool_reply
from session.record.summary import LOG_FILE
from session.record.text_log import EpisodeLog
from tests.support import ROOT
from tests.support.episodes import answer, played
from viewer.show import show_episode
from workshop.scripted_model import thought

LONG = "A letter may hold a hint, and it costs a turn to read it. " * 10
SPENT = {"prompt_tokens": 1203, "completion_tokens": 48, "cost": 0.0004}
MCP: dict[str, Any] = {"mcp_enabled": True, "mcp_config_file": str(ROOT / "mcp_config.json")}


def test_the_log_tells_rooms_thoughts_tools_commands_answers_tokens_and_the_end(
    tmp_path: Path,
) -> None:
    asked = tool_reply([("thoughtbox.think", thought("Read first?"))])
    decided = content_reply(f'{{"thinking": "{LONG}", "action": "read letter"}}', usage=SPENT)
    script = [asked, decided, answer("north")]
    folder = played(tmp_path, script, max_turns_per_episode=2, **MCP).folder
    text = (folder / LOG_FILE).read_text(encoding="utf-8")
    for words in (
        "The Weatherworks (engine bocfel, seed 7)",
        "Weather does not simply happen.",
        "\n\nTurn 1 · Landing Stage · 0/100\n",
        "[INFO] Turn 1 Iteration 1: Agent calling tool thoughtbox.think",
        '[DEBUG] Turn 1 Iteration 1: Tool result: {"thoughtNumber": 1,',
        "[INFO] Turn 1: MCP session complete (2 iterations, 1 tool call)",
        LONG.strip(),
        "\n>  read letter\n",
        "\n   H. Thrupp, Weatherwright",
        " · $0.0004 · ",
        "\n\nTurn 2 · Landing Stage · 0/100\n",
        "Turn limit reached (2)",
    ):
        assert words in text
    for words in ("Model asked", "tool-calling iteration"):
        assert words not in text, "what says nothing to a reader is for the event log"


def test_the_log_and_the_viewer_draw_a_turn_alike(tmp_path: Path) -> None:
    folder = played(tmp_path, lambda _: answer("north"), max_turns_per_episode=3).folder
    output = io.StringIO()
    show_episode(Screen(Console(file=output), live=False), folder)
    logged = (folder / LOG_FILE).read_text(encoding="utf-8")
    second = re.compile(r"^Turn 2 · .*(?=^Turn 3)", re.DOTALL | re.MULTILINE)
    (in_log,), (on_screen,) = second.findall(logged), second.findall(output.getvalue())
    drawn = [line for line in in_log.splitlines() if line and not line.startswith("[")]
    assert drawn == [line for line in on_screen.splitlines() if line]


def test_a_resumed_episode_is_logged_on_with_its_score(tmp_path: Path) -> None:
    played(tmp_path, lambda _: answer("north"), max_turns_per_episode=3)
    folder = played(
        tmp_path, lambda _: answer("south"), resume=True, max_turns_per_episode=4
    ).folder
    text = (folder / LOG_FILE).read_text(encoding="utf-8")
    assert text.count("Turn 3 · ") == 1
    assert "Episode continues after turn 3" in text
    assert re.search(r"^Turn 4 · \w.* · \d+/100$", text, re.MULTILINE)


def test_what_is_logged_is_harmless_to_a_terminal(tmp_path: Path) -> None:
    log = EpisodeLog(tmp_path)
    said = "\x1b[31mred\x1b]0;title\x07 and \x9b2Jgone\r\nnext"
    log.handle(logging.LogRecord("x", logging.INFO, "x.py", 1, "%s", (said,), None))
    log.close()
    assert (tmp_path / LOG_FILE).read_text(encoding="utf-8") == "[INFO] red and gone\n    next\n"
