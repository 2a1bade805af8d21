"""Langfuse traces, each case in a process of its own: Langfuse's resources live as long as that."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost import trust
from mcp_ghost.testing import ModelServer
from session.tracing import UNREACHABLE
from tests.support import FOREVER, ROOT, warm
from tests.support.collector import (
    PUBLIC_KEY,
    SECRET_KEY,
    Collector,
    Span,
    closed_port,
    refusing_host,
    running_collector,
    silent_host,
)
from tests.support.servers import faulty, seen, write_config
from workshop.scripted_model import walkthrough

pytestmark = pytest.mark.mcp

_PRELUDE = """
import json, logging, sys, time

class Printer(logging.Handler):
    def emit(self, record):
        say(message=record.getMessage(), **{key: record.__dict__.get(key) for key in
            ("levelname", "event_type", "episode_id", "turn", "error")})

logging.basicConfig(level=logging.WARNING)  # so that whatever is let through shows
logger = logging.getLogger("episode")
logger.setLevel(logging.DEBUG)
logger.propagate = False
logger.addHandler(Printer())

def say(**values):  # also from the thread that sends: one write, so that lines stay whole
    print(json.dumps(values) + "\\n", end="", flush=True)

from session.tracing import Tracing
"""
_EPISODE = """
tracing = Tracing("episode-1", logger)
for number in range(1, 21):
    with tracing.turn(number) as span:
        span.update(output="Taken.")
        tracing.client.start_observation(name="child", as_type="tool", input={"to": 1}).end()
tracing.close()
logger.handlers.clear()
"""
_UNTRACED = """
tracing = Tracing("episode-1", logger)
with tracing.turn(1) as span:
    span.update(output="Taken.", metadata={"score": 5})
tracing.close()
found = [name for name in sys.modules if name.split(".")[0] in ("langfuse", "opentelemetry")]
say(client=tracing.client, found=found)
"""


@dataclass(frozen=True)
class Run:
    """What a process did."""

    said: list[dict[str, Any]]
    stderr: str
    stdout: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [line for line in self.said if "event_type" in line]

    def value(self, name: str) -> Any:  # noqa: ANN401  whatever the script said
        return next(line[name] for line in self.said if name in line)


def run(script: str, folder: Path, **variables: str) -> Run:
    """Run ``script`` in ``folder`` with ``variables`` and no others of Langfuse."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LANGFUSE_")}
    process = warm.run(
        [sys.executable, "-c", _PRELUDE + textwrap.dedent(script)],
        env={**kept, "PYTHONPATH": str(ROOT), **variables},
        cwd=folder,
        # Who is to show that nothing is imported begins with nothing.
        warm=() if script == _UNTRACED else warm.PROGRAM,
    )
    assert process.returncode == 0, process.stderr
    said = [json.loads(line) for line in process.stdout.splitlines()]
    return Run(said, process.stderr, process.stdout)


def with_keys(base_url: str, **variables: str) -> dict[str, str]:
    return {
        "LANGFUSE_PUBLIC_KEY": PUBLIC_KEY,
        "LANGFUSE_SECRET_KEY": SECRET_KEY,
        "LANGFUSE_BASE_URL": base_url,
        **variables,
    }


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": ""},
        with_keys("http://127.0.0.1:9", LANGFUSE_TRACING_ENABLED="false"),
    ],
    ids=["no keys", "empty keys", "switched off"],
)
def test_without_langfuse_nothing_of_it_is_imported_and_nothing_is_said(
    variables: dict[str, str], tmp_path: Path
) -> None:
    done = run(_UNTRACED, tmp_path, **variables)
    assert done.value("client") is None
    assert done.value("found") == []
    assert done.events == []
    assert done.stderr == ""


def test_a_missing_key_is_named_and_the_other_is_not_shown(tmp_path: Path) -> None:
    done = run(_UNTRACED, tmp_path, LANGFUSE_PUBLIC_KEY=PUBLIC_KEY)
    (event,) = done.events
    assert event["levelname"] == "INFO"
    assert event["message"] == "Tracing is off: LANGFUSE_SECRET_KEY is not set"
    assert done.value("found") == []
    assert PUBLIC_KEY not in done.stdout + done.stderr


def test_a_setting_that_langfuse_cannot_use_turns_tracing_off(tmp_path: Path) -> None:
    for variable in ("LANGFUSE_SAMPLE_RATE", "LANGFUSE_TIMEOUT"):
        done = run(_UNTRACED, tmp_path, **with_keys("http://127.0.0.1:9", **{variable: "often"}))
        (event,) = done.events
        assert (event["levelname"], event["event_type"]) == ("WARNING", "tracing_off")
        assert SECRET_KEY not in done.stdout + done.stderr


