"""What the whole must do, as far as no part shows it alone; the table in README.md has it all."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_client import LLMClient
from managers.action_check import Checks
from managers.context_manager import ContextManager
from managers.manager import CHARACTERS_PER_TOKEN
from mcp_ghost.testing import ModelServer, error_reply
from orchestration.boundary import Boundary
from orchestration.mind import Mind
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from players.model import ModelPlayer
from prompts import load_prompt
from session.game_configuration import GameConfiguration
from session.game_state import FailedTurn, GameState, TurnRecord
from session.knowledge import Reflection
from session.record.event_log import EVENTS_FILE
from session.record.resume import SavedEpisode
from storage.commands import Commands
from storage.episode_knowledge import Episode, EpisodeKnowledge
from storage.store import Store
from tests.session.test_settings import thoughtful
from tests.support import ROOT
from tests.support.episodes import configured, played, system_text, user_text, wanted
from tests.support.games import BUNDLED_COMMANDS, started
from tests.support.mind.telling import whole
from tests.support.stored import claim, dump, reflection
from viewer.episode import Episode as ShownEpisode
from workshop.scripted_model import ScriptedModel
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

LONG = "A rule of this world that was found out by trying it again and again, number"


# --- 7: a model that is down


def test_a_model_that_is_down_costs_no_turn_and_the_identical_game_goes_on(
    tmp_path: Path,
) -> None:
    answered = 0

    def dying(request: ModelRequest) -> Reply:
        nonlocal answered
        answered += 1
        return ScriptedModel(BUNDLED_COMMANDS)(request) if answered <= 5 else error_reply(503)

    with ModelServer(dying) as model:
        config = configured(tmp_path, model.base_url)
        with ZorkOrchestratorV2("down", config) as first:
            while first._process_turn():
                pass
            assert first.game_state.end_reason == "llm_unavailable"
            assert first.game_state.turn_count == answered - 3 == 5
            assert first.game is not None
            engine, known = (
                first.game.snapshot(),
                told_next(config, first._boundary.state, first.mind),
            )
        with ZorkOrchestratorV2("down", config, resume=True) as second:
            second._start()
            assert second.game is not None
            assert second.game.snapshot() == engine
            assert told_next(config, second._boundary.state, second.mind) == known
            kept = second.game_state.history[-1]
        assert base64.b64decode(kept.snapshot) == engine
        assert second.game_state.turn_count == 5


def told_next(config: GameConfiguration, state: GameState, mind: Mind) -> tuple[str, str]:
    """The whole prompt of the turn to come."""
    context = ContextManager(config, mind.transcript, mind.managers)
    return context.head("Rules."), whole(context.build(state))


# --- 9: the log alone


@pytest.fixture
def two_episodes(tmp_path: Path) -> tuple[Path, Path]:
    """The second knows what the first learned."""
    settings: dict[str, Any] = {"reflection_enabled": True, "reflection_interval_turns": 4}
    folders = [
        played(tmp_path, thoughtful, episode=name, max_turns_per_episode=10, **settings).folder
        for name in ("first", "second")
    ]
    return folders[0], folders[1]


def folded(folder: Path) -> tuple[GameState, tuple[str, str]]:
    """The state and the next prompt that follow from a log."""
    config = GameConfiguration(context_profile="full", reflection_enabled=True)
    saved = SavedEpisode(folder)
    state, client = GameState("again"), LLMClient(config)
    mind = Mind(config, client, client._logger, saved.start.uid)
    state.begin(saved.start.opening, saved.start.observation)
    agent, context = ZorkAgent(config, client=client), ContextManager(config, mind.transcript)
    player = ModelPlayer(config, agent, context, Checks([]), mind.learning)
    boundary = Boundary(config.observation_level, "again")
    carried = saved.fold.known.carried
    boundary.begin(player, saved.start.opening, saved.start.observation, carried)
    for step in saved.steps():
        if isinstance(step, FailedTurn):
            state.fail(step)
            continue
        boundary.take_in(step)
        if isinstance(step, TurnRecord):
            state.apply(step)
        elif isinstance(step, Reflection):
            state.spend(step.usage)
    client.close()
    return state, told_next(config, boundary.state, mind)


def test_state_and_mind_follow_from_the_log_alone(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"reflection_enabled": True, "reflection_interval_turns": 4}
    played(tmp_path, thoughtful, max_turns_per_episode=10, **settings)
    with ModelServer(thoughtful) as model:
        config = configured(tmp_path, model.base_url, context_profile="full", **settings)
        with ZorkOrchestratorV2("live", config) as live:
            for _ in range(10):
                live._process_turn()
            now = live.game_state, told_next(config, live._boundary.state, live.mind)
    once, twice = folded(live.folder), folded(live.folder)
    assert once[1] == twice[1] == now[1]
    assert "Paths here lead uphill" in now[1][0], "what was carried over is in it"
    assert "## Memories" in now[1][1]
    live_values, from_log = (
        {key: value for key, value in vars(it[0]).items() if key != "episode_id"}
        for it in (now, once)
    )
    assert live_values == from_log


def test_what_the_viewer_shows_follows_from_the_log_alone(
    tmp_path: Path, two_episodes: tuple[Path, Path]
) -> None:
    for number, folder in enumerate(two_episodes):
        whole, again = shown(folder), shown(folder)
        assert whole == again
        copy = tmp_path / f"copy-{number}" / folder.name
        copy.mkdir(parents=True)
        growing = ShownEpisode(folder.name, copy)
        with (copy / EVENTS_FILE).open("ab", buffering=0) as log:
            for line in (folder / EVENTS_FILE).read_bytes().splitlines(keepends=True):
                log.write(line)
                growing.refresh()
        assert (growing.json(), growing.turns(1, 10), growing.map.mermaid()) == whole
        assert len(whole[1]) == 10
        assert whole[0]["memories"]


def shown(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    episode = ShownEpisode(folder.name, folder)
    episode.refresh()
    return episode.json(), episode.turns(1, 10), episode.map.mermaid()


def test_what_is_stored_follows_from_the_logs_alone(two_episodes: tuple[Path, Path]) -> None:
    workdir = two_episodes[0].parent.parent
    config = GameConfiguration(workdir=str(workdir))
    stored = dump(config)
    assert all(stored[f"zorkgpt_{name}"] for name in ("episodes", "memories", "claims", "passages"))
    page = (workdir / "knowledge" / "weatherworks.md").read_text()
    for lost in [*workdir.glob("knowledge.db*"), workdir / "knowledge" / "weatherworks.md"]:
        lost.unlink()
    with Commands(config, "rebuild") as commands:
        assert commands.rebuild()
    assert dump(config) == stored
    assert (workdir / "knowledge" / "weatherworks.md").read_text() == page


# --- 10: the head of the prompt


@pytest.mark.parametrize("size", [0, 20_000])
def test_the_head_is_the_same_in_every_turn_and_keeps_its_budget(tmp_path: Path, size: int) -> None:
    config = configured(tmp_path, "http://127.0.0.1:9/v1")
    rules = [f"{LONG} {number}." for number in range(size // len(LONG))]
    know(config, rules)
    episode = played(
        tmp_path,
        thoughtful,
        max_turns_per_episode=12,
        reflection_enabled=True,
        reflection_interval_turns=4,
        context_token_budget=1000,
    )
    asked = [request for request in episode.requests if wanted(request) == "AgentResponse"]
    (head,) = {system_text(request) for request in asked}
    known = len(head) - len(load_prompt("agent", "full"))
    budget = config.knowledge_token_budget * CHARACTERS_PER_TOKEN
    assert (known > 0.8 * budget) == bool(size)
    assert known < 1.1 * budget
    assert sum(rule in head for rule in rules) < max(1, len(rules))
    for request in asked:
        told_anew = user_text(request, message=-1)
        assert len(told_anew) <= 1000 * CHARACTERS_PER_TOKEN


def know(config: GameConfiguration, rules: list[str]) -> None:
    """Store what an earlier episode claimed of the bundled story."""
    with started() as game:
        sha256 = game.story.sha256
    claims = tuple(claim("aaaaaa", number, text) for number, text in enumerate(rules, 1))
    learned = reflection("aaaaaa", 1, memories=(), claims=claims)
    episode = Episode("aaaaaa", "earlier", sha256, "weatherworks", "m", 7, "2025-01-01", turns=8)
    Path(config.workdir).mkdir(parents=True)
    with Store(config) as store:
        store.put(EpisodeKnowledge(episode, reflections=(learned,)))


# --- 13: neither network nor order

GUARD = """
import socket, sys

