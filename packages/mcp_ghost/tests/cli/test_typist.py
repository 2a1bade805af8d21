"""The answer on the terminal while it comes."""

from __future__ import annotations

import os
import pty
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer, Reply, content_reply, tool_reply
from tests.support import PATIENCE
from tests.support.ghosts import Bank
from tests.support.program import Program
from tests.support.servers import write_config

pytestmark = pytest.mark.mcp
LOOK = tool_reply([("bank.balance", {})], "Let me look.")
RUN = ["run", "--config", "servers.json", "--provider", "openai", "--prompt", "How much?"]


def test_words_are_shown_on_a_terminal_when_they_come_and_only_once(tmp_path: Path) -> None:
    write_config(tmp_path / "servers.json", bank=Bank(tmp_path).config)
    ours, theirs = pty.openpty()
    shown: list[tuple[float, bytes]] = []
    slow = Reply(content_reply("There are \x1b]0;two\x07 coins left.").body, pace=0.1)
    with ModelServer([LOOK, slow]) as model:
        flags = [*RUN, "--quiet", "--base-url", model.base_url]
        process = Program(tmp_path, "-m", "mcp_ghost").start(*flags, stdout=theirs)
        os.close(theirs)
        with suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 4096):
                shown.append((time.monotonic(), piece))
        process.communicate(timeout=PATIENCE)
        os.close(ours)
    assert process.returncode == 0
    text = b"".join(piece for _, piece in shown)
    assert text == b"Let me look.\r\nThere are  coins left.\r\n"
    words = [at for at, piece in shown if piece.strip() in (b"There", b"are", b"left.")]
    assert words[-1] - words[0] > 0.2


def test_elsewhere_only_the_answer_is_printed(tmp_path: Path) -> None:
    write_config(tmp_path / "servers.json", bank=Bank(tmp_path).config)
    with ModelServer([LOOK, "Two coins."]) as model:
        done = Program(tmp_path, "-m", "mcp_ghost").run(*RUN, "--base-url", model.base_url)
    assert done.stdout == "Two coins.\n"
    assert all("stream" not in request.body for request in model.requests)
