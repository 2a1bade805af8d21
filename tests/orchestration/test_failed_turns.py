"""Turns for which the model had no usable answer: never played, tried again, told of, paid for."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from orchestration.replay import replay
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_state import EndReason
from tests.game_interface.bad_stories import HANGING_LATER
from tests.support.episodes import answer, configured, played, read_events, user_text, watched
from tests.support.games import written
from tests.support.journal import NAME, Journal
from tests.support.tiny_story import QUIT, TEXT_BUFFER, build, endlessly, loop, say

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest

pytestmark = pytest.mark.mcp

USAGE = {"prompt_tokens": 70, "completion_tokens": 30, "cost": 0.5}
GARBAGE = content_reply("Hm.", usage=USAGE)
LINES = endlessly(b"\xe4\x0f\x02\xe0\x03\x60\x00" + say("Lighthouse.\n"))
UNUSABLE = {
    "no reply": error_reply(500, "on fire"),
    "garbage": GARBAGE,
    "no command of the game": answer("save"),
    "an empty reply": content_reply("", usage=USAGE),
}


@pytest.mark.parametrize("unusable", UNUSABLE.values(), ids=UNUSABLE)
def test_without_a_usable_answer_a_turn_is_not_played_but_tried_again(
    tmp_path: Path, unusable: Reply
) -> None:
    script = [answer("wait"), unusable, unusable, answer("north")]
    episode = played(tmp_path, script, max_turns_per_episode=2)
    assert episode.given == ["wait", "north"]
    assert [turn.command for turn in episode.turns] == ["wait", "north"]
    assert not any(turn.failure for turn in episode.turns)
    failed = episode.events("turn_failed")
    assert [(event["turn"], event["level"]) for event in failed] == [(2, "WARNING")] * 2
    assert all(event["failure"] for event in failed)
    assert (episode.end["reason"], episode.end["turns"]) == ("max_turns", 2)
    tried, tried_again = (request.messages for request in episode.requests[-2:])
    assert tried == tried_again


def test_a_command_that_the_story_cannot_take_is_not_a_turn_and_is_tried_again(
    tmp_path: Path,
) -> None:
    script = [answer("say \u00b6"), answer("north")]
    episode = played(tmp_path, script, max_turns_per_episode=1)
    assert [turn.command for turn in episode.turns] == ["north"]
    (failed,) = episode.events("turn_failed")
    assert "'say \u00b6' cannot be played" in failed["failure"]
    assert not failed["of_the_game"]
    assert episode.end["reason"] == "max_turns"


@pytest.mark.parametrize("tries", [1, 3])
def test_after_so_many_tries_in_a_row_the_episode_ends_and_can_go_on(
    tmp_path: Path, tries: int
) -> None:
    def model(request: ModelRequest) -> Reply:
        return answer("wait") if "Turn 1 of at most" in str(request.messages) else GARBAGE

    settings: dict[str, Any] = {"max_failed_turns": tries, "max_turns_per_episode": 3}
    episode = played(tmp_path, model, **settings)
    assert (episode.end["reason"], episode.end["turns"]) == ("llm_unavailable", 1)
    assert episode.given == ["wait"]
    assert len(episode.requests) == 1 + tries
    again = played(tmp_path, lambda _: answer("wait"), resume=True, **settings)
    assert again.end["reason"] == "max_turns"
    assert [turn.turn for turn in again.turns] == [1, 2, 3]


def test_a_played_turn_begins_the_count_anew(tmp_path: Path) -> None:
    script = [answer("wait"), *[GARBAGE, GARBAGE, answer("wait")] * 3]
    episode = played(tmp_path, script, max_turns_per_episode=4, max_failed_turns=3)
    assert (episode.end["reason"], episode.end["turns"]) == ("max_turns", 4)


def test_when_nothing_has_ever_answered_the_episode_ends_at_once(tmp_path: Path) -> None:
    for resume in (False, True):  # "ever" is of each run of the program
        episode = played(tmp_path, lambda _: error_reply(500, "on fire"), resume=resume)
        assert len(episode.requests) == 1
        assert (episode.given, episode.turns) == ([], [])
        assert (episode.end["reason"], episode.end["turns"]) == ("llm_unavailable", 0)
        assert "on fire" in episode.events("turn_failed")[-1]["failure"]
    again = played(tmp_path, [answer("wait")], resume=True, max_turns_per_episode=1)
    assert again.end["reason"] == "max_turns"


def test_an_address_where_nobody_has_ever_listened_is_tried_once(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        config = configured(tmp_path, url, retry_max_attempts=5, retry_initial_delay=60)
        with ZorkOrchestratorV2("nobody", config) as orchestrator:
            given = watched(orchestrator)
            orchestrator.play_episode()
    events = list(read_events(orchestrator.folder))
    kinds = [event["event_type"] for event in events]
    assert (kinds.count("turn_failed"), kinds.count("llm_retry"), given) == (1, 0, [])
    assert "Is it running?" in str(events[kinds.index("turn_failed")]["failure"])
    assert events[-1]["reason"] == "llm_unavailable"


def test_a_server_that_has_answered_once_is_waited_for(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"retry_max_attempts": 2, "retry_initial_delay": 0.01}
    with ExitStack() as servers:
        model = servers.enter_context(ModelServer([answer("wait")]))
        config = configured(tmp_path, model.base_url, **settings)
        with ZorkOrchestratorV2("away", config) as orchestrator:
            assert orchestrator._process_turn()
            servers.close()
            assert orchestrator._process_turn(), "the turn is to be tried again"
    assert orchestrator.game_state.turn_count == 1
    kinds = [event["event_type"] for event in read_events(orchestrator.folder)]
    assert (kinds.count("llm_retry"), kinds.count("turn_failed")) == (1, 1)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "No key was sent: set ZORKGPT_CLIENT_API_KEY"),
        (403, "No key was sent: set ZORKGPT_CLIENT_API_KEY"),
        (404, "Check the model name 'scripted' and the base URL"),
    ],
)
def test_what_no_retry_cures_ends_the_episode_at_once_with_the_advice(
    tmp_path: Path, status: int, advice: str
) -> None:
    script = [answer("wait"), error_reply(status, "no")]
    episode = played(tmp_path, script, max_failed_turns=9, max_turns_per_episode=2)
    assert (episode.end["reason"], episode.end["turns"]) == ("llm_unavailable", 1)
    (failed,) = episode.events("turn_failed")
    assert advice in failed["failure"]
    again = played(tmp_path, [answer("north")], resume=True, max_turns_per_episode=2)
    assert [turn.command for turn in again.turns] == ["wait", "north"]


def test_failed_tries_are_paid_for_and_count_towards_the_budget(tmp_path: Path) -> None:
    budget: dict[str, Any] = {"max_cost_per_episode": 1.9, "max_failed_turns": 2}
    usable = content_reply(json.dumps({"thinking": "t", "action": "wait"}), usage=USAGE)
    first = played(tmp_path, [usable, GARBAGE, GARBAGE], **budget)
    assert first.end["reason"] == "llm_unavailable"
    spent = {"calls": 3, "prompt_tokens": 210, "completion_tokens": 90, "cost": 1.5}
    assert spent.items() <= first.end["usage"].items()
    second = played(tmp_path, [GARBAGE], resume=True, **budget)
    assert (second.end["reason"], second.end["usage"]["cost"]) == ("budget", 2.0)


def test_a_budget_that_nobody_can_watch_is_told_of_once(tmp_path: Path) -> None:
    budget: dict[str, Any] = {"max_cost_per_episode": 1.9, "max_tokens_per_episode": 10_000}
    usable = content_reply(json.dumps({"thinking": "t", "action": "wait"}), usage=USAGE)
    unpriced = content_reply(
        json.dumps({"thinking": "t", "action": "wait"}),
        usage={name: it for name, it in USAGE.items() if name != "cost"},
    )
    for name, reply, told in (("priced", usable, 0), ("unpriced", unpriced, 1)):
        episode = played(tmp_path, [reply] * 2, episode=name, max_turns_per_episode=2, **budget)
        notices = [it["message"] for it in episode.events("notice")]
        assert sum("max_cost_per_episode cannot end" in it for it in notices) == told


def test_the_tool_calls_of_a_failed_try_are_kept_and_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    call = tool_reply([(f"{NAME}.echo", {"text": "hello"})])
    settings: dict[str, Any] = {"mcp_enabled": True, "mcp_config_file": str(journal.config_file)}
    script = [call, GARBAGE, GARBAGE, answer("wait")]
    episode = played(tmp_path, script, max_turns_per_episode=1, **settings)
    (failed,) = episode.events("turn_failed")
    assert [tool["name"] for tool in failed["tools"]] == [f"{NAME}.echo"]
    assert episode.end["tool_calls"] == len(journal.calls) == 1


def test_a_command_at_which_the_game_hangs_is_undone_told_and_counted(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "story": str(written(tmp_path, HANGING_LATER)),
        "turn_timeout_seconds": 0.5,
    }
    episode = played(tmp_path, lambda _: answer("wait"), **settings)
    assert (episode.end["reason"], episode.end["turns"]) == ("engine_refused", 4)
    assert EndReason.ENGINE_REFUSED.is_finished
    assert [turn.engine_refused is None for turn in episode.turns] == [True, False, False, False]
    _, refused, again, _ = episode.turns
    assert "did not answer within 0.5 seconds" in (refused.engine_refused or "")
    assert refused.after == again.after
    assert refused.snapshot == again.snapshot
    assert "could not carry this out" in str(episode.requests[2].body)
    resumed = played(tmp_path, lambda _: answer("wait"), resume=True, **settings)
    assert (resumed.end["reason"], resumed.end["turns"]) == ("engine_refused", 7)
    assert replay(episode.folder).turns == 7


def test_where_a_command_finds_the_story_damaged_the_player_is_told_the_place(
    tmp_path: Path,
) -> None:
    story = written(tmp_path, build(code=say("Hall\n") + loop(b"\0")))
    episode = played(tmp_path, lambda _: answer("wait"), story=str(story))
    assert (episode.end["reason"], episode.end["turns"]) == ("engine_refused", 3)
    assert "illegal opcode (pc = 0x10" in episode.turns[0].response


def test_the_next_try_is_told_why_an_answer_was_not_played(tmp_path: Path) -> None:
    script = [answer("wait"), answer("undo"), answer("north"), answer("wait")]
    episode = played(tmp_path, script, max_turns_per_episode=3)
    why = "answer was not played: .*'undo' is a command to the interpreter"
    told = [bool(re.search(why, user_text(request))) for request in episode.requests]
    assert told == [False, False, True, False]
    assert [turn.command for turn in episode.turns] == ["wait", "north", "wait"]


def test_the_player_random_leaves_out_a_word_that_makes_its_command_too_long(
    tmp_path: Path,
) -> None:
    image = bytearray(build(version=5, code=say("Lighthouse\n") + LINES))
    image[TEXT_BUFFER] = 9
    story = str(written(tmp_path, bytes(image), "short.z5"))
    episode = played(
        tmp_path, [], story=story, player_name="random", max_turns_per_episode=20, seed=7
    )
    assert (episode.end["reason"], episode.end["turns"]) == ("max_turns", 20)
    assert any("at most 9 characters" in it["failure"] for it in episode.events("turn_failed"))


def test_a_story_that_ends_with_its_first_words_is_over_without_a_turn(tmp_path: Path) -> None:
    story = str(written(tmp_path, build(code=say("Bye.\n") + QUIT)))
    episode = played(tmp_path, [], story=story)
    assert (episode.end["reason"], episode.end["turns"]) == ("game_over", 0)
