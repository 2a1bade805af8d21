"""Flags of the command line that leave parts out, and the page beside a game."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, action_reply
from orchestration.parts import PARTS
from tests.support import PATIENCE
from tests.support.episodes import read_events
from tests.support.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


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


def test_a_watched_game_is_served_while_it_is_played_and_no_longer(program: Program) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(request: ModelRequest) -> Reply:
        if len(server.requests) > 1:
            asked.set()
            go_on.wait(PATIENCE)
        return action_reply("look")

    with ModelServer(reply) as server:
        process = program.start(*program.flags(server.base_url), "--watch", "--no-open")
        try:
            assert process.stdout is not None
            found = None
            while not found:
                found = re.search(r"Watch at (http://127\.0\.0\.1:\d+/)", process.stdout.readline())
            assert asked.wait(PATIENCE)
            shown = httpx.get(f"{found[1]}data/latest/episode.json").json()
            assert shown["summary"]["turns"] == 1
            assert "ZorkGPT" in httpx.get(found[1]).text
            go_on.set()
            assert process.wait(PATIENCE) == 0
            with pytest.raises(httpx.ConnectError):
                httpx.get(found[1])
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
    assert "The page cannot be watched" in played.stdout
