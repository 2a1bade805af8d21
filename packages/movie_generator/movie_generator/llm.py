"""The model: where it is asked, and with whose key; OpenRouter by default."""

from collections.abc import Sequence
from typing import Any

from mcp_ghost.env_file import place_of, setting
from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.providers.client import ProviderClient, base_url_of
from mcp_ghost.providers.hosted import OPENROUTER, check_key
from mcp_ghost.providers.registry import BUILT_IN, provider_at
from mcp_ghost.providers.transport import Endpoint, RetryPolicy
from movie_generator.errors import SettingsError


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
    variables = (OPENROUTER.base_url_variable,)
    try:
        address = base_url or setting(variables)
        if not address and not api_key:
            for provider in BUILT_IN:
                if key := setting(provider.key_variables):
                    return ProviderClient(provider, key, model, base_url_of(provider), **options)
        address = address or OPENROUTER.base_url
        provider = provider_at(address, BUILT_IN[0])
        keys = provider.key_variables
        key = api_key or setting(keys)
        if key and not (api_key or base_url):
            check_key(address, place_of(variables), keys, place_of(keys))
        if key or Endpoint(address).is_loopback:
            return ProviderClient(provider, key, model, address, **options)
    except LLMError as error:
        raise SettingsError(str(error)) from error
    first, *others = (it.key_variables[-1] for it in BUILT_IN)
    either = f"{', '.join(others[:-1])} or {others[-1]}"
    raise SettingsError(f"No API key: set {first} (or {either}) in the environment or in .env.")
