"""What the tests of the model client share: an impatient client and a question."""

from typing import Any

from llm_client import LLMClient
from mcp_ghost.testing import ModelServer
from session.game_configuration import GameConfiguration

KEY = "sk-or-v1-0123456789abcdef"
MESSAGES = [{"role": "system", "content": "Play."}, {"role": "user", "content": "You see a lamp."}]
IMPATIENT: dict[str, Any] = {
    "retry_max_attempts": 3,
    "retry_initial_delay": 0.001,
    "retry_max_delay": 0.01,
    "client_timeout_seconds": 10,
}


def client_of(server: ModelServer, api_key: str | None = None, **options: Any) -> LLMClient:  # noqa: ANN401  any setting
    config = GameConfiguration(**{**IMPATIENT, "client_base_url": server.base_url, **options})
    return LLMClient(config=config, api_key=api_key)


def ask(client: LLMClient, model: str = "some-model", **options: Any) -> str | None:  # noqa: ANN401  any parameter
    return client.chat_completions_create(model=model, messages=MESSAGES, **options).content
