"""The command line: flags in, exit code out."""

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import sys
from collections.abc import Sequence

from mcp_ghost.cli.flags import PROGRAM, parse_flags
from mcp_ghost.cli.program import WRONG_USE, Errors, complain, program
from mcp_ghost.errors import POSIX_ONLY, MCPGhostError


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    if sys.platform == "win32":
        complain(PROGRAM, POSIX_ONLY)
        return WRONG_USE
    flags = parse_flags(arguments)

    def work() -> int:
        from mcp_ghost.cli import commands  # which neither --help nor a wrong flag waits for

        code: int = getattr(commands, flags.command)(flags)
        return code

    return program(PROGRAM, work, lambda: Errors(wrong_use=(MCPGhostError, ValueError)))


if __name__ == "__main__":
    sys.exit(main())
