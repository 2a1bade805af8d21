"""The games as tools: what a guest is told, what the game is given, and what is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from evaluation.figures import EpisodeFigures
from game_server import games as games_module
from game_server.games import Games, Guest
from game_server.reply import RefusedError
from orchestration.replay import replay
from session.levels import ObservationLevel
from session.record.index import is_being_written
from tests.game_server.guests import SHOWN, guest, offered
from tests.support.episodes import all_text, answer, played, read_events
from viewer.library import Library

WAY = ["north", "north", "wait"]


@pytest.fixture
def games(tmp_path: Path) -> Iterator[Games]:
    it = offered(tmp_path)
    yield it
    it.close()


def folder_of(games: Games, name: str) -> Path:
    return Path(games.config.workdir, "episodes", name)


def events(folder: Path, event_type: str) -> list[dict[str, object]]:
    return [event for event in read_events(folder) if event["event_type"] == event_type]


async def test_a_game_is_an_episode_like_any_other(games: Games) -> None:
    async with guest(games) as call:
        begun = await call("new_game", seed=7)
        assert "Landing Stage" in begun.text
        for command in WAY:
            said = await call("command", text=command)
        assert said.values["turn"] == len(WAY)
        assert "Courtyard" in (await call("status")).text
    games.close()
    folder = folder_of(games, begun.values["game"])
    (start,) = events(folder, "episode_start")
    assert (start["player"], start["model"], start["seed"]) == ("mcp", SHOWN, 7)
    assert [turn["command"] for turn in events(folder, "turn")] == WAY
    assert events(folder, "episode_end")[-1]["reason"] == "aborted"
    assert EpisodeFigures.read(folder).turns == len(WAY)
    (shown,) = Library(Path(games.config.workdir)).episodes()
    assert (shown.summary()["model"], shown.summary()["turns"]) == (SHOWN, len(WAY))
    assert replay(folder).turns == len(WAY)


@pytest.mark.parametrize("level", ObservationLevel)
async def test_a_guest_is_told_what_the_level_tells(games: Games, level: ObservationLevel) -> None:
    async with guest(games) as call:
        await call("new_game", seed=7, level=level)
        said = await call("command", text="north")
    facts = said.values["facts"]
    assert ("score" in facts) == ("Score: 0" in said.text) == level.tells_status
    assert ("inventory" in facts) == ("You carry: letter" in said.text) == level.tells_facts
    assert ("exits" in facts) == ("Exits: " in said.text) == level.tells_exits


async def test_what_no_game_may_be_given_is_refused_with_the_reason(games: Games) -> None:
    async with guest(games) as call:
        name = (await call("new_game", seed=7)).values["game"]
        for command, why in (
            ("save", "interpreter"),
            ("look\nquit", "one line"),
            ("", "empty"),
            ("x" * 101, "at most 100"),
        ):
            refused = await call("command", text=command)
            assert refused.is_error
            assert why in refused.text
        assert (await call("command", text="north")).values["turn"] == 1
    games.close()
    folder = folder_of(games, name)
    assert [it["proposed"] for it in events(folder, "turn_failed")][:2] == ["save", "look\nquit"]
    assert replay(folder).turns == 1


async def test_a_rule_of_the_settings_holds_for_guests(tmp_path: Path) -> None:
    games = offered(tmp_path, rules_several_commands="refuse", rules_unusable_answer="turn")
    async with guest(games) as call:
        await call("new_game", seed=7)
        said = await call("command", text="north. north")
        assert "2 commands" in said.text
        assert said.values["turn"] == 1
    games.close()


async def test_of_a_line_of_several_commands_a_guest_is_told_that_only_the_first_was_given(
    games: Games,
) -> None:
    async with guest(games) as call:
        await call("new_game", seed=7)
        said = await call("command", text="north. north")
        assert '[The game was given only the first command of "north. north".]' in said.text
        assert said.values["turn"] == 1


async def test_history_tells_again_what_was_told(games: Games) -> None:
    async with guest(games) as call:
        await call("new_game", seed=7)
        told = [(await call("command", text=command)).values["text"] for command in WAY]
        latest = (await call("history", last=2)).values
        assert [turn["text"] for turn in latest["turns"]] == told[-2:]
        before = (await call("history", last=5, before=2)).values
        assert [turn["command"] for turn in before["turns"]] == WAY[:1]
        assert "Landing Stage" in before["opening"]


async def test_a_game_that_was_left_goes_on(games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    async with guest(games) as call:
        name = (await call("new_game", seed=7, level="status")).values["game"]
        await call("command", text="north")
    games.close()
    assert not is_being_written(folder_of(games, name) / "events.jsonl")
    async with guest(games, "another-guest") as call:
        said = await call("command", text="north", game=name)
        assert said.values["turn"] == 2
        assert said.values["facts"]["room"] == "Courtyard"
        assert "inventory" not in said.values["facts"]
        assert len((await call("history")).values["turns"]) == 2
        monkeypatch.setattr(games_module, "IDLE_SECONDS", 0.0)
        games.close_idle()
        assert (await call("command", text="look")).is_error  # which game is no longer known
        assert (await call("command", text="look", game=name)).values["turn"] == 3


async def test_our_own_player_goes_on_where_a_guest_left(tmp_path: Path, games: Games) -> None:
    async with guest(games) as call:
        name = (await call("new_game", seed=7, level="text")).values["game"]
        await call("command", text="north")
    games.close()
    rest = await asyncio.to_thread(
        played,
        tmp_path,
        [answer("north")],
        episode=name,
        resume=True,
        max_turns_per_episode=2,
    )
    assert "Courtyard" in rest.turns[-1].response
    assert "Score:" not in all_text(rest.requests)
    assert (await asyncio.to_thread(replay, rest.folder)).turns == 2


async def test_no_more_games_are_open_than_allowed(
    games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games_module, "MOST_GAMES", 1)
    async with guest(games) as call:
        first = (await call("new_game", seed=7)).values["game"]
        second = (await call("new_game", seed=8)).values["game"]
        assert not is_being_written(folder_of(games, first) / "events.jsonl")
        assert is_being_written(folder_of(games, second) / "events.jsonl")
        assert (await call("command", text="north", game=first)).values["turn"] == 1


async def test_after_its_end_a_game_takes_no_command(tmp_path: Path) -> None:
    games = offered(tmp_path, max_turns_per_episode=1)
    async with guest(games) as call:
        name = (await call("new_game", seed=7)).values["game"]
        last = await call("command", text="north")
        assert last.values["ended"] == "max_turns"
        assert "The episode has ended" in last.text
        assert "new_game" in (await call("command", text="north")).text
        assert (await call("status")).values["turn"] == 1
    games.close()
    ends = events(folder_of(games, name), "episode_end")
    assert [it["reason"] for it in ends] == ["max_turns"]


async def test_a_game_that_is_over_is_told_by_its_name_and_its_log_does_not_grow(
    tmp_path: Path,
) -> None:
    games = offered(tmp_path, max_turns_per_episode=1)
    async with guest(games) as call:
        name = (await call("new_game", seed=7)).values["game"]
        last = await call("command", text="north")
        assert "Turn 1 of at most 1." in last.text
        log = (folder_of(games, name) / "events.jsonl").read_bytes()
        assert (await call("status", game=name)).values["ended"] == "max_turns"
        assert len((await call("history", game=name)).values["turns"]) == 1
        assert "has ended" in (await call("command", text="north", game=name)).text
    games.close()
    assert (folder_of(games, name) / "events.jsonl").read_bytes() == log


async def test_a_game_in_which_nothing_new_happened_goes_on_if_it_is_named(tmp_path: Path) -> None:
    games = offered(tmp_path, max_turns_stuck=2)
    async with guest(games) as call:
        name = (await call("new_game", seed=7)).values["game"]
        for _ in range(2):
            last = await call("command", text="wait")
        assert last.values["ended"] == "stalled"
        assert (await call("status", game=name)).values["ended"] == "stalled"
        assert (await call("command", text="north", game=name)).values["turn"] == 3
    games.close()


async def test_looking_at_an_earlier_game_does_not_change_which_one_is_played(games: Games) -> None:
    async with guest(games) as call:
        earlier = (await call("new_game", seed=7)).values["game"]
        await call("command", text="north")
        games.close()
        current = (await call("new_game", seed=7)).values["game"]
        assert len((await call("history", game=earlier)).values["turns"]) == 1
        assert (await call("command", text="north")).values["game"] == current


def test_without_sessions_games_that_are_over_do_not_count(tmp_path: Path) -> None:
    games = offered(tmp_path, max_turns_per_episode=1)
    caller = Guest("an agent", None)
    over = games.new(caller, None, 7, None)
    over.command("north")
    assert games.find(caller, None) is over
    current = games.new(caller, None, 7, None)
    assert games.find(caller, None) is current
    games.close()


async def test_wrong_wishes_are_explained(tmp_path: Path, games: Games) -> None:
    ours = partial(played, tmp_path, [answer("north")], episode="ours", max_turns_per_episode=1)
    await asyncio.to_thread(ours)
    async with guest(games) as call:
        for tool, arguments, why in (
            ("command", {"text": "look"}, "call new_game first"),
            ("new_game", {"story": "nope.z5"}, "not offered here: choose from zork1, bundled"),
            ("new_game", {"seed": -1}, "seed"),
            (
                "command",
                {"text": "look", "game": "nowhere"},
                "no episode to resume called 'nowhere'",
            ),
            ("command", {"text": "look", "game": "../escape"}, "not a valid episode name"),
            ("command", {"text": "look", "game": "x" * 5000}, "not a valid episode name"),
            ("command", {"text": "look " * 2000}, "call new_game first"),
            ("command", {"text": "look", "game": "ours"}, "main.py --resume ours"),
        ):
            said = await call(tool, **arguments)
            assert said.is_error
            assert why in said.text
    assert [it.name for it in folder_of(games, "ours").parent.iterdir()] == ["ours"]


@pytest.mark.parametrize("revision", ["legacy", "2026-07-28"])
async def test_arguments_that_a_tool_does_not_have_are_refused(games: Games, revision: str) -> None:
    async with guest(games, mode=revision) as call:
        for tool, arguments, why in (
            ("new_game", {"levle": "text"}, "'levle' of new_game: did you mean 'level'?"),
            ("command", {"command": "look"}, "'command' of command: choose from text, game."),
            ("status", {"x" * 5000: "\n"}, "x…' of status: choose from game."),
        ):
            said = await call(tool, **arguments)
            assert said.is_error
            assert why in said.text.replace("x" * 59, "x")
    assert not Path(games.config.workdir, "episodes").exists()


def test_two_calls_at_once_open_one_game_not_two(tmp_path: Path) -> None:
    """As of an agent that begins its game and plays the first command in one reply."""
    only = Games(offered(tmp_path).config, only="mine")
    caller = Guest("an agent", "session")
    first = only.find(caller, None)
    assert only._opened(caller, "mine", only.config) is first  # it, too, had found none open
    assert [it.name for it in folder_of(only, "mine").parent.iterdir()] == ["mine"]
    only.close()


def test_whoever_has_only_one_game_is_not_sent_for_another(tmp_path: Path) -> None:
    only = Games(offered(tmp_path, max_turns_per_episode=1).config, only="mine")
    game = only.new(Guest("an agent", "session"), None, None, None)
    game.command("north")
    with pytest.raises(RefusedError, match=r"has ended after 1 turn \(max_turns\)\.$"):
        game.command("north")
    only.close()
