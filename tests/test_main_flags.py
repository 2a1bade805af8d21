"""Flags that leave parts out, the page beside a game, and episodes that cannot begin."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from orchestration.parts import PARTS
from tests.support import PATIENCE, free_port
from tests.support.episodes import read_events
from tests.support.program import Program
from tests.support.servers import faulty, write_config
from tests.support.viewing import entered
from workshop.scripted_model import action_reply

pytestmark = pytest.mark.mcp


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: action_reply("look")) as server:
        yield server


def start_of(program: Program) -> dict[str, Any]:
    (episode,) = program.episodes()
    (start,) = (e for e in read_events(episode) if e["event_type"] == "episode_start")
    return start


def test_parts_of_the_mind_are_left_out_by_a_flag(program: Program, model: ModelServer) -> None:
    flags = [word for part in (*PARTS, "storage") for word in ("--without", part)]
    assert program.play(model, *flags).returncode == 0
    assert set(PARTS) == set(start_of(program)["parts_off"])
    assert not (program.folder / "game_files" / "knowledge.db").exists()


def test_with_everything_on_an_episode_leaves_a_database(
    program: Program, model: ModelServer
) -> None:
    assert program.play(model).returncode == 0
    assert (program.folder / "game_files" / "knowledge.db").is_file()
    assert start_of(program)["parts_off"] == ["reflection"]  # which tests leave out


def test_a_mistyped_part_is_refused_with_those_that_there_are(program: Program) -> None:
    played = program.run("--without", "memory")
    assert played.returncode == 2
    assert "memories" in played.stderr


def test_what_it_says_to_go_on_with_leaves_out_the_same(
    program: Program, model: ModelServer
) -> None:
    assert "--without map" in program.play(model, "--without", "map").stdout


def test_a_watched_game_is_served_while_it_is_played_and_then_until_ctrl_c(
    program: Program,
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(request: ModelRequest) -> Reply:
        if len(server.requests) > 1:
            asked.set()
            go_on.wait(PATIENCE)
        return action_reply("look")

    with ModelServer(reply) as server:
        process = program.start(
            *program.flags(server.base_url), "--watch", str(free_port()), "--no-open"
        )
        try:
            assert process.stdout is not None
            found = None
            while not found:
                found = re.search(
                    r"Watch at (http://127\.0\.0\.1:\d+/)(\S+)", process.stdout.readline()
                )
            assert asked.wait(PATIENCE)
            assert server.requests[0].body["stream"], "so that the page can show a thought"
            assert httpx2.get(f"{found[1]}data/latest/episode.json").status_code == 401
            with entered(found[1] + found[2]) as client:
                shown = client.get("data/latest/episode.json").json()
            assert shown["summary"]["turns"] == 1
            assert "ZorkGPT" in httpx2.get(found[1]).text
            go_on.set()
            while "stays up until you press Ctrl-C" not in process.stdout.readline():
                pass
            with entered(found[1] + found[2]) as client:
                shown = client.get("data/latest/episode.json").json()
            assert shown["summary"]["end_reason"] == "max_turns"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0, "everything that was asked for was played"
            with pytest.raises(httpx2.ConnectError):
                httpx2.get(found[1])
        finally:
            go_on.set()
            process.kill()
            process.communicate()
    assert program.leftovers() == []


def test_a_port_that_is_taken_costs_a_notice_and_not_the_game(
    program: Program, model: ModelServer
) -> None:
    port = model.base_url.rsplit(":", 1)[1].split("/")[0]
    played = program.play(model, "--watch", port, "--no-open")
    assert played.returncode == 0
    assert f"The page cannot be served: Port {port} is already taken" in played.stdout
    assert (
        "give --watch another port" in played.stdout
    )  # the flags of the viewer are not the game's


@pytest.mark.parametrize(
    ("failing", "begun", "said"),
    [
        ("1", 3, ""),
        ("1,3", 3, "start 3 fails as told"),
        ("1,2,3", 2, "No more episodes will be played: two in a row failed in the same way."),
    ],
)
def test_the_next_episode_is_played_when_it_can_hope_for_its_tool_server(
    program: Program, model: ModelServer, failing: str, begun: int, said: str
) -> None:
    starts = {"START_COUNTER": str(program.folder / "starts"), "FAILING_STARTS": failing}
    write_config(program.folder / "mcp_config.json", demo=faulty(**starts))
    played = program.play(model, "--mcp", "--episodes", "3", "--max-turns", "1")
    assert played.returncode == 1
    assert len(program.episodes()) == begun
    assert "start 1 fails as told" in played.stdout
    assert "The next episode will try again." in played.stdout
    assert said in played.stderr
    assert bool(said) == bool(played.stderr)


def test_no_further_episode_is_played_where_there_is_no_such_command(
    program: Program, model: ModelServer
) -> None:
    program.serve_tools("no-such-command")
    played = program.play(model, "--mcp", "--episodes", "3")
    assert played.returncode == 1
    assert len(program.episodes()) == 1
    assert "command not found: no-such-command" in played.stderr
    assert (
        "No more episodes will be played: the program to start cannot be found or run."
        in played.stderr
    )


def test_a_story_that_does_not_exist_leaves_nothing_behind(program: Program) -> None:
    played = program.run("--story", "zrok1")
    assert played.returncode == 2
    assert played.stderr.startswith("main.py: error: there is no story file at zrok1 (No such ")
    assert played.stderr.endswith(" (did you mean 'zork1'?)\n")
    assert not (program.folder / "game_files").exists()


def test_a_walkthrough_without_commands_leaves_nothing_behind(program: Program) -> None:
    result = program.run("--player", "walkthrough", "--story", "bundled")
    assert result.returncode == 2
    assert "needs its commands" in result.stderr
    assert not (program.folder / "game_files").exists()


def test_a_player_that_calls_no_tools_says_so(program: Program) -> None:
    flags = ("--player", "first-exit", "--story", "bundled", "--mcp", "--max-turns", "1")
    program.serve_tools()
    assert "none: this player calls no tools" in program.run(*flags).stdout


def test_another_player_is_chosen_by_a_flag_and_stays_with_its_episode(program: Program) -> None:
    played = program.run("--story", "bundled", "--player", "random", "--max-turns", "2")
    assert played.returncode == 0
    assert "No API key" not in played.stdout
    assert (start_of(program)["player"], start_of(program)["model"]) == ("random", "")
    resumed = program.run("--resume", "latest", "--max-turns", "3")
    assert resumed.returncode == 0
    assert "Turn limit reached (3)" in resumed.stdout
    assert "No API key" not in resumed.stdout
    wrong = program.run("--player", "chatt")
    assert wrong.returncode == 2
    assert "--player: invalid choice: 'chatt'" in wrong.stderr
    assert "did you mean 'chat'?" in wrong.stderr
    both = program.run("--resume", "latest", "--player", "chat")
    assert both.returncode == 2
    assert "--player" in both.stderr
