"""What the command line of mcp_ghost does: flags in, exit code out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_ghost.cli.flags import PROGRAM, Flags, parse_flags
from mcp_ghost.cli.program import WRONG_USE, Errors, complain, program
from mcp_ghost.errors import POSIX_ONLY

if TYPE_CHECKING:
    from mcp_ghost.cli.interruption import Interruption


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    if sys.platform == "win32":
        complain(PROGRAM, POSIX_ONLY)
        return WRONG_USE
    flags = parse_flags(arguments)
    return program(PROGRAM, lambda interruption: _work(flags, interruption), _errors)


def _errors() -> Errors:
    from mcp_ghost.errors import MCPGhostError

    return Errors(wrong_use=(MCPGhostError, ValueError))


def _work(flags: Flags, interruption: Interruption) -> int:
    from mcp_ghost.cli import commands  # which neither --help nor a wrong flag waits for

    work = {
        "run": commands.run,
        "chat": commands.chat,
        "tools": commands.tools,
        "inspect": commands.inspect,
        "replay": commands.replay,
    }
    return work[flags.command](flags, interruption)
