"""What settings do, where no other test shows it."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from game_interface.engines.interpreter import find_interpreter
from game_interface.errors import EngineUnavailableError
from llm_client import LLMClient
from managers.mcp_manager import MCPManager, MCPServerStartupError
from managers.memory_manager import MemoryManager
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import CarriedOver
from shared_utils import EMBEDDED_MODEL_NAME
from tests.game_interface.test_facts import profiled, tiny_world
from tests.specification.test_faults import IMPOSSIBLE
from tests.support.episodes import Played, all_text, configured, played, wanted
from tests.support.games import BUNDLED_COMMANDS, needs_jericho
from tests.support.mind.memories import UID, carried
from tests.support.records import observation
from tests.support.servers import faulty, write_config
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Script

pytestmark = pytest.mark.mcp

ROLES = ("agent", "reflection", "critic")
SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "seed",
    "reasoning_effort",
)
FORMS = {"AgentResponse": "agent", "ReflectionAnswer": "reflection", "CriticAnswer": "critic"}
CLAIM = "Paths here lead uphill to a yard."
OBJECTIVE = "Ring every bell"
COMMANDS = ["read letter", "north", "north", "south", "look", IMPOSSIBLE, *["look"] * 20]


def thoughtful(request: ModelRequest) -> Reply:
    """Plays ``COMMANDS``, wants something, remembers, claims something, and lets all pass."""
    form = wanted(request)
    if form == "CriticAnswer":
        return content_reply(json.dumps({"verdict": "accept", "reason": ""}))
    spoken = ScriptedModel(COMMANDS)(request)
    assert isinstance(spoken.body, dict)
    said = json.loads(spoken.body["choices"][0]["message"]["content"])
    if form == "ReflectionAnswer":
        claim = {"turn": 2, "text": CLAIM, "quote": "", "tested": False}
        return content_reply(json.dumps({**said, "claims": [claim]}))
    if "Turn 1 of at most" in all_text([request]):
        said["new_objective"] = OBJECTIVE
    return content_reply(json.dumps(said))


def test_each_role_asks_its_own_model_at_its_own_endpoint_with_its_own_sampling(
    tmp_path: Path,
) -> None:
    settings: dict[str, Any] = {"critic_enabled": True, "reflection_enabled": True}
    for number, role in enumerate(ROLES, 1):
        tenths = (number / 10, number / 20, number + 40, number / 100, number + 500)
        values = (*tenths, number, ("low", "medium", "high")[number - 1])
        settings |= {f"{role}_{key}": it for key, it in zip(SAMPLING, values, strict=True)}
        settings[f"{role}_thinking_tokens"] = 1000 * number
        settings[f"{role}_model"] = f"model-of-{role}"
        settings[f"{role}_extra_body"] = {"metadata": {"role": role}}
    servers = {role: ModelServer(thoughtful) for role in ROLES}
    with servers["agent"], servers["reflection"], servers["critic"]:
        for role, server in servers.items():
            settings[f"{role}_base_url"] = server.base_url
        config = configured(tmp_path, "http://127.0.0.1:9/v1", max_turns_per_episode=5, **settings)
        ZorkOrchestratorV2("roles", config).play_episode()
    for role, server in servers.items():
        assert {FORMS[str(wanted(request))] for request in server.requests} == {role}
        for request in server.requests:
            assert request.chat["model"] == f"model-of-{role}"
            assert request.chat["metadata"] == {"role": role}
            expected = {key: settings[f"{role}_{key}"] for key in SAMPLING}
            expected["max_tokens"] += settings[f"{role}_thinking_tokens"]
            assert {key: request.chat[key] for key in SAMPLING} == expected


SIGNS: dict[str, Callable[[Played], bool]] = {
    "map": lambda it: "## Ways out" in all_text(it.requests),
    "memories": lambda it: "## Memories" in all_text(it.requests) and learned(it, "memories"),
    "objectives": lambda it: f"- o1 {OBJECTIVE}" in all_text(it.requests),
    "knowledge": lambda it: CLAIM in all_text(it.requests) and learned(it, "claims"),
    "action_check": lambda it: any(turn.refused for turn in it.turns),
    "storage": lambda it: (it.folder.parent.parent / "knowledge.db").exists(),
}
"""Part -> whether an episode shows that it is there."""


def learned(episode: Played, what: str) -> bool:
    return any(getattr(reflection, what) for reflection in episode.reflections)


@pytest.mark.parametrize("off", [None, *SIGNS])
def test_a_part_that_is_off_is_neither_told_nor_kept(tmp_path: Path, off: str | None) -> None:
    settings: dict[str, Any] = {f"{off}_enabled": False} if off else {}
    if off == "map":  # the other way to say it
        settings = {"without": ("map",)}
    episode = played(
        tmp_path,
        thoughtful,
        max_turns_per_episode=8,
        reflection_enabled=True,
        reflection_interval_turns=4,
        **settings,
    )
    assert {part: sign(episode) for part, sign in SIGNS.items()} == {
        part: part != off for part in SIGNS
    }
    assert episode.start["parts_off"] == ([off] if off and off != "storage" else [])


@pytest.mark.parametrize("on", [True, False])
def test_without_reflection_nothing_is_asked_but_turns(tmp_path: Path, on: bool) -> None:
    episode = played(tmp_path, thoughtful, max_turns_per_episode=5, reflection_enabled=on)
    forms = [wanted(request) for request in episode.requests]
    assert forms == ["AgentResponse"] * 5 + ["ReflectionAnswer"] * on
    assert learned(episode, "memories") == on


@pytest.mark.parametrize("on", [True, False])
def test_the_critic_is_asked_only_when_it_is_on(tmp_path: Path, on: bool) -> None:
    episode = played(tmp_path, thoughtful, max_turns_per_episode=2, critic_enabled=on)
    forms = [wanted(request) for request in episode.requests]
    assert forms == (["AgentResponse", *["CriticAnswer"] * on] * 2)


def waiting(_request: ModelRequest) -> Reply:
    usage = {"prompt_tokens": 70, "completion_tokens": 30, "cost": 0.5}
    said = {"thinking": "Patience.", "action": "wait"}
    return content_reply(json.dumps(said), usage=usage)


def rambling(_request: ModelRequest) -> Reply:
    return content_reply("Hm.")


@pytest.mark.parametrize(
    ("limit", "script", "reason", "turns"),
    [
        ({"max_cost_per_episode": 1.2}, waiting, "budget", 3),
        ({"max_tokens_per_episode": 350}, waiting, "budget", 4),
        ({"max_turns_stuck": 5}, waiting, "stalled", 5),
        ({"max_failed_turns": 2}, rambling, "llm_unavailable", 0),
        ({"max_turns_per_episode": 6}, waiting, "max_turns", 6),
    ],
    ids=lambda it: next(iter(it)) if isinstance(it, dict) else "",
)
def test_an_episode_ends_at_the_limit_that_is_reached(
    tmp_path: Path, limit: dict[str, Any], script: Script, reason: str, turns: int
) -> None:
    episode = played(tmp_path, script, **{"max_turns_per_episode": 9, **limit})
    assert (episode.end["reason"], episode.end["turns"]) == (reason, turns)
    without = played(tmp_path, script, episode="other", max_turns_per_episode=turns + 1)
    if "max_turns_per_episode" not in limit and script is not rambling:
        assert without.end["turns"] == turns + 1


@pytest.mark.parametrize("delay", [0.1, 0.0])
def test_waits_between_attempts_are_as_configured(
    delay: float, caplog: pytest.LogCaptureFixture
) -> None:
    with ModelServer([error_reply(500), "ok"]) as server:
        config = GameConfiguration(client_base_url=server.base_url, retry_initial_delay=delay)
        client = LLMClient(config, logger=logging.getLogger("waits"))
        client.chat_completions_create("m", [{"role": "user", "content": "?"}])
        client.close()
    (retry,) = [it for it in caplog.records if it.__dict__.get("event_type") == "llm_retry"]
    assert delay <= retry.__dict__["delay_seconds"] <= 2 * delay


@pytest.mark.skipif(sys.platform != "linux", reason="reads command lines in /proc")
def test_the_embedded_model_gets_the_configured_threads() -> None:
    client = LLMClient(GameConfiguration(local_threads=1, local_model_path=None))
    try:
        client.chat_completions_create(
            EMBEDDED_MODEL_NAME, [{"role": "user", "content": "?"}], max_tokens=1
        )
        me = Path(f"/proc/{os.getpid()}/task")
        children = " ".join(path.read_text() for path in me.glob("*/children")).split()
        commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
        assert any(b"--threads\x001" in command for command in commands)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("engine", "name"),
    [("auto", "bocfel"), pytest.param("jericho", "jericho", marks=needs_jericho)],
)
def test_the_configured_game_is_played(tmp_path: Path, engine: str, name: str) -> None:
    profiled(tmp_path, tiny_world()).close()
    story = str(next(tmp_path.glob("tiny.z*"))) if engine == "auto" else "bundled"
    episode = played(
        tmp_path,
        waiting,
        max_turns_per_episode=1,
        story=story,
        seed=41,
        engine=engine,
        workdir=str(tmp_path / "here"),
    )
    assert {key: episode.start[key] for key in ("seed", "engine")} == {
        "seed": 41,
        "engine": name,
    }
    assert episode.start["title"] == ("Tiny" if engine == "auto" else "The Weatherworks")
    assert episode.folder.parent == tmp_path / "here" / "episodes"


def test_a_build_of_ones_own_is_played_with(tmp_path: Path) -> None:
    (tmp_path / "bocfel").symlink_to(find_interpreter("bocfel", None))
    settings: dict[str, Any] = {"interpreter_path": str(tmp_path), "max_turns_per_episode": 1}
    assert played(tmp_path, waiting, **settings).end["reason"] == "max_turns"
    with pytest.raises(EngineUnavailableError, match="interpreter_path cannot be used"):
        played(tmp_path, waiting, episode="other", interpreter_path="/nowhere")


def test_an_episode_tells_its_group(tmp_path: Path) -> None:
    episode = played(tmp_path, waiting, max_turns_per_episode=1, evaluation_group="without map")
    assert episode.start["group"] == "without map"


@pytest.mark.parametrize("most", [0, 1, 3])
def test_memories_are_told_up_to_the_configured_distance(most: int) -> None:
    config = GameConfiguration(memories_max_distance=most)
    memories = MemoryManager(config, UID, lambda start, end: abs(end - start))
    known = tuple(carried(room, room, f"Room {room} has a bell.") for room in range(1, 7))
    memories.begin(observation(1), CarriedOver(episodes=1, memories=known))
    state = GameState("e")
    state.begin("Welcome.", observation(1))
    told = "\n".join(section.text() for section in memories.sections(state))
    assert [room for room in range(1, 7) if room == 1 or f"(#{room})" in told] == [
        *range(1, most + 2)
    ]


@pytest.mark.parametrize("takes", [True, False])
def test_an_episode_may_begin_without_what_others_learned(tmp_path: Path, takes: bool) -> None:
    played(tmp_path, thoughtful, max_turns_per_episode=5, reflection_enabled=True)
    second = played(
        tmp_path,
        thoughtful,
        episode="second",
        max_turns_per_episode=1,
        storage_carry_over=takes,
    )
    assert (CLAIM in all_text(second.requests)) == takes


def test_what_is_learned_goes_to_the_configured_database(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    database = tmp_path / "shared" / "all.db"
    url = f"sqlite:///{database}"
    first = played(
        tmp_path / "one",
        thoughtful,
        max_turns_per_episode=5,
        reflection_enabled=True,
        storage_database_url=url,
    )
    assert database.exists()
    assert not (first.folder.parent.parent / "knowledge.db").exists()
    second = played(tmp_path / "two", thoughtful, max_turns_per_episode=1, storage_database_url=url)
    assert CLAIM in all_text(second.requests)


@pytest.mark.parametrize("interval", [3, 4])
def test_reflections_keep_the_configured_interval(tmp_path: Path, interval: int) -> None:
    episode = played(
        tmp_path,
        ScriptedModel(BUNDLED_COMMANDS),
        max_turns_per_episode=12,
        reflection_enabled=True,
        reflection_interval_turns=interval,
    )
    ends = [reflection.last_turn for reflection in episode.reflections]
    assert ends == list(range(interval, 13, interval))


async def test_a_server_gets_the_configured_time_to_start(tmp_path: Path) -> None:
    path = write_config(tmp_path / "mcp.json", tools=faulty("mute"))
    config = GameConfiguration(
        mcp_enabled=True, mcp_config_file=str(path), mcp_server_startup_timeout_seconds=0.4
    )
    manager = MCPManager(config, logging.getLogger("zorkgpt.test_settings"))
    with pytest.raises(MCPServerStartupError, match=r"within 0\.4 s"):
        await manager.connect_session()
