"""One client for every provider: asks, tries again, and returns the same thing from each."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias
from urllib.parse import urlsplit

import httpx2

from mcp_ghost.env_file import place_of, setting
from mcp_ghost.errors import (
    LLMConnectionError,
    LLMError,
    LLMReplyError,
    LLMStatusError,
    LLMUnreachableError,
)
from mcp_ghost.media import has_images, without_images
from mcp_ghost.messages import (
    LLMResponse,
    Message,
    ToolSchema,
    Usage,
    assistant_message,
    was_paused,
    without_state,
)
from mcp_ghost.providers import refusal
from mcp_ghost.providers.common import (
    LLMRequest,
    Provider,
    StreamingProvider,
    WireChoice,
    WireRequest,
    doubtful,
    minimal_tools,
    separated,
)
from mcp_ghost.providers.exchange import Exchange, FailedTry, OnExchange, with_all
from mcp_ghost.providers.hosted import OPENAI, check_key, hosted_at
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.streaming import Delta, OnDelta
from mcp_ghost.providers.transport import Endpoint, RetryPolicy, Transport, is_transient
from mcp_ghost.results import JSONObject

if TYPE_CHECKING:
    from mcp_ghost.breaker import CircuitBreaker

    Logger: TypeAlias = logging.Logger | logging.LoggerAdapter[Any]

_log = logging.getLogger(__name__)
_MOST_TRIES = 40
"""Failed ones of a call, after which nothing more is learned from refusals. Finding a refused tool
among a hundred takes about 14, finding two about 24."""
_ENDPOINT = re.compile(
    r"/((?:chat/)?completions|responses|messages)/?(?=\?|$)|/api/(?:chat|generate|tags)/?$|"
    r"(?:(?<=/v1)|(?<=/v1beta))/models/?(?=\?|$)|"
    r"/models/(?P<model>[^/?]+):(?:g|streamG)enerateContent(?:\?alt=sse$)?(?=\?|$)"
)
"""At the end of what people take for the base URL: Azure's portal shows the whole address, Google's
documentation one with a model, Ollama's one of its own format."""
_SHORTEST_REPLY = 16
"""Tokens; the least that OpenAI's Responses API takes."""


class Gate(Protocol):
    """Watches over the requests of several clients."""

    async def admit(self) -> None:
        """Wait until a request may be sent."""

    def charge(self, dollars: float) -> None:
        """Count what a call cost, as its server told."""


