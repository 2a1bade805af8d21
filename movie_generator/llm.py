"""The model behind an OpenAI-style address; OpenRouter unless told otherwise."""

from __future__ import annotations

import os
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


def base_address(base_url: str | None) -> str:
    """``base_url``, else what OPENROUTER_BASE_URL says, else OpenRouter."""
    return base_url or os.environ.get(OpenRouter.base_url_variable) or OpenRouter.base_url


def key(api_key: str | None, base_url: str | None) -> str | None:
    """``api_key``, else what OPENROUTER_API_KEY says; servers on this machine need none.

    Raises:
        LLMError: A key is needed and missing.
    """
    found = api_key or os.environ.get(OpenRouter.key_variables[0])
    if not found and not Endpoint(base_address(base_url)).is_loopback:
        raise LLMError("No API key: set OPENROUTER_API_KEY in the environment or in .env.")
    return found or None


def model_client(
    api_key: str | None,
    model: str | None = None,
    base_url: str | None = None,
    **options: Any,  # noqa: ANN401  what ProviderClient takes
) -> ProviderClient:
    """A client for ``model``.

    Raises:
        LLMError: A key is needed and missing.
    """
    return ProviderClient(
        OpenRouter(), key(api_key, base_url), model, base_address(base_url), **options
    )
