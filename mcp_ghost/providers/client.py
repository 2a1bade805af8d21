"""One client for every provider: asks, tries again, and returns the same thing from each."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import tenacity

from mcp_ghost.errors import LLMError, LLMReplyError, LLMStatusError
from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.providers.optional_fields import refused_fields, without_fields
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.transport import AsyncTransport, Endpoint, RetryPolicy

if TYPE_CHECKING:
    import httpx

    from mcp_ghost.messages import LLMResponse, Message, ToolSchema
    from mcp_ghost.names import ToolNames
    from mcp_ghost.providers.common import Json, Provider, WireRequest

__all__ = ["ProviderClient", "get_llm_client"]

_log = logging.getLogger(__name__)


class ProviderClient:
    """Asks one model of one provider.

    Inside ``async with`` the connections are kept from call to call; outside, each call opens
    and closes its own, so that nothing is left when the last one returns.

    Args:
        provider: The wire format; :func:`get_llm_client` finds it by name.
        api_key: Without one, no key is sent.
        model: By default the provider's.
        base_url: By default the provider's.
        timeout: Seconds for one whole answer.
        retry: How often and how patiently a request is tried.
        transport: Takes the place of the network.
        max_tokens: The longest answer, where a call says nothing else.
        temperature: The same for the temperature.
    """

    def __init__(
        self,
        provider: Provider,
        api_key: str | None,
        model: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 120.0,
        retry: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> None:
        self.model = model or provider.default_model
        self._provider = provider
        self._endpoint = Endpoint(
            (base_url or provider.base_url).rstrip("/"),
            api_key or None,
            provider.key_variables[0] if provider.key_variables else "the argument api_key",
            timeout,
        )
        self._retry = retry or RetryPolicy()
        self._given_transport = transport
        self._kept: AsyncTransport | None = None
        self._refused: frozenset[str] = frozenset()
        self._defaults = {"max_tokens": max_tokens, "temperature": temperature}

    def __repr__(self) -> str:
        return f"ProviderClient({self.provider_name!r}, {self.model!r}, {self._endpoint.where!r})"

    @property
    def api_key(self) -> str | None:
        """What must not appear anywhere else."""
        return self._endpoint.api_key

    @property
    def provider_name(self) -> str:
        """What the provider is called."""
        return self._provider.name

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] | None = None,
        known_tools: Sequence[ToolSchema] | None = None,
        tool_choice: str | Json | None = None,
        namespace: str = "",
        **options: object,
    ) -> LLMResponse:
        """One reply; empty only where the model said nothing twice.

        ``known_tools`` defines the tools that the history calls, for a request that offers none.
        ``namespace`` leads the names of tools on the wire. ``options``: see
        :class:`mcp_ghost.providers.common.LLMRequest`.

        Raises:
            LLMError: No reply; the subclass says why, the message what to do.
        """
        request = LLMRequest(
            messages=messages,
            model=self.model,
            tools=tools,
            known_tools=known_tools,
            tool_choice=tool_choice,
            namespace=namespace,
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            options={**self._defaults, **options},
        )
        return await self._accepted(self._provider.encode(request), request.names)

    async def create_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema] | None = None,
        **kwargs: Any,  # noqa: ANN401  what complete() takes
    ) -> dict[str, Any]:
        """One reply as a dict of the same shape for every provider.

        Keys: ``content`` (also what was said beside calls), ``tool_calls`` (in OpenAI's shape with
        our tool names, or None), ``finish_reason``, ``model``, ``usage``, ``reasoning``, and
        ``provider_state``, which belongs on the assistant message that goes into the history.
        """
        response = await self.complete(messages, tools=tools, **kwargs)
        calls = [
            {
                "id": call.id,
                "type": call.type,
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in response.tool_calls or ()
        ]
        return {
            "content": response.content or response.text,
            "tool_calls": calls or None,
            "finish_reason": response.finish_reason,
            "model": response.model,
            "usage": response.usage,
            "reasoning": response.reasoning,
            "provider_state": response.provider_state,
        }

    async def close(self) -> None:
        """Close the connections that ``async with`` kept; the client stays usable."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.aclose()

    async def __aenter__(self) -> Self:
        if self._kept is None:
            self._kept = AsyncTransport(self._endpoint, self._given_transport)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[AsyncTransport]:
        if self._kept is not None:
            yield self._kept
            return
        transport = AsyncTransport(self._endpoint, self._given_transport)
        try:
            yield transport
        finally:
            await transport.aclose()

    async def _accepted(self, request: WireRequest, names: ToolNames) -> LLMResponse:
        """The reply to what the model accepts: fields that it refuses are left out from then on."""
        async with self._transport() as transport:
            while True:
                payload = without_fields(request.payload, self._refused)
                try:
                    return await self._retried(transport, replace(request, payload=payload), names)
                except LLMStatusError as exc:
                    refused = refused_fields(payload, exc)
                    if not refused:
                        raise
                    self._refused |= refused
                    _log.warning("Asking without %s from now on: %s", ", ".join(refused), exc)

    async def _retried(
        self, transport: AsyncTransport, request: WireRequest, names: ToolNames
    ) -> LLMResponse:
        empty: list[LLMResponse] = []

        async def attempt() -> LLMResponse:
            response = await self._send(transport, request, names)
            if not response.content and not response.tool_calls:
                empty.append(response)
                raise _EmptyReplyError(response)
            return response

        retrying = tenacity.AsyncRetrying(**self._retry.options(), before_sleep=self._log_retry)
        try:
            response: LLMResponse = await retrying(attempt)
        except _EmptyReplyError as exc:
            empty.remove(exc.response)
            response = exc.response
        everything = [response, *empty]  # each was paid for
        return replace(response, usage=_usage(everything), cost=_cost(everything))

    async def _send(
        self, transport: AsyncTransport, request: WireRequest, names: ToolNames
    ) -> LLMResponse:
        body = await transport.post(request.path, request.payload, request.headers)
        try:
            return self._provider.decode(body, names, model=self.model)
        except LLMStatusError as exc:  # it came with HTTP status 200, in the server's words
            raise self._endpoint.status_error(exc.status, str(exc), model=self.model) from None
        except LLMReplyError as exc:
            raise LLMReplyError(self._endpoint.redact(str(exc))) from None

    def _log_retry(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        delay = state.next_action.sleep if state.next_action else 0.0
        message = "Attempt %d to ask %s failed, next in %.1f s: %s"
        _log.warning(message, state.attempt_number, self.provider_name, delay, error)


class _EmptyReplyError(LLMReplyError):
    """Raised when a reply holds neither content nor tool calls."""

    def __init__(self, response: LLMResponse) -> None:
        super().__init__("The model answered with nothing.")
        self.response = response


def _usage(responses: Sequence[LLMResponse]) -> dict[str, int] | None:
    """The tokens of several attempts together."""
    usages = [response.usage for response in responses if response.usage]
    keys = dict.fromkeys(key for usage in usages for key in usage)
    return {key: sum(usage.get(key, 0) for usage in usages) for key in keys} or None


def _cost(responses: Sequence[LLMResponse]) -> float | None:
    """Their price, where one is known."""
    costs = [response.cost for response in responses if response.cost is not None]
    return sum(costs) if costs else None


def base_url_of(provider: Provider, given: str | None = None) -> str:
    """Where ``provider`` is: as given, else as the environment or ``.env`` says, else its own."""
    return given or _setting((provider.base_url_variable,)) or provider.base_url


def get_llm_client(
    provider: str,
    api_key: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    **options: Any,  # noqa: ANN401  what ProviderClient takes
) -> ProviderClient:
    """A client for the provider of that name.

    Key and address come from the argument, else from the environment, else from ``.env`` in the
    working directory (``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` and so on).

    Raises:
        LLMError: An unknown provider, no key, or one that cannot be sent.
    """
    chosen = get_provider(provider)
    key = api_key or _setting(chosen.key_variables)
    address = base_url_of(chosen, base_url)
    keyless = options.get("transport") is not None or Endpoint(address).is_loopback
    if key is None and not keyless:
        raise LLMError(
            f"No API key for {chosen.name}: set {' or '.join(chosen.key_variables)} "
            "in the environment or in .env, or give api_key."
        )
    return ProviderClient(chosen, key, model, address, **options)


def _setting(variables: Sequence[str]) -> str | None:
    """The first of ``variables`` that is set, in the environment or else in ``.env``."""
    set_here = [os.environ[name] for name in variables if os.environ.get(name)]
    if set_here or not Path(".env").is_file():
        return set_here[0] if set_here else None
    from dotenv import dotenv_values  # few need it

    in_file = dotenv_values(".env")
    return next((value for name in variables if (value := in_file.get(name))), None)
