"""The player's mind: the managers that learn, chosen by configuration and fed in one order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from managers.map_manager import MapManager
from session.learned import Reflection

if TYPE_CHECKING:
    from llm_client import LLMClient
    from managers.manager import Manager
    from session.game_configuration import GameConfiguration
    from session.game_state import Observation, TurnRecord
    from session.learned import CarriedOver


class Mind:
    """What the player knows. It follows from what it is given, in order, alone."""

    def __init__(
        self, config: GameConfiguration, client: LLMClient, logger: logging.Logger, uid: str
    ) -> None:
        """Choose the managers; ``uid`` is the episode's, and begins every id."""
        self.map = MapManager(config)
        self.managers: tuple[Manager, ...] = (self.map,) if config.map_enabled else ()

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Take in the game's first facts and what earlier episodes handed on."""
        for manager in self.managers:
            manager.begin(observation, carried)

    def take_in(self, step: TurnRecord | Reflection) -> None:
        """Take in a finished turn, or what a reflection yielded."""
        for manager in self.managers:
            if isinstance(step, Reflection):
                manager.learn(step)
            else:
                manager.apply(step)
