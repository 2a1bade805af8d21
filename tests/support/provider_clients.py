"""What the tests of the providers' client share: an impatient client for each wire."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.transport import RetryPolicy
from tests.support.conversations import SYSTEM, USER
from tests.support.wires import llm_client

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message
    from mcp_ghost.providers.client import ProviderClient
    from mcp_ghost.testing import ModelServer
    from mcp_ghost.testing.wires import WireName

HEADER: dict[str, str] = {
    "openai": "authorization",
    "responses": "authorization",
    "anthropic": "x-api-key",
    "gemini": "x-goog-api-key",
}
KEY = "key-0123456789"
IMPATIENT = RetryPolicy(max_attempts=3, initial_delay=0.001, max_delay=0.01)


def client_of(server: ModelServer, wire: WireName = "openai", **options: Any) -> ProviderClient:  # noqa: ANN401  any option
    given = {"api_key": KEY, "base_url": server.base_url, "retry": IMPATIENT, **options}
    return llm_client(wire, **given)


def ask(
    client: ProviderClient,
    messages: list[Message] | None = None,
    **options: Any,  # noqa: ANN401  any option
) -> LLMResponse:
    return asyncio.run(client.complete(messages or [SYSTEM, USER], **options))
