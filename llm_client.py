"""The client for language models: the engine's client behind a synchronous face, with traces.

All requests are made in one event loop, where the connections are kept. One client serves one
thread at a time; in an event loop, await :meth:`LLMClient.acomplete`.
"""

import asyncio
import logging
import re
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx2

from mcp_ghost.breaker import CircuitBreaker
from mcp_ghost.errors import LLMError, LLMReplyError, LLMStatusError, LLMUnavailableError, MCPError
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall, ToolSchema, was_cut_off
from mcp_ghost.providers.client import Gate, ProviderClient
from mcp_ghost.providers.exchange import OnExchange, with_all
from mcp_ghost.providers.registry import get_provider, provider_at
from mcp_ghost.providers.streaming import OnDelta
from mcp_ghost.providers.transport import Endpoint, RetryPolicy, is_transient
from mcp_ghost.tables import table
from session.events import EventLogger, event_context, log_event, log_progress
from session.game_configuration import GameConfiguration
from session.loop import EpisodeLoop, in_daemon_thread, running_loop
from session.tracing import observed, of_reply
from shared_utils import EMBEDDED_BASE_URL

__all__ = ["FunctionCall", "LLMClient", "LLMResponse", "ToolCall", "supports_tool_calling"]

MORE_ROOM = 4
"""Times the tokens that a reply may have, once it was cut off there."""
PLAYER = "Agent"
"""The role that decides what is done next."""
_OWN_KEY_VARIABLE = "ZORKGPT_CLIENT_API_KEY"
_CACHED_ROLES = ("system", "user")
_MARK = {"type": "ephemeral"}
_Reply: TypeAlias = Coroutine[Any, Any, LLMResponse]
_NO_TOOLS = re.compile(
    r"o[13]-|(?:^|/)o[13](?:$|:)|qwq|deepseek-r1|deepseek-reasoner|(?<!-non)-reasoning|r1-"
)


def supports_tool_calling(model: str, force: bool = False) -> bool:
    """Whether ``model`` takes tools, judged by its name; unknown models are assumed to.

    ``force`` overrides the judgement, which is rough.
    """
    return force or not _NO_TOOLS.search(model.lower())


def require_tool_support(model: str, *, force: bool = False) -> None:
    """Check ``model`` by its name.

    Raises:
        MCPError: It takes no tools; the message says what to do.
    """
    if not supports_tool_calling(model, force):
        raise _no_tools(model)


def refuses_tools(message: str) -> bool:
    """Say whether a server's error means that the model takes no tools at all."""
    words = table("mcp_ghost.providers", "phrases.toml")["no_tools"]
    says = {name: "".join(parts) for name, parts in words.items()}
    refused = says["refused"].replace("TOOLS", says["TOOLS"]).replace("ALONE", says["ALONE"])
    plain = re.sub("n['\u2019]t\\b", " not", message.lower())
    return bool(re.search(refused, re.sub("[`'\"\u2018-\u201d]", "", plain)))


@contextmanager
def offering(
    tools: Sequence[ToolSchema] | None, model: str, *, force: bool = False
) -> Iterator[None]:
    """Around a request: a model that takes none of the ``tools`` is an error that says what to do.

    Raises:
        MCPError: Its name says so, before anything is sent, or its server does.
    """
    if tools:
        require_tool_support(model, force=force)
    try:
        yield
    except LLMStatusError as error:
        if tools and refuses_tools(str(error)):
            raise _no_tools(model, str(error)) from error
        raise


