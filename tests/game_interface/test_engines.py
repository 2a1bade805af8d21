"""Both engines behind one interface: clean text, honest ends, no damage from a failure."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from game_interface import open_game
from game_interface.engines.engine import EngineName
from game_interface.engines.jericho_engine import JerichoEngine
from game_interface.errors import (
    EngineError,
    EngineUnavailableError,
    GameOverError,
    InvalidCommandError,
)
from game_interface.story import find_story
from tests.support.games import ENGINES, bundled_solution, needs_jericho, started, written
from tests.support.tiny_story import QUIT, SHOW_STATUS, build, loop, say


@pytest.mark.parametrize("engine", ENGINES)
def test_the_opening_is_whole_and_has_neither_prompt_nor_status_line(engine: EngineName) -> None:
    with open_game("bundled", engine=engine) as game:
        opening = game.start()

    assert opening.startswith("Weather does not simply happen.")
    assert "\n\nLanding Stage\nSix planks" in opening
    assert not opening.endswith((">", "\n"))
    assert "Score:" not in opening


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_keep_their_lines_and_paragraphs(engine: EngineName) -> None:
    with started(engine=engine) as game:
        assert game.step("inventory") == "You're carrying:\n  a letter"
        assert "\n\nThree cautions." in game.step("read letter")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_version_3_story_is_freed_from_prompt_and_status_line(
    engine: EngineName, tmp_path: Path
) -> None:
    story = written(tmp_path, build(code=say("Hall\n") + loop(say("One.\n\nTwo.\n>"))))
    with open_game(story, engine=engine) as game:
        assert game.start() == "Hall"
        assert game.step("look") == "One.\n\nTwo."
        assert game.step("look") == "One.\n\nTwo."


@pytest.mark.parametrize("flags", [0, 2], ids=["score", "time"])
@pytest.mark.parametrize("engine", ENGINES)
def test_status_lines_within_an_answer_are_left_out(
    engine: EngineName, flags: int, tmp_path: Path
) -> None:
    answer = say("One.\n") + SHOW_STATUS + SHOW_STATUS + say("Two.\n") + SHOW_STATUS
    story = written(tmp_path, build(code=say("Hall\n") + loop(answer), flags=flags))
    with started(story, engine=engine) as game:
        assert game.step("wait").split() == ["One.", "Two."]


@needs_jericho
def test_both_engines_tell_the_same_story() -> None:
    for slow, fast in zip(bundled_solution("bocfel"), bundled_solution("jericho"), strict=True):
        assert slow.text.split() == fast.text.split()
        told = replace(slow.facts, waits_for=None, status_line="")
        assert told == fast.facts
        assert slow.is_over == fast.is_over


def test_a_story_that_quits_ends_the_game(tmp_path: Path) -> None:
    with started(written(tmp_path, build(code=loop(say("Bye.\n") + QUIT)))) as game:
        assert game.step("wave") == "Bye."
        assert game.is_over
        assert not game.facts().dead
        assert not game.facts().won
        with pytest.raises(GameOverError, match="the game is over"):
            game.step("wave")


def test_a_story_with_broken_code_cannot_start(tmp_path: Path) -> None:
    game = open_game(written(tmp_path, build(code=b"\0\0\0\0")))

    with game, pytest.raises(EngineError, match=r"cannot start: .* illegal opcode \(pc = 0x1000\)"):
        game.start()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_letter_that_no_story_has_is_refused_and_nothing_happens(engine: EngineName) -> None:
    with started(engine=engine) as game:
        before = game.facts()
        with pytest.raises(InvalidCommandError, match=r"cannot take|does not accept"):
            game.step("take ¶")

        assert game.facts() == before
        assert "Cliff Path" in game.step("north")


@pytest.mark.skipif(bool(find_spec("jericho")), reason="jericho is installed")
def test_asking_for_an_engine_that_is_not_installed_says_how_to_install_it() -> None:
    with pytest.raises(EngineUnavailableError, match="uv sync --extra jericho"):
        open_game("bundled", engine="jericho")


@pytest.mark.parametrize("engine", ENGINES)
def test_closing_twice_does_no_harm(engine: EngineName) -> None:
    game = started(engine=engine)

    game.close()
    game.close()


@pytest.fixture(scope="module")
def jericho() -> Iterator[JerichoEngine]:
    """One process for all states that are refused: it has to outlive them."""
    engine = JerichoEngine(find_story("bundled").require_image("Jericho"), 10.0)
    yield engine
    engine.close()


@needs_jericho
@pytest.mark.parametrize(
    "changed",
    [
        {"pc": 2**30},
        {"pc": -(2**20)},
        {"fp": 10**8},
        {"sp": 10**7},
        {"sp": -1},
        {"frames": 10**6},
        {"frames": 900},
        {"opcode": 10**6},
        {"stack": b"\xff" * 2048},
    ],
)
def test_a_state_that_leads_out_of_the_interpreters_memory_never_reaches_it(
    changed: dict[str, Any], jericho: JerichoEngine
) -> None:
    state = jericho.step(jericho.start(1).state, "look").state
    text, _, data = state.partition(b"\n")
    head = json.loads(text)
    stack = changed.get("stack", data[-2048:])
    head["rest"] |= {name: it for name, it in changed.items() if name != "stack"}
    with pytest.raises(EngineError, match="outside the st"):
        jericho.step(json.dumps(head).encode() + b"\n" + data[:-2048] + stack, "look")
    assert "Landing Stage" in jericho.step(state, "look").text
