"""The rules of an episode: what follows a death, a line of several commands, an unusable answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluation.figures import EpisodeFigures
from mcp_ghost.testing import content_reply
from orchestration.replay import replay
from orchestration.turn import RESTARTED
from session.game_configuration import ConfigurationError, GameConfiguration
from tests.support.episodes import Played, all_text, answer, played, user_text
from tests.support.games import BUNDLED_COMMANDS, written
from tests.support.tiny_story import build, loop, say

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

pytestmark = pytest.mark.mcp

DEADLY = ["north", "wait", "south", "look"]
"""In a story in which every command is one's last, and which goes on all the same."""
TURN: dict[str, Any] = {"rules_unusable_answer": "turn", "player_name": "chat"}


def deadly(folder: Path) -> str:
    image = build(code=say("Hall\n") + loop(say("  ****  You have died  ****\n\nAgain.\n")))
    return str(written(folder, image))


def speaking(commands: list[str]) -> Any:  # noqa: ANN401  a script
    def model(request: ModelRequest) -> Reply:
        turn = sum(it["role"] == "assistant" for it in request.messages)
        return content_reply(commands[turn])

    return model


def chatted(folder: Path, commands: list[str], **settings: Any) -> Played:  # noqa: ANN401
    settings = {"player_name": "chat", "max_turns_per_episode": len(commands), **settings}
    return played(folder, speaking(commands), **settings)


@pytest.mark.parametrize(
    ("rule", "turns", "reason"),
    [("continue", 4, "max_turns"), ("restart", 4, "max_turns"), ("end", 1, "final_death")],
)
def test_after_a_death_the_rules_say_what_happens(
    tmp_path: Path, rule: str, turns: int, reason: str
) -> None:
    settings: dict[str, Any] = {"story": deadly(tmp_path), "rules_after_death": rule}
    episode = chatted(tmp_path, DEADLY, **settings)
    assert (episode.end["reason"], len(episode.turns)) == (reason, turns)
    assert all(turn.died for turn in episode.turns)
    for turn in episode.turns:
        assert (turn.ended is not None) == (RESTARTED in turn.response) == (rule == "restart")
        assert turn.response.endswith("Hall") == (rule == "restart")
    figures = EpisodeFigures.read(episode.folder)
    assert figures.restarts == (turns if rule == "restart" else 0)
    assert figures.set_back == 0
    assert replay(episode.folder).turns == turns


def test_a_game_that_begins_anew_keeps_its_dice_and_what_was_learned(tmp_path: Path) -> None:
    """Also where the program was stopped in between."""
    settings: dict[str, Any] = {"story": deadly(tmp_path), "rules_after_death": "restart"}
    whole = chatted(tmp_path / "whole", DEADLY, **settings)
    assert len({(turn.after.world_hash, turn.snapshot) for turn in whole.turns}) == 1
    chatted(tmp_path / "halves", DEADLY[:2], **settings)
    halves = chatted(tmp_path / "halves", DEADLY, resume=True, **settings)
    assert [it.response for it in halves.turns] == [it.response for it in whole.turns]
    assert all_text(whole.requests[-1:]) == all_text(halves.requests[-1:])


def test_points_are_kept_although_the_game_begins_anew(tmp_path: Path) -> None:
    lethal = [*BUNDLED_COMMANDS[:34], "open thunder"]
    episode = chatted(tmp_path, [*lethal, "look", "look"], rules_after_death="restart")
    ended = next(turn for turn in episode.turns if turn.ended)
    assert ended.ended
    assert (ended.died, ended.over) == (True, False)
    assert (ended.turn, ended.ended.score, ended.after.score, ended.after.moves) == (35, 25, 0, 0)
    assert episode.turns[-1].scored == 0
    figures = EpisodeFigures.read(episode.folder)
    assert (figures.curve[35], figures.curve[-1], figures.best_curve[-1]) == (25, 0, 25)
    moves = ended.ended.moves, episode.turns[-1].after.moves
    assert figures.summary()["moves"] == sum(it or 0 for it in moves) > 30


def test_a_victory_with_every_point_is_the_end_all_the_same(tmp_path: Path) -> None:
    walk = {"player_name": "walkthrough", "player_commands": tuple(BUNDLED_COMMANDS)}
    episode = played(
        tmp_path,
        [],
        max_turns_per_episode=500,
        rules_after_death="restart",
        **walk,  # type: ignore[arg-type]
    )
    assert (episode.end["reason"], episode.turns[-1].ended) == ("victory", None)


