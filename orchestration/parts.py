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


def _make(
    part: str, config: GameConfiguration, uid: str, made: Mapping[str, Manager]
) -> Manager | None:
    from managers.attempt_manager import AttemptManager
    from managers.knowledge_manager import KnowledgeManager
    from managers.map_manager import MapManager
    from managers.memory_manager import MemoryManager
    from managers.objective_manager import ObjectiveManager
    from managers.story.condition import Condition
    from managers.story.ledger import Ledger

    match part:
        case "map":
            return MapManager(config)
        case "action_check":
            return AttemptManager()
        case "memories":
            game_map = made.get("map")
            distance = game_map.world.distance if isinstance(game_map, MapManager) else None
            return MemoryManager(config, uid, distance)
        case "objectives":
            return ObjectiveManager(config, uid)
        case "knowledge":
            return KnowledgeManager(config, uid)
        case "ledger":
            return Ledger()
        case "condition":
            return Condition()
    return None


class Part(NamedTuple):
    """Something that ``--without`` leaves out, in ``main.py`` and ``scripts/evaluate.py`` alike."""

    name: str
    make: Callable[[str, GameConfiguration, str, Mapping[str, Manager]], Manager | None] = _make
    """Makes its manager, if it has one, from its name, the configuration, the episode's uid and the
    managers before it."""
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


PARTS = {
    part.name: part
    for part in (
        Part("map", needs=ObservationLevel.STATUS),
        Part("action_check", needs=ObservationLevel.FACTS),
        Part("memories", needs=ObservationLevel.STATUS),
        Part("objectives"),
        Part("knowledge"),
        Part("ledger", needs=ObservationLevel.STATUS),
        Part("condition"),
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

    if start is not None:
        update: dict[str, object] = {"observation_level": start.level}
        if start.player != GUEST or config.player_name == GUEST:  # else that guest is not here
            named = {name: it for name, it in start.settings.items() if name.startswith("player_")}
            decided = PlayingSettings(**{**named, "player_name": start.player})
            update |= {name: getattr(decided, name) for name in decided.model_fields_set}
        if start.trunk:  # most of what it knows is stored with the trunk
            update["storage_enabled"] = False
        config = config.model_copy(update=update)
    if config.player_name == "model":
        return config
    off = ("critic_enabled", "mcp_enabled", "storage_enabled", "storage_carry_over")
    return config.model_copy(update={"without": tuple(PARTS), **dict.fromkeys(off, False)})
