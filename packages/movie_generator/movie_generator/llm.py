"""The model: where it is asked, and with whose key; OpenRouter by default."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.providers.anthropic import Anthropic
from mcp_ghost.providers.client import ProviderClient, base_url_of, setting
from mcp_ghost.providers.common import Provider
from mcp_ghost.providers.gemini import Gemini
from mcp_ghost.providers.openai import OpenAI, OpenRouter
from mcp_ghost.providers.registry import provider_at
from mcp_ghost.providers.transport import Endpoint, RetryPolicy
from movie_generator.errors import SettingsError

_IN_ORDER: tuple[Provider, ...] = (OpenRouter(), OpenAI(), Anthropic(), Gemini())
"""Of several keys at hand the first chooses."""
_NO_KEY = (
    "No API key: set OPENROUTER_API_KEY (or OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY) "
    "in the environment or in .env."
)


class BriefRetries(RetryPolicy):
    """Leaves every wait that is longer than this policy's to whoever can wait."""

    def delay(self, failures: Sequence[LLMError]) -> float | None:
        """Seconds until the next try; None also where the server wants a longer pause."""
        latest = failures[-1]
        asked = latest.retry_after if isinstance(latest, LLMStatusError) else None
        return None if (asked or 0.0) > self.max_delay else super().delay(failures)


def model_client(
    api_key: str | None,
    model: str | None = None,
    base_url: str | None = None,
    **options: Any,  # noqa: ANN401  what ProviderClient takes
) -> ProviderClient:
    """A client for ``model``, by default the provider's own choice.

    It asks at ``base_url``, else where OPENROUTER_BASE_URL says; with neither, at OpenRouter when
    ``api_key`` is given, else at the first provider whose key the environment holds.

    Raises:
        SettingsError: A key is needed and missing (servers on this machine need none), or key or
            address cannot be used.
    """
    try:
        return _client(api_key, model, base_url, options)
    except LLMError as error:
        raise SettingsError(str(error)) from error


def _client(
    api_key: str | None, model: str | None, base_url: str | None, options: Mapping[str, Any]
) -> ProviderClient:
    address = base_url or setting((OpenRouter.base_url_variable,))
    if not address and not api_key:
        for provider in _IN_ORDER:
            if key := setting(provider.key_variables):
                return ProviderClient(provider, key, model, base_url_of(provider), **options)
    address = address or OpenRouter.base_url
    provider = provider_at(address, OpenRouter())
    key = api_key or setting(provider.key_variables)
    if not key and not Endpoint(address).is_loopback:
        raise SettingsError(_NO_KEY)
    return ProviderClient(provider, key, model, address, **options)
