"""The model behind an OpenAI-style address; OpenRouter unless told otherwise."""

from __future__ import annotations

from typing import Any

from mcp_ghost.errors import LLMError
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.providers.transport import Endpoint


class OpenRouter(OpenAI):
    """OpenAI's format with OpenRouter's address, and with its key named in advice."""

    name = "openrouter"
    key_variables = ("OPENROUTER_API_KEY",)
    base_url = "https://openrouter.ai/api/v1"
    base_url_variable = "OPENROUTER_BASE_URL"
    default_model = "openai/gpt-4.1"


def model_client(
    api_key: str | None,
    model: str | None = None,
    base_url: str | None = None,
    **options: Any,  # noqa: ANN401  what ProviderClient takes
) -> ProviderClient:
    """A client for ``model``; servers on this machine need no key.

    Raises:
        LLMError: A key is needed and missing.
    """
    provider = OpenRouter()
    if not api_key and not Endpoint(base_url or provider.base_url).is_loopback:
        raise LLMError("No API key: set OPENROUTER_API_KEY in the environment or in .env.")
    return ProviderClient(provider, api_key, model, base_url, **options)
