"""An agent at a model that follows a script, with the real client and the real manager."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from llm_client import LLMClient
from managers.mcp_manager import MCPManager
from mcp_ghost.testing import ModelServer
from session.game_configuration import GameConfiguration
from tests.support.journal import NAME
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    import pytest

    from mcp_ghost.testing import Script
    from mcp_ghost.testing.refusals import ServerDialect
    from tests.support.journal import Journal

LOGGER = logging.getLogger("zorkgpt.test_agent")
ECHO = (f"{NAME}.echo", {"text": "hello"})
URLS = {
    "generic": None,
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}


class Player:
    """An agent at a model that follows a script."""

    def __init__(
        self,
        script: Script,
        journal: Journal | None,
        *,
        dialect: ServerDialect = "generic",
        **settings: Any,  # noqa: ANN401  whatever the configuration has
    ) -> None:
        self.model = ModelServer(script, dialect=dialect)
        url = URLS[dialect]
        values = {
            "client_base_url": url or self.model.base_url,
            "client_api_key": "sk-made-up",
            "agent_model": "gpt-4.1",
            "mcp_enabled": journal is not None,
            "mcp_config_file": str(journal.config_file) if journal else "none.json",
            "retry_initial_delay": 0,
        }
        config = GameConfiguration(**{**values, **settings})
        self.manager = MCPManager(config, LOGGER) if journal else None
        transport = self.model.async_transport() if url else None
        self.client = LLMClient(config, logger=LOGGER, transport=transport)
        self.agent = ZorkAgent(
            config=config,
            client=self.client,
            logger=LOGGER,
            episode_id="played",
            mcp_manager=self.manager,
        )

    def __enter__(self) -> Player:
        self.model.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401  as the protocol has it
        if self.manager is not None:
            self.manager.close()
        self.client.close()
        self.model.__exit__(*error)

    def play(self) -> dict[str, str | None]:
        return self.agent.get_action_with_reasoning("You are in a hall.", "You have been here.")

    def answers(self, request: int = -1) -> list[Any]:
        """The results of tools in one request."""
        messages = self.model.requests[request].messages
        return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


def events(caplog: pytest.LogCaptureFixture, event_type: str) -> list[Any]:
    return [each for each in caplog.records if getattr(each, "event_type", "") == event_type]
