"""The client for language models: chat completions over HTTP, tried again, guarded and counted.

Synchronous, and safe to use from several threads. One HTTP request per attempt.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import tenacity

from local_model import EMBEDDED_BASE_URL
from mcp_ghost.breaker import CircuitBreaker
from mcp_ghost.errors import LLMError, LLMReplyError, LLMStatusError, LLMUnavailableError, MCPError
from mcp_ghost.ledger import Ledger, Tally
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall, ToolSchema
from mcp_ghost.providers import openai
from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.providers.optional_fields import refused_fields, without_fields
from mcp_ghost.providers.transport import Endpoint, RetryPolicy, Transport, is_transient
from session.events import log_event

if TYPE_CHECKING:
    import httpx

    from mcp_ghost.names import ToolNames
    from session.game_configuration import GameConfiguration

__all__ = ["FunctionCall", "LLMClient", "LLMResponse", "ToolCall", "supports_tool_calling"]

_OWN_KEY_VARIABLE = "ZORKGPT_CLIENT_API_KEY"
_CACHED_ROLES = ("system", "user")
_NO_TOOLS = ("o1-", "o3-", "qwq", "deepseek-r1", "deepseek-reasoner", "-reasoning", "r1-")
_NO_TOOLS_WITHOUT_SUFFIX = re.compile(r"(?:^|/)o[13](?:$|:)")


def supports_tool_calling(model: str, force: bool = False) -> bool:
    """Whether ``model`` takes tools, judged by its name; unknown models are taken to do so.

    ``force`` overrides the judgement, which is rough.
    """
    name = model.lower()
    return force or not (
        any(pattern in name for pattern in _NO_TOOLS) or _NO_TOOLS_WITHOUT_SUFFIX.search(name)
    )


class LLMClient:
    """Asks the models behind one endpoint.

    Args:
        config: Endpoint, timeouts, retries and breaker.
        base_url: Another endpoint than the configured one.
        api_key: Its key.
        logger: Where retries and failures are logged.
        langfuse_client: Gets a generation per call.
        transport: Takes the place of the network.
    """

    def __init__(
        self,
        config: GameConfiguration,
        base_url: str | None = None,
        api_key: str | None = None,
        logger: logging.Logger | None = None,
        *,
        langfuse_client: Any = None,  # noqa: ANN401  Langfuse is only imported where it is used
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.config = config
        self.base_url = (base_url or config.role().base_url).rstrip("/")
        self.ledger = Ledger()
        self._logger = logger or logging.getLogger("zorkgpt.llm")
        self._langfuse = langfuse_client
        self._dialect = openai.dialect_of(self.base_url)
        self._endpoint = Endpoint(
            self.base_url,
            api_key or _configured_key(config, self.base_url),
            self._dialect.key_variable or _OWN_KEY_VARIABLE,
            config.client_timeout_seconds,
        )
        if transport is None and self.base_url == EMBEDDED_BASE_URL:
            transport = _embedded_transport(config, self._logger)
        self._transport = Transport(self._endpoint, transport)
        self._retry = RetryPolicy(
            config.retry_max_attempts, config.retry_initial_delay, config.retry_max_delay
        )
        self._breaker = CircuitBreaker(
            config.breaker_failure_threshold,
            config.breaker_recovery_seconds,
            is_failure=lambda exc: is_transient(exc) or isinstance(exc, LLMReplyError),
            refusal=self._unavailable,
        )
        self._refused: dict[str, frozenset[str]] = {}
        """Model -> optional fields of the request that it refused."""
        self._closed = threading.Event()

    def __repr__(self) -> str:
        return f"LLMClient({self._endpoint.where!r})"

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
        **kwargs: object,
    ) -> LLMResponse:
        """One reply of ``model``; empty only where the model said nothing twice.

        ``name`` is the role that asks, for ledger and traces. ``response_format`` is left out
        while ``tools`` are on offer; ``known_tools`` defines those in the history when none is.
        ``kwargs`` are further fields of the request, as the server knows them.

        Raises:
            MCPError: Tools for a model that takes none.
            LLMError: No reply; the subclass says why, the message what to do.
        """
        if tools:
            self._require_tool_support(model)
        sampling = {"temperature": temperature, "top_p": top_p, "top_k": top_k, "min_p": min_p}
        options = {**sampling, "max_tokens": max_tokens, "stop": stop, **kwargs}
        constrained = None if tools and tool_choice != "none" else response_format
        request = LLMRequest(
            messages=[_cacheable(message) for message in messages],
            model=model,
            tools=tools,
            known_tools=known_tools,
            tool_choice=tool_choice,
            options={**options, "response_format": constrained},
        )
        payload = openai.encode(request, self._dialect)
        call = _Call(name or "llm", model, payload, request.names, extra_headers or {})
        with self._observed(call, messages, options) as report:
            response = self._guarded(call)
            report(response)
        return response

    def close(self) -> None:
        """Close the connections; calls that wait in other threads fail at once."""
        self._closed.set()
        self._transport.close()

    def _supports_tool_calling(self, model: str, config: GameConfiguration | None = None) -> bool:
        return supports_tool_calling(model, force=(config or self.config).mcp_force_tool_support)

    def _require_tool_support(self, model: str) -> None:
        if not self._supports_tool_calling(model):
            raise MCPError(
                f"Model '{model}' does not support tool calling.\n"
                "Please either:\n"
                "  1. Set mcp.enabled = false in pyproject.toml, or\n"
                "  2. Use a compatible model (gpt-4, claude-3, etc.)"
            )

    def _guarded(self, call: _Call) -> LLMResponse:
        """The breaker counts the call once, whatever its attempts."""
        try:
            with self._breaker.call():
                return self._accepted(call)
        except LLMError as exc:
            if not self._closed.is_set():
                self._log_failure(exc, call)
            raise

    def _accepted(self, call: _Call) -> LLMResponse:
        """The reply to what the model accepts: fields that it refuses are left out from then on."""
        while True:
            left_out = self._refused.get(call.model, frozenset())
            payload = without_fields(call.payload, left_out)
            try:
                return self._retried(replace(call, payload=payload))
            except LLMStatusError as exc:
                refused = refused_fields(payload, exc)
                if not refused:
                    raise
                self._refused[call.model] = left_out | refused
                self._log_refused(refused, exc, call)

    def _retried(self, call: _Call) -> LLMResponse:
        def attempt() -> LLMResponse:
            response = self._send(call)
            self.ledger.add(call.role, Tally.of(response))
            if not response.content and not response.tool_calls:
                raise _EmptyReplyError(response)
            return response

        options = self._retry.options()
        retrying = tenacity.Retrying(
            **{**options, "stop": options["stop"] | tenacity.stop_when_event_set(self._closed)},
            sleep=tenacity.sleep_using_event(self._closed),
            before_sleep=lambda state: self._log_retry(state, call),
        )
        try:
            return retrying(attempt)
        except _EmptyReplyError as exc:
            return exc.response

    def _send(self, call: _Call) -> LLMResponse:
        headers = {"X-Title": "ZorkGPT"} if self._dialect.routes else {}
        if self._endpoint.api_key:
            headers["Authorization"] = f"Bearer {self._endpoint.api_key}"
        body = self._transport.post("/chat/completions", call.payload, {**headers, **call.headers})
        try:
            return openai.decode(body, call.names, model=call.model)
        except LLMStatusError as exc:  # it came with HTTP status 200, in the server's words
            raise self._endpoint.status_error(exc.status, str(exc), model=call.model) from None
        except LLMReplyError as exc:
            raise LLMReplyError(self._endpoint.quote(str(exc))) from None

    @contextmanager
    def _observed(
        self, call: _Call, messages: Sequence[Message], options: Mapping[str, object]
    ) -> Iterator[Callable[[LLMResponse], None]]:
        """A Langfuse generation around one call; gives the function that reports the reply."""
        if self._langfuse is None:
            yield lambda _response: None
            return
        with self._langfuse.start_as_current_observation(
            name=call.role,
            as_type="generation",
            model=call.model,
            input=list(messages),
            model_parameters={key: value for key, value in options.items() if value is not None},
        ) as generation:
            try:
                yield lambda response: generation.update(**_generation(response))
            except LLMError as exc:
                generation.update(level="ERROR", status_message=str(exc))
                raise

    def _unavailable(self, seconds: float) -> LLMUnavailableError:
        return LLMUnavailableError(
            f"{self._endpoint.where} failed {self.config.breaker_failure_threshold} times in a "
            f"row; it is asked again in {seconds:.0f} s. The errors before this one say why."
        )

    def _log_retry(self, state: tenacity.RetryCallState, call: _Call) -> None:
        error = state.outcome.exception() if state.outcome else None
        delay = state.next_action.sleep if state.next_action else 0.0
        log_event(
            self._logger,
            logging.WARNING,
            f"Attempt {state.attempt_number} failed, next in {delay:.1f} s: {error}",
            "llm_retry",
            role=call.role,
            model=call.model,
            attempt=state.attempt_number,
            delay_seconds=round(delay, 3),
            error=str(error),
        )

    def _log_refused(self, fields: Iterable[str], error: LLMError, call: _Call) -> None:
        names = ", ".join(sorted(fields))
        log_event(
            self._logger,
            logging.WARNING,
            f"Asking without {names} from now on: {error}",
            "llm_field_refused",
            role=call.role,
            model=call.model,
            fields=names,
            error=str(error),
        )

    def _log_failure(self, error: LLMError, call: _Call) -> None:
        fields = {"role": call.role, "model": call.model, "error": str(error)}
        log_event(self._logger, logging.ERROR, f"No reply: {error}", "llm_error", **fields)
        if self._breaker.is_open and not isinstance(error, LLMUnavailableError):
            refusal = str(self._unavailable(self.config.breaker_recovery_seconds))
            log_event(self._logger, logging.WARNING, refusal, "llm_breaker_open", **fields)


@dataclass(frozen=True)
class _Call:
    """One call on its way, however often it is tried."""

    role: str
    model: str
    payload: dict[str, Any]
    names: ToolNames
    headers: Mapping[str, str]


class _EmptyReplyError(LLMReplyError):
    """Raised when a reply holds neither content nor tool calls."""

    def __init__(self, response: LLMResponse) -> None:
        super().__init__("The model answered with nothing.")
        self.response = response


def _configured_key(config: GameConfiguration, base_url: str) -> str | None:
    """A key from the environment goes only to the endpoint that it belongs to."""
    role = config.role()
    return role.api_key if role.base_url.rstrip("/") == base_url else config.client_api_key


def _embedded_transport(config: GameConfiguration, logger: logging.Logger) -> httpx.BaseTransport:
    from local_model import embedded_transport  # it costs start-up time that most runs can save

    path = Path(config.local_model_path) if config.local_model_path else None
    return embedded_transport(path, threads=config.local_threads, on_notice=logger.info)


def _cacheable(message: Message) -> Message:
    """``message`` marked for caching, unless it says otherwise itself."""
    if message["role"] not in _CACHED_ROLES or "cache_control" in message:
        return message
    return {**message, "cache_control": {"type": "ephemeral"}}


def _generation(response: LLMResponse) -> dict[str, Any]:
    """What a Langfuse generation is told of ``response``."""
    usage = response.usage or {}
    cached = usage.get("cached_tokens", 0)
    calls = [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in response.tool_calls or ()
    ]
    return {
        "output": {"content": response.text, "tool_calls": calls} if calls else response.content,
        "usage_details": {
            "input": usage.get("prompt_tokens", 0) - cached,
            "cache_read_input_tokens": cached,
            "output": usage.get("completion_tokens", 0),
        }
        if usage
        else None,
        "cost_details": None if response.cost is None else {"total": response.cost},
    }
