"""How far something has come: a bar on a terminal, gone when it is over, and in no log."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from mcp_ghost.cli.screen import Screen
from session.events import log_event, log_progress
from session.record.event_log import EventLog
from session.record.summary import StorySoFar
from session.record.text_log import EpisodeLog
from terminal.view import TerminalView
from tests.support.records import observation
from tests.terminal.test_view import STEERING

BAR = re.compile("[━╸╺]+")


def frames(raw: str) -> list[str]:
    """The status lines that a terminal showed one after the other, without what draws them."""
    lines = STEERING.sub("\n", raw.replace("\x1b[0m", "")).split("\n")
    return [line for line in lines if line.strip()]


def screen_of(width: int, *, live: bool = True) -> tuple[Screen, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=live, color_system=None)
    return Screen(console, live=live), output


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_bar_is_filled_so_far_and_fits_the_terminal(width: int) -> None:
    screen, output = screen_of(width)
    for share in (0.0, 0.5, 1.0):
        screen.progress("Downloading 漢字漢字漢字漢字漢字漢字漢字漢字漢字 for you", share)
        screen.idle()
    shown = frames(output.getvalue())
    told = {line.split()[-2]: sum(map(len, BAR.findall(line))) for line in shown}
    assert list(told) == ["0", "50", "100"]
    assert 0 == told["0"] < told["50"] < told["100"]
    assert all(cell_len(line) <= width and "Dow" in line for line in shown)


def test_where_nobody_can_know_how_far_a_bar_shows_no_figure() -> None:
    screen, output = screen_of(80)
    screen.progress("Starting MCP server 'demo' by uvx")
    screen.idle()
    (frame,) = [line for line in frames(output.getvalue()) if "demo" in line]
    assert BAR.search(frame)
    assert "%" not in frame


def test_where_nothing_moves_no_bar_is_shown() -> None:
    screen, output = screen_of(80, live=False)
    screen.progress("Downloading", 0.5)
    screen.idle()
    assert output.getvalue() == ""


@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_address_stays_whole_on_a_narrow_terminal(width: int) -> None:
    screen, output = screen_of(width)
    address = f"http://127.0.0.1:8723/#/latest?token={'x-' * 16}"
    screen.text(f"Watch at {address}", mark="·")
    assert address in output.getvalue()


class Recorder(Screen):
    """Writes down what it is asked to show at the bottom."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO()), live=False)
        self.bottom: list[str] = []

    def busy(self, label: str, more: object = "") -> None:
        self.bottom.append(label)

    def progress(self, label: str, share: float | None = None) -> None:
        self.bottom.append(f"{label} {share}")

    def idle(self) -> None:
        self.bottom.append("")


def test_what_takes_long_is_shown_before_what_the_game_waits_for(tmp_path: Path) -> None:
    screen, logger = Recorder(), logging.Logger("view", logging.DEBUG)
    logger.addHandler(TerminalView(screen, StorySoFar(tmp_path)))
    log_progress(logger, "Downloading", 0.5)
    log_progress(logger, "Downloading", 1)
    log_event(logger, logging.DEBUG, "", "turn_start", turn=1)
    log_progress(logger, "Starting a server")
    log_progress(logger, "Loading a model")
    log_event(logger, logging.DEBUG, "", "mcp_session_start", turn=1)
    log_progress(logger, "Starting a server", 1)
    log_progress(logger, "Loading a model", 1)
    thinks = "Turn 1: the model thinks …"
    first, then = "Starting a server None", "Loading a model None"
    told = ["Downloading 0.5", "", thinks, first, first, first, then, thinks]
    assert screen.bottom == told


def test_of_a_player_that_asks_no_model_nobody_says_that_a_model_thinks(tmp_path: Path) -> None:
    screen, logger = Recorder(), logging.Logger("view", logging.DEBUG)
    logger.addHandler(TerminalView(screen, StorySoFar(tmp_path)))
    seen = observation(1).model_dump(mode="json")
    log_event(logger, logging.DEBUG, "", "episode_start", player="random", observation=seen)
    log_event(logger, logging.DEBUG, "", "turn_start", turn=1)
    assert screen.bottom[-1] == "Turn 1: the player thinks …"


def test_progress_is_in_no_log(tmp_path: Path) -> None:
    logger = logging.Logger("progress", logging.DEBUG)
    logs = [EventLog(tmp_path), EpisodeLog(tmp_path)]
    for log in logs:
        logger.addHandler(log)
    log_progress(logger, "Downloading", 0.5)
    logger.debug("a line")
    for log in logs:
        log.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"a line" in kept
    assert b"Downloading" not in kept
