"""What OpenTelemetry is told of a run, as an exporter gets it."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcp_ghost import mcp_ghost
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Notes, play
from tests.support.servers import faulty, seen, versions
from tests.support.wires import name_of, provider_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WRITE = ("notes.write", {"name": "a", "text": f"milk for {KEY}"})
USAGE = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
SAID = ("milk", "Do it.", "Keep notes.", "Done.")


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """A provider that is set up for one test: the real one can be set only once in a process.

    The MCP SDK, which asked for its tracer when it was imported, knows nothing of it.
    """
    importlib.import_module("mcp")
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def spans(exporter: InMemorySpanExporter) -> dict[str, list[ReadableSpan]]:
    """By name, in the order of their ends."""
    found: dict[str, list[ReadableSpan]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@every_provider
def test_a_run_its_requests_and_its_calls_are_spans(
    provider: WireName, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    notes = Notes(tmp_path)
    script = [tool_reply([WRITE], usage=USAGE), content_reply("Done.", usage=USAGE)]
    options = {"reply_tokens": 500, "temperature": 0.5, "stop": "END"}
    result, _ = play(script, {"notes": notes.config}, provider, **options)
    assert result["success"]
    found = spans(exporter)
    model = provider_of(provider).default_model
    operation = "generate_content" if provider == "gemini" else "chat"
    (run,), requests = found["invoke_agent mcp_ghost"], found[f"{operation} {model}"]
    (call,) = found["execute_tool notes.write"]
    assert len(exporter.get_finished_spans()) == 4
    assert run.context
    assert run.parent is None
    assert {it.parent.span_id for it in (*requests, call) if it.parent} == {run.context.span_id}
    asked = attributes(requests[0])
    assert asked["gen_ai.operation.name"] == operation
    assert asked["gen_ai.provider.name"] == {"gemini": "gcp.gemini"}.get(
        provider, name_of(provider)
    )
    assert asked["gen_ai.request.model"] == model
    assert asked["gen_ai.request.max_tokens"] == 500
    assert asked["gen_ai.request.temperature"] == 0.5  # as it was asked for
    assert asked["gen_ai.request.stop_sequences"] == ("END",)
    assert asked["gen_ai.usage.input_tokens"] == 90
    assert asked["gen_ai.usage.output_tokens"] == 10
    assert asked["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert asked["server.address"] == "127.0.0.1"
    assert requests[0].kind is trace.SpanKind.CLIENT
    called = attributes(call)
    assert called["gen_ai.operation.name"] == "execute_tool"
    assert called["gen_ai.tool.name"] == "notes.write"
    assert called["gen_ai.tool.call.id"]
    assert called["mcp.method.name"] == "tools/call"
    assert called["mcp.protocol.version"]
    assert called["network.transport"] == "pipe"
    assert attributes(run)["gen_ai.usage.input_tokens"] == 180
    assert attributes(run)["gen_ai.operation.name"] == "invoke_agent"
    assert all(span.status.is_unset for span in exporter.get_finished_spans())
    told = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert not [text for text in (*SAID, KEY) if text in told]
    # The server can go on with the trace.
    assert call.context
    (sent,) = [it for it in seen(notes.log) if it.get("method") == "tools/call"]
    parts = sent["params"]["_meta"]["traceparent"].split("-")
    assert parts[1] == f"{call.context.trace_id:032x}"  # the span may be the SDK's, below ours


@every_provider
def test_what_was_said_is_told_where_that_is_asked_for_but_no_key(
    provider: WireName,
    exporter: InMemorySpanExporter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    script: list[Reply | str] = [tool_reply([WRITE]), "Done."]
    play(script, {"notes": Notes(tmp_path).config}, provider)
    told = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert not [text for text in SAID if text not in told]
    assert KEY not in told
    (call,) = spans(exporter)["execute_tool notes.write"]
    assert "milk" in attributes(call)["gen_ai.tool.call.arguments"]
    assert attributes(call)["gen_ai.tool.call.result"]


def test_what_fails_says_so_in_its_span(exporter: InMemorySpanExporter) -> None:
    script = [
        tool_reply([("s.fail", {}), ("s.hang", {})]),
        error_reply(400, f"no more for {KEY}"),
    ]
    result, _ = play(script, {"s": faulty()}, timeout=2)
    assert not result["success"]
    found = spans(exporter)
    kinds = {
        name: [attributes(it).get("error.type") for it in found[name]]
        for name in (
            "execute_tool s.fail",
            "execute_tool s.hang",
            f"chat {provider_of('openai').default_model}",
        )
    }
    assert list(kinds.values()) == [["tool_error"], ["timeout"], [None, "400"]]
    (run,) = found["invoke_agent mcp_ghost"]
    assert run.status.status_code is trace.StatusCode.ERROR
    assert "no more for ***" in str(run.status.description)
    assert KEY not in "".join(span.to_json() for span in exporter.get_finished_spans())
    assert not [span for span in exporter.get_finished_spans() if span.events]


def test_a_run_that_waits_for_a_person_has_not_failed(exporter: InMemorySpanExporter) -> None:
    servers = {"mcpServers": {"shop": versions("2025-11-25")}}
    with ModelServer([tool_reply([("shop.ask", {})])], namespace="mcp_ghost") as model:
        given: Any = {"api_key": KEY, "base_url": model.base_url, "user_prompt": "Buy."}
        result = asyncio.run(mcp_ghost(servers, "", "openai", pause=True, approve_when=[], **given))
    assert [entry["kind"] for entry in result["pending"]] == ["question"]
    assert len(spans(exporter)["execute_tool shop.ask"]) == 1
    assert all(span.status.is_unset for span in exporter.get_finished_spans())


def test_nothing_is_imported_for_it() -> None:
    code = "import sys, mcp_ghost, mcp_ghost.run.operation; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
