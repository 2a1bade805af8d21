"""Spans for OpenTelemetry: the run, each request to a model, each call of a tool.

There are none, and nothing is imported for them, unless the program has set up a tracer provider.
Names are those of the semantic conventions for generative AI and MCP as of November 2026
(github.com/open-telemetry/semantic-conventions-genai, still in development). Trace context goes to
the servers in ``_meta``, through the MCP SDK.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import LLMResponse, Message, Usage, assistant_message, text_in
from mcp_ghost.results import JSON
from mcp_ghost.run.conversation import Conversation
from mcp_ghost.run.report.account import Account
from mcp_ghost.run.settings import Settings
from mcp_ghost.toolset import Call, Kind, Outcome

if TYPE_CHECKING:
    from opentelemetry.trace import Span as OTelSpan
    from opentelemetry.trace import Tracer

_SCOPE = "mcp_ghost"
_PROVIDERS = {"gemini": "gcp.gemini"}
"""What the conventions call a provider, where we call it otherwise."""
_OPERATIONS = {"gemini": "generate_content"}
"""The same for what it is asked for, if that is not ``chat``."""
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING = frozenset({"true", "1", "span_only", "span_and_event"})
_KINDS = {Kind.TIMEOUT: "timeout", Kind.TOOL_ERROR: "tool_error"}
"""What they call a failed call, if that is not its exception's name."""


class Span:
    """One span, or nothing where nothing is traced."""

    def __init__(
        self, span: OTelSpan | None = None, clean: Callable[[object], JSON] | None = None
    ) -> None:
        self._span = span
        self._clean = clean or (lambda _: None)
        self._has_failed = False

    def set(self, attributes: Mapping[str, object]) -> None:
        """Add ``attributes``, without secrets; those that say nothing are left out."""
        if self._span is not None:
            for name, value in attributes.items():
                if value is not None and value != "":
                    cleaned: Any = self._clean(value)
                    self._span.set_attribute(name, cleaned)

    def failed(self, error: Exception | str, kind: str | None = None) -> None:
        """Have the status that says so, once; ``kind`` is a short name of the error."""
        if self._span is not None and not self._has_failed:
            self._has_failed = True
            trace = sys.modules["opentelemetry.trace"]
            self.set({"error.type": kind or type(error).__name__})
            words = str(self._clean(str(error)))
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, words))


_NOTHING = nullcontext(Span())


