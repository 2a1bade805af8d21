"""The parts of the player's mind that can be left out, each with its manager: the one list.

Light to import: the managers are loaded when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from session.levels import ObservationLevel

if TYPE_CHECKING:
    from managers.manager import Manager
    from session.game_configuration import GameConfiguration
    from session.record.schema import EpisodeStart


class Part(NamedTuple):
    """Something that ``--without`` leaves out, in ``main.py`` and ``scripts/evaluate.py`` alike."""

    name: str
    make: Callable[[GameConfiguration, str, Mapping[str, Manager]], Manager] | None = None
    """Makes its manager from the configuration, the episode's uid and the managers before it."""
    needs: ObservationLevel = ObservationLevel.TEXT
    """The first level at which it has something to work with."""

    @property
    def setting(self) -> str:
        """The field of the configuration that switches it, where there is one."""
        return f"{self.name}_enabled"

    def is_on(self, config: GameConfiguration) -> bool:
        """Tell whether the player has it."""
        if self.name in config.without or not config.observation_level.reaches(self.needs):
            return False
        return bool(getattr(config, self.setting, True))


def _map(config: GameConfiguration, _uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.map_manager import MapManager

    return MapManager(config)


def _attempts(config: GameConfiguration, _uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.attempt_manager import AttemptManager

    return AttemptManager(config)


def _memories(config: GameConfiguration, uid: str, made: Mapping[str, Manager]) -> Manager:
    from managers.map_manager import MapManager
    from managers.memory_manager import MemoryManager

    game_map = made.get("map")
    distance = game_map.world.distance if isinstance(game_map, MapManager) else None
    return MemoryManager(config, uid, distance)


def _objectives(config: GameConfiguration, uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.objective_manager import ObjectiveManager

    return ObjectiveManager(config, uid)


def _knowledge(config: GameConfiguration, uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.knowledge_manager import KnowledgeManager

    return KnowledgeManager(config, uid)


def _ledger(_config: GameConfiguration, _uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.story.ledger import Ledger

    return Ledger()


def _condition(_config: GameConfiguration, _uid: str, _made: Mapping[str, Manager]) -> Manager:
    from managers.story.condition import Condition

    return Condition()


PARTS = {
    part.name: part
    for part in (
        Part("map", _map, needs=ObservationLevel.STATUS),
        Part("action_check", _attempts, needs=ObservationLevel.FACTS),
        Part("memories", _memories, needs=ObservationLevel.STATUS),
        Part("objectives", _objectives),
        Part("knowledge", _knowledge),
        Part("ledger", _ledger, needs=ObservationLevel.STATUS),
        Part("condition", _condition),
        Part("reflection"),
    )
}
"""By name, in the order in which their managers learn and report."""


def config_for_player(config: GameConfiguration, start: EpisodeStart | None) -> GameConfiguration:
    """Return the settings for whoever plays, which an episode that goes on (``start``) has decided.

    Without our mind there is nothing to learn, to look back at, or to use tools with. Where a guest
    began, and is not the one who goes on, the settings decide who does.
    """
    from session.playing import GUEST, PlayingSettings  # pydantic, which --help need not wait for

    if start is not None and start.player == GUEST != config.player_name:
        config = config.model_copy(update={"observation_level": start.level})  # who is not here
    elif start is not None:
        named = {name: it for name, it in start.settings.items() if name.startswith("player_")}
        decided = PlayingSettings(**{**named, "player_name": start.player})
        config = config.model_copy(
            update={name: getattr(decided, name) for name in decided.model_fields_set}
        )
        config = config.model_copy(update={"observation_level": start.level})
    if start is not None and start.trunk:  # most of what it knows is stored with the trunk
        config = config.model_copy(update={"storage_enabled": False})
    if config.player_name == "model":
        return config
    off = ("critic_enabled", "mcp_enabled", "storage_enabled", "storage_carry_over")
    return config.model_copy(update={"without": tuple(PARTS), **dict.fromkeys(off, False)})


def without_parts_off(config: GameConfiguration) -> GameConfiguration:
    """Return the configuration with every part switched off that the player does not have."""
    off = {part.setting: False for part in PARTS.values() if not part.is_on(config)}
    return config.model_copy(update=off)
