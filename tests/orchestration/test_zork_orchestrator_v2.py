"""The episode as a whole: what its files may hold and how fast it goes."""

from __future__ import annotations

import logging
from datetime import datetime

import pytest

from game_interface.errors import GameError
from mcp_ghost.testing import ModelServer
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from tests.support.episodes import read_events
from workshop.scripted_model import action_reply


def configuration(base_url: str, **settings: object) -> GameConfiguration:
    values = {"story": "bundled", "client_base_url": base_url, **settings}
    return GameConfiguration.model_validate(values)


def test_a_password_in_the_base_url_reaches_the_server_but_no_file() -> None:
    with ModelServer([action_reply("wait")]) as model:
        url = model.base_url.replace("//", "//user:hunter2@")
        orchestrator = ZorkOrchestratorV2("e", configuration(url, max_turns_per_episode=1))
        orchestrator.play_episode()
    assert model.requests[0].headers["authorization"].startswith("Basic ")
    files = [path.read_text() for path in orchestrator.folder.iterdir() if path.is_file()]
    assert any("episode_start" in text for text in files)
    assert not any("hunter2" in text for text in files)


class FullDisk(logging.Handler):
    """Fails from the first turn's record on."""

    is_full = False

    def emit(self, record: logging.LogRecord) -> None:
        self.is_full |= getattr(record, "event_type", "") == "turn"
        if self.is_full:
            raise OSError("No space left on device")


def test_a_turn_that_cannot_be_kept_does_not_count_as_played_and_all_is_closed() -> None:
    with ModelServer([action_reply("wait")]) as model:
        orchestrator = ZorkOrchestratorV2("e", configuration(model.base_url), handlers=[FullDisk()])
        with pytest.raises(OSError, match="No space left"):
            orchestrator.play_episode()
    assert orchestrator.game_state.turn_count == 0
    assert orchestrator.logger.handlers == []
    assert orchestrator.game
    with pytest.raises(GameError, match="closed"):
        orchestrator.game.step("wait")


def test_the_menu_of_the_compact_prompt_suits_openai_too() -> None:
    with ModelServer([action_reply("wait")], dialect="openai") as model:
        config = configuration(
            model.base_url, context_profile="compact", agent_model="gpt-4.1", agent_top_k=None
        )
        with ZorkOrchestratorV2("e", config) as orchestrator:
            orchestrator._process_turn()
    schema = model.requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["action"]["enum"]
    assert model.refusals == []


def test_turns_are_spaced_by_the_configured_delay() -> None:
    with ModelServer(lambda _: action_reply("wait")) as model:
        config = configuration(model.base_url, max_turns_per_episode=2, turn_delay_seconds=0.3)
        orchestrator = ZorkOrchestratorV2("e", config)
        orchestrator.play_episode()
    times = {
        (event["event_type"], event["turn"]): datetime.fromisoformat(str(event["time"]))
        for event in read_events(orchestrator.folder)
    }
    pause = times["turn_start", 2] - times["turn", 1]
    assert pause.total_seconds() >= 0.3
