"""Faults that programs of this kind have had, as they would show in whole episodes.

The table in README.md names the tests of every fault; what a part shows by itself is tested there.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply
from session.record.schema import STEPS
from tests.game_interface.test_facts import profiled, tiny_world
from tests.game_interface.test_zork import TO_THE_ATTIC
from tests.session.test_tracing import run, with_keys
from tests.support import ROOT
from tests.support.collector import running_collector
from tests.support.episodes import all_text, answer, played, read_events, user_text, wanted
from tests.support.games import BUNDLED_COMMANDS, ZORK1, needs_zork1, started
from tests.support.program import Program
from tests.support.tiny_story import increment, loop, say
from tests.support.viewing import served
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest

IMPOSSIBLE = "take gazebo"
"""The kipper lies in the larder, far from where the bundled story begins."""


@dataclass
class Insisting:
    """Proposes ``IMPOSSIBLE`` so many times in each turn, then what the script says."""

    commands: list[str]
    times: int

    def __call__(self, request: ModelRequest) -> Reply:
        asked = next(n for n, it in enumerate(request.messages) if " of at most " in str(it))
        refused = sum(message["role"] == "assistant" for message in request.messages[asked:])
        if refused < self.times:
            return answer(IMPOSSIBLE, thinking="I smell a fish.", new_objective="Cook the kipper")
        return ScriptedModel(self.commands)(request)


def test_fault_1_an_impossible_take_never_reaches_the_game(tmp_path: Path) -> None:
    episode = played(tmp_path, Insisting(["north"], 1), max_turns_per_episode=1)
    assert episode.given == ["north"]
    (turn,) = episode.turns
    (refused,) = turn.refused
    assert (refused.command, refused.thinking) == (IMPOSSIBLE, "I smell a fish.")
    assert 'does not know the word "gazebo"' in refused.reason
    first, second = episode.requests
    assert second.messages[:2] == first.messages[:2], "what was asked first stays as it was"
    assert refused.reason in user_text(second, message=-1)


def test_fault_1_with_advice_only_the_command_is_given_and_the_remark_told(tmp_path: Path) -> None:
    episode = played(
        tmp_path,
        ScriptedModel([IMPOSSIBLE, "north"]),
        max_turns_per_episode=2,
        action_check_mode="advise",
    )
    assert episode.given == [IMPOSSIBLE, "north"]
    first, second = episode.turns
    assert (first.refused, second.advice) == ((), None)
    assert first.advice == 'The game does not know the word "gazebo".'
    before, after = (user_text(request) for request in episode.requests)
    remark = f'About "{IMPOSSIBLE}": {first.advice}'
    assert (remark in before, remark in after) == (False, True)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_fault_1_who_insists_is_believed_after_so_many_refusals(tmp_path: Path, most: int) -> None:
    episode = played(
        tmp_path, Insisting([], 9), max_turns_per_episode=1, action_check_max_refusals=most
    )
    assert episode.given == [IMPOSSIBLE]
    (turn,) = episode.turns
    assert [it.command for it in turn.refused] == [IMPOSSIBLE] * most
    assert len(episode.requests) == turn.usage.calls == most + 1
    assert turn.advice == 'The game does not know the word "gazebo".'


def test_what_a_refused_answer_says_of_objectives_target_and_plan_is_kept(tmp_path: Path) -> None:
    said = {"new_objective": "Cook it", "nav_target": "Larder", "plan": "Fish, then bread."}
    script = [answer(IMPOSSIBLE, **said), answer("north", plan="Bread.")]
    episode = played(tmp_path, script, max_turns_per_episode=1)
    (turn,) = episode.turns
    assert turn.refused[0].command == IMPOSSIBLE
    assert (turn.new_objective, turn.nav_target, turn.plan) == ("Cook it", "Larder", "Bread.")


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_fault_4_neither_numbers_nor_the_critic_turn_a_refusal_round(
    tmp_path: Path, confidence: float
) -> None:
    """Wandering and coming back, few failures and many, were each once a reason to give way."""
    walk = ["north", "south", "north", "south", "jump", "jump", "jump", "north", "north"]
    proposals = Insisting(walk, 1)

    def model(request: ModelRequest) -> Reply:
        if wanted(request) == "CriticAnswer":
            verdict = {"verdict": "accept", "reason": "", "confidence": confidence, "score": 1.0}
            return content_reply(json.dumps(verdict))
        return proposals(request)

    episode = played(
        tmp_path,
        model,
        max_turns_per_episode=len(walk),
        critic_enabled=True,
        critic_temperature=confidence,
    )
    assert len(episode.turns) == len(walk)
    assert IMPOSSIBLE not in episode.given
    assert [turn.refused[0].command for turn in episode.turns] == [IMPOSSIBLE] * len(walk)


@pytest.mark.parametrize("with_map", [True, False])
@pytest.mark.parametrize("profile", ["full", "compact"])
def test_fault_5_every_way_out_that_was_named_is_in_the_prompt_of_every_turn(
    tmp_path: Path, profile: str, with_map: bool
) -> None:
    episode = played(
        tmp_path,
        [answer(command) for command in BUNDLED_COMMANDS[:6]],
        context_profile=profile,
        map_enabled=with_map,
        observation_level="facts+exits",
        max_turns_per_episode=6,
    )
    texts = [episode.start["opening"], *(turn.response for turn in episode.turns)]
    seen = [episode.start["observation"], *(turn.after.model_dump() for turn in episode.turns)]
    assert len(episode.requests) == 6
    found = 0
    for request, facts, text in zip(episode.requests, seen, texts, strict=False):
        told = re.search(r"^## Ways out\n.*?\n\n|Exits: .*?$", user_text(request), re.M | re.S)
        ways = {way["direction"] for way in facts["exits"] if way["kind"] != "blocked"}
        ways &= set(re.findall(r"\w+", text.lower())) - {"in", "out", "up", "down"}
        assert ways <= set(re.findall(r"\w+", told.group() if told else ""))
        found += len(ways)
    assert found > 6


@needs_zork1
def test_fault_6_danger_is_told_from_the_engines_facts(tmp_path: Path) -> None:
    commands = [*TO_THE_ATTIC, *["south"] * 60]
    episode = played(
        tmp_path,
        ScriptedModel(commands),
        story=ZORK1,
        seed=12,
        max_turns_per_episode=len(commands),
        action_check_enabled=False,
    )
    deadly = next(turn.turn for turn in episode.turns if turn.died)
    assert "in darkness" in user_text(episode.requests[len(TO_THE_ATTIC)])
    after = user_text(episode.requests[deadly])
    assert "Deaths: 1." in after
    assert f"[turn {deadly}, Attic]" in after
    assert "[-10 points, now 0] [you died]" in after


def test_fault_7_words_of_death_in_thought_or_command_are_not_a_death(tmp_path: Path) -> None:
    def model(_request: ModelRequest) -> Reply:
        return answer("say i died", thinking="Death! You have died. I was killed: game over.")

    episode = played(tmp_path, model, max_turns_per_episode=3, action_check_enabled=False)
    assert [turn.died for turn in episode.turns] == [False] * 3
    assert (episode.end["deaths"], episode.end["reason"]) == (0, "max_turns")


def test_fault_8_a_death_after_which_the_game_goes_on_is_not_an_end(tmp_path: Path) -> None:
    image = tiny_world(code=say("Hall\n") + loop(increment(3) + say("You have died.\n")))
    profiled(tmp_path, image).close()
    story = next(tmp_path.glob("tiny.z*"))
    episode = played(tmp_path, ScriptedModel([]), story=str(story), max_turns_per_episode=4)
    assert [turn.died for turn in episode.turns] == [True] * 4
    assert (episode.end["deaths"], episode.end["reason"]) == (4, "max_turns")


@needs_zork1
def test_fault_8_zork_goes_on_after_a_death_and_ends_with_the_third(tmp_path: Path) -> None:
    episode = played(tmp_path, _Mortal(), story=ZORK1, seed=12, max_turns_per_episode=200)
    turns = episode.turns
    deaths = [turn.turn for turn in turns if turn.died]
    assert len(deaths) == 3
    assert deaths[-1] == len(turns)
    assert [turns[number - 1].scored for number in deaths[:2]] == [-10, -10]
    assert (episode.end["deaths"], episode.end["reason"]) == (3, "final_death")


class _Mortal:
    """Goes to the attic and stumbles about there until something comes, again and again."""

    def __init__(self) -> None:
        self._way: Iterator[str] = iter(TO_THE_ATTIC)
        self._deaths = 0

    def __call__(self, request: ModelRequest) -> Reply:
        deaths = int(re.search(r"Deaths: (\d+)", user_text(request))[1])  # type: ignore[index]
        if deaths > self._deaths:
            self._deaths, self._way = deaths, iter(["east", "south", "east", "west", "up"])
        return answer(next(self._way, "south"))


def test_faults_9_and_10_dithering_repeats_its_worlds_and_ends_as_stalled(tmp_path: Path) -> None:
    limit, dithering = 24, ["look", "jump", "north", "south"]
    episode = played(
        tmp_path,
        ScriptedModel(dithering * 30),
        max_turns_stuck=limit,
        max_turns_per_episode=120,
    )
    turns = episode.turns
    assert episode.end["reason"] == "stalled"
    assert limit <= len(turns) <= limit + len(dithering)
    assert len({turn.after.world_hash for turn in turns}) == 2
    assert "Nothing new has happened for" in user_text(episode.requests[-1])


def test_fault_11_every_event_that_is_read_is_written(tmp_path: Path) -> None:
    script = ScriptedModel(BUNDLED_COMMANDS)
    hints = {2: "Mind the cliff."}
    first = played(tmp_path, script, hints=hints, max_turns_per_episode=5, reflection_enabled=True)
    rambling = [content_reply("Hm."), answer("wait")]
    played(tmp_path, rambling, max_turns_per_episode=6, resume=True)
    written = {str(event["event_type"]) for event in read_events(first.folder)}
    assert STEPS - written == set()


def test_fault_11_what_an_episode_learned_is_told_to_the_next_from_its_first_turn(
    tmp_path: Path,
) -> None:
    text = "Paths here lead uphill to a yard."
    claim = {"turn": 2, "text": text, "quote": "", "tested": False}

    def model(request: ModelRequest) -> Reply:
        if wanted(request) == "ReflectionAnswer":
            return content_reply(json.dumps({"claims": [claim]}))
        return ScriptedModel(BUNDLED_COMMANDS)(request)

    first = played(tmp_path, model, max_turns_per_episode=5, reflection_enabled=True)
    assert text not in all_text(first.requests)
    second = played(tmp_path, model, episode="second", max_turns_per_episode=1)
    assert text in all_text(second.requests)


def test_fault_13_what_is_learned_bears_the_episode_and_the_turn_and_no_year(
    tmp_path: Path,
) -> None:
    episode = played(
        tmp_path,
        ScriptedModel(BUNDLED_COMMANDS),
        max_turns_per_episode=8,
        reflection_enabled=True,
    )
    uid = episode.start["uid"]
    (reflection,) = episode.reflections
    assert reflection.memories
    for memory in reflection.memories:
        turn = episode.turns[memory.evidence.turn - 1]
        assert (memory.evidence.episode, memory.id[:7]) == (uid, f"{uid}-")
        assert (memory.room, memory.scored) == (turn.place, turn.scored)
        assert memory.evidence.quote.split()[0] in turn.response
        year = episode.start["time"][:4]
        assert year not in memory.id + memory.evidence.episode + str(memory.evidence.turn)


def test_fault_14_history_holds_what_was_done_with_its_own_thought_and_objective(
    tmp_path: Path,
) -> None:
    def model(request: ModelRequest) -> Reply:
        if "Turn 1 of at most" in user_text(request):
            if len(request.messages) == 2:
                return answer(IMPOSSIBLE, thinking="Fish first.", new_objective="Cook the kipper")
            return answer("north", thinking="Uphill then.", new_objective="Find the yard")
        return answer("wait", thinking="Let me think.")

    episode = played(tmp_path, model, max_turns_per_episode=4)
    turn = episode.turns[0]
    assert (turn.command, turn.proposed, turn.thinking, turn.new_objective) == (
        "north",
        "north",
        "Uphill then.",
        "Find the yard",
    )
    assert [(it.command, it.thinking) for it in turn.refused] == [(IMPOSSIBLE, "Fish first.")]
    second, *_, last = (user_text(request) for request in episode.requests[2:])
    assert f'"{IMPOSSIBLE}" was not given to the game' in second
    assert '{"thinking": "Uphill then.", "action": "north"}' in last
    assert last.count("Find the yard") == 1
    for prompt in (second, last):
        assert "Fish first." not in prompt
        assert "Cook the kipper" not in prompt


def test_fault_16_a_silent_model_makes_no_move_is_told_of_each_time_and_ends_the_episode(
    tmp_path: Path,
) -> None:
    asked: list[int] = []

    def model(request: ModelRequest) -> Reply:
        turn = int(re.findall(r"^Turn (\d+) of", user_text(request), re.M)[0])
        asked.append(turn)
        is_silent = turn == 4 or asked.count(2) in {1, 2}
        return error_reply(500, "on fire") if is_silent else answer("wait")

    episode = played(tmp_path, model, max_turns_per_episode=50)
    assert asked == [1, 2, 2, 2, 3, 4, 4, 4]
    assert episode.given == [turn.command for turn in episode.turns] == ["wait"] * 3
    failures = episode.events("turn_failed")
    assert [event["turn"] for event in failures] == [2, 2, 4, 4, 4]
    assert all("on fire" in event["failure"] for event in failures)
    assert (episode.end["reason"], episode.end["turns"]) == ("llm_unavailable", 3)
    assert len(episode.events("agent_parse_error")) == 5
    again = played(tmp_path, ScriptedModel([]), resume=True, max_turns_per_episode=8)
    assert [turn.turn for turn in again.turns] == list(range(1, 9))
    assert again.end["reason"] == "max_turns"


def test_fault_19_with_tracing_on_each_answer_is_asked_for_once(tmp_path: Path) -> None:
    script = """
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    ZorkOrchestratorV2("traced", max_turns_per_episode=5).play_episode()
    """
    model = ModelServer(ScriptedModel(BUNDLED_COMMANDS))
    with running_collector() as collector, model:
        settings = {
            "ZORKGPT_STORY": "bundled",
            "ZORKGPT_CLIENT_BASE_URL": model.base_url,
            "ZORKGPT_AGENT_MODEL": "scripted",
            "ZORKGPT_REFLECTION_ENABLED": "true",
        }
        run(script, tmp_path, **with_keys(collector.base_url), **settings)
    assert [wanted(request) for request in model.requests] == [
        *["AgentResponse"] * 5,
        "ReflectionAnswer",
    ]
    generations = [span.name for span in collector.spans if span.type == "generation"]
    assert sorted(generations) == ["Agent"] * 5 + ["Reflection"]


def test_fault_20_a_finished_run_is_shown_as_it_lies(tmp_path: Path) -> None:
    with ModelServer(ScriptedModel(BUNDLED_COMMANDS)) as model:
        program = Program(tmp_path)
        assert program.play(model, "--max-turns", "3").returncode == 0
    viewer = Program(tmp_path, "-m", "viewer")
    viewer.env["PYTHONPATH"] = str(ROOT)
    shown = viewer.run("show", "latest")
    assert shown.returncode == 0, shown.stderr
    for command in BUNDLED_COMMANDS[:3]:
        assert f" {command}\n" in shown.stdout
    with served(tmp_path / "game_files") as client:
        (episode,) = client.get("data/episodes.json").json()["episodes"]
    assert (episode["id"], episode["turns"]) == (program.episodes()[0].name, 3)


def test_fault_22_the_games_line_breaks_are_kept(tmp_path: Path) -> None:
    commands = BUNDLED_COMMANDS[:8]
    episode = played(tmp_path, ScriptedModel(commands), max_turns_per_episode=len(commands))
    with started(seed=7) as game:
        assert [turn.response for turn in episode.turns] == [game.step(it) for it in commands]
    title, description, *_ = episode.turns[2].response.split("\n")
    assert title == episode.turns[2].after.room_name
    assert description.startswith("A cobbled yard")
    assert f"\n{title}\n{description}" in user_text(
        played(tmp_path, ScriptedModel(commands), episode="2", max_turns_per_episode=4).requests[3]
    )
    assert "\n\n" in episode.start["opening"]


def test_fault_23_the_options_of_pytest_are_in_force(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.inipath == ROOT / "pyproject.toml"
    assert float(pytestconfig.getini("timeout")) == 300
    assert pytestconfig.getini("xfail_strict") is True
    assert pytestconfig.getoption("strict_config") is True
    with pytest.raises(pytest.fail.Exception, match="not found in `markers`"):
        pytest.mark.no_such_marker  # noqa: B018  looking it up is what fails
    with pytest.raises(UserWarning):
        warnings.warn("is an error here", UserWarning, stacklevel=1)
