"""Why a server did not start or is gone, in words that say what to do; secrets are still there."""

import asyncio
import errno
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from mcp_ghost.config import ServerConfig
from mcp_ghost.servers import reaper
from mcp_ghost.servers.process import ServerProcess
from mcp_ghost.tables import compiled, table

NODE_VERSION = 22
"""The oldest Node.js that current npm servers support."""
_NODE_VERSION_TIMEOUT = 3.0
_LINES = 15
_PROGRAMS = table("mcp_ghost.servers", "programs.toml")
_HINTS: Mapping[str, str] = _PROGRAMS["hints"]
TOO_OLD = compiled(_PROGRAMS["says"])["too_old"]
"""What programs say that are newer than their Node.js."""
_OTHER_HINT = "the command is installed and on PATH, and that its arguments are right."


def details(
    config: ServerConfig, process: ServerProcess | None, seconds: float, cause: BaseException
) -> str:
    """What went wrong: ``cause``, which ended a start within ``seconds`` of trying."""
    if isinstance(cause, OSError) and process is None:
        if isinstance(cause, FileNotFoundError):
            is_line = len((config.command or "").split()) > 1
            more = " ('command' is only the program; the rest belongs in 'args')" if is_line else ""
            return f"command not found: {config.command}{more}"
        if isinstance(cause, PermissionError):
            return f"{config.command} is not executable"
        if cause.errno == errno.ENOEXEC:
            return f"{config.command} is not a program (a script needs a first line like #!/bin/sh)"
        return str(cause)
    if isinstance(cause, TimeoutError):
        return f"it did not answer within {seconds:g} s"
    if process is not None and process.ended_by_itself:
        return f"it {ending(process)} before it was ready"
    if isinstance(cause, ValidationError):
        return "its answer is not MCP: " + " ".join(str(cause).split()[:40])
    return str(cause) or type(cause).__name__


async def hint(
    config: ServerConfig,
    environment: Mapping[str, str],
    process: ServerProcess | None,
    cause: BaseException,
) -> str:
    """What to check; ``environment`` is what the server really got."""
    if process is not None and not (
        process.ended_by_itself or isinstance(cause, OSError | TimeoutError)
    ):
        return "this is the program that you mean: it runs, but does not speak MCP as it should."
    command = config.command or ""
    program = re.sub(r"[\d.]+$", "", Path(command).name) or command
    advice = _HINTS.get(program, _OTHER_HINT)
    if advice != _HINTS["node"]:
        return advice.format(which=shutil.which(command, path=environment["PATH"]) or "not found")
    install = f"install version {NODE_VERSION} or newer from https://nodejs.org"
    node = shutil.which("node", path=environment["PATH"])
    if node is None:
        return f"{advice} 'node' was not found: {install}."
    version = await _node_version(node, environment)
    if version is None:
        return f"{advice} '{node}' does not run: {install}."
    # The age is to blame only where the server's last words sound like it.
    is_old = int(version.lstrip("v").partition(".")[0]) < NODE_VERSION
    if is_old and process is not None and TOO_OLD.search(process.stderr_tail()):
        return f"{advice} This is Node.js {version}; current servers need a newer one: {install}."
    return advice


async def _node_version(node: str, environment: Mapping[str, str]) -> str | None:
    try:
        process = await ServerProcess.start([node, "--version"], environment, None)
    except OSError:
        return None
    try:
        async with asyncio.timeout(_NODE_VERSION_TIMEOUT):
            output = await process.stdout.read()
    except TimeoutError:
        return None
    finally:
        await process.stop(grace=0)
    version = output.decode(errors="replace").strip()
    return version if re.match(r"v?\d+\.", version) else None


def ending(process: ServerProcess) -> str:
    """How the process or the connection to it ended."""
    status = process.returncode
    if process.fault is not None:
        return process.fault
    if status is None:
        return "closed its connection"
    if status >= 0:
        return f"exited with status {status}"
    return f"was ended by {reaper.exit_reason(status)}"


def last_lines(where: str, text: str) -> list[str]:
    """The end of the output ``text``, as far as it is shown."""
    lines = text.strip().splitlines()
    if not lines:
        return []
    return [f"Its last output on {where}:", *(f"  {line}" for line in lines[-_LINES:])]
