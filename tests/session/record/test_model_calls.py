"""What was asked of models, and what they said, is in the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from managers.answer import AgentResponse
from mcp_ghost.testing import content_reply, error_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from prompts import load_prompt
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE, read
from session.record.schema import EpisodeStart, ModelCall
from tests.support.episodes import answer, played, system_text, user_text, wanted
from tests.support.viewing import LEARNED

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

KEY = "sk-0123456789-never-to-be-seen"


def calls_of(folder: Path) -> list[ModelCall]:
    return [entry.event for entry in read(folder) if isinstance(entry.event, ModelCall)]


def thoughtful(request: ModelRequest) -> Reply:
    if wanted(request) == "ReflectionAnswer":
        return content_reply(json.dumps(LEARNED))
    if wanted(request) == "CriticAnswer":
        return content_reply('{"verdict": "accept", "reason": ""}')
    return answer("north")


def test_each_request_is_logged_as_it_was_sent_and_each_reply_as_it_came(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"reflection_enabled": True, "critic_enabled": True}
    episode = played(
        tmp_path, thoughtful, reflection_interval_turns=2, max_turns_per_episode=5, **settings
    )
    calls = calls_of(episode.folder)
    assert {call.role for call in calls} == {"Agent", "Critic", "Reflection"}
    assert len(calls) == len(episode.requests)
    for call, request in zip(calls, episode.requests, strict=True):
        system, user = (message["content"] for message in call.request["messages"][:2])
        assert (system, user) == (system_text(request), user_text(request, 1))
        assert len(call.request["messages"]) == len(request.messages)
        assert call.request["model"] == request.body["model"]
        for name in ("temperature", "max_tokens", "response_format"):
            assert call.request["options"].get(name) == request.body.get(name)
    agents = [call for call in calls if call.role == "Agent"]
    assert agents[0].reply is not None
    assert AgentResponse.model_validate_json(agents[0].reply.content or "").action == "north"
    assert [call.turn for call in agents] == [1, 2, 3, 4, 5]
    assert all(call.milliseconds > 0 and not call.tries for call in calls)


def test_extra_fields_are_logged_as_they_were_sent_but_for_the_keys_in_them(
    tmp_path: Path,
) -> None:
    body = {"service_tier": "flex", "metadata": {"api_key": KEY, "run": "first"}}
    episode = played(
        tmp_path, lambda _: answer("north"), max_turns_per_episode=2, agent_extra_body=body
    )
    assert [request.body["metadata"] for request in episode.requests] == [body["metadata"]] * 2
    expected = {"service_tier": "flex", "metadata": {"api_key": "***", "run": "first"}}
    for call, request in zip(calls_of(episode.folder), episode.requests, strict=True):
        assert call.request["options"]["extra_body"] == expected
        sent = request.body.keys() - {"messages", "tools"}
        assert call.request["sent"] == {name: request.body[name] for name in sent} | expected
    assert KEY not in (episode.folder / EVENTS_FILE).read_text(encoding="utf-8")


def test_the_calls_of_a_turn_come_before_its_line(tmp_path: Path) -> None:
    episode = played(tmp_path, lambda _: answer("north"), max_turns_per_episode=2)
    kinds = [type(entry.event).__name__ for entry in read(episode.folder)]
    steps = [kind for kind in kinds if kind in ("ModelCall", "TurnRecord")]
    assert steps == ["ModelCall", "TurnRecord"] * 2


def test_a_text_is_kept_once_however_often_it_is_sent(tmp_path: Path) -> None:
    episode = played(tmp_path, lambda _: answer("north"), max_turns_per_episode=6)
    log = (episode.folder / EVENTS_FILE).read_text(encoding="utf-8")
    line = max(load_prompt("agent", "full").splitlines(), key=len)
    assert log.count(json.dumps(json.dumps(line, ensure_ascii=False)[1:-1])[1:-1]) == 1


def test_tries_that_failed_and_calls_without_a_reply_are_logged(tmp_path: Path) -> None:
    replies = [answer("wait"), error_reply(503), answer("wait"), *[error_reply(503)] * 9]
    episode = played(
        tmp_path, replies, retry_max_attempts=2, retry_initial_delay=0, max_failed_turns=1
    )
    first, second, third = calls_of(episode.folder)
    assert (first.tries, first.error) == ((), None)
    assert [("503" in it.error, it.usage.calls) for it in second.tries] == [(True, 0)]
    assert (second.reply is not None, second.error) == (True, None)
    assert (len(third.tries), third.reply) == (2, None)
    assert "503" in (third.error or "")


def test_a_resumed_episode_goes_on_with_the_same_texts(tmp_path: Path) -> None:
    first = played(tmp_path, lambda _: answer("north"), max_turns_per_episode=2)
    size = (first.folder / EVENTS_FILE).stat().st_size
    log = first.folder / EVENTS_FILE
    with log.open("ab") as file:
        file.write(b'{"event_type": "model_call", "role": "Agent", "requ')  # a crash
    second = played(tmp_path, lambda _: answer("south"), resume=True, max_turns_per_episode=4)
    calls = calls_of(second.folder)
    assert [call.turn for call in calls] == [1, 2, 3, 4]
    for call, request in zip(calls[2:], second.requests, strict=True):
        assert call.request["messages"][-1]["content"] == user_text(request, message=-1)
    assert log.stat().st_size < 2.2 * size


def test_no_key_is_in_a_log_whoever_says_it(tmp_path: Path) -> None:
    def blabbing(request: ModelRequest) -> Reply:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        return answer("north", new_objective=f"Tell {KEY}")

    settings: dict[str, Any] = {
        "client_api_key": KEY,
        "storage_database_url": f"sqlite:////nowhere/{KEY}.db",
    }
    episode = played(tmp_path, blabbing, max_turns_per_episode=3, **settings)
    assert KEY not in (episode.folder / EVENTS_FILE).read_text(encoding="utf-8")
    assert KEY not in (episode.folder / "episode.log").read_text(encoding="utf-8")
    assert "***" in json.dumps([call.request for call in calls_of(episode.folder)])


def test_the_start_names_settings_prompts_and_code(tmp_path: Path) -> None:
    episode = played(tmp_path, lambda _: answer("wait"), max_turns_per_episode=1)
    (start,) = (it.event for it in read(episode.folder) if isinstance(it.event, EpisodeStart))
    assert start.settings["seed"] == 7
    assert start.settings["max_turns_per_episode"] == 1
    assert not [name for name in start.settings if "key" in name or name.endswith("database_url")]
    assert {"agent_full", "reflection_full"} <= start.prompts.keys()
    assert len(start.code) == 64


def test_an_address_is_logged_without_what_is_secret_in_it(tmp_path: Path) -> None:
    url = "https://me:open-sesame@api.example/v1?key=open-sesame"
    config = GameConfiguration(client_base_url=url, reflection_base_url=url, workdir=str(tmp_path))
    assert config.public()["client_base_url"] == "https://api.example/v1"
    with ZorkOrchestratorV2("e", config.model_copy(update={"story": "bundled"})) as orchestrator:
        orchestrator._start()
    assert "sesame" not in (orchestrator.folder / EVENTS_FILE).read_text(encoding="utf-8")
