"""One run through a front of the project: a fresh process, the strict model, and real servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_ghost.results import JSONObject
from mcp_ghost.testing import ModelServer
from workshop.interoperability.catalogue import Call
from workshop.scripted_model import walkthrough

ROOT = Path(__file__).parents[2]
PATIENCE = 400.0
"""Seconds for one run; a cold start alone may take 120."""
MARK = "REAL_SERVERS_RUN"
"""A variable that a run hands on to all of its processes."""
_FOREIGN = ("ZORKGPT_", "LANGFUSE_", "OPENAI_", "OPENROUTER_", "ZORK1_", "MCP_", "UV_", "npm_")
_OF_THE_EXAMPLES = ("SERVER", "NOTES", "REMOTE")
_SHOWN = 1500
"""Characters of what a failed run said."""


@dataclass(frozen=True)
class Front:
    """A public way into the project."""

    name: str
    command: tuple[str, ...]
    """``{config}`` and ``{url}`` stand for the servers' file and the model's address."""
    variables: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "mcp_ghost"
    """Prefix of the tools' names on the wire."""


_ASKED = ("--provider", "openai", "--base-url", "{url}", "--prompt", "Ask them.")
LIBRARY = Front("mcp_ghost()", ("-m", "workshop.interoperability.library_run", "{config}", "{url}"))
COMMAND_LINE = Front(
    "mcp_ghost run", ("-m", "mcp_ghost", "run", "--json", "--config", "{config}", *_ASKED)
)
GAME = Front(
    "main.py",
    (
        *("-m", "main", "--mcp", "--story", "bundled", "--max-turns", "1", "--seed", "1"),
        *("--model", "gpt-4.1", "--base-url", "{url}", "--without", "reflection"),
    ),
    {"ZORKGPT_MCP_CONFIG_FILE": "{config}", "ZORKGPT_MCP_SERVERS": "{servers}"},
    namespace="",
)


@dataclass(frozen=True)
class Outcome:
    """How a run went."""

    faults: tuple[str, ...] = ()
    seconds: float = 0.0
    tools: int = 0
    revisions: Mapping[str, str] = field(default_factory=dict)
    cache: str = ""
    """Whether the installers' folders were empty: cold or warm."""
    missing: str = ""
    """What this machine does not have, so that nothing was found out."""

    @property
    def passed(self) -> bool:
        """Whether every call was answered by its server."""
        return not self.faults and not self.missing


def play(
    front: Front,
    config: Path,
    folder: Path,
    calls: Mapping[str, Call],
    variables: Mapping[str, str],
) -> Outcome:
    """A run in which the model makes ``calls``, one for each server.

    Args:
        front: The way in.
        config: The file with the servers.
        folder: Where the process works.
        calls: By the name of the server there.
        variables: Set on top of the environment, such as the folders of installers.
    """
    asked: list[tuple[str, object]] = [
        (f"{server}.{call.tool}", dict(call.arguments)) for server, call in calls.items()
    ]
    mark = uuid.uuid4().hex
    started = time.monotonic()
    with ModelServer(walkthrough((), asked), namespace=front.namespace) as model:
        values = {"config": str(config), "url": model.base_url, "servers": json.dumps([*calls])}
        environment = _environment(front, values) | dict(variables) | {MARK: mark}
        command = [sys.executable, *(part.format_map(values) for part in front.command)]
        code, output, said = _run(command, environment, folder)
    seconds = time.monotonic() - started
    faults = [f"it ended with {code}"] if code else []
    faults += [f"the model refused: {it}" for it in model.refusals]
    results = [it["content"] for it in _last_messages(model) if it["role"] == "tool"]
    silent = [f"{server}.{it.tool}" for server, it in calls.items() if not _told(it, results)]
    if silent:
        faults.append(f"no answer of the server to {', '.join(silent)}: {results}"[:_SHOWN])
    faults += [f"process {pid} is left" for pid in processes_with(mark)]
    tools = max((len(request.tool_names) for request in model.requests), default=0)
    revisions = json.loads(output) if front is LIBRARY and output else {}
    return Outcome((*faults, said[-_SHOWN:]) if faults else (), seconds, tools, revisions)


def processes_with(mark: str) -> list[int]:
    """The processes whose ``MARK`` is ``mark``, where the system lists them."""
    wanted = f"{MARK}={mark}\0".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environment.read_bytes():
                found.append(int(environment.parent.name))
        except OSError:
            continue  # it has just ended, or is not ours
    return found


def _run(command: list[str], environment: dict[str, str], folder: Path) -> tuple[int, str, str]:
    """Exit code, output and errors; what takes too long is told to stop."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            output, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()
            output, said = process.communicate()
            said += f"\nIt took more than {PATIENCE:g} s."
        return process.returncode, output, said


def _environment(front: Front, values: Mapping[str, str]) -> dict[str, str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN) and name not in _OF_THE_EXAMPLES
    }
    variables = {name: value.format_map(values) for name, value in front.variables.items()}
    return {**own, **variables, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-none"}


def _last_messages(model: ModelServer) -> list[JSONObject]:
    """The conversation as the model was told it last."""
    return model.requests[-1].messages if model.requests else []


def _told(call: Call, results: Sequence[object]) -> bool:
    return any(call.tells in str(result) for result in results)
