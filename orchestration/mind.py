"""The player's mind: the managers that learn, chosen by configuration."""

import logging
from collections.abc import Callable
from functools import partial

from game_interface import Vocabulary
from llm_client import LLMClient
from managers.action_check import ActionCheck, Check, Checks
from managers.attempt_manager import AttemptManager
from managers.manager import Manager
from managers.reflection_manager import ReflectionManager
from managers.story.transcript import Transcript
from orchestration.parts import PARTS
from session.configuration_file import ConfigurationError, near
from session.game_configuration import GameConfiguration
from session.knowledge import Reflection


class Mind:
    """What the player knows: the managers, what they ask of models, and how they judge."""

    def __init__(
        self,
        config: GameConfiguration,
        client: LLMClient,
        logger: logging.Logger,
        uid: str,
        connect: Callable[[str, str | None], LLMClient] | None = None,
    ) -> None:
        """Choose the managers that ``config`` asks for; ``uid`` begins all ids.

        ``client`` is the agent's; ``connect`` gives one for another address and its key.
        """
        for name in config.without:
            if name not in PARTS:
                hint = near(name, PARTS)
                raise ConfigurationError(f"without: there is no part '{name}': {hint}")
        off = {part.setting: False for part in PARTS.values() if not part.is_on(config)}
        self.config = config = config.model_copy(update=off)
        """The settings, but for the parts that this mind does not have."""
        self._logger = logger
        self._connect = connect or partial(LLMClient, config, logger=logger)
        self._clients = {client.base_url: client}
        made: dict[str, Manager] = {}
        for part in PARTS.values():
            if part.is_on(config) and (manager := part.make(part.name, config, uid, made)):
                made[part.name] = manager
        self.managers = list(made.values())
        self.transcript = Transcript(config)
        """What the player's prompts tell of its turns."""
        self.parts_off = [part.name for part in PARTS.values() if not part.is_on(config)]
        """The parts that were left out."""
        self._attempts = made.get("action_check")
        asked = client if "reflection" in self.parts_off else self._client_for("reflection")
        learning = [*self.managers, self.transcript]
        self._reflection = ReflectionManager(config, asked, logger, uid, learning)
        self.learning: list[Manager] = [*learning, self._reflection]
        """All that the player tells what happens, in order."""

    def check(self, vocabulary: Vocabulary) -> Check:
        """Return the judge of commands, for a game whose parser knows ``vocabulary``."""
        checks: list[Check] = []
        if isinstance(self._attempts, AttemptManager):
            checks.append(ActionCheck(vocabulary, self._attempts))
        if self.config.critic_enabled:
            from managers.critic import Critic

            checks.append(Critic(self.config, self._client_for("critic"), self._logger))
        is_cut = self.config.rules_several_commands == "cut"
        return Checks(checks, vocabulary if is_cut else None)

    def look_back(self, *, ending: bool) -> Reflection | None:
        """Ask the model what the latest turns teach, when that is due; nothing is learned yet."""
        is_due = self._reflection.due(ending=ending)
        return self._reflection.reflect(ending=ending) if is_due else None

    def _client_for(self, name: str) -> LLMClient:
        """Return the agent's client, or a separate one where the role has another endpoint."""
        role = self.config.role(name)
        base_url = role.base_url.rstrip("/")
        if base_url not in self._clients:
            self._clients[base_url] = self._connect(base_url, role.api_key)
        return self._clients[base_url]
