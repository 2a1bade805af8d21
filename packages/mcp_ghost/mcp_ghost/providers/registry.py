"""The providers by name: the three built-in ones, and those that users add."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMError
from mcp_ghost.providers.anthropic import Anthropic
from mcp_ghost.providers.gemini import Gemini
from mcp_ghost.providers.openai import OpenAI, OpenRouter, dialect_of

if TYPE_CHECKING:
    from mcp_ghost.providers.common import Provider

_BUILT_IN: tuple[Provider, ...] = (OpenAI(), Anthropic(), Gemini())
_PROVIDERS: dict[str, Provider] = {provider.name: provider for provider in _BUILT_IN}


class UnknownProviderError(LLMError, ValueError):
    """Raised when no provider has the name that was asked for."""


def get_provider(name: str) -> Provider:
    """The provider called ``name``.

    Raises:
        UnknownProviderError: there is none; the message lists those there are.
    """
    provider = _PROVIDERS.get(name.strip().lower()) if isinstance(name, str) else None
    if provider is None:
        raise UnknownProviderError(
            f"Unknown provider {name!r}. Known providers: {', '.join(_PROVIDERS)}. "
            "Others can be added with register_provider()."
        )
    return provider


def register_provider(provider: Provider) -> None:
    """Add ``provider``; it replaces any other of the same name."""
    _PROVIDERS[provider.name.strip().lower()] = provider


def provider_at(base_url: str, default: Provider) -> Provider:
    """The provider whose own address ``base_url`` is; elsewhere ``default``."""
    parts = urlsplit(base_url)
    if dialect_of(base_url) == "openrouter":
        return OpenRouter()
    for provider in _BUILT_IN:
        if parts.hostname == urlsplit(provider.base_url).hostname:
            # Google speaks OpenAI's format, too, below this path.
            return OpenAI() if "/openai" in parts.path else provider
    return default
