"""The turns so far: word for word up to a budget, and then summed up."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from managers.story.transcript import Transcript
from mcp_ghost.testing import content_reply
from session.game_configuration import GameConfiguration
from session.game_state import GameState, RefusedCommand
from session.knowledge import Reflection
from tests.support.episodes import played, user_text, wanted
from tests.support.games import BUNDLED_COMMANDS
from tests.support.records import observation, record
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from mcp_ghost.messages import Message
    from mcp_ghost.testing import ModelRequest, Reply

STATE = GameState("e")
STATE.begin("Welcome.", observation(1))


def transcript(turns: int, tokens: int = 24_000, length: int = 40) -> Transcript:
    """Of turns with answers of so many words, each of them scoring in every tenth turn."""
    whole = Transcript(GameConfiguration(context_profile="full", context_history_tokens=tokens))
    for turn in range(1, turns + 1):
        scored = 5 if turn % 10 == 0 else 0
        seen = observation(1, score=turn // 10 * 5)
        answer = f"answer-{turn} " * length
        whole.apply(record(turn, f"go {turn}", 1, 1, seen, response=answer, scored=scored))
    return whole


def texts(whole: Transcript) -> list[str]:
    return [str(message["content"]) for message in whole.messages(STATE)]


def test_each_turn_is_told_whole_from_assistant_to_user() -> None:
    messages: list[Message] = transcript(3).messages(STATE)
    assert [it["role"] for it in messages] == ["user", *["assistant", "user"] * 3]
    assert messages[0]["content"] == "The game begins:\n\nWelcome."
    said = [json.loads(it["content"]) for it in messages[1::2]]
    assert said == [{"thinking": f"thought {n}", "action": f"go {n}"} for n in (1, 2, 3)]
    assert str(messages[-1]["content"]).startswith("[turn 3, Room 1]\nanswer-3 answer-3")


def test_points_and_deaths_are_told_where_they_came() -> None:
    whole = transcript(0)
    whole.apply(record(1, "take gem", 1, 1, observation(1, score=5), scored=5))
    whole.apply(record(2, "jump", 1, 2, observation(2, score=-5), scored=-10, died=True))
    assert texts(whole)[2] == "[turn 1, Room 1]\nanswer 1 [+5 points, now 5]"
    assert texts(whole)[4] == "[turn 2, Room 1]\nanswer 2 [-10 points, now -5] [you died]"


def test_it_only_grows_until_its_budget_is_used_up() -> None:
    for turns in range(1, 30):
        assert texts(transcript(turns + 1))[: 2 * turns] == texts(transcript(turns))[: 2 * turns]


def test_nothing_is_to_be_summed_up_within_the_budget() -> None:
    assert transcript(30).to_sum_up() is None


def test_beyond_its_budget_the_oldest_turns_give_way_to_a_summary() -> None:
    whole = transcript(45, tokens=5000)
    to_sum_up = whole.to_sum_up()
    assert to_sum_up is not None
    assert 20 < to_sum_up.until < 43
    assert "answer-1 " in to_sum_up.text
    assert f"answer-{to_sum_up.until + 1} " not in to_sum_up.text
    whole.learn(
        Reflection(number=1, first_turn=1, last_turn=45, summary="## Rich.", summary_until=20)
    )
    first, *others = texts(whole)
    assert "Your summary of the turns up to 20:\n\n\\## Rich." in first
    assert "turn 10 +5 (Room 1: go 10); turn 20 +5 (Room 1: go 20)" in first
    assert "left out" not in first
    assert "Welcome" not in first
    assert "go 21" in others[0]
    assert len(others) == 2 * 25


def test_the_next_summary_builds_on_the_one_before() -> None:
    whole = transcript(50, tokens=5000)
    whole.learn(Reflection(number=1, first_turn=1, last_turn=45, summary="Rich.", summary_until=2))
    to_sum_up = whole.to_sum_up()
    assert to_sum_up is not None
    assert to_sum_up.text.startswith("Rich.\n\n")


def test_turns_that_nobody_sums_up_are_left_out_many_at_a_time() -> None:
    kept = [len(texts(transcript(turns, tokens=5000))) // 2 for turns in range(40, 140)]
    drops = [before - after for before, after in itertools.pairwise(kept) if after < before]
    assert max(kept) < 65
    assert min(drops) > 20
    first = texts(transcript(139, tokens=5000))[0]
    assert first.startswith("Turns 1 to ")
    assert "turn 10 +5 (Room 1: go 10)" in first


def test_turns_that_are_left_out_after_a_summary_are_not_said_to_be_summed_up() -> None:
    whole = transcript(30, tokens=5000)
    whole.learn(Reflection(number=1, first_turn=1, last_turn=30, summary="Rich.", summary_until=9))
    for turn in range(31, 80):
        whole.apply(record(turn, "wait", 1, 1, observation(1), response="answer " * 70))
    first, second, *_ = texts(whole)
    assert "Your summary of the turns up to 9:\n\nRich." in first
    (last,) = re.findall(r"Turns 10 to (\d+) are left out\.", first)
    assert json.loads(second)["thinking"] == f"thought {int(last) + 1}"


def test_why_a_turn_was_not_played_is_told_once() -> None:
    whole = transcript(0)
    refused = [
        RefusedCommand(command=it, thinking="", reason=f"{it} is no good.")
        for it in ("xyz", "save")
    ]
    said = "(The game was given nothing: save is no good.)"
    whole.apply(record(1, "", 1, 1, response=said, proposed="save", refused=tuple(refused)))
    *_, asked, told = texts(whole)
    assert json.loads(asked)["action"] == "save"
    assert told.count("save is no good.") == 1
    assert "xyz is no good." in told


def test_the_latest_turns_are_told_whole_however_small_the_budget() -> None:
    whole = transcript(9, tokens=10)
    assert [text[:8] for text in texts(whole)[2::2]] == ["[turn 7,", "[turn 8,", "[turn 9,"]
    assert texts(whole)[-1].endswith("answer-9")


def test_in_an_episode_the_model_sums_up_and_reads_its_summary(tmp_path: Path) -> None:
    asked: list[str] = []

    def model(request: ModelRequest) -> Reply:
        if wanted(request) == "ReflectionAnswer":
            asked.append(user_text(request))
            return content_reply(json.dumps({"summary": f"Summary {len(asked)}."}))
        return ScriptedModel(BUNDLED_COMMANDS)(request)

    episode = played(
        tmp_path,
        model,
        max_turns_per_episode=60,
        reflection_enabled=True,
        context_history_tokens=900,
        context_profile="full",
    )
    summed_up = [it for it in episode.reflections if it.summary]
    assert len(summed_up) >= 2
    assert [f"up to turn {it.summary_until}\n" in "".join(asked) for it in summed_up]
    last = user_text(
        episode.requests[-1 if wanted(episode.requests[-1]) != "ReflectionAnswer" else -2]
    )
    latest = summed_up[-1]
    assert last.count("Summary ") == 1
    assert last.index(str(latest.summary)) < last.index(f"[turn {latest.summary_until + 1},")
    assert not [it for it in episode.reflections if it.summary_until and not it.summary]
    first_summary = next(it for it in asked if "To be summed up" in it)
    assert '"action": "' in first_summary
