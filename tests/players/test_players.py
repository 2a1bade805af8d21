"""Players to compare with: the same game, log, resume and replay as for our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from mcp_ghost.testing import content_reply, error_reply
from orchestration.replay import replay
from players import PLAYERS
from players.random_commands import RandomPlayer
from players.walkthrough import WalkthroughPlayer, read_walkthrough
from session.configuration_file import ConfigurationError
from session.playing import GUEST, PlayerName
from tests.support.episodes import Played, all_text, answer, played, system_text, user_text
from tests.support.games import BUNDLED_COMMANDS, started

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

pytestmark = pytest.mark.mcp

WALK = tuple(BUNDLED_COMMANDS[:8])
SETTINGS: dict[str, dict[str, Any]] = {
    "model": {},
    "chat": {},
    "random": {"player_seed": 3},
    "walkthrough": {"player_commands": WALK},
    "first-exit": {},
}


THROWN = [
    *("wait", "drop here", "take all", "attack here", "look", "up", "take all", "wait"),
    *("take all", "attack brass", "south", "take There"),
]
"""By ``numpy.random.RandomState(20241001).choice``, from the commands and from the words."""


def spoken(request: ModelRequest) -> Reply:
    """The commands of the walkthrough, as an answer of either form."""
    turn = sum(it["role"] == "assistant" for it in request.messages)
    if request.chat.get("response_format"):
        return answer("look")
    return content_reply(f" {WALK[turn]}\n")


def play(folder: Path, player: str, turns: int, **more: Any) -> Played:  # noqa: ANN401  settings
    settings = {"player_name": player, **SETTINGS[player]} if not more.get("resume") else {}
    return played(folder, spoken, max_turns_per_episode=turns, **settings, **more)


@pytest.mark.parametrize("player", PLAYERS)
def test_every_player_is_recorded_continued_and_replayed(tmp_path: Path, player: str) -> None:
    whole = play(tmp_path / "whole", player, 6)
    assert whole.start["player"] == player
    assert [turn.turn for turn in whole.turns] == [1, 2, 3, 4, 5, 6]
    assert whole.given == [turn.command for turn in whole.turns]
    play(tmp_path / "halves", player, 3)
    halves = play(tmp_path / "halves", player, 6, resume=True)
    for one, other in zip(whole.turns, halves.turns, strict=True):
        assert (one.command, one.response) == (other.command, other.response)
    calls = len(whole.events("model_call"))
    for episode in (whole, halves):
        assert replay(episode.folder) == (6, calls)


@pytest.mark.parametrize("player", ["random", "walkthrough", "first-exit"])
def test_whoever_asks_no_model_names_none(tmp_path: Path, player: str) -> None:
    episode = play(tmp_path, player, 2)
    assert (episode.start["model"], episode.start["base_url"]) == ("", "")
    assert (episode.requests, episode.events("model_call")) == ([], [])


def test_chat_reads_the_games_words_and_all_that_was_said(tmp_path: Path) -> None:
    episode = play(tmp_path, "chat", 4)
    assert episode.given == list(WALK[:4])
    assert episode.start["model"] == "scripted"
    last = episode.requests[-1]
    roles = [message["role"] for message in last.messages]
    assert roles == ["system", "user", *["assistant", "user"] * 3]
    assert user_text(last, 1) == episode.start["opening"].strip()
    assert user_text(last, 3) == episode.turns[0].response.strip()
    for before, after in zip(episode.requests, episode.requests[1:], strict=False):
        assert system_text(after) == system_text(before)
        assert all_text([after]).startswith(all_text([before]))
    assert not last.chat.get("response_format")
    assert not (episode.folder.parent.parent / "knowledge.db").exists()


def test_chat_may_be_shown_the_latest_turns_only(tmp_path: Path) -> None:
    def look(request: ModelRequest) -> Reply:
        return content_reply("look")

    episode = played(
        tmp_path, look, max_turns_per_episode=4, player_name="chat", player_history_turns=2
    )
    assert [len(request.messages) for request in episode.requests] == [2, 4, 6, 6]
    assert "is left out" in user_text(episode.requests[-1])
    assert episode.turns[0].response.strip() in user_text(episode.requests[-1])


def test_chat_whose_model_fails_can_be_made_good(tmp_path: Path) -> None:
    script = [content_reply("north"), error_reply(401, "no")]
    episode = played(tmp_path, script, player_name="chat", max_turns_per_episode=2)
    assert (episode.end["reason"], episode.end["turns"]) == ("llm_unavailable", 1)
    again = played(tmp_path, [content_reply("south")], max_turns_per_episode=2, resume=True)
    assert [turn.command for turn in again.turns] == ["north", "south"]


def test_an_answer_of_several_lines_is_asked_for_again(tmp_path: Path) -> None:
    script = [content_reply("Let me think.\nnorth"), content_reply("north")]
    episode = played(tmp_path, script, player_name="chat", max_turns_per_episode=1)
    assert episode.given == ["north"]
    (failed,) = episode.events("turn_failed")
    assert "one line" in failed["failure"]


def test_the_names_that_flags_know_are_those_of_the_settings() -> None:
    assert get_args(PlayerName) == (*PLAYERS, GUEST)


def test_random_throws_the_dice_as_numpy_does() -> None:
    player = RandomPlayer(20241001)
    words = "There is a brass lantern and some rusty iron here"
    thrown = [player._throw(words) for _ in range(12)]
    assert thrown == THROWN


def test_random_keeps_orders_to_the_interpreter_from_the_game(tmp_path: Path) -> None:
    player = RandomPlayer(1)
    player._next = "take restart"
    with started() as game:
        facts = game.facts()
    assert player.decide(None, facts).action == "take"  # type: ignore[arg-type]  # it reads no state


def test_a_walkthrough_needs_commands_that_a_game_can_be_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--walkthrough FILE"):
        WalkthroughPlayer(())
    with pytest.raises(ConfigurationError, match="Command 2 of the walkthrough, 'restart'"):
        WalkthroughPlayer(("north", "restart"))
    file = tmp_path / "walk.txt"
    with pytest.raises(ConfigurationError, match=r"walk\.txt cannot be read"):
        read_walkthrough(file)
    file.write_text("# nothing\n\n")
    with pytest.raises(ConfigurationError, match="holds no command"):
        read_walkthrough(file)
    file.write_text("north\n\n# up the path\nopen gate\n")
    assert read_walkthrough(file) == ("north", "open gate")


def test_after_its_last_command_the_walkthrough_looks_around(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"player_name": "walkthrough", "player_commands": ("north",)}
    episode = played(tmp_path, spoken, max_turns_per_episode=3, **settings)
    assert episode.given == ["north", "look", "look"]


def test_first_exit_tries_each_way_once_and_sees_more_than_dice_do(tmp_path: Path) -> None:
    rooms = {}
    for player in ("random", "first-exit"):
        episode = play(tmp_path / player, player, 60)
        rooms[player] = len({turn.after.room_id for turn in episode.turns})
        tried = [(turn.place_id, turn.command) for turn in episode.turns]
    assert rooms["first-exit"] > rooms["random"]
    blocked = [
        (turn.place_id, turn.command) for turn in episode.turns if turn.place == turn.after.room
    ]
    assert len(set(blocked)) == len(blocked)
    assert tried[0][1] == "north", "what the text names comes first"