def test_every_turn_is_a_trace_in_the_session_of_its_episode(tmp_path: Path) -> None:
    with running_collector() as collector:
        done = run(_EPISODE, tmp_path, **with_keys(collector.base_url))
    turns = [span for span in collector.spans if not span.parent_id]
    assert [span.name for span in turns] == [f"turn-{number}" for number in range(1, 21)]
    assert len({span.trace_id for span in turns}) == 20
    assert {span.session_id for span in collector.spans} == {"episode-1"}
    for turn in turns:
        assert turn.attributes["langfuse.observation.output"] == "Taken."
        assert turn.attributes["langfuse.trace.name"] == turn.name
        assert turn.attributes["langfuse.trace.tags"] == ["zorkgpt"]
        (child,) = collector.children(turn)
        assert (child.name, child.type, child.session_id) == ("child", "tool", "episode-1")
    assert collector.objections == []
    assert [event["event_type"] for event in done.events] == ["tracing_on"]


def test_keys_and_host_are_read_from_a_dotenv_file_under_the_environment(tmp_path: Path) -> None:
    with running_collector() as collector:
        variables = with_keys("http://127.0.0.1:9", LANGFUSE_TRACING_ENVIRONMENT="trial")
        lines = [f"{name}={value}" for name, value in variables.items()]
        (tmp_path / ".env").write_text("\n".join(lines))
        trusted = {trust.VARIABLE: str(tmp_path)}
        run(_EPISODE, tmp_path, LANGFUSE_BASE_URL=collector.base_url, **trusted)
    assert collector.objections == []
    assert len(collector.named("child")) == 20
    assert {span.attributes["langfuse.environment"] for span in collector.spans} == {"trial"}


def test_a_turn_that_fails_is_traced_and_its_error_passes(tmp_path: Path) -> None:
    script = """
    tracing = Tracing("episode-1", logger)
    try:
        with tracing.turn(1):
            raise KeyError("lamp")
    except KeyError as error:
        say(passed=str(error))
    tracing.close()
    """
    with running_collector() as collector:
        done = run(script, tmp_path, **with_keys(collector.base_url))
    assert done.value("passed") == "'lamp'"
    assert [span.name for span in collector.spans] == ["turn-1"]


