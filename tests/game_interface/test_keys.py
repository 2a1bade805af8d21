"""A story waits for a line or for a key: the player is told, and gives what is waited for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from game_interface import open_game, validate_command
from game_interface.command_guard import KEY_NAMES
from game_interface.errors import InvalidCommandError
from mcp_ghost.testing import content_reply
from tests.support.episodes import answer, played
from tests.support.games import started, written
from tests.support.tiny_story import QUIT, READ_KEY, build, endlessly, say

KEY_TO_STACK = b"\xf6\x7f\x01\x00"  # read_char 1 -> sp
PRINT_NUMBER = b"\xe6\xbf\x00"  # print_num sp
ECHO = endlessly(KEY_TO_STACK + PRINT_NUMBER + say("\n"))
"""Prints the code of each key (10.7)."""
CODES = {
    "space": 32,
    "enter": 13,
    "escape": 27,
    "up": 129,
    "down": 130,
    "left": 131,
    "right": 132,
    "delete": 8,
    "q": 113,
    "Q": 81,
    "7": 55,
    ".": 46,
}
TITLE = say("Title\n") + READ_KEY + say("Hall\n")
TEXT_BUFFER = 0x02E0
LINES = endlessly(b"\xe4\x0f\x02\xe0\x03\x60\x00" + say("Done.\n"))
"""Waits for lines (aread, which stores the key that ended the line)."""
LATER = TITLE + LINES


def test_each_key_reaches_the_story(tmp_path: Path) -> None:
    with started(written(tmp_path, build(version=5, code=ECHO), "keys.z5")) as game:
        assert game.facts().waits_for == "key"
        assert {key: int(game.step(key)) for key in CODES} == CODES
        assert set(KEY_NAMES) <= CODES.keys()


def test_a_game_that_has_ended_waits_for_no_key(tmp_path: Path) -> None:
    story = written(tmp_path, build(version=5, code=say("Bye.\n") + READ_KEY + QUIT), "end.z5")
    with started(story) as game:
        game.step("space")
        ended = game.snapshot()
        assert (game.is_over, game.facts().waits_for) == (True, "line")
    with open_game(story) as again:
        again.restore(ended)
        assert (again.is_over, again.facts().waits_for) == (True, "line")


@pytest.mark.parametrize("operands", [b"\xff", b"\x55\1\0\0\0"])
def test_a_key_asked_for_with_unusual_operands_is_waited_for_once(
    operands: bytes, tmp_path: Path
) -> None:
    """None or four, of which bocfel would begin the game again."""
    code = say("Title\n") + b"\xf6" + operands + b"\x00" + say("Hall\n") + LINES
    with started(written(tmp_path, build(version=5, code=code), "keys.z5")) as game:
        assert [game.step("q"), game.step("look")] == ["Hall", "Done."]


@pytest.mark.parametrize("given", ["", "  ", "\n", "<space>", "[Enter]", "SPACE"])
def test_what_people_mean_by_a_key_is_understood(given: str) -> None:
    assert validate_command(given, "key") in {"space", "enter"}


@pytest.mark.parametrize("line", ["look", "take all", "north. east", "save"])
def test_a_line_given_to_a_key_prompt_is_answered_with_advice_and_not_cut(
    line: str, tmp_path: Path
) -> None:
    with started(written(tmp_path, build(version=5, code=ECHO), "keys.z5")) as game:
        before = game.snapshot()
        assert re.search("waits for a key.* space, enter, .* one character", game.step(line))
        assert game.snapshot() == before


def test_where_a_line_is_waited_for_keys_are_ordinary_words() -> None:
    assert validate_command("up") == "up"
    with pytest.raises(InvalidCommandError):
        validate_command("q")
    with pytest.raises(InvalidCommandError, match="must not be empty"):
        validate_command(" ")


def test_a_line_of_no_length_goes_on_as_an_empty_one(tmp_path: Path) -> None:
    image = bytearray(build(version=5, code=say("Hall\n") + LINES))
    image[TEXT_BUFFER] = 0
    with started(written(tmp_path, bytes(image), "none.z5")) as game:
        assert game.facts().waits_for == "line"
        assert [game.step(it).strip() for it in ("look", "wait")] == ["Done.", "Done."]


def test_an_empty_line_is_enter(tmp_path: Path) -> None:
    with started(
        written(tmp_path, build(version=5, code=say("Hall\n") + LINES), "lines.z5")
    ) as game:
        assert [game.step(it).strip() for it in ("", "  ", "look")] == ["Done.", "Done.", "Done."]


def test_an_engine_that_cannot_tell_takes_either() -> None:
    assert validate_command("", None) == ""
    assert validate_command("look", None) == "look"


def test_a_story_may_ask_for_a_key_before_its_first_prompt(tmp_path: Path) -> None:
    with started(written(tmp_path, build(version=5, code=LATER), "title.z5")) as game:
        assert game.facts().waits_for == "key"
        assert game.step("space") == "Hall"
        assert game.facts().waits_for == "line"
        assert game.step("look") == "Done."
        snapshot = game.snapshot()
    with open_game(tmp_path / "title.z5") as again:
        again.restore(snapshot)
        assert again.facts().waits_for == "line"


def test_the_model_is_told_of_keys_and_only_then(tmp_path: Path) -> None:
    story = written(tmp_path, build(version=5, code=LATER), "title.z5")
    script = [answer("look"), answer("space"), answer("look")]
    episode = played(tmp_path, script, story=str(story), max_turns_per_episode=2)
    assert episode.given == ["space", "look"]
    first, _, last = (str(request.messages[-1]["content"]) for request in episode.requests)
    assert "waits for a key, not for a command: answer with space, enter" in first
    assert "waits for a key" not in last
    (failed,) = episode.events("turn_failed")
    assert "the game waits for a key" in failed["failure"]


def test_the_plain_model_is_told_of_keys_too(tmp_path: Path) -> None:
    story = written(tmp_path, build(version=5, code=LATER), "title.z5")
    script = [content_reply("space"), content_reply("look")]
    episode = played(
        tmp_path, script, story=str(story), max_turns_per_episode=2, player_name="chat"
    )
    assert episode.given == ["space", "look"]
    assert "waits for a key" in str(episode.requests[0].messages[-1]["content"])


@pytest.mark.parametrize("player", ["model", "chat"])
def test_a_model_that_never_gives_a_key_is_told_of_it_and_ends_as_stalled(
    tmp_path: Path, player: str
) -> None:
    story = written(tmp_path, build(version=5, code=LATER), "title.z5")
    reply = answer("open the door") if player == "model" else content_reply("open the door")
    episode = played(tmp_path, [reply] * 3, story=str(story), player_name=player)
    assert (episode.end["reason"], episode.end["turns"]) == ("stalled", 0)
    told = str(episode.requests[-1].messages[-1]["content"])
    assert "Your latest answer was not played: " in told
    assert "answer with space, enter" in told


@pytest.mark.parametrize("player", ["random", "first-exit"])
def test_players_that_are_programs_get_past_a_title(player: str, tmp_path: Path) -> None:
    story = written(tmp_path, build(version=5, code=LATER), "title.z5")
    episode = played(tmp_path, [], story=str(story), max_turns_per_episode=3, player_name=player)
    assert episode.given[0] == "space"
    assert [turn.response for turn in episode.turns[1:]] == ["Done.", "Done."]


def test_an_episode_that_cannot_get_past_one_prompt_ends_as_stalled(tmp_path: Path) -> None:
    story = written(tmp_path, build(version=5, code=endlessly(READ_KEY)), "deaf.z5")
    keys = [answer("space"), answer("enter")] * 3
    episode = played(tmp_path, keys, story=str(story), max_turns_one_answer=4)
    assert (episode.end["reason"], episode.end["turns"]) == ("stalled", 4)


def test_repeating_a_command_is_not_being_stuck(tmp_path: Path) -> None:
    episode = played(
        tmp_path, lambda _: answer("wait"), max_turns_one_answer=3, max_turns_per_episode=8
    )
    assert episode.end["reason"] == "max_turns"


SPLIT, UPPER, LOWER = b"\xea\x7f\x06", b"\xeb\x7f\x01", b"\xeb\x7f\x00"
"""The window above gets six rows; what follows is printed there, or below."""
QUOTED = SPLIT + UPPER + b"\xef\x5f\x03\x05" + say("Be not afraid") + LOWER


@pytest.mark.parametrize(
    ("code", "first", "last"),
    [
        (READ_KEY + QUOTED + say("The end") + QUIT, "", "Be not afraid\n\nThe end"),
        (QUOTED + say("Hello") + READ_KEY + say("Bye") + QUIT, "Be not afraid\n\nHello", "Bye"),
    ],
    ids=["with the last words", "before"],
)
def test_a_quotation_is_told_once_also_where_the_story_ends_with_it(
    tmp_path: Path, code: bytes, first: str, last: str
) -> None:
    with open_game(written(tmp_path, build(version=5, code=code), "quoting.z5")) as game:
        assert (game.start(), game.step("space")) == (first, last)
        assert game.is_over