def test_a_player_may_take_the_game_back(tmp_path: Path) -> None:
    """Also to before a death, and after the program was stopped in between."""
    lethal = [*BUNDLED_COMMANDS[:34], "open thunder"]
    commands = [*lethal, "restore 35", "look", "RESTORE 35", "restart", "restore 99", "look"]
    settings: dict[str, Any] = {**TURN, "rules_restore": True, "rules_after_death": "restart"}
    chatted(tmp_path, commands[:36], **settings)
    episode = chatted(tmp_path, commands, resume=True, **settings)
    died, back, looked, again, begun, refused, last = episode.turns[34:]
    before = episode.turns[33]
    assert died.died
    assert died.ended
    for turn in (back, again):
        assert (turn.restored, turn.after, turn.died) == (35, before.after, False)
        assert turn.response.endswith(before.response.strip())
        assert turn.place_id == (died if turn is back else looked).after.room_id
    assert (begun.restored, begun.after.moves, begun.after.score) == (1, 0, 0)
    assert (refused.command, refused.after) == ("", begun.after)
    assert "cannot go back to before turn 99" in refused.response
    assert last.after.moves == 1
    figures = EpisodeFigures.read(episode.folder)
    assert (figures.restarts, figures.set_back) == (1, 0)
    moves = [(it.moves or 0) for it in (before.after, died.ended, looked.after, last.after)]
    assert figures.summary()["moves"] == moves[1] + (moves[2] - moves[0]) + moves[3]
    assert figures.best_curve[-1] == 25
    asked = episode.requests[-1].messages
    assert "restore N" in str(asked[0]["content"])
    assert str(asked[-1]["content"]).startswith("[Turn 41]")
    assert replay(episode.folder).turns == len(commands)


def test_without_that_rule_nothing_is_taken_back(tmp_path: Path) -> None:
    episode = chatted(tmp_path, ["north", "restore 1"], **TURN)
    assert [it.restored for it in episode.turns] == [None, None]
    assert "is a command to the interpreter" in episode.turns[1].response
    assert "[Turn" not in all_text(episode.requests)


@pytest.mark.parametrize(
    "unusable",
    ["", "Let me think.\nnorth", "save", "x" * 200],
    ids=["empty", "lines", "order", "long"],
)
def test_an_unusable_answer_can_cost_its_turn(tmp_path: Path, unusable: str) -> None:
    commands = ["north", unusable, "south"]
    episode = chatted(tmp_path, commands, **TURN)
    assert episode.given == ["north", "south"]
    before, passed, _ = episode.turns
    assert (passed.command, passed.after, passed.snapshot) == ("", before.after, before.snapshot)
    assert "was given nothing" in passed.response
    assert episode.events("turn_failed") == []
    assert passed.refused[-1].reason in passed.response
    assert replay(episode.folder).turns == 3


def test_an_unusable_answer_of_the_model_with_our_mind_costs_its_turn_too(tmp_path: Path) -> None:
    script = [answer("north"), content_reply("Hm."), answer("south")]
    settings: dict[str, Any] = {"max_turns_per_episode": 3, "rules_unusable_answer": "turn"}
    episode = played(tmp_path, script, **settings)
    assert [turn.command for turn in episode.turns] == ["north", "", "south"]
    assert "was given nothing" in user_text(episode.requests[-1])
    assert "Tried here" not in user_text(episode.requests[-1])


def test_a_model_that_cannot_be_reached_costs_no_turn(tmp_path: Path) -> None:
    from mcp_ghost.testing import error_reply

    script = [content_reply("north"), error_reply(500), content_reply("south")]
    episode = played(tmp_path, script, max_turns_per_episode=2, **TURN)
    assert [turn.command for turn in episode.turns] == ["north", "south"]
    assert len(episode.events("turn_failed")) == 1


def test_of_a_line_of_several_commands_the_game_is_given_the_first_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    script = [answer("go north, take nest and look. wait"), answer("n"), answer("s, n")]
    episode = played(tmp_path, script, max_turns_per_episode=3)
    assert episode.given == ["go north", "n", "s"]
    first = episode.turns[0]
    assert first.proposed == "go north, take nest and look. wait"
    told = f'About "go north": The game was given only the first command of "{first.proposed}".'
    assert told in user_text(episode.requests[1])
    assert first.refused == ()


def test_the_check_judges_only_what_the_game_is_given(tmp_path: Path) -> None:
    script = [answer("take gazebo. north"), answer("north. take gazebo")]
    episode = played(tmp_path, script, max_turns_per_episode=1)
    (turn,) = episode.turns
    assert [it.command for it in turn.refused] == ["take gazebo. north"]
    assert (turn.command, "gazebo" in str(turn.advice)) == ("north", True)
    assert "does not know" not in str(turn.advice)


def test_a_line_of_several_commands_may_be_allowed(tmp_path: Path) -> None:
    episode = played(
        tmp_path,
        [answer("north. south")],
        rules_several_commands="allow",
        max_turns_per_episode=1,
    )
    assert episode.given == ["north. south"]


def test_a_line_of_several_commands_can_cost_its_turn(tmp_path: Path) -> None:
    commands = ["north. north", "look and wait", "north."]
    episode = chatted(tmp_path, commands, rules_several_commands="refuse", **TURN)
    assert episode.given == ["north."]
    assert "is 2 commands" in episode.turns[0].response
    with pytest.raises(ValueError, match=r"several_commands = 'refuse' needs unusable_answer"):
        GameConfiguration(rules_several_commands="refuse")
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[tool.zorkgpt.rules]\nseveral_commands = "refuse"\n')
    with pytest.raises(ConfigurationError, match="needs unusable_answer"):
        GameConfiguration.from_toml(pyproject)
