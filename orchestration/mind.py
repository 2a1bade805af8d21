"""The player's mind: the managers that learn, chosen by configuration and fed in one order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from llm_client import LLMClient
from managers.action_check import ActionCheck, Check, Checks
from managers.attempt_manager import AttemptManager
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.memory_manager import MemoryManager
from managers.objective_manager import ObjectiveManager
from managers.reflection_manager import ReflectionManager
from session.learned import Reflection

if TYPE_CHECKING:
    from game_interface import Vocabulary
    from managers.manager import Manager
    from session.game_configuration import GameConfiguration
    from session.game_state import Observation, TurnRecord
    from session.learned import CarriedOver


class Mind:
    """What the player knows. It follows from what it is given, in order, alone."""

    def __init__(
        self,
        config: GameConfiguration,
        client: LLMClient,
        logger: logging.Logger,
        uid: str,
        *,
        langfuse_client: Any = None,  # noqa: ANN401  Langfuse is only imported where it is used
    ) -> None:
        """Choose the managers; ``uid`` is the episode's, and begins every id."""
        self._config, self._logger, self._langfuse = config, logger, langfuse_client
        self._agents_client = client
        self._clients = {client.base_url: client}
        self.map = MapManager(config)
        self._attempts = AttemptManager(config)
        distance = self.map.distance if config.map_enabled else None
        told: dict[str, Manager] = {
            "map": self.map,
            "action_check": self._attempts,
            "memories": MemoryManager(config, uid, distance),
            "objectives": ObjectiveManager(config, uid),
            "knowledge": KnowledgeManager(config, uid),
        }
        parts = (*told, "reflection")
        self.parts_off = [part for part in parts if not getattr(config, f"{part}_enabled")]
        """The parts that were left out."""
        self.managers = [it for part, it in told.items() if getattr(config, f"{part}_enabled")]
        self._reflects = config.reflection_enabled
        asked = self._client_for("reflection") if self._reflects else client
        self._reflection = ReflectionManager(config, asked, logger, uid, self.managers)

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Take in the game's first facts and what earlier episodes handed on."""
        for manager in (*self.managers, self._reflection):
            manager.begin(observation, carried)

    def take_in(self, step: TurnRecord | Reflection) -> None:
        """Take in a finished turn, or what a reflection yielded."""
        for manager in (*self.managers, self._reflection):
            if isinstance(step, Reflection):
                manager.learn(step)
            else:
                manager.apply(step)

    def check(self, vocabulary: Vocabulary) -> Check:
        """What judges commands, for a game whose parser knows ``vocabulary``."""
        checks: list[Check] = []
        if self._config.action_check_enabled:
            checks.append(ActionCheck(vocabulary, self._attempts))
        if self._config.critic_enabled:
            from managers.critic import Critic

            checks.append(Critic(self._config, self._client_for("critic"), self._logger))
        return Checks(checks)

    def look_back(self, *, ending: bool) -> Reflection | None:
        """Ask the model what the latest turns teach, when it is time to; nothing is learnt yet."""
        if not self._reflects or not self._reflection.due(ending=ending):
            return None
        return self._reflection.reflect(ending=ending)

    def close(self) -> None:
        """Close the connections of its own; more than once does no harm."""
        for client in self._clients.values():
            if client is not self._agents_client:
                client.close()

    def _client_for(self, name: str) -> LLMClient:
        """The agent's client, or one of its own where the role has another endpoint."""
        role = self._config.role(name)
        base_url = role.base_url.rstrip("/")
        if base_url not in self._clients:
            self._clients[base_url] = LLMClient(
                self._config,
                base_url,
                role.api_key,
                self._logger,
                langfuse_client=self._langfuse,
            )
        return self._clients[base_url]
