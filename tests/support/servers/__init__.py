"""Real MCP servers with faults, and what tests need to watch their processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp_ghost.config import ServerConfig
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.session import ServerSession
from tests.support import PATIENCE

MODERN = "2026-07-28"
OLD = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
"""The revisions of MCP."""
FAULTY = Path(__file__).parent / "faulty.py"
LISTING = Path(__file__).parent / "listing.py"
VERSIONS = Path(__file__).parent / "versions.py"
WILD = Path(__file__).parent / "wild.py"


def faulty(mode: str = "ok", **env: str) -> ServerConfig:
    """The faulty server in ``mode``; upper-case variables of ``faulty.py`` as keywords."""
    return ServerConfig(command=sys.executable, args=["-S", str(FAULTY), mode], env=env)


def versions(*known: str, discover: str = "-32601", **env: str) -> ServerConfig:
    """The server of ``versions.py`` that knows some; its upper-case variables as keywords."""
    args = ["-S", str(VERSIONS), "stdio", ",".join(known), discover]
    return ServerConfig(command=sys.executable, args=args, env=env)


@contextmanager
def versions_over_http(*known: str, **env: str) -> Iterator[ServerConfig]:
    """The same over HTTP, while the context lasts."""
    command = [sys.executable, "-S", str(VERSIONS), "http", ",".join(known)]
    with subprocess.Popen(
        command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield ServerConfig(url=f"http://127.0.0.1:{int(process.stdout.readline())}/mcp")
        finally:
            process.kill()


@contextmanager
def wild(transport: str, **env: str) -> Iterator[ServerConfig]:
    """The server of ``wild.py``; its upper-case variables as keywords."""
    command = [sys.executable, "-S", str(WILD), transport]
    if transport == "stdio":
        yield ServerConfig(command=command[0], args=command[1:], env=env)
        return
    with subprocess.Popen(
        command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            if transport == "sse":
                yield ServerConfig(url=f"http://127.0.0.1:{port}/sse", type="sse")
            else:
                yield ServerConfig(url=f"http://127.0.0.1:{port}/mcp")
        finally:
            process.kill()


def listing(
    folder: Path, name: str, tools: Sequence[str], schemas: Mapping[str, object] | None = None
) -> ServerConfig:
    """A server of ``tools`` that answers with the name that was called.

    ``schemas`` are those of tools that take something.
    """
    file = folder / f"{name}.json"
    given = schemas or {}
    entries = [{"name": it, "inputSchema": given.get(it, {"type": "object"})} for it in tools]
    file.write_text(json.dumps({"tools": entries, "page": 50}))
    return ServerConfig(command=sys.executable, args=["-S", str(LISTING), str(file)])


def write_config(path: Path, **servers: ServerConfig) -> Path:
    """An mcp_config.json with ``servers``."""
    entries = {name: server.model_dump(exclude_defaults=True) for name, server in servers.items()}
    path.write_text(json.dumps({"mcpServers": entries}))
    return path


def seen(log: Path) -> list[dict[str, Any]]:
    """What servers started with SERVER_LOG=log noted: starts, requests, end of input."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def pids(log: Path) -> list[int]:
    """The processes of the servers that were started, in order."""
    return [entry["pid"] for entry in seen(log) if entry["event"] == "start"]


async def call_in(config: ServerConfig, tool: str, **arguments: object) -> ToolCallResult:
    """A whole session for one call."""
    async with ServerSession("s", config) as session:
        return await session.call(tool, arguments)


def is_running(pid: int) -> bool:
    """Whether ``pid`` is a process; one that only waits for its parent's attention is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def eventually(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether ``condition`` becomes true in time; for effects in processes that are not ours."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def open_descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def helpers_of(pid: int) -> list[int]:
    """The processes that end the servers of process ``pid`` after it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if "reaper.py" in Path(f"/proc/{child}/cmdline").read_text()
    ]
