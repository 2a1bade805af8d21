"""What the host gives on the command line limits what its guests get."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from game_server.__main__ import main
from game_server.games import Games
from game_server.limits import HostLimits
from session.levels import ObservationLevel
from session.record.event_log import read
from session.record.schema import EpisodeStart
from tests.game_server.guests import Caller, Said, guest, offered
from tests.support import ROOT
from tests.support.games import written
from tests.support.tiny_story import build

pytestmark = pytest.mark.mcp


@asynccontextmanager
async def served(folder: Path, *flags: str) -> AsyncIterator[Caller]:
    """A guest of a server that was started with these flags."""
    foreign = ("ZORKGPT_", "ZORK1_", "STORIES_DIR")
    env = {name: it for name, it in os.environ.items() if not name.startswith(foreign)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "game_server", *flags],
        cwd=folder,
        env={**env, "PYTHONPATH": str(ROOT)},
    )
    async with Client(stdio_client(server)) as client:
        yield Caller(client)


def limited(folder: Path, limits: HostLimits, **settings: object) -> Games:
    return Games(offered(folder, **settings).config, limits=limits)


def start_of(games: Games, begun: Said) -> EpisodeStart:
    folder = Path(games.config.workdir, "episodes", begun.values["game"])
    return next(it.event for it in read(folder) if isinstance(it.event, EpisodeStart))


async def test_a_served_guest_gets_no_more_than_the_flags_allow(tmp_path: Path) -> None:
    flags = ["--story", "bundled", "--level", "status", "--seed", "7", "--games", "2"]
    async with served(tmp_path, *flags) as call:
        (new_game,) = [it for it in (await call.client.list_tools()).tools if it.name == "new_game"]
        for told in (
            "offers only the story 'bundled'",
            "limits the level to status",
            "has set the seed to 7",
            "allows 2 new games",
        ):
            assert told in (new_game.description or "")
        other = await call("new_game", story="zork1")
        assert other.is_error
        assert "Only the story 'bundled' is offered here." in other.text
        more = await call("new_game", story="bundled", level="facts+exits", seed=8)
        assert "inventory" not in more.values["facts"]
        assert "score" in more.values["facts"]
        remark = "The host limits the level to status. The host has set the seed to 7."
        assert more.values["remark"] == remark
        assert more.text.endswith(remark)
        less = await call("new_game", level="text", seed=7)
        assert (less.values["facts"], less.values["remark"]) == ({}, None)
        assert "The host allows 2 new games" in (await call("new_game")).text
        assert (await call("command", text="north", game=more.values["game"])).values["turn"] == 1


async def test_a_seed_of_the_host_is_the_one_that_is_played(tmp_path: Path) -> None:
    games = limited(tmp_path, HostLimits(seed=7))
    async with guest(games) as call:
        for asked in ({}, {"seed": 7}, {"seed": 8}):
            begun = await call("new_game", **asked)
            assert start_of(games, begun).seed == 7
            assert bool(begun.values["remark"]) == (asked == {"seed": 8})
    games.close()


async def test_whoever_has_only_one_game_is_told_that_there_is_nothing_to_choose(
    tmp_path: Path,
) -> None:
    only = Games(offered(tmp_path).config, only="mine")
    async with guest(only) as call:
        (tool, *_) = (await call.client.list_tools()).tools
    assert (tool.description or "").endswith("is played here: leave out all arguments.")


async def test_without_limits_a_guest_chooses_as_before(tmp_path: Path) -> None:
    games = offered(tmp_path, observation_level="text")
    async with guest(games) as call:
        begun = await call("new_game", seed=3, level="facts+exits")
        assert begun.values["facts"]["exits"] == ["north"]
        assert begun.values["remark"] is None
        assert start_of(games, begun).seed == 3
    games.close()


async def test_a_game_that_did_not_begin_and_one_that_goes_on_do_not_count(tmp_path: Path) -> None:
    games = limited(tmp_path, HostLimits(games=1))
    async with guest(games) as call:
        assert "is not offered here" in (await call("new_game", story="nope")).text
        name = (await call("new_game")).values["game"]
        games.close()
        assert (await call("command", text="north", game=name)).values["turn"] == 1
        refused = await call("new_game")
        assert refused.is_error
        assert "The host allows 1 new game and no more: continue one" in refused.text
    games.close()


async def test_an_earlier_game_in_which_more_was_told_is_not_continued(tmp_path: Path) -> None:
    before = offered(tmp_path)
    async with guest(before) as call:
        name = (await call("new_game", level="facts")).values["game"]
    before.close()
    log = Path(before.config.workdir, "episodes", name, "events.jsonl").read_bytes()
    games = limited(tmp_path, HostLimits(level=ObservationLevel.TEXT))
    async with guest(games) as call:
        for tool, more in (("command", {"text": "look"}), ("status", {}), ("history", {})):
            refused = await call(tool, game=name, **more)
            assert refused.is_error
            assert "started at the level facts" in refused.text
    games.close()
    assert Path(before.config.workdir, "episodes", name, "events.jsonl").read_bytes() == log


@pytest.mark.parametrize(
    "asked",
    [
        "/etc/passwd",
        "~/hall.z3",
        "../secret.z3",
        "stories/hall.z3",
        "leading-out.z3",
        "gym:CartPole-v1",
        "https://example.com/hall.z3",
        "zork1\0",
        "",
        "x" * 5000,
    ],
)
async def test_stories_are_chosen_by_name_and_never_by_path_or_address(
    tmp_path: Path, asked: str
) -> None:
    stories = tmp_path / "stories"
    stories.mkdir()
    written(stories, build(), "hall.z3")
    (stories / "leading-out.z3").symlink_to(written(tmp_path, build(), "secret.z3"))
    games = limited(tmp_path, HostLimits(folders=[stories]))
    async with guest(games) as call:
        refused = await call("new_game", story=asked)
    assert refused.is_error
    assert "is not offered here: choose from zork1, bundled, hall.z3" in refused.text
    assert len(refused.text) < 500
    assert "x" * 61 not in refused.text
    assert not Path(games.config.workdir, "episodes").exists()


async def test_a_file_in_a_folder_of_the_host_is_played_by_its_name(tmp_path: Path) -> None:
    stories = tmp_path / "stories"
    stories.mkdir()
    written(stories, build(), "hall.z3")
    (stories / "again.z3").symlink_to("hall.z3")
    (stories / "notes.txt").write_text("Remember the milk.")
    games = limited(tmp_path, HostLimits(folders=[stories]))
    async with guest(games) as call:
        for name in ("hall.z3", "again.z3"):
            assert (await call("new_game", story=name)).text.startswith("Hall")
        refused = await call("new_game", story="notes.txt")
    games.close()
    assert refused.text.endswith("'notes.txt' is not a story that can be played.")


async def test_the_story_of_the_host_is_known_by_its_files_name_and_its_folder_to_nobody(
    tmp_path: Path,
) -> None:
    story = str(written(tmp_path, build(), "hall.z3"))
    games = limited(tmp_path, HostLimits(story=story), story=story)
    async with guest(games) as call:
        assert (await call("new_game", story="hall.z3")).text.startswith("Hall")
        refused = await call("new_game", story="curses")
        (tool, *_) = (await call.client.list_tools()).tools
    games.close()
    assert "Only the story 'hall.z3' is offered here." in refused.text
    assert str(tmp_path) not in f"{refused.text} {tool.description}"


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--stories", "nowhere"], "--stories: there is no folder nowhere"),
        (["--story", "bundled", "--stories", "."], "--story only one"),
        (["--games", "0"], "must be 1 or more"),
    ],
)
def test_limits_that_make_no_sense_are_refused_at_the_start(
    flags: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORKGPT_STORY", "bundled")
    with pytest.raises(SystemExit, match="2"):
        sys.exit(main(flags))
    assert why in capsys.readouterr().err