class ProviderClient:
    """Asks one model of one provider.

    Inside ``async with`` the connections are kept from call to call; outside, each call opens
    and closes its own, so that nothing is left when the last one returns.

    Args:
        provider: The wire format; :func:`get_llm_client` finds it by name.
        api_key: Without one, no key is sent.
        model: Asked where a call names no other; by default the provider's.
        base_url: By default the provider's.
        key_variable: Where users keep the key, for messages; by default the provider's.
        wire: Which of OpenAI's formats is spoken, where it is one of them; "auto": responses at
            OpenAI's own address, chat elsewhere, and the other one once the server names it.
        timeout: Seconds for one whole answer.
        retry: How often and how patiently a request is tried.
        breaker: Counts the calls, whatever their tries, and refuses some.
        transport: Takes the place of the network.
        max_tokens: The longest answer, where a call says nothing else.
        temperature: The same for the temperature.
        on_exchange: Told once of every call, also of one that failed, before it returns.
        gate: Asked before each request, further tries included, and told what each call cost.
        logger: Told of failed tries, refused fields and, once, a usage that cannot be true.
    """

    def __init__(
        self,
        provider: Provider,
        api_key: str | None,
        model: str | None = None,
        base_url: str | None = None,
        *,
        key_variable: str | None = None,
        wire: WireChoice = "auto",
        timeout: float = 120.0,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        on_exchange: OnExchange | None = None,
        gate: Gate | None = None,
        logger: Logger = _log,
    ) -> None:
        named = _ENDPOINT.search(base_url or "")
        self.model = model or (named and named["model"]) or provider.default_model
        self.provider_name = provider.name
        """What the provider is called."""
        self.most_tools: int | None = getattr(provider, "most_tools", None)
        """How many tools the provider takes at once, if it takes only so many."""
        self._provider = provider
        # Asked once: isinstance() of a protocol is slow.
        self._streaming = provider if isinstance(provider, StreamingProvider) else None
        self._endpoint = Endpoint(
            _ENDPOINT.sub("", base_url or provider.base_url).rstrip("/"),
            api_key or None,
            key_variable or next(iter(provider.key_variables), "the argument api_key"),
            timeout,
        )
        is_named = wire == "auto" and named is not None and named[1] == "responses"
        self._wire: WireChoice = "responses" if is_named else wire
        self._retry = retry or RetryPolicy()
        self._breaker = breaker
        self._given_transport = transport
        self._kept: dict[asyncio.AbstractEventLoop, Transport] = {}
        """By the event loop to which the connections belong; there is one."""
        self._accepted_by: defaultdict[str, refusal.Accepted] = defaultdict(refusal.Accepted)
        self._defaults = {"max_tokens": max_tokens, "temperature": temperature}
        self._version = ""
        """Leads the paths, where the base URL turned out to lack it."""
        self._was_answered = False
        self._has_doubted = False
        self._on_exchange = on_exchange
        self._gate = gate
        self._log = logger

    def __repr__(self) -> str:
        return f"ProviderClient({self.provider_name!r}, {self.model!r}, {self._endpoint.where!r})"

    @property
    def api_key(self) -> str | None:
        """What must not appear anywhere else."""
        return self._endpoint.api_key

    @property
    def base_url(self) -> str:
        """Where it asks."""
        return self._endpoint.base_url

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        model: str | None = None,
        tools: Sequence[ToolSchema] | None = None,
        known_tools: Sequence[ToolSchema] | None = None,
        tool_choice: str | JSONObject | None = None,
        namespace: str = "",
        headers: Mapping[str, str] | None = None,
        on_delta: OnDelta | None = None,
        retry_empty: bool = True,
        **options: object,
    ) -> LLMResponse:
        """One reply; empty only where the model said nothing, with ``retry_empty`` twice.

        ``known_tools`` defines the tools that the history calls, for a request that offers none.
        ``namespace`` leads the names of tools on the wire. ``headers`` come on top of the
        provider's. ``on_delta`` is told what the model says while it says it.
        ``options``: see :class:`mcp_ghost.providers.common.LLMRequest`.

        Raises:
            LLMError: No reply; the subclass says why, the message what to do, and ``usage`` what
                was paid all the same.
        """
        request = LLMRequest(
            messages=messages,
            model=model or self.model,
            tools=tools,
            known_tools=known_tools,
            tool_choice=tool_choice,
            namespace=namespace,
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            options={**self._defaults, **options},
        )
        call = Exchange(request, self.provider_name, self._endpoint.where)
        call.on_delta, call.retry_empty = on_delta, retry_empty
        try:
            with self._breaker.call() if self._breaker else nullcontext():
                call.reply = await self._accepted(call, headers or {})
        except BaseException as error:  # told of, whatever ended it, and raised again
            call.error = str(error) or type(error).__name__
            if isinstance(error, LLMError):
                error.usage = call.wasted
            raise
        finally:
            if self._gate is not None:
                self._gate.charge(call.usage.cost)
            if self._on_exchange is not None:
                call.request = replace(call.request, api_key=None)
                call.seconds = time.perf_counter() - call.started
                self._on_exchange(call)
        return with_all(call.reply, call.wasted)

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
        message = assistant_message(response)
        return {
            "content": message["content"],
            "tool_calls": message.get("tool_calls"),
            "finish_reason": response.finish_reason,
            "model": response.model,
            "usage": response.usage,
            "reasoning": response.reasoning,
            "provider_state": response.provider_state,
        }

    async def close(self) -> None:
        """Close the connections that ``async with`` kept; the client stays usable."""
        kept, self._kept = self._kept, {}
        for transport in kept.values():
            await transport.aclose()

    async def __aenter__(self) -> Self:
        if (loop := asyncio.get_running_loop()) not in self._kept:
            self._kept = {loop: Transport(self._endpoint, self._given_transport)}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _transport(self) -> AbstractAsyncContextManager[Transport]:
        if kept := self._kept.get(asyncio.get_running_loop()):
            return nullcontext(kept)
        return aclosing(Transport(self._endpoint, self._given_transport))

    async def _accepted(self, call: Exchange, headers: Mapping[str, str]) -> LLMResponse:
        """The reply to what the model accepts: what it refuses is left out from then on."""
        model, accepted = call.request.model, self._accepted_by[call.request.model]
        left: LLMStatusError | None = None
        async with self._transport() as transport:
            while True:
                wire = self._encoded(call, headers)
                try:
                    return await self._retried(transport, wire, call)
                except LLMConnectionError as error:
                    may_turn = self._wire == "auto" and not self._was_answered
                    learned = accepted.turn(wire.path, error, may_turn=True) if may_turn else {}
                    if not learned:
                        raise
                    self._log_refused(learned, error, model)
                except LLMStatusError as error:
                    if self._finds_version(wire.path, error):
                        continue
                    asked = call.request
                    offered = asked.tools or asked.known_tools or ()
                    names = [asked.names.encode(it["function"]["name"]) for it in offered]
                    named = [offered[place] for place in refusal.named_tools(error, names)]
                    if self._leave_out(named, error, model):
                        continue
                    learned = accepted.turn(wire.path, error, may_turn=self._wire == "auto")
                    if "wire" in learned:
                        left = error
                    learned = learned or accepted.learn(wire.payload, error)
                    learned = learned or accepted.leave_out(asked.messages, error)
                    if not learned and refusal.may_be_of_a_tool(error):
                        bad = await self._tried_tools(transport, call, headers, error)
                        if self._leave_out(bad, error, model):
                            continue
                    if not learned or len(call.tries) > _MOST_TRIES:
                        # Where the other wire is missing, the first error says more.
                        is_missing = refusal.named_wire(wire.path, error) == "chat"
                        raise (left if left and is_missing else error) from None
                    self._log_refused(learned, error, model)

    async def _tried_tools(
        self,
        transport: Transport,
        call: Exchange,
        headers: Mapping[str, str],
        error: LLMStatusError,
    ) -> list[ToolSchema]:
        """The tools on offer that the model refuses, found by asking with some of them."""
        started = time.perf_counter()
        offered = call.request.tools or call.request.known_tools or ()

        async def takes(tools: Sequence[ToolSchema]) -> bool:
            if len(call.tries) > _MOST_TRIES:
                raise error
            options = {**call.request.options, "max_tokens": _SHORTEST_REPLY}
            request = replace(call.request, tools=tools, tool_choice=None, options=options)
            trial = Exchange(request, call.provider, call.where)
            wire = self._encoded(trial, headers)
            usage = Usage()
            try:
                usage = (await self._tried(transport, wire, trial)).spent
            except LLMReplyError as useless:  # but the tools were taken
                usage = useless.usage
            except LLMStatusError as refused:
                if is_transient(refused):
                    raise
                return False
            finally:
                seconds = time.perf_counter() - started
                call.tries += (FailedTry("tried with some of the tools", seconds, usage),)
            return True

        found: list[ToolSchema] = []
        groups = [offered] if offered and await takes([refusal.HARMLESS]) else []
        while groups:  # each is refused, or has to be asked about
            tools = groups.pop()
            if tools is not offered and await takes(tools):
                continue
            middle = len(tools) // 2
            if middle:
                groups += [tools[middle:], tools[:middle]]
            else:
                found += tools
        return found

    def _finds_version(self, path: str, error: LLMStatusError) -> bool:
        """Whether to ask below /v1 from now on: nothing is at an address that names only a host."""
        is_bare = not urlsplit(self._endpoint.base_url).path.strip("/")
        is_named = self._version or path.startswith("/v1")
        if is_named or not is_bare or not refusal.is_no_address(error):
            return False
        hosted = hosted_at(self._endpoint.base_url)
        self._version = (hosted and urlsplit(hosted.base_url).path) or "/v1"
        return True

    def _leave_out(self, tools: Sequence[ToolSchema], error: LLMStatusError, model: str) -> bool:
        """Offer ``tools`` to ``model`` no more; whether that is something new."""
        refused = self._accepted_by[model].refused_tools
        names = {tool["function"]["name"] for tool in tools} - refused
        refused |= names
        for name in sorted(names):
            said = f"{model} refuses the tool {name}, which is left out from now on: {error}"
            self._warn("llm_tool_refused", said, model=model, tool=name, error=str(error))
        return bool(names)

    def _encoded(self, call: Exchange, headers: Mapping[str, str]) -> WireRequest:
        """The request on its wire, as much of it as the model accepts, in the form it wants."""
        accepted = self._accepted_by[call.request.model]
        wants, refused = accepted.wants, accepted.refused_tools
        asked, spoken = call.request, self._wire
        if spoken == "auto":
            at_home = hosted_at(self._endpoint.base_url) is OPENAI
            spoken = accepted.wire or ("responses" if at_home else "chat")
        kept = [it for it in asked.tools or () if it["function"]["name"] not in refused]
        known = [it for it in asked.known_tools or () if it["function"]["name"] not in refused]
        request = replace(asked, wire=spoken, tools=kept or None, known_tools=known or None)
        if "images" in wants and has_images(request.messages):
            request = replace(request, messages=without_images(request.messages))
        call.request = request
        messages = request.messages
        if "reasoning" in wants:
            messages = without_state(messages)
        if "system" in wants:
            messages = [{**it, "role": "user"} if it["role"] == "system" else it for it in messages]
        if "tools" in wants and not kept:
            known = known or minimal_tools(messages)
            request = replace(request, tools=known or None, tool_choice="none" if known else None)
        short = "tool_call_id" in wants
        if short or messages is not request.messages:  # else the table of names serves the reply
            request = replace(request, messages=messages, has_short_ids=short)
        wire = self._provider.encode(request)
        if call.on_delta and self._streaming:
            wire = self._streaming.streamed(wire)
        whole = request.extended(wire.payload)
        payload = accepted.of(whole)
        call.left_out = tuple(sorted(whole.keys() - payload.keys()))
        told = refusal.CONVERSATION - (request.options.get("extra_body") or {}).keys()
        call.sent = {name: value for name, value in payload.items() if name not in told}
        return WireRequest(self._version + wire.path, payload, {**wire.headers, **headers})

    async def _retried(
        self, transport: Transport, wire: WireRequest, call: Exchange
    ) -> LLMResponse:
        failures: list[LLMError] = []
        while True:
            started = time.perf_counter()
            try:
                return await self._tried(transport, wire, call)
            except LLMError as error:
                failures.append(error)
                is_last = error.reply is not None and not call.retry_empty
                waits = self._was_answered or self._retry.waits_for_first_answer
                is_last |= isinstance(error, LLMUnreachableError) and not waits
                delay = None if is_last else self._retry.delay(failures)
                if delay is None and error.reply is not None:
                    return error.reply
                seconds = time.perf_counter() - started
                call.tries += (FailedTry(str(error), seconds, error.usage, error.reply),)
                if delay is None:
                    raise
                self._warn(
                    "llm_retry",
                    f"Attempt {len(failures)} failed, next in {delay:.1f} s: {error}",
                    model=call.request.model,
                    attempt=len(failures),
                    delay_seconds=round(delay, 3),
                    error=str(error),
                )
            await asyncio.sleep(delay)

    async def _tried(self, transport: Transport, wire: WireRequest, call: Exchange) -> LLMResponse:
        """The reply, told of while it comes, or as a whole where the provider does not stream."""
        if self._gate is not None:
            await self._gate.admit()
        on_delta, has_told = call.on_delta, False

        async def tell(delta: Delta) -> None:
            nonlocal has_told
            if on_delta is not None:
                has_told = True
                await on_delta(delta)

        assembler = self._streaming.assembler() if self._streaming else None
        try:
            body = await transport.post(
                wire, model=call.request.model, assembler=assembler, on_delta=on_delta and tell
            )
            response = self._read(body, call.request)
        except BaseException:  # cancelled, too: what was told of this reply no longer counts
            if has_told:
                await tell(("restart", ""))
            raise
        if not has_told:  # it came at once
            if response.reasoning:
                await tell(("thinking", response.reasoning))
            if said := response.content or response.text:
                await tell(("text", said))
        return response

    def _read(self, body: dict[str, Any], request: LLMRequest) -> LLMResponse:
        self._was_answered = True
        if (figures := doubtful(body)) and not self._has_doubted:
            self._has_doubted = True
            names = ", ".join(figures)[:200]
            self._warn(
                "llm_usage_doubted",
                f"{self._endpoint.where} reports usage that cannot be true ({names}): such figures "
                "are replaced by the nearest possible ones, and budgets may be exceeded.",
                model=request.model,
                fields=names,
            )
        try:
            response = self._provider.decode(body, request.names, model=request.model)
        except (LLMStatusError, LLMReplyError) as error:  # which came with HTTP status 200
            raise self._endpoint.explained(error, request.model) from None
        if response.tool_calls:
            calls = separated(response.tool_calls, request.names)
            response = replace(response, tool_calls=calls)
        if not (response.content or response.tool_calls or was_paused(response)):
            empty = LLMReplyError("The model answered with nothing.")
            empty.reply, empty.usage = response, response.spent
            raise empty
        return response

    def _log_refused(self, learned: Mapping[str, str], error: LLMError, model: str) -> None:
        said = f"Asking {' and '.join(learned.values())} from now on: {error}"
        fields = ", ".join(learned)
        self._warn("llm_field_refused", said, model=model, fields=fields, error=str(error))

    def _warn(self, event: str, message: str, **fields: object) -> None:
        self._log.warning(message, extra={"event_type": event, **fields})