class Tracing:
    """The spans of one run."""

    def __init__(self, settings: Settings, conversation: Conversation, account: Account) -> None:
        self._tracer = _tracer()
        self._settings = settings
        self._conversation = conversation
        self._clean = account.clean
        self._has_contents = os.environ.get(_CAPTURE, "").lower() in _CAPTURING

    def run(self) -> AbstractContextManager[Span]:
        """The span around the whole run."""
        if self._tracer is None:
            return _NOTHING
        name = self._settings["namespace"]
        about = {**self._model("invoke_agent"), "gen_ai.agent.name": name}
        return self._span(self._tracer, f"invoke_agent {name}".rstrip(), "INTERNAL", about)

    def request(
        self, view: Sequence[Message], options: Mapping[str, Any]
    ) -> AbstractContextManager[Span]:
        """The span of one request to the model."""
        if self._tracer is None:
            return _NOTHING
        client = self._conversation.client
        operation = _OPERATIONS.get(client.provider_name, "chat")
        address = urlsplit(client.base_url)
        about = {
            **self._model(operation),
            "server.address": address.hostname,
            "server.port": address.port or {"https": 443, "http": 80}.get(address.scheme),
            "gen_ai.request.max_tokens": options.get("max_tokens"),
            "gen_ai.request.temperature": options.get("temperature"),
            "gen_ai.request.stop_sequences": options.get("stop"),
            "gen_ai.request.stream": True if options.get("on_delta") else None,
            "gen_ai.output.type": "json" if options.get("response_format") else None,
        }
        if self._has_contents:
            system = [text_in(message) for message in view if message["role"] == "system"]
            said = [_message(message) for message in view if message["role"] != "system"]
            about["gen_ai.system_instructions"] = _json([_text(text) for text in system])
            about["gen_ai.input.messages"] = _json(said)
        return self._span(self._tracer, f"{operation} {client.model}", "CLIENT", about)

    def replied(self, span: Span, response: LLMResponse) -> None:
        """Say in ``span`` what came back."""
        if self._tracer is None:
            return
        span.set(
            {
                "gen_ai.response.model": response.model,
                "gen_ai.response.finish_reasons": [response.finish_reason or "unknown"],
                **_usage(response.spent),
            }
        )
        if self._has_contents:
            said = _message(assistant_message(response))
            said["finish_reason"] = response.finish_reason or "unknown"
            span.set({"gen_ai.output.messages": _json([said])})

    def call(self, call: Call) -> AbstractContextManager[Span]:
        """The span of one call of a tool."""
        if self._tracer is None:
            return _NOTHING
        about: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
        }
        toolbox = self._conversation.toolbox
        tool = toolbox.tools.get(call.name)
        if tool is not None and tool.server in self._conversation.servers:
            about["mcp.method.name"] = "tools/call"
            about["mcp.protocol.version"] = next(
                (it.revision for it in toolbox.union.alive if it.name == tool.server), None
            )
            about["network.transport"] = self._conversation.transport_of(tool.server)
        if self._has_contents:
            about["gen_ai.tool.call.arguments"] = _json(call.arguments)
        return self._span(self._tracer, f"execute_tool {call.name}", "INTERNAL", about)

    def returned(self, span: Span, outcome: Outcome) -> None:
        """Say in ``span`` how a call ended."""
        if self._tracer is None:
            return
        if self._has_contents and outcome.error is None:
            span.set({"gen_ai.tool.call.result": _json(outcome.result.content)})
        if outcome.error is not None:
            span.failed(outcome.error, _KINDS.get(outcome.kind))

    def ended(self, span: Span, usage: Usage, why: str | None) -> None:
        """Say in the span of the run what it took, and ``why`` it failed, if it did."""
        span.set(_usage(usage))
        if why is not None:
            span.failed(why, "_OTHER")

    def _model(self, operation: str) -> dict[str, object]:
        client = self._conversation.client
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _PROVIDERS.get(client.provider_name, client.provider_name),
            "gen_ai.request.model": client.model,
        }

    @contextmanager
    def _span(
        self,
        tracer: Tracer,
        name: str,
        kind: Literal["INTERNAL", "CLIENT"],
        attributes: Mapping[str, object],
    ) -> Iterator[Span]:
        """One span around the block; what leaves it is its failure, in words without secrets."""
        trace = sys.modules["opentelemetry.trace"]
        given: Any = {
            name: self._clean(it) for name, it in attributes.items() if it not in (None, "")
        }
        with tracer.start_as_current_span(
            str(self._clean(name)),
            kind=trace.SpanKind[kind],
            attributes=given,
            record_exception=False,  # its words and its stack are not ours to give out
            set_status_on_exception=False,
        ) as started:
            span = Span(started, self._clean)
            try:
                yield span
            except Exception as error:  # put down in the span, and raised again
                span.failed(error, str(error.status) if isinstance(error, LLMStatusError) else None)
                raise


def _tracer() -> Tracer | None:
    """The tracer of the provider that the program has set up, if it has."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    tracer: Tracer = provider.get_tracer(_SCOPE)
    return tracer


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
    }


def _message(message: Message) -> dict[str, Any]:
    """A message in the form that the conventions want."""
    text, calls = text_in(message), message.get("tool_calls") or ()
    if message["role"] == "tool":
        result = {"type": "tool_call_response", "id": message["tool_call_id"], "result": text}
        return {"role": "tool", "parts": [result]}
    parts: list[dict[str, Any]] = [_text(text)] if text else []
    for call in calls:
        about = {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        parts.append({"type": "tool_call", "id": call["id"], **about})
    return {"role": message["role"], "parts": parts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
