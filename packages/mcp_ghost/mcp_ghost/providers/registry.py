"""The providers by name: the three built-in ones, and those that users add."""

from collections.abc import Callable
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMError
from mcp_ghost.providers.anthropic import Anthropic
from mcp_ghost.providers.common import Provider
from mcp_ghost.providers.gemini import Gemini
from mcp_ghost.providers.hosted import HOSTED, Hosted, hosted_at
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.providers.responses import EitherOpenAI

_WIRES: dict[str, Callable[[Hosted], Provider]] = {
    "openai": EitherOpenAI,
    "anthropic": Anthropic,
    "gemini": Gemini,
}
BUILT_IN: tuple[Provider, ...] = tuple(_WIRES[hosted.wire](hosted) for hosted in HOSTED)
"""In the order in which a key that is there chooses."""
_PROVIDERS = {provider.name: provider for provider in BUILT_IN if provider.name in _WIRES}
"""Those that users name; others are reached by their addresses."""


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
    hosted = hosted_at(base_url)
    if hosted is None:
        return default
    if "/openai" in urlsplit(base_url).path:  # below which Google speaks OpenAI's format
        return OpenAI()  # chat completions only
    return next(provider for provider in BUILT_IN if provider.name == hosted.name)