def guard(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "::1") and not host.startswith("127."):
        raise PermissionError(f"{host} is not this machine")

sys.addaudithook(guard)
"""
REVERSED = """
def pytest_collection_modifyitems(items):
    items.reverse()
"""
CHOSEN = (
    "orchestration/test_zork_orchestrator_v2",
    "managers/test_reflection_manager",
    "test_llm_client",
    "session/record/test_event_log",
    "managers/test_map_manager",
)
"""Each kind of test: whole episodes, the client at its loopback server, and parts alone."""


def guarded(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A Python, and all that it starts, that cannot leave this machine."""
    (folder / "sitecustomize.py").write_text(GUARD)
    (folder / "backwards.py").write_text(REVERSED)
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


def test_the_guard_holds(tmp_path: Path) -> None:
    for host in ("192.0.2.1", "example.invalid"):
        code = f"import socket; socket.create_connection(({host!r}, 9), 1)"
        assert (
            f"PermissionError: {host} is not this machine" in guarded(tmp_path, "-c", code).stderr
        )
    server = "import socket; it = socket.create_server(('127.0.0.1', 0)); "
    code = f"{server}socket.create_connection(it.getsockname())"
    assert guarded(tmp_path, "-W", "ignore", "-c", code).returncode == 0


@pytest.mark.soak
@pytest.mark.slow
def test_tests_pass_backwards_and_without_a_network(tmp_path: Path) -> None:
    files = [f"tests/{name}.py" for name in reversed(CHOSEN)]
    flags = ["-q", "-p", "backwards", "-p", "no:cacheprovider", "-m", "not slow"]
    basetemp = tmp_path / "below"
    done = guarded(tmp_path, "-m", "pytest", *flags, f"--basetemp={basetemp}", *files)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 90