def base_url_of(provider: Provider, given: str | None = None, api_key: str | None = None) -> str:
    """Where ``provider`` is: as given, else as the environment or ``.env`` says, else its own.

    Raises:
        LLMError: Its key may not go where only ``.env`` says; one that is given may.
    """
    variables = (provider.base_url_variable,)
    found = given or setting(variables) or provider.base_url
    if not (given or api_key) and setting(provider.key_variables):
        keys = provider.key_variables
        check_key(found, place_of(variables), keys, place_of(keys))
    return found


def get_llm_client(
    provider: str,
    api_key: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    **options: Any,  # noqa: ANN401  what ProviderClient takes
) -> ProviderClient:
    """Make a client for the provider of that name.

    Key and address come from the arguments, else the environment, else ``.env`` in the working
    directory (``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` and so on).

    Raises:
        LLMError: The provider is unknown, or the key is missing or cannot be sent.
    """
    chosen = get_provider(provider)
    key = api_key or setting(chosen.key_variables)
    address = base_url_of(chosen, base_url, api_key)
    if key is None and options.get("transport") is None and not Endpoint(address).is_loopback:
        raise LLMError(
            f"No API key for {chosen.name}: set {' or '.join(chosen.key_variables)} "
            "in the environment or in .env, or pass api_key."
        )
    used = "api_key" if api_key else next(filter(os.environ.get, chosen.key_variables), None)
    return ProviderClient(chosen, key, model, address, **{"key_variable": used, **options})
