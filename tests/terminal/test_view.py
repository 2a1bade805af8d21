from __future__ import annotations

import io
import logging
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from mcp_ghost.cli.screen import Screen
from mcp_ghost.messages import Usage
from session.events import event_context, log_event, log_line
from session.game_state import EndReason, Observation, TurnRecord
from session.record.event_log import EventLog
from session.record.summary import StorySoFar, show_total
from terminal.view import TerminalView
from tests.support.records import observation, record

HOSTILE = (
    "[red]boo[/red] [/] \x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x07\x08\x9b5A "
    "\u202eback :smile: \r!"
)
HARMLESS = "[red]boo[/red] [/] red"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
STEERING = re.compile(r"\x1b\[(?:[\d;]*m|\?25[hl]|(?P<up>\d+)A|(?P<erase>2K))|(?P<start>\r)|\n")
"""All that rich needs for colours and the status line, which is erased before the next text."""


def kept_by_terminal(raw: str) -> str:
    """What a terminal shows in the end; what it would obey beyond that is still in the text."""
    lines, row, position = [""], 0, 0
    for step in STEERING.finditer(raw):
        lines[row] += raw[position : step.start()]
        position = step.end()
        if step["up"]:
            row -= int(step["up"])
        elif step["erase"]:
            lines[row] = ""
        elif step[0] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
    lines[row] += raw[position:]
    return "\n".join(lines)


class Player:
    """Logs the events of an episode as the program does, and keeps what a screen shows of them."""

    def __init__(self, tmp_path: Path, *, live: bool = True, width: int = 80) -> None:
        self.output = io.StringIO()
        console = Console(
            file=self.output,
            width=width,
            force_terminal=live,
            color_system="truecolor" if live else None,
            legacy_windows=False,
            markup=True,
        )
        self.folder = tmp_path / "e1"
        self.so_far = StorySoFar(self.folder, "main.py --resume e1")
        self.view = TerminalView(Screen(console, live=live), self.so_far)
        self.logger = logging.Logger("view", logging.DEBUG)
        self.logger.addHandler(self.view)

    @property
    def raw(self) -> str:
        return self.output.getvalue()

    @property
    def shown(self) -> str:
        self.view.close()  # takes the status line away
        return kept_by_terminal(self.raw)

    def log(self, event_type: str, message: str = "", turn: int = 1, **fields: Any) -> None:  # noqa: ANN401  any field
        with event_context(episode_id="e1", turn=turn):
            log_event(self.logger, logging.INFO, message, event_type, **fields)

    def start(self, **changes: object) -> None:
        fields: dict[str, Any] = {
            "version": "1.2.3",
            "title": "The Cellar",
            "seed": 7,
            "engine": "bocfel",
            "model": "parrot-1",
            "base_url": "https://user:sesame@api.example/v1?key=sesame",
            "mcp": "thoughtbox",
            "opening": "You are in a cellar.",
            "observation": _seen(3).model_dump(mode="json"),
        }
        self.log("episode_start", turn=0, **{**fields, **changes})

    def turn(self, number: int = 1, **changes: object) -> None:
        played = _played(**changes).model_copy(update={"turn": number})
        self.log("turn_start", turn=played.turn)
        self.log("turn", **played.model_dump(mode="json"))

    def tool(self, outcome: str, **fields: Any) -> None:  # noqa: ANN401  any field
        name: dict[str, Any] = {"tool_name": "thoughtbox.think", "server_name": "thoughtbox"}
        self.log("mcp_tool_call", arguments={"thought": "Is it locked?"}, **name)
        self.log(outcome, **{**name, **fields})

    def end(self, reason: str = "max_turns", **changes: object) -> None:
        fields: dict[str, Any] = {"score": 15, "turns": 12, "deaths": 1, "tool_calls": 3}
        usage = Usage(calls=15, prompt_tokens=9000, cached_tokens=7000, completion_tokens=480)
        self.log("episode_end", reason=reason, **{**fields, "usage": asdict(usage), **changes})


