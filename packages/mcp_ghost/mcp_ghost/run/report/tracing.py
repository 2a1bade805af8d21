"""Spans for OpenTelemetry: the run, each request to a model, each call of a tool.

They go nowhere unless the program has set up a tracer provider. Names are those of the semantic
conventions for generative AI and MCP as of November 2026
(github.com/open-telemetry/semantic-conventions-genai, still in development). Trace context goes to
the servers in ``_meta``, through the MCP SDK.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMStatusError
from mcp_ghost.messages import LLMResponse, Message, Usage, assistant_message, text_in
from mcp_ghost.run.conversation import Conversation
from mcp_ghost.run.report.account import Account
from mcp_ghost.run.settings import Settings
from mcp_ghost.toolset import Call, Kind, Outcome

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_SCOPE = "mcp_ghost"
_PROVIDERS = {"gemini": "gcp.gemini"}
"""What the conventions call a provider, where we call it otherwise."""
_OPERATIONS = {"gemini": "generate_content"}
"""The same for what it is asked for, if that is not ``chat``."""
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING = frozenset({"true", "1", "span_only", "span_and_event"})
_KINDS = {Kind.TIMEOUT: "timeout", Kind.TOOL_ERROR: "tool_error", Kind.DIED: "MCPServerDiedError"}
"""What a failed call is called, if not ``MCPToolCallError``: the first two by the conventions."""


class Tracing:
    """The spans of one run."""

    def __init__(self, settings: Settings, conversation: Conversation, account: Account) -> None:
        from opentelemetry import trace  # no sooner than the MCP SDK imports it

        self._trace = trace
        self._tracer = trace.get_tracer(_SCOPE)
        self._settings = settings
        self._conversation = conversation
        self._clean = account.clean
        self._has_contents = os.environ.get(_CAPTURE, "").lower() in _CAPTURING

    def run(self) -> AbstractContextManager[Span]:
        """The span around the whole run."""
        name = self._settings["namespace"]
        about = {**self._model("invoke_agent"), "gen_ai.agent.name": name}
        return self._span(f"invoke_agent {name}".rstrip(), about)

    def request(
        self, view: Sequence[Message], options: Mapping[str, Any]
    ) -> AbstractContextManager[Span]:
        """The span of one request to the model."""
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
            told = [_message(message) for message in view]
            system = [part for it in told if it["role"] == "system" for part in it["parts"]]
            said = [it for it in told if it["role"] != "system"]
            about["gen_ai.system_instructions"] = _json(system)
            about["gen_ai.input.messages"] = _json(said)
        kind = self._trace.SpanKind.CLIENT
        return self._span(f"{operation} {client.model}", about, kind=kind)

    def replied(self, span: Span, response: LLMResponse) -> None:
        """Say in ``span`` what came back."""
        finish = response.finish_reason or "unknown"
        about = {
            "gen_ai.response.model": response.model,
            "gen_ai.response.finish_reasons": [finish],
            **_usage(response.spent),
        }
        if self._has_contents:
            said = {**_message(assistant_message(response)), "finish_reason": finish}
            about["gen_ai.output.messages"] = _json([said])
        span.set_attributes(self._cleaned(about))

    def call(self, call: Call) -> AbstractContextManager[Span]:
        """The span of one call of a tool."""
        about: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
        }
        toolbox = self._conversation.toolbox
        tool = toolbox.tools.get(call.name)
        config = self._conversation.servers.get(tool.server) if tool else None
        if tool is not None and config is not None:
            about["mcp.method.name"] = "tools/call"
            revisions = {it.name: it.revision for it in toolbox.alive}
            about["mcp.protocol.version"] = revisions.get(tool.server)
            if config.in_process is None:
                about["network.transport"] = "tcp" if config.url else "pipe"
        if self._has_contents:
            about["gen_ai.tool.call.arguments"] = _json(call.arguments)
        return self._span(f"execute_tool {call.name}", about)

    def returned(self, span: Span, outcome: Outcome) -> None:
        """Say in ``span`` how a call ended."""
        if outcome.kind is not Kind.OK:
            self._failed(span, outcome.reason, _KINDS.get(outcome.kind, "MCPToolCallError"))
        elif self._has_contents:
            result = {"gen_ai.tool.call.result": _json(outcome.result.content)}
            span.set_attributes(self._cleaned(result))

    def ended(self, span: Span, usage: Usage, why: str | None) -> None:
        """Say in the span of the run what it took, and ``why`` it failed, if it did."""
        span.set_attributes(self._cleaned(_usage(usage)))
        if why is not None:
            self._failed(span, why, "_OTHER")

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
        name: str,
        attributes: Mapping[str, object],
        **options: Any,  # noqa: ANN401  those of OpenTelemetry
    ) -> Iterator[Span]:
        """One span around the block; what leaves it is its failure, in words without secrets."""
        with self._tracer.start_as_current_span(
            str(self._clean(name)),
            attributes=self._cleaned(attributes),
            record_exception=False,  # its words and its stack are not ours to give out
            set_status_on_exception=False,
            **options,
        ) as span:
            try:
                yield span
            except Exception as error:  # put down in the span, and raised again
                known = str(error.status) if isinstance(error, LLMStatusError) else None
                self._failed(span, error, known or type(error).__name__)
                raise

    def _failed(self, span: Span, error: Exception | str, kind: str) -> None:
        """Give ``span`` the status that says so; ``kind`` is a short name of the error."""
        words = str(self._clean(str(error)))
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, words))

    def _cleaned(self, attributes: Mapping[str, object]) -> dict[str, Any]:
        """``attributes`` without secrets, and without those that say nothing."""
        return {key: self._clean(it) for key, it in attributes.items() if it not in (None, "")}


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
    }


def _message(message: Message) -> dict[str, Any]:
    """A message in the form that the conventions want."""
    text = text_in(message)
    if message["role"] == "tool":
        result = {"type": "tool_call_response", "id": message["tool_call_id"], "result": text}
        return {"role": "tool", "parts": [result]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    calls = message.get("tool_calls") or ()
    parts += [{"type": "tool_call", "id": it["id"], **it["function"]} for it in calls]
    return {"role": message["role"], "parts": parts}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
