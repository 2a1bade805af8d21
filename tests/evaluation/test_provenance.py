"""What an evaluation claims: facts of its logs, and one set of rules for all of its episodes."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evaluation.agreement import differences
from evaluation.figures import EpisodeFigures
from evaluation.plan import PLAN_FILE
from evaluation.provenance import SCRIPT, provenance_of, said_of
from mcp_ghost.messages import Usage
from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from session.record.schema import Entry, ModelCall, parse
from tests.evaluation.evaluations import Evaluation, editable_sources
from tests.support import PATIENCE
from tests.support.records import observation, record
from workshop.scripted_model import SERVED_AS, action_reply

USAGE = Usage(calls=1, prompt_tokens=100, completion_tokens=5, cost=0.5)
PROMPT = Path("prompts", "agent_full.md")


def start(**changes: object) -> dict[str, Any]:
    seen = observation(1).model_dump(mode="json")
    head = {"model": "asked", "code": "a" * 64, "version": "1.2"}
    return {"event_type": "episode_start", **head, "observation": seen, **changes}


def turn(number: int, moves: int | None, **changes: object) -> dict[str, Any]:
    played = record(number, "look", 1, 1, observation(1, moves=moves), **changes)
    return {"event_type": "turn", **played.model_dump(mode="json")}


def episode(*events: dict[str, Any]) -> EpisodeFigures:
    figures = EpisodeFigures()
    for each in events:
        figures.take(parse(each))
    return figures


@pytest.mark.soak
@pytest.mark.mcp
@pytest.mark.slow
def test_no_episode_is_added_after_a_prompt_or_the_code_was_edited(
    tmp_path: Path, server: ModelServer
) -> None:
    sources = editable_sources(tmp_path / "sources", "prompts", "managers")
    evaluation = Evaluation(tmp_path, server.base_url, sources)
    assert evaluation.run("--seeds", "1").returncode == 0
    agreed = (evaluation.out / PLAN_FILE).read_bytes()
    prompt = (sources / PROMPT).read_text(encoding="utf-8")
    (sources / PROMPT).write_text(prompt + "Go west.\n", encoding="utf-8")
    refused = evaluation.run("--seeds", "1,2")
    assert refused.returncode == 2
    assert "prompt agent_full was " in refused.stderr
    assert "another --out" in refused.stderr
    assert "prompt agent_compact" not in refused.stderr
    assert "code was" not in refused.stderr
    assert len(evaluation.episodes()) == 1
    assert (evaluation.out / PLAN_FILE).read_bytes() == agreed
    (sources / PROMPT).write_text(prompt, encoding="utf-8")
    with (sources / "managers" / "manager.py").open("a", encoding="utf-8") as file:
        file.write("# another player\n")
    refused = evaluation.run("--seeds", "1,2")
    assert refused.returncode == 2
    assert "code was " in refused.stderr
    assert "prompt " not in refused.stderr.replace("prompts", "")


@pytest.mark.soak
@pytest.mark.mcp
@pytest.mark.slow
def test_an_episode_that_would_begin_with_a_prompt_edited_meanwhile_is_not_played(
    tmp_path: Path,
) -> None:
    sources = editable_sources(tmp_path / "sources", "prompts")
    asked, edited = threading.Event(), threading.Event()

    def script(_: ModelRequest) -> Reply:
        asked.set()
        edited.wait(PATIENCE)
        return action_reply("north")

    with ModelServer(script) as server:
        process = Evaluation(tmp_path, server.base_url, sources).start(
            "--seeds", "1,2", "--jobs", "1"
        )
        assert asked.wait(PATIENCE)
        with (sources / PROMPT).open("a", encoding="utf-8") as file:
            file.write("Go west.\n")
        edited.set()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "whole, seed 2, episode 1: " in errors
    assert "prompt agent_full was " in errors
    assert len(list(tmp_path.glob("out/whole/*/episodes/*"))) == 1


@pytest.mark.mcp
def test_the_report_names_the_model_as_it_was_served_and_no_script(tmp_path: Path) -> None:
    def served(_: ModelRequest) -> Reply:
        reply = action_reply("north")
        assert isinstance(reply.body, dict)
        return Reply({**reply.body, "model": "a-model-of-tuesday"})

    with ModelServer(served) as server:
        evaluation = Evaluation(tmp_path, server.base_url)
        assert evaluation.run("--seeds", "1", "--without", "memories").returncode == 0
    results = evaluation.results
    provenance = results["provenance"]
    assert provenance["models_asked"] == ["scripted"]
    assert provenance["models_served"] == ["a-model-of-tuesday"]
    assert provenance["script_played"] is False
    assert provenance["disagreements"] == {}
    events, _ = evaluation.episodes().values()
    (start,) = (each for each in events if each["event_type"] == "episode_start")
    assert provenance["code"] == [start["code"]]
    assert provenance["prompts"] == {name: [it] for name, it in start["prompts"].items()}
    assert (
        "came from a-model-of-tuesday, according to their server (6 requests, 0 of"
        in (results["statement"])
    )
    assert "script" not in results["statement"].replace("scripted", "")
    text = (evaluation.out / "results.md").read_text()
    assert f"(code {start['code'][:12]})" in text
    assert f"agent_full {start['prompts']['agent_full'][:12]}" in text


@pytest.mark.mcp
def test_a_script_that_plays_is_said_whatever_model_was_asked_for(evaluation: Evaluation) -> None:
    assert evaluation.run("--seeds", "1", "--model", "famous").returncode == 0
    results = evaluation.results
    assert results["provenance"]["models_served"] == [SERVED_AS]
    assert results["provenance"]["script_played"] is True
    assert "came from a script of commands" in (evaluation.out / "results.md").read_text()


def test_all_that_was_billed_counts_also_failed_tries_and_turns_that_were_lost() -> None:
    empty = {"error": "an empty reply", "seconds": 1.0, "usage": asdict(USAGE)}
    reply = {"content": "look", "model": "m", "cost": 0.25, "usage": {"prompt_tokens": 10}}
    figures = EpisodeFigures()
    figures.take(parse(start()))
    for fields in ({"tries": [empty], "reply": reply}, {"reply": reply}, {"error": "no reply"}):
        figures.take(Entry(ModelCall.model_validate({"request": {}, **fields})))
    figures.take(parse(turn(1, 1)))
    summary = figures.summary()
    assert (summary["requests"], summary["failed_requests"], summary["model_calls"]) == (3, 1, 3)
    assert (summary["cost"], summary["prompt_tokens"]) == (1.0, 120)
    said = said_of(provenance_of({"one": figures}))
    assert "(3 requests, 1 of them without a usable reply; $1.00 as billed)" in said


def test_refused_proposals_and_moves_are_counted_beside_turns() -> None:
    refused = {"command": "fly", "thinking": "", "reason": "no wings"}
    figures = episode(start(), turn(1, 3, refused=(refused, refused)), turn(2, 4))
    summary = figures.summary()
    assert (summary["turns"], summary["moves"], summary["refused_proposals"]) == (2, 4, 2)


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([1, 2], "No game was set back"),
        ([2, 1], "went down 1 time, as it does when a game is set back"),
        ([1, None], "Whether a game was set back is unknown: 1 episode did not report"),
    ],
)
def test_whether_a_game_was_set_back_is_read_from_its_moves(
    moves: list[int | None], said: str
) -> None:
    played = episode(start(), *(turn(number, it) for number, it in enumerate(moves, 1)))
    assert said in said_of(provenance_of({"one": played}))


def test_the_report_says_in_what_the_episodes_disagree() -> None:
    one = episode(start(prompts={"agent": "b" * 64}), turn(1, 1))
    other = episode(start(prompts={"agent": "c" * 64}, settings={"memories_enabled": False}))
    continued = {"event_type": "episode_resumed", "model": "asked", "code": "d" * 64}
    third = episode(start(prompts={"agent": "b" * 64}), continued)
    found = provenance_of({"1": one, "2": other, "3": third})
    assert found["disagreements"] == {
        "code": {"a" * 64: ["1", "2", "3"], "d" * 64: ["3"]},
        "prompt agent": {"b" * 64: ["1", "3"], "c" * 64: ["2"]},
    }
    said = said_of(found)
    assert f"DISAGREE on prompt agent: {'b' * 12} in 2 episodes; {'c' * 12} in 1 episode." in said


def test_an_agreement_of_a_version_that_knew_less_is_told_apart() -> None:
    before = {"configuration": {}, "turns": 3, "prompts": {}}
    now = {**before, "prompts": {"agent": "b" * 64}, "code": "a" * 64}
    assert differences(before, now) == [
        f"code was not recorded and is {'a' * 12}",
        f"prompt agent was not recorded and is {'b' * 12}",
    ]
    assert differences(json.loads(json.dumps(now)), now) == []


def test_hints_of_a_person_are_told_beside_every_figure() -> None:
    hint = {"event_type": "hint", "turn": 2, "text": "Go up."}
    helped = episode(start(player="model"), turn(1, 1), hint, turn(2, 2))
    alone = episode(start(player="model"), turn(1, 1))
    provenance = provenance_of({"one": helped, "two": alone})
    assert provenance["hints"] == {"one": 1}
    told = "A PERSON GAVE THE PLAYER HINTS in 1 episode (1 hint): no figure that includes them is"
    assert told in said_of(provenance)
    assert "HINTS" not in said_of(provenance_of({"two": alone}))
    assert (helped.summary()["hints"], alone.summary()["hints"]) == (1, 0)


def test_a_script_that_plays_is_known_by_what_it_calls_itself() -> None:
    assert SCRIPT == SERVED_AS
