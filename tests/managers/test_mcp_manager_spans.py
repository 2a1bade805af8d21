"""The spans of the calls that the game's MCP manager passes on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from mcp_ghost.toolset import Call
from tests.managers.test_mcp_manager import manager_for, messages_in, turn
from tests.support.fakes import RecordingLangfuse

if TYPE_CHECKING:
    from langfuse import Langfuse
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

pytestmark = pytest.mark.mcp


@pytest.fixture(scope="module")
def exporter() -> Iterator[tuple[Langfuse, InMemorySpanExporter]]:
    from langfuse import Langfuse
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory = InMemorySpanExporter()
    langfuse = Langfuse(
        public_key=f"pk-lf-manager-{uuid4()}",  # one of its own also in a second run
        secret_key="sk-lf-manager",
        base_url="http://127.0.0.1:9",
        span_exporter=memory,
    )
    yield langfuse, memory
    langfuse.shutdown()


async def test_each_call_is_a_span_with_its_outcome(
    tmp_path: Path, exporter: tuple[Langfuse, InMemorySpanExporter]
) -> None:
    langfuse, memory = exporter
    manager = manager_for(tmp_path, langfuse=langfuse)
    await manager.connect_session()
    await manager.call_tool("demo.echo", {"text": "x"})
    await manager.call_tool("demo.fail", {})
    with pytest.raises(asyncio.TimeoutError):
        await manager.call_tool("demo.hang", {}, timeout_seconds=0.1)
    await manager.disconnect_session()
    langfuse.flush()
    spans = {span.name: dict(span.attributes or {}) for span in memory.get_finished_spans()}
    echo = spans["mcp-tool-demo.echo"]
    assert echo["langfuse.observation.type"] == "tool"
    assert json.loads(str(echo["langfuse.observation.input"])) == {"text": "x"}
    assert json.loads(str(echo["langfuse.observation.output"])) == {"content": "x"}
    assert echo["langfuse.observation.metadata.server_name"] == '"demo"'
    assert echo["langfuse.observation.metadata.tool_name"] == '"demo.echo"'
    assert "langfuse.observation.metadata.duration_ms" in echo
    assert "langfuse.observation.level" not in echo
    failed = spans["mcp-tool-demo.fail"]
    assert failed["langfuse.observation.level"] == "ERROR"
    assert failed["langfuse.observation.status_message"] == "the lamp is broken"
    late = spans["mcp-tool-demo.hang"]
    assert late["langfuse.observation.level"] == "ERROR"
    assert "did not answer 'hang' within 0.1 s" in str(late["langfuse.observation.status_message"])
    assert "langfuse.observation.output" not in late


class ClockedLangfuse(RecordingLangfuse):
    """Each of its observations lasts 1.23456 s by the clock that durations are taken from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._clock = 1000.0
        monkeypatch.setattr(time, "perf_counter", lambda: self._clock)

    @contextmanager
    def start_as_current_observation(self, **fields: object) -> Iterator[object]:
        self._clock += 1.23456
        with super().start_as_current_observation(**fields) as span:
            yield span


async def test_a_span_holds_what_was_asked_how_long_it_took_and_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    langfuse = ClockedLangfuse(monkeypatch)
    manager = manager_for(tmp_path, langfuse=langfuse)
    await manager.connect_session()
    await manager.call(Call("demo.echo", {"text": "x"}))  # within the configured time
    await manager.call_tool("demo.fail", {}, timeout_seconds=7)
    await manager.disconnect_session()
    asked = {"server_name": "demo", "timeout_seconds": 30}
    went = {"duration_ms": 1234.6, "is_error": False}
    echo = {
        "name": "mcp-tool-demo.echo",
        "as_type": "tool",
        "input": {"text": "x"},
        "output": {"content": "x"},
        "metadata": {"tool_name": "demo.echo", **asked, **went},
        "open": False,
    }
    failed = {
        **echo,
        "name": "mcp-tool-demo.fail",
        "input": {},
        "output": {"error": "the lamp is broken", "content": None},
        "metadata": {
            **asked,
            **went,
            "tool_name": "demo.fail",
            "timeout_seconds": 7,
            "is_error": True,
        },
        "level": "ERROR",
        "status_message": "the lamp is broken",
    }
    assert langfuse.spans == [echo, failed]


def test_a_tracer_that_raises_is_a_warning_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(RecordingLangfuse):
        @contextmanager
        def start_as_current_observation(self, **_: object) -> Iterator[object]:
            raise OSError("no disk")
            yield

    manager = manager_for(tmp_path, langfuse=Broken())
    assert asyncio.run(turn(manager, text="x")).content == "x"
    assert messages_in(caplog) == ["This step is not traced: OSError: no disk"]
