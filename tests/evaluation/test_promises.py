"""What is promised before anything is played, and what is not played again in vain."""

from __future__ import annotations

import io
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from evaluation.agreement import differences
from evaluation.figures import EpisodeFigures
from evaluation.plan import Cell, Plan, Variant
from evaluation.run import Played, declined, unfinished
from evaluation.suites.at_hand import hints_of
from game_interface import open_game
from llm_client import LLMClient
from players.chat import ChatPlayer
from scripts.evaluate import main
from session.game_configuration import ConfigurationError, GameConfiguration
from shared_utils import EMBEDDED_MODEL_NAME
from tests.evaluation.made_up import event, start, turn, write
from zork_agent import ZorkAgent

Capture = pytest.CaptureFixture[str]
KEYS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
RANDOM = Variant("random", player="random")


def plan_of(folder: Path, variant: Variant = RANDOM, turns: int = 100) -> Plan:
    with open_game("bundled") as game:
        story = game.story
    config = GameConfiguration(max_turns_per_episode=turns)
    return Plan("mine", folder, config, {"": story}, (variant,), (1, 2), 1, carry_over=False)


def played_of(plan: Plan) -> Played:
    return {cell: EpisodeFigures.read(plan.folder(cell)) for cell in plan.cells}


def said_by(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=400)


def test_a_model_that_is_not_there_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*KEYS, "GEMINI_API_KEY", "ZORKGPT_CLIENT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--story", "bundled", "--model", "gpt-5", "--out", "out"]) == 2
    said = capsys.readouterr().err
    assert "The model gpt-5 cannot be asked: neither a key nor an endpoint is set" in said
    assert EMBEDDED_MODEL_NAME in said
    assert "OPENAI_API_KEY" in said
    assert not (tmp_path / "out").exists()
    GameConfiguration(agent_model=EMBEDDED_MODEL_NAME).refuse_missing_models()
    GameConfiguration(agent_model="mine", local_model_path="mine.gguf").refuse_missing_models()
    GameConfiguration(agent_model="gpt-5", client_base_url="http://here").refuse_missing_models()
    with pytest.raises(ConfigurationError, match="The model larger cannot be asked"):
        GameConfiguration(reflection_model="larger").refuse_missing_models()


@pytest.mark.parametrize(
    ("player", "reason", "again"),
    [
        ("random", "engine_failed", False),
        ("walkthrough", "llm_unavailable", False),
        ("model", "engine_failed", True),
        ("model", "llm_unavailable", True),
        ("random", "aborted", True),
    ],
)
def test_what_would_fail_in_the_same_way_is_not_played_on_and_named(
    tmp_path: Path, console: Console, player: str, reason: str, *, again: bool
) -> None:
    plan = plan_of(tmp_path, Variant(player, player=player))  # type: ignore[arg-type]
    first, second = plan.cells
    failed = {"turn": 2, "failure": "the engine failed at 'x'", "seconds": 0.1}
    lines = [start(player=player), turn(1, 0), event("turn_failed", **failed)]
    write(plan.folder(first), [*lines, event("episode_end", reason=reason)])
    left = unfinished(plan, played_of(plan), console)
    assert ([first] in left, [second] in left) == (again, True)
    assert ("the engine failed at 'x'" in said_by(console)) != again
    assert (f"{first}: not continued" in said_by(console)) != again


@pytest.mark.parametrize(
    ("answer", "variant", "turns", "is_declined", "said"),
    [
        ("n", Variant("model"), 400, True, "about 21 minutes: 2 episodes of up to 400 turns"),
        ("y", Variant("model"), 4000, False, "about 3 hours"),
        ("", Variant("model"), 100, False, ""),
        ("", RANDOM, 100, False, ""),
    ],
)
def test_a_terminal_is_told_how_long_it_takes_and_asked(
    tmp_path: Path,
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    variant: Variant,
    turns: int,
    said: str,
    *,
    is_declined: bool,
) -> None:
    plan = plan_of(tmp_path, variant, turns)
    lines: list[list[Cell]] = [[cell] for cell in plan.cells]
    played = played_of(plan)
    assert not declined(plan, lines, played, 2, console)  # no terminal
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda: answer)
    assert declined(plan, lines, played, 2, console) is is_declined
    assert said in re.sub(r"\s+", " ", said_by(console))
    assert bool(said) == bool(said_by(console))


def test_hints_that_are_given_beforehand_are_told_and_said(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text("Dig below the rose.")
    assert hints_of(tmp_path / "story.txt", ["a"]) == {"a": "Dig below the rose."}
    (tmp_path / "b.txt").write_text("Wait.")
    hints = hints_of(tmp_path, ["a", "b"])
    assert hints == {"b": "Wait."}
    with pytest.raises(ConfigurationError, match="There are no hints for these games"):
        hints_of(tmp_path, ["c"])
    plan = replace(plan_of(tmp_path), hints={"": "Dig below the rose."})
    told = GameConfiguration.model_validate(plan.job(plan.cells[0], None)["settings"])
    endpoint = "http://127.0.0.1:9/v1"
    config = GameConfiguration(player_hints=told.player_hints, client_base_url=endpoint)
    with closing(LLMClient(config=config)) as client:
        assert "Dig below the rose." in ZorkAgent(config=config, client=client).system_prompt
        assert "Dig below the rose." in str(ChatPlayer(config, client)._head)
    assert "Dig below the rose." not in str(plan.agreement())
    hashed = plan.agreement()["hints"]["story"]
    assert differences({"hints": {"a": hashed}}, {"hints": {"a": "0"}})
