"""Environments that are not recorded save a moment and return to it, in this process or another."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from game_interface.errors import SnapshotError
from game_server.environment import TextGame
from game_server.unrecorded import UnrecordedGame
from tests.game_interface.text_environment import TELLING
from tests.support import PATIENCE, ROOT
from tests.support.games import BUNDLED_COMMANDS, written
from tests.support.tiny_story import build

FIRST, THEN = BUNDLED_COMMANDS[:6], [*BUNDLED_COMMANDS[6:12], "quit", "inventory", "look"]
"""Also a command that is refused."""
SEED = 7
IN_ANOTHER_PROCESS = """
import sys
from game_server.environment import TextGame

env = TextGame("bundled", level="facts+exits")
env.set_state(bytes.fromhex(sys.stdin.readline()))
print([env.step(command) for command in sys.argv[1:]])
"""


def steps(env: gymnasium.Env[str, str], commands: Sequence[str] = THEN) -> list[Any]:
    return [env.step(command) for command in commands]


def unrecorded(env: gymnasium.Env[str, str]) -> UnrecordedGame:
    it = env.unwrapped
    assert isinstance(it, TextGame)
    return it._unrecorded()


@pytest.fixture
def env() -> Iterator[TextGame]:
    it = TextGame("bundled", level="facts+exits")
    it.reset(seed=SEED)
    steps(it, FIRST)
    yield it
    it.close()


@pytest.mark.parametrize("level", ["text", "status", "facts", "facts+exits"])
def test_from_a_state_the_same_commands_lead_to_the_same_steps(level: str) -> None:
    env = TextGame("bundled", level=level)
    env.reset(seed=SEED)
    steps(env, FIRST)
    state = env.get_state()
    expected = steps(env)
    assert sum(reward for _, reward, *_ in expected) > 0
    for _ in range(2):
        env.set_state(state)
        assert steps(env) == expected
    env.close()


def test_a_state_goes_on_in_another_process(env: TextGame) -> None:
    state = env.get_state()
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, *THEN],
        input=state.hex(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout == f"{steps(env)}\n"


def test_copies_are_games_of_their_own() -> None:
    env: gymnasium.Env[str, str] = gymnasium.make("zorkgpt/bundled-v0", render_mode="ansi")
    env.reset(seed=SEED)
    steps(env, FIRST)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301  our own
    expected = steps(env)
    for it in copies:
        assert it.spec == env.spec
        assert steps(it) == expected
        assert it.render() == env.render()
    assert len({it.reset()[0] for it in (env, *copies)}) == 1
    seeds = {unrecorded(it)._game.seed for it in (env, *copies)}
    assert len(seeds) == 1, "their dice, too, were copied"
    pickle.dumps(gymnasium.make("zorkgpt/bundled-v0"))  # which has not begun


def test_a_state_holds_all_that_the_next_step_depends_on(env: TextGame) -> None:
    """Whoever gives `Perception` or `GameState` another attribute is told of it here."""
    other = TextGame("bundled", level="facts+exits")
    other.set_state(env.get_state())
    saved, restored = unrecorded(env), unrecorded(other)
    assert vars(restored._boundary.perception) == vars(saved._boundary.perception)
    without_effect = {"opening", "history"}
    counters = [
        {name: it for name, it in vars(game.game_state).items() if name not in without_effect}
        for game in (saved, restored)
    ]
    assert str(counters[0].pop("usage")) == str(counters[1].pop("usage"))
    assert counters[0] == counters[1]
    other.close()


def test_the_end_of_an_episode_is_saved_and_what_leads_to_it() -> None:
    env = TextGame("bundled", max_turns=2)
    env.reset(seed=SEED)
    env.step("look")
    before = env.get_state()
    assert env.step("look")[3]
    over = env.get_state()
    env.set_state(before)
    assert env.step("look")[3]
    env.set_state(over)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")
    env.close()


def test_a_state_is_small() -> None:
    env = TextGame("bundled", level="facts+exits")
    env.reset(seed=SEED)
    steps(env, BUNDLED_COMMANDS[:-1])
    assert len(env.get_state()) < 16_000
    env.close()


def test_what_is_no_state_of_this_game_is_refused_and_changes_nothing(
    env: TextGame, tmp_path: Path
) -> None:
    state = env.get_state()
    kind, _, body = state.partition(b"\n")
    other_story = TextGame(str(written(tmp_path, build())), level="facts+exits")
    other_story.reset(seed=SEED)
    other_level = TextGame("bundled", level="text")
    other_level.reset(seed=SEED)
    refused: list[tuple[Any, str]] = [
        (None, "not a state"),
        ("a text", "not a state"),
        (b"", "not a state"),
        (b"zorkgpt-state 0\n" + body, "not a state of this version"),
        (state[:-20], "damaged"),
        (state[:100] + b"?" + state[101:], "damaged"),
        (kind + b"\n" + zlib.compress(b"{}"), "damaged"),
        (kind + b"\n" + zlib.compress(zlib.decompress(body).replace(b'"level"', b'"l"')), "dam"),
        (kind + b"\n" + zlib.compress(b"[" * 10**6), "damaged"),
        (other_story.get_state(), "of another story"),
        (other_level.get_state(), "at the level text, and this one is played at facts.exits"),
    ]
    for wrong, why in refused:
        with pytest.raises(SnapshotError, match=why):
            env.set_state(wrong)
        assert env.get_state() == state


def test_what_has_not_begun_has_no_state() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        TextGame("bundled").get_state()


def test_an_environment_of_somebody_elses_has_no_state() -> None:
    env = TextGame(TELLING)
    env.reset(seed=SEED)
    with pytest.raises(SnapshotError, match="has no state that can be saved"):
        env.get_state()
    env.close()


def test_a_record_only_goes_forward(env: TextGame, tmp_path: Path) -> None:
    recorded = TextGame("bundled", level="facts+exits", workdir=str(tmp_path))
    recorded.reset(seed=SEED)
    for attempt in (
        recorded.get_state,
        lambda: recorded.set_state(env.get_state()),
        lambda: copy.deepcopy(recorded),
        lambda: pickle.dumps(recorded),
    ):
        with pytest.raises(SnapshotError, match="leave out `workdir`"):
            attempt()
    assert recorded.step("north")[4]["turn"] == 1
    recorded.close()
