"""Looking back with a very small model."""

from __future__ import annotations

import json

import pytest

from llm_client import LLMClient
from managers.reflection_manager import ReflectionManager
from session.game_configuration import GameConfiguration
from session.knowledge import CarriedOver
from tests.support.mind.reflecting import LOGGER, UID, Remembers, looking_back, walk
from tests.support.records import observation, record


def test_a_very_small_model_picks_a_turn_and_the_games_words_are_kept() -> None:
    with looking_back(['{"turn": 3}'], context_profile="compact") as (manager, server):
        walk(manager, range(1, 3))
        manager.apply(record(3, "jump", 1, 1, response="You fall.\nYou die.", died=True))
        walk(manager, range(4, 6), scored=2)
        reflection = manager.reflect()
    (memory,) = reflection.memories
    assert (memory.category, memory.title) == ("danger", "jump: deadly")
    assert memory.text == '"jump" brought: You fall. You die.'
    assert memory.evidence.turn == 3
    assert (reflection.first_turn, reflection.last_turn) == (1, 5)
    schema = server.requests[0].chat["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["turn"]["enum"] == [0, 5, 3]
    assert len(json.dumps(server.requests[0].messages)) < 4 * 600


def test_a_very_small_model_may_pick_nothing_and_is_asked_only_about_what_matters() -> None:
    with looking_back(['{"turn": 0}'], context_profile="compact") as (manager, _):
        walk(manager, range(1, 9), after=observation(2))
        assert not manager.due()
        walk(manager, range(9, 10), scored=1)
        reflection = manager.reflect()
        assert (reflection.memories, reflection.failure) == ((), None)
        manager.learn(reflection)
        assert not manager.due(ending=True)


@pytest.mark.parametrize("content", ['{"turn": 7}', "turn 9", "{}"])
def test_a_very_small_model_that_picks_no_turn_of_the_list_fails(content: str) -> None:
    with looking_back([content], context_profile="compact") as (manager, _):
        walk(manager, range(1, 9), scored=1)
        assert "cannot be read" in (manager.reflect().failure or "")


@pytest.mark.slow
def test_the_embedded_model_really_picks_a_turn() -> None:
    config = GameConfiguration(reflection_enabled=True, reflection_interval_turns=4)
    client = LLMClient(config, logger=LOGGER)
    manager = ReflectionManager(config, client, LOGGER, UID, [Remembers()])
    manager.begin(observation(1), CarriedOver())
    walk(manager, range(1, 3))
    manager.apply(record(3, "eat mushroom", 1, 1, response="You feel sick.", died=True))
    walk(manager, range(4, 6), scored=2)
    assert manager.due()
    reflection = manager.reflect()
    client.close()
    assert reflection.failure is None
    assert {memory.evidence.turn for memory in reflection.memories} <= {3, 5}
    assert reflection.usage.prompt_tokens < 600