def _seen(number: int, name: str = "", **changes: object) -> Observation:
    seen = observation(number, **{"score": 10, "max_score": 350, **changes})
    assert seen.room
    room = seen.room.model_copy(update={"name": name or seen.room_name})
    return seen.model_copy(update={"room": room})


def _played(**changes: object) -> TurnRecord:
    values = {
        "thinking": "The lid is loose.",
        "response": "A rat looks up.\n\nIt is not pleased.",
        "usage": Usage(
            calls=1, prompt_tokens=1203, cached_tokens=1024, completion_tokens=48, cost=0.0004
        ),
        "seconds": 1.23,
    }
    after = changes.pop("after", _seen(4))
    assert isinstance(after, Observation)
    command = str(changes.pop("command", "open lid"))
    return record(1, command, 3, 4, after, **{**values, **changes})


@pytest.fixture(params=[True, False], ids=["terminal", "pipe"])
def player(request: pytest.FixtureRequest, tmp_path: Path) -> Player:
    return Player(tmp_path, live=request.param)


def test_the_header_names_story_model_endpoint_engine_seed_tools_and_log(player: Player) -> None:
    player.start()
    for fact in ("The Cellar", "parrot-1", "https://api.example/v1", "bocfel", "seed 7"):
        assert fact in player.shown
    assert "thoughtbox" in player.shown
    assert str(player.folder / "episode.log") in player.shown
    assert "You are in a cellar." in player.shown


def test_the_header_shows_no_key_that_an_address_holds(player: Player) -> None:
    player.start()
    assert "sesame" not in player.shown


def test_a_turn_shows_room_score_thought_command_answer_tokens_cost_and_time(
    player: Player,
) -> None:
    player.start()
    player.turn()
    heading = next(line for line in player.shown.splitlines() if "Turn 1" in line)
    assert "Room 3" in heading, "the room where the command was given"
    assert "10/350" in heading
    for text in ("The lid is loose.", ">  open lid", "A rat looks up.", "It is not pleased."):
        assert text in player.shown
    assert "1,203 tokens in (1,024 cached), 48 out · $0.0004 · 1.2 s" in player.shown


@pytest.mark.parametrize(
    ("scored", "shown", "colour"), [(5, "+5 points, now 15", "32"), (-1, "-1 point, now 15", "31")]
)
def test_a_change_of_the_score_stands_out(
    tmp_path: Path, scored: int, shown: str, colour: str
) -> None:
    player = Player(tmp_path)
    player.start()
    player.turn(scored=scored, after=_seen(4, score=15))
    assert f"\x1b[1;{colour}m{shown}" in player.raw


def test_a_turn_without_news_mentions_no_points(player: Player) -> None:
    player.start()
    player.turn()
    assert "point" not in player.shown


def test_a_death_and_a_victory_are_said(player: Player) -> None:
    player.start()
    player.turn(died=True, won=True)
    assert "died · won" in player.shown


def test_a_tool_call_shows_name_duration_and_that_it_went_well(player: Player) -> None:
    player.start()
    player.tool("mcp_tool_result", is_error=False, duration_ms=3.6)
    assert "✓  thoughtbox.think · 4 ms · thought: Is it locked?" in player.shown


def test_a_tool_call_that_failed_shows_one_line_with_duration_and_error(player: Player) -> None:
    player.start()
    player.tool("mcp_tool_result", is_error=True, duration_ms=1500.0)
    player.log("mcp_tool_error", tool_name="thoughtbox.think", error="thought must be a text")
    assert player.shown.count("thoughtbox.think") == 1
    assert "✗  thoughtbox.think · 1.5 s · thought must be a text" in player.shown


