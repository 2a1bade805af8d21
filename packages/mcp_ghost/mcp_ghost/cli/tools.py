"""What the servers of a configuration offer."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from mcp_ghost.cli.program import DONE, FAILED, complain
from mcp_ghost.config import load_servers
from mcp_ghost.text import one_line
from mcp_ghost.toolsets.union import Toolbox

if TYPE_CHECKING:
    from mcp_ghost.cli.flags import Flags
    from mcp_ghost.cli.interruption import Interruption

_STARTUP_SECONDS = 30.0
_WITH_WARNINGS = ("mcp_ghost.cli.tools", "mcp_ghost.config", "mcp_ghost.servers.tools")
_logger = logging.getLogger(__name__)


def tools(flags: Flags, _: Interruption) -> int:
    """Print every tool that a run would offer; returns the exit code."""
    for logger in _WITH_WARNINGS:
        logging.getLogger(logger).addHandler(_Warnings(logging.WARNING))
    listed, failures = asyncio.run(_listed(flags))
    for server, error in failures.items():
        complain("mcp-ghost", f"{server}: {error}")
    if flags.json:
        print(json.dumps(listed, indent=2))
    else:
        for tool in listed:
            hints = ", ".join(name for name, holds in tool["annotations"].items() if holds)
            described = one_line(tool["description"], 200)
            print(f"{tool['name']}{f' [{hints}]' if hints else ''}: {described}")
    sys.stdout.flush()
    return FAILED if failures else DONE


async def _listed(flags: Flags) -> tuple[list[dict[str, Any]], dict[str, str]]:
    async with Toolbox(
        load_servers(flags.config),
        allow=flags.allow,
        deny=flags.deny,
        startup_timeout=flags.startup_timeout or _STARTUP_SECONDS,
    ) as toolbox:
        if toolbox.unmatched:
            patterns = ", ".join(toolbox.unmatched)
            _logger.warning("these patterns of --allow or --deny match no tool: %s", patterns)
        listed = [
            {**tool.schema["function"], "annotations": tool.hints}
            for tool in toolbox.tools.values()
        ]
        return listed, {server: str(error) for server, error in toolbox.failures.items()}


class _Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(one_line(f"mcp-ghost: warning: {record.getMessage()}"), file=sys.stderr)
