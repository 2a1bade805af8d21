"""The thoughts of the player's model on the terminal, while they come."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from mcp_ghost.cli.screen import Screen
from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from terminal.view import TerminalView, Thoughts
from tests.support import PATIENCE
from tests.support.episodes import configured, played
from tests.support.program import Program
from tests.terminal.test_view import Player, kept_by_terminal
from workshop.scripted_model import action_reply

COLOUR = re.compile(r"\x1b\[[\d;]*m")
KEY = "sk-or-v1-0123456789abcdef0123"


class Thinker(Player):
    """A player whose model thinks aloud."""

    def __init__(self, folder: Path, *, live: bool) -> None:
        super().__init__(folder, live=live)
        self.logger.removeHandler(self.view)
        console = Console(file=self.output, width=80, force_terminal=live, legacy_windows=False)
        self.screen, self.thoughts = Screen(console, live=live), Thoughts()
        self.view = TerminalView(self.screen, self.so_far, self.thoughts)
        self.logger.addHandler(self.view)


def told(*deltas: tuple[str, str], secrets: tuple[str, ...] = ()) -> str:
    thoughts = Thoughts(secrets)

    async def tell() -> None:
        for delta in deltas:
            await thoughts.take(delta)

    asyncio.run(tell())
    return str(thoughts)


def test_an_answer_tells_its_thinking_wherever_it_was_cut() -> None:
    thinking = 'A "rat" \\ a\ttab, a caf\u00e9, \U0001f400 and an end '
    answer = json.dumps({"thinking": thinking, "action": "look at the rat"})
    for length in range(len(answer) + 1):
        shown = told(("text", answer[:length]))
        assert thinking.strip().startswith(shown)
        shown.encode()
    assert shown == thinking.strip()


def test_thinking_of_its_own_and_words_beside_calls_are_told_too() -> None:
    assert told(("thinking", "Is it "), ("thinking", "locked? ")) == "Is it locked?"
    assert told(("text", "Let me "), ("text", "ask. ")) == "Let me ask."
    assert told(("text", "First "), ("restart", ""), ("text", "Second ")) == "Second"


def test_no_part_of_a_key_is_ever_shown() -> None:
    text = f"The key is {KEY} and my-secret-word is another one."
    for length in range(len(text) + 1):
        shown = told(("thinking", text[:length]), secrets=("my-secret-word",))
        assert "sk-" not in shown
        assert "my-" not in shown


@pytest.mark.parametrize("live", [True, False], ids=["terminal", "pipe"])
def test_the_end_of_a_thought_stands_below_the_status_and_leaves_nothing(
    tmp_path: Path, live: bool
) -> None:
    player = Thinker(tmp_path, live=live)
    player.start()
    player.log("turn_start")
    words = " ".join(f"word{n}" for n in range(200))
    asyncio.run(player.thoughts.take(("thinking", f"{words}\x1b[2J last ")))
    player.screen.idle()
    player.screen.busy("Turn 1: the model thinks …", player.thoughts)
    drawn = player.raw
    assert ("word199" in drawn) == live
    assert "word3 " not in drawn
    assert "\x1b[2J" not in drawn
    assert "word" not in player.shown
    lines = re.split(r"[\r\n]|\x1b\[\??\d*[AKlh]", COLOUR.sub("", drawn))
    assert max([cell_len(line) for line in lines if "word" in line], default=0) <= 80


def test_only_the_player_is_heard_and_only_where_somebody_listens(tmp_path: Path) -> None:
    """The record of an episode, and what is asked, are the same either way."""
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2

    heard: list[tuple[str, str]] = []

    async def hear(delta: tuple[str, str]) -> None:
        heard.append(delta)

    script = action_reply("look", "Let us see what is here.")
    silent = played(tmp_path / "a", lambda _: script, max_turns_per_episode=2)
    with ModelServer(lambda _: script) as model:
        config = configured(tmp_path / "b", model.base_url, max_turns_per_episode=2)
        with ZorkOrchestratorV2("played", config, on_delta=hear) as orchestrator:
            orchestrator.play_episode()
    assert "".join(text for _, text in heard).count("Let us see what is here.") == 2
    assert [request.body.get("stream") for request in model.requests] == [True, True]
    assert not any("stream" in request.body for request in silent.requests)
    added = {"stream", "stream_options"}
    for request, other in zip(model.requests, silent.requests, strict=True):
        assert {key: request.body[key] for key in request.body.keys() - added} == other.body


def test_a_thought_is_seen_before_it_is_over_and_an_interruption_takes_it_away(
    tmp_path: Path,
) -> None:
    def endless(_request: ModelRequest) -> Reply:
        thought = " ".join(f"thought{n}" for n in range(20_000))
        return replace(action_reply("look", thought), pace=0.02)

    program = Program(tmp_path)
    ours, theirs = pty.openpty()
    seen = b""
    with ModelServer(endless) as model:
        process = program.start(*program.flags(model.base_url), stdout=theirs)
        os.close(theirs)
        try:
            while b"thought9" not in seen and select.select([ours], [], [], PATIENCE)[0]:
                seen += os.read(ours, 65536)
            process.send_signal(signal.SIGINT)
            while select.select([ours], [], [], PATIENCE)[0]:
                try:
                    seen += os.read(ours, 65536)
                except OSError:
                    break
            assert process.wait(timeout=PATIENCE) == 130
        finally:
            process.kill()
            os.close(ours)
            assert process.stderr is not None
            process.stderr.close()
    output = seen.decode()
    assert "thought9" in output
    assert output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l")  # the cursor is back
    assert "thought9" not in kept_by_terminal(output.replace("\r\n", "\n"))
    assert program.leftovers() == []