def test_a_call_that_no_tool_answered_shows_the_error(player: Player) -> None:
    player.start()
    player.tool("mcp_tool_error", error="unknown tool")
    assert "✗  thoughtbox.think · unknown tool" in player.shown


def test_a_call_whose_time_was_up_says_so(player: Player) -> None:
    player.start()
    player.tool("mcp_tool_timeout", duration_ms=30000.0)
    assert "✗  thoughtbox.think · 30.0 s · no answer in time" in player.shown


def test_notices_retries_and_the_loss_of_tools_are_shown_once(player: Player) -> None:
    log_line(player.logger, logging.INFO, "Starting the embedded model ...")
    log_line(player.logger, logging.DEBUG, "Tool arguments: {}")
    player.log("notice", "Zork I is not available.", turn=0)
    player.log("llm_retry", "Attempt 1 failed, next in 1.0 s: refused")
    player.log("mcp_disabled_fallback", "Continuing without MCP tools")
    lines = [line.strip() for line in player.shown.splitlines()]
    for shown in (
        "·  Starting the embedded model ...",
        "·  Zork I is not available.",
        "!  Attempt 1 failed, next in 1.0 s: refused",
        "!  Continuing without MCP tools",
    ):
        assert lines.count(shown) == 1
    assert "arguments" not in player.shown


def test_a_model_that_fails_is_shown_in_place_of_its_thoughts(player: Player) -> None:
    player.start()
    player.turn(failure="no JSON object", thinking="No usable answer: no JSON object")
    assert "!  No usable answer: no JSON object" in player.shown


def test_the_summary_tells_everything_and_how_to_go_on(player: Player) -> None:
    player.start()
    player.turn(scored=5, after=_seen(4, score=15))
    player.end()
    summary = " ".join(player.shown[player.shown.index("Turn limit") :].split())
    for fact in (
        "Turn limit reached (12)",
        "score 15 of 350",
        "turns 12",
        "rooms 2 seen",
        "deaths 1 tools 3 calls",
        "15 requests, 9,000 tokens in (7,000 cached), 480 out",
        "time",
        "e1/episode.log",
        f"view uv run python -m viewer --open --workdir {player.folder.parents[1]}",
        "main.py --resume e1 --max-turns 24",
    ):
        assert fact in summary


@pytest.mark.parametrize("reason", list(EndReason))
def test_every_way_to_end_has_its_words_and_only_a_finished_game_cannot_go_on(
    tmp_path: Path, reason: EndReason
) -> None:
    player = Player(tmp_path, width=40)
    player.start()
    player.end(reason)
    assert re.search(r"^── [A-Z][^…]+ ─+$", player.shown.partition("cellar")[2], re.MULTILINE)
    assert ("--resume" in player.shown) == (not reason.is_final)


def test_the_summary_of_a_silent_model_says_what_was_wrong(player: Player) -> None:
    player.start()
    failed = {"failure": "refused by the server", "usage": {}, "seconds": 1.0}
    player.log("turn_failed", "Not played: refused by the server", turn=2, **failed)
    player.end("llm_unavailable")
    assert "!  Not played: refused by the server" in player.shown
    assert "failure  refused by the server" in player.shown


def test_nothing_is_shown_after_the_summary(player: Player) -> None:
    player.start()
    player.end("aborted")
    before = player.shown
    player.log("llm_retry", "Attempt 1 failed: the connection was closed")
    assert player.shown == before


def test_an_episode_that_never_began_has_no_summary(player: Player) -> None:
    player.end("aborted")
    assert player.shown == ""


def test_a_resumed_episode_shows_what_earlier_runs_began_with_and_counts_their_rooms(
    tmp_path: Path,
) -> None:
    first = Player(tmp_path)
    log = EventLog(first.folder)
    first.logger.addHandler(log)
    first.start()
    first.turn(after=_seen(4, score=15))
    log.close()
    second = Player(tmp_path, live=False)
    second.log("episode_resumed", "Episode continues after turn 1", model="parrot-2")
    second.log("turn_start", turn=2)
    second.end()
    assert "The Cellar" in second.shown
    assert "parrot-2" in second.shown
    assert "continues after turn 1" in second.shown
    assert "Turn 2 · Room 4 · 15/350" in second.shown
    assert "rooms   2 seen" in second.shown


