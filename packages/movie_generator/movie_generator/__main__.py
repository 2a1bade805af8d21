"""The command line: flags in, exit code out."""

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mcp_ghost.cli.program import DONE, Errors, program
from movie_generator.cli.flags import PROGRAM, Flags, parse_flags


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    flags = parse_flags(arguments)
    return program(PROGRAM, lambda: _run(flags), _errors)


def _errors() -> Errors:
    from mcp_ghost.errors import MCPGhostError
    from movie_generator.errors import MovieGeneratorError
    from movie_generator.queue.database import JobDatabaseError

    return Errors(
        wrong_use=(JobDatabaseError, ValueError), failed=(MovieGeneratorError, MCPGhostError)
    )


def _run(flags: Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    from mcp_ghost.config import may_start
    from mcp_ghost.env_file import load_env_file, place_of
    from mcp_ghost.errors import MCPConfigError
    from movie_generator.cli import commands, scripts

    load_env_file()
    variable = "MCP_CONFIG_PATH"
    if flags.command in ("script", "worker") and not flags.mcp_config:
        # Of one that only .env names, the servers are started only if they may be. A file that
        # cannot be read fails the job later.
        with suppress(MCPConfigError):
            if place_of([variable]) and not may_start(Path(os.environ[variable])):
                del os.environ[variable]
    of_files = ("init", "script", "show", "export")
    command = getattr(scripts if flags.command in of_files else commands, flags.command)
    # Without --drain, a worker can only end by being stopped.
    endless = flags.command == "worker" and not flags.drain
    code: int | None = None
    with suppress(*([KeyboardInterrupt] if endless else [])):
        code = command(flags)
    return code or DONE


if __name__ == "__main__":
    sys.exit(main())