class LLMClient:
    """Asks the models behind one endpoint.

    Args:
        config: Endpoint, timeouts, retries and breaker.
        base_url: An endpoint other than the configured one.
        api_key: Its key.
        logger: Where retries and failures are logged.
        langfuse_client: Gets a generation per call.
        transport: Replaces the network.
        on_exchange: Called with every call, in the event context of its role, before it returns.
        on_delta: Told what the player's model says and thinks, while it comes.
        loop: Where it asks, and keeps its connections; one of its own when None.
        gate: Asked before each request, and told what each call cost.
    """

    def __init__(
        self,
        config: GameConfiguration,
        base_url: str | None = None,
        api_key: str | None = None,
        logger: logging.Logger | None = None,
        *,
        langfuse_client: Any = None,  # noqa: ANN401  Langfuse is only imported where it is used
        transport: httpx2.AsyncBaseTransport | None = None,
        on_exchange: OnExchange | None = None,
        on_delta: OnDelta | None = None,
        loop: EpisodeLoop | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.config = config
        self.base_url = (base_url or config.role().base_url).rstrip("/")
        self._where = Endpoint(self.base_url).where
        self._logger = logger or logging.getLogger("zorkgpt.llm")
        self._langfuse = langfuse_client
        self._on_delta = None if self.base_url == EMBEDDED_BASE_URL else on_delta
        self._refusal = partial(_unavailable, self._where, config.breaker_failure_threshold)
        self._breaker = CircuitBreaker(
            config.breaker_failure_threshold,
            config.breaker_recovery_seconds,
            is_failure=lambda exc: is_transient(exc) or isinstance(exc, LLMReplyError),
            refusal=self._refusal,
        )
        self._client = self._engine(api_key, transport, on_exchange, gate)
        self.loop = loop or EpisodeLoop()
        self._kept_in: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._close = weakref.finalize(self, self.loop.close) if loop is None else None

    def __repr__(self) -> str:
        return f"LLMClient({self._where!r})"

    @property
    def most_tools(self) -> int | None:
        """How many tools the server takes at once, if it takes only so many."""
        return self._client.most_tools

    @property
    def chat(self) -> SimpleNamespace:
        """The spelling of OpenAI's own client: ``client.chat.completions.create(...)``."""
        return SimpleNamespace(completions=SimpleNamespace(create=self.chat_completions_create))

    def chat_completions_create(
        self,
        model: str,
        messages: Sequence[Message],
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        max_tokens: int | None = None,
        stop: str | list[str] | None = None,
        response_format: dict[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        name: str | None = None,
        tools: Sequence[ToolSchema] | None = None,
        tool_choice: str | dict[str, Any] | None = None,
        *,
        known_tools: Sequence[ToolSchema] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> LLMResponse:
        """One reply of ``model``; empty only where the model said nothing twice.

        ``name`` is the role that asks, for events and traces. ``response_format`` is left out
        while ``tools`` are on offer; ``known_tools`` defines those in the history when none is.
        ``kwargs`` are further fields of the request, as the server knows them.

        Raises:
            MCPError: Tools for a model that takes none.
            LLMError: No reply; the subclass says why, the message what to do.
            RuntimeError: This thread already runs an event loop, or another one uses this client.
        """
        self._require_open()
        reply = self.acomplete(
            model=model,
            messages=messages,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            min_p=min_p,
            max_tokens=max_tokens,
            stop=stop,
            response_format=response_format,
            extra_headers=extra_headers,
            name=name,
            tools=tools,
            tool_choice=tool_choice,
            known_tools=known_tools,
            **kwargs,
        )
        return self.loop.run(reply)

    async def acomplete(
        self,
        *,
        model: str,
        messages: Sequence[Message],
        name: str | None = None,
        extra_headers: Mapping[str, str] | None = None,
        response_format: dict[str, Any] | None = None,
        tools: Sequence[ToolSchema] | None = None,
        tool_choice: str | dict[str, Any] | None = None,
        known_tools: Sequence[ToolSchema] | None = None,
        retry_empty: bool = True,
        **options: Any,  # noqa: ANN401
    ) -> LLMResponse:
        """``chat_completions_create()`` for an event loop; cancelling it ends the request.

        Connections are kept in ``loop``; in another one they last for one reply.
        """
        self._require_open()
        if self.loop.is_current and self._kept_in is not running_loop():
            self._kept_in = running_loop()
            await self.loop.keep(self._client)
        titled = {"X-Title": "ZorkGPT"} if self._client.provider_name == "openrouter" else {}
        ask = partial(
            self._client.complete,
            [_cacheable(message) for message in messages],
            model=model,
            tools=tools,
            known_tools=known_tools,
            tool_choice=tool_choice,
            headers={**titled, **(extra_headers or {})},
            on_delta=self._on_delta if name == PLAYER else None,
            retry_empty=retry_empty,
            response_format=None if tools and tool_choice != "none" else response_format,
        )
        span = observed(
            self._langfuse,
            self._logger,
            name=name or "llm",
            as_type="generation",
            model=model,
            input=list(messages),
            model_parameters={key: value for key, value in options.items() if value is not None},
        )
        offer = offering(tools, model, force=self.config.mcp_force_tool_support)
        try:
            with offer, event_context(role=name or "llm"), span as generation:
                try:
                    response = await self._whole(await ask(**options), ask, model, options)
                except LLMError as error:
                    self._log_failure(error, model)
                    generation.update(level="ERROR", status_message=str(error))
                    raise
                generation.update(**of_reply(response))
                return response
        except asyncio.CancelledError:
            self._require_open()
            raise

    def close(self) -> None:
        """Ask no more; the connections end now, or those in an episode's loop with it."""
        self._is_closed = True
        if self._close is not None:
            self._close()

    def _require_open(self) -> None:
        if self._is_closed or self.loop.is_closed:
            raise LLMError(f"The connection to {self._where} was closed here.") from None

    def _engine(
        self,
        api_key: str | None,
        transport: httpx2.AsyncBaseTransport | None,
        on_exchange: OnExchange | None,
        gate: Gate | None,
    ) -> ProviderClient:
        """Asks, tries again and counts. Held by the loop, it must not hold this object."""
        config = self.config
        named = get_provider("openai" if config.provider == "auto" else config.provider)
        provider = provider_at(self.base_url, named)
        is_its_own = urlsplit(provider.base_url).hostname == urlsplit(self.base_url).hostname
        # A key from the environment goes only to the endpoint that it belongs to.
        role = config.role()
        is_the_roles = role.base_url.rstrip("/") == self.base_url
        configured = role.api_key if is_the_roles else config.client_api_key
        if transport is None and self.base_url == EMBEDDED_BASE_URL:
            # It costs start-up time that most runs can save.
            from local_model.transport import embedded_transport

            transport = embedded_transport(
                Path(config.local_model_path) if config.local_model_path else None,
                threads=config.local_threads,
                on_notice=self._logger.info,
                on_progress=partial(log_progress, self._logger),
            )
        return ProviderClient(
            provider,
            api_key or configured,
            base_url=self.base_url,
            key_variable=None if is_its_own else _OWN_KEY_VARIABLE,
            wire="chat" if self.base_url == EMBEDDED_BASE_URL else config.llm_wire,
            timeout=config.client_timeout_seconds,
            retry=RetryPolicy(
                config.retry_max_attempts,
                config.retry_initial_delay,
                config.retry_max_delay,
                waits_for_first_answer=False,
            ),
            breaker=self._breaker,
            transport=transport,
            on_exchange=on_exchange,
            gate=gate,
            logger=EventLogger(self._logger),
        )

    async def _whole(
        self, response: LLMResponse, ask: partial[_Reply], model: str, options: dict[str, Any]
    ) -> LLMResponse:
        """The reply; an answer that was cut off is asked for once more, with more room.

        Calls that were cut off are not: whoever would execute them tells the model.
        """
        most = options.get("max_tokens")
        is_whole = response.tool_calls or not was_cut_off(response)
        if not most or is_whole or self.base_url == EMBEDDED_BASE_URL:
            return response
        if ask.keywords["on_delta"]:
            await ask.keywords["on_delta"](("restart", ""))
        more = {**options, "max_tokens": most * MORE_ROOM}
        said = f"A reply was cut off after {most} tokens; asked again with {more['max_tokens']}"
        log_event(self._logger, logging.WARNING, said, "llm_reply_cut_off", model=model)
        return with_all(await ask(**more), response.spent)

    def _log_failure(self, error: LLMError, model: str) -> None:
        fields = {"model": model, "error": str(error)}
        log_event(self._logger, logging.ERROR, f"No reply: {error}", "llm_error", **fields)
        if self._breaker.is_open and not isinstance(error, LLMUnavailableError):
            refusal = self._refusal(self.config.breaker_recovery_seconds)
            log_event(self._logger, logging.WARNING, str(refusal), "llm_breaker_open", **fields)

    def _supports_tool_calling(self, model: str, config: GameConfiguration | None = None) -> bool:
        return supports_tool_calling(model, force=(config or self.config).mcp_force_tool_support)


def loop_of(client: LLMClient) -> EpisodeLoop | None:
    """The loop where ``client`` asks; None for a stand-in, which blocks the thread that asks it."""
    create = getattr(client.chat.completions.create, "__func__", None)
    return client.loop if create is LLMClient.chat_completions_create else None


def completed(client: LLMClient, **arguments: Any) -> Awaitable[LLMResponse]:  # noqa: ANN401
    """The reply of ``client``, which may be anything with ``chat.completions.create``."""
    if loop_of(client):
        return client.acomplete(**arguments)
    create: Callable[..., LLMResponse] = client.chat.completions.create
    return asyncio.wrap_future(in_daemon_thread(partial(copy_context().run, create, **arguments)))


def _unavailable(where: str, failures: int, seconds: float) -> LLMUnavailableError:
    return LLMUnavailableError(
        f"{where} failed {failures} times in a row; it will be asked again in {seconds:.0f} s. "
        "The earlier errors say why."
    )


def _no_tools(model: str, *said: str) -> MCPError:
    lines = (
        f"Model '{model}' does not support tool calling.",
        *said,
        "Please either:",
        "  1. Set mcp.enabled = false in pyproject.toml, or",
        "  2. Use a compatible model (gpt-5.4, claude-sonnet-5-5, etc.)",
        "To play once without tools, give --no-mcp.",
    )
    return MCPError("\n".join(lines))


def _cacheable(message: Message) -> Message:
    """``message`` marked for caching, unless it says otherwise."""
    if message["role"] not in _CACHED_ROLES or "cache_control" in message:
        return message
    return {**message, "cache_control": _MARK}