def test_text_from_game_model_and_tools_is_shown_as_it_was_typed_and_steers_nothing(
    player: Player,
) -> None:
    player.log("notice", HOSTILE, turn=0)
    player.start(
        title=HOSTILE, model=HOSTILE, base_url=HOSTILE, mcp=HOSTILE, opening=HOSTILE, engine=HOSTILE
    )
    player.log("llm_retry", HOSTILE)
    player.log("mcp_tool_call", tool_name=HOSTILE, arguments={HOSTILE: HOSTILE})
    player.log("mcp_tool_error", tool_name=HOSTILE, error=HOSTILE)
    player.turn(
        thinking=HOSTILE,
        command=HOSTILE,
        response=HOSTILE,
        new_objective=HOSTILE,
        after=_seen(4, name=HOSTILE),
    )
    player.turn(2, failure=HOSTILE, thinking=HOSTILE)
    player.log("turn_failed", HOSTILE, failure=HOSTILE, usage={}, seconds=1.0)
    player.end("llm_unavailable")
    shown = player.shown
    assert not CONTROL.search(shown)
    assert shown.count(HARMLESS) > 12
    assert "title" not in shown
    assert "\x1b[2J" not in player.raw
    assert ":smile:" in shown


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider_than_the_terminal_except_those_to_copy(
    tmp_path: Path, width: int
) -> None:
    player = Player(tmp_path, width=width)
    wide = "漢字" * 30
    player.start(title=wide, opening=wide)
    player.tool("mcp_tool_result", is_error=False, duration_ms=1.0)
    player.turn(thinking=wide, response="x" * 300, after=_seen(4, name=wide))
    player.turn(2)
    player.end()
    too_wide = [line for line in player.shown.splitlines() if cell_len(line) > width]
    assert all(line.split()[0] in ("log", "view", "resume") for line in too_wide)


def test_plain_output_has_no_control_characters_and_does_not_break_lines(tmp_path: Path) -> None:
    player = Player(tmp_path, live=False, width=40)
    player.start(opening="word " * 100)
    player.tool("mcp_tool_result", is_error=False, duration_ms=1.0)
    player.turn()
    player.end()
    assert not CONTROL.search(player.raw)
    assert ("word " * 100).strip() in player.raw


def test_a_view_that_fails_does_not_stop_the_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player = Player(tmp_path, live=False)
    player.start()
    player.log("turn")  # without any of its fields
    assert "ValidationError" in capsys.readouterr().err
    player.turn()
    assert "A rat looks up." in player.shown


def test_a_screen_that_is_gone_is_left_alone(tmp_path: Path) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    so_far = StorySoFar(tmp_path)
    view = TerminalView(Screen(Console(file=Gone()), live=False), so_far)
    logger = logging.Logger("gone", logging.DEBUG)
    logger.addHandler(view)
    log_event(logger, logging.INFO, "one", "notice")
    log_event(logger, logging.INFO, "two", "notice")


def test_several_episodes_are_summed_up_in_one_line(tmp_path: Path) -> None:
    players = [Player(tmp_path, live=False) for _ in range(2)]
    for score, player in zip((10, 25), players, strict=True):
        player.start()
        player.end(score=score)
    output = io.StringIO()
    screen = Screen(Console(file=output), live=False)
    show_total(screen, [player.so_far for player in players])
    line = output.getvalue().strip()
    assert "\n" not in line
    assert "2 episodes: best score 25, mean 17.5, 24 turns, 6 tool calls" in line
    assert "30 requests, 18,000 tokens in (14,000 cached), 960 out" in line