_BAD_HOSTS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "connection refused": closed_port,
    "unknown name": lambda: nullcontext("http://langfuse.invalid"),
    "no answer": silent_host,
    "status 401": partial(refusing_host, 401),
    "status 500": partial(refusing_host, 500),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The same episode against every bad host, side by side: they mostly wait."""

    folder = tmp_path_factory.mktemp("episodes")

    def play(fault: str) -> Run:
        with _BAD_HOSTS[fault]() as base_url:
            # Left alone, Langfuse would now wait for each of eight batches until we are impatient.
            timeout = str(FOREVER)
            variables = with_keys(base_url, LANGFUSE_TIMEOUT=timeout, LANGFUSE_FLUSH_AT="5")
            return run(_EPISODE, folder, **variables)

    with ThreadPoolExecutor() as pool:
        return dict(zip(_BAD_HOSTS, pool.map(play, _BAD_HOSTS), strict=True))


@pytest.mark.parametrize("fault", _BAD_HOSTS)
def test_a_bad_host_holds_nothing_up_and_is_told_of_once_without_keys_and_in_our_words(
    fault: str, runs: dict[str, Run]
) -> None:
    done = runs[fault]
    (failure,) = (event for event in done.events if event["levelname"] == "WARNING")
    assert failure["event_type"] == "tracing_failed"
    assert failure["message"].startswith(UNREACHABLE)
    assert failure["episode_id"] == "episode-1"
    assert failure["turn"] in range(1, 21)
    assert done.stderr == ""
    assert PUBLIC_KEY not in done.stdout
    assert SECRET_KEY not in done.stdout


def test_once_sending_has_failed_the_exit_hardly_waits(tmp_path: Path) -> None:
    # Whoever waited as long as before a failure, or for all to be sent, would wait in vain.
    impatient = (
        "failed.wait()\ntracing._provider.force_flush = threading.Event().wait\ntracing.close()"
    )
    script = _EPISODE.replace("tracing.close()", impatient)
    prelude = """
    import threading
    import session.tracing
    session.tracing._PATIENCE = 1000
    failed = threading.Event()
    class Waiter(logging.Handler):
        def emit(self, record):
            if record.event_type == "tracing_failed":
                failed.set()
    logger.addHandler(Waiter())
    """
    with silent_host() as base_url:
        variables = with_keys(base_url, LANGFUSE_FLUSH_INTERVAL="0.1", LANGFUSE_TIMEOUT="1")
        done = run(textwrap.dedent(prelude) + script, tmp_path, **variables)
    assert [event["event_type"] for event in done.events] == ["tracing_on", "tracing_failed"]


def test_an_episode_with_tools_arrives_as_a_whole(tmp_path: Path) -> None:
    """Properties 31 and 32: a span for each tool call, in one for the session of its turn."""
    script = """
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    for episode in ("first", "second"):
        ZorkOrchestratorV2(episode, max_turns_per_episode=2).play_episode()
    """
    calls = [("tools.echo", {"text": "hm"}), ("tools.fail", {})]
    server_log = tmp_path / "server.jsonl"
    config = write_config(tmp_path / "mcp.json", tools=faulty(SERVER_LOG=str(server_log)))
    with running_collector() as collector, ModelServer(walkthrough(["look"] * 4, calls)) as model:
        settings = {
            "ZORKGPT_STORY": "bundled",
            "ZORKGPT_CLIENT_BASE_URL": model.base_url,
            "ZORKGPT_AGENT_MODEL": "scripted",
            "ZORKGPT_MCP_ENABLED": "true",
            "ZORKGPT_MCP_CONFIG_FILE": str(config),
        }
        run(script, tmp_path, **with_keys(collector.base_url), **settings)
    assert (collector.objections, model.refusals) == ([], [])
    turns = [span for span in collector.spans if not span.parent_id]
    assert [(turn.session_id, turn.name) for turn in turns] == [
        (episode, f"turn-{number}") for episode in ("first", "second") for number in (1, 2)
    ]
    for turn in turns:
        _check_turn(collector, turn)
    requests = [entry["params"] for entry in seen(server_log) if "tools/call" in entry.values()]
    assert len(requests) == 8
    assert "traceparent" not in json.dumps(requests)  # our ids are not for third parties


@pytest.mark.parametrize("step", ["start", "enter", "update", "exit"])
def test_a_client_that_raises_ends_neither_a_turn_nor_a_call(step: str, tmp_path: Path) -> None:
    script = f"""
    class Broken:
        def __init__(self, step):
            if step == "start":
                raise OSError("start")
        def __enter__(self):
            if {step!r} == "enter":
                raise OSError("enter")
            return self
        def update(self, **fields):
            if {step!r} == "update":
                raise OSError("update")
        def __exit__(self, *error):
            if {step!r} == "exit":
                raise OSError("exit")

    from langfuse import Langfuse
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    Langfuse.start_as_current_observation = lambda self, **fields: Broken({step!r})
    with ZorkOrchestratorV2("broken", max_turns_per_episode=2) as episode:
        episode.logger.addHandler(logger.handlers[0])
        episode.play_episode()
        state = episode.game_state
        say(ended=state.end_reason, tools=[len(turn.tools) for turn in state.history])
    """
    calls = [("tools.echo", {"text": "hm"}), ("tools.fail", {})]
    config = write_config(tmp_path / "mcp.json", tools=faulty())
    with running_collector() as collector, ModelServer(walkthrough(["look"] * 2, calls)) as model:
        settings = {
            "ZORKGPT_STORY": "bundled",
            "ZORKGPT_CLIENT_BASE_URL": model.base_url,
            "ZORKGPT_AGENT_MODEL": "scripted",
            "ZORKGPT_MCP_ENABLED": "true",
            "ZORKGPT_MCP_CONFIG_FILE": str(config),
        }
        done = run(script, tmp_path, **with_keys(collector.base_url), **settings)
    assert (done.value("ended"), done.value("tools")) == ("max_turns", [2, 2])
    errors = [event for event in done.events if event["event_type"] == "tracing_error"]
    assert {(event["levelname"], event["error"]) for event in errors} == {("WARNING", step)}
    assert len(errors) == 2 * 6, "in each turn: the turn, the session, two requests, two calls"


def _check_turn(collector: Collector, turn: Span) -> None:
    assert turn.attributes["langfuse.observation.output"]
    (session,) = collector.children(turn)
    assert (session.name, session.session_id) == ("agent-tool-calling-session", turn.session_id)
    assert session.attributes["langfuse.observation.metadata.tools_called"] == 2
    below = sorted(collector.children(session), key=lambda span: span.started)
    assert [(span.name, span.type) for span in below] == [
        ("Agent", "generation"),
        ("mcp-tool-tools.echo", "tool"),
        ("mcp-tool-tools.fail", "tool"),
        ("Agent", "generation"),
    ]
    assert {span.session_id for span in below} == {turn.session_id}
    asked, echo, fail, answered = (span.attributes for span in below)
    for generation in (asked, answered):
        assert generation["langfuse.observation.model.name"] == "scripted"
        usage = generation["langfuse.observation.usage_details"]
        assert isinstance(usage, dict)
        assert usage["input"] > 0
        assert usage["output"] == 8
    assert echo["langfuse.observation.input"] == {"text": "hm"}
    assert "hm" in json.dumps(echo["langfuse.observation.output"])
    assert fail["langfuse.observation.level"] == "ERROR"
