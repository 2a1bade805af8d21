"""The command line: flags in, exit code out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mcp_ghost.cli.program import DONE, FAILED, Errors, program
from storage.flags import PROGRAM, Flags, parse_flags


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    flags = parse_flags(arguments)
    return program(PROGRAM, lambda _: _run(flags), _errors)


def _errors() -> Errors:
    from session.game_configuration import ConfigurationError
    from storage.commands import WrongUseError
    from storage.errors import StorageError

    return Errors(wrong_use=(ConfigurationError, WrongUseError), failed=(StorageError,))


def _run(flags: Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    from session.game_configuration import GameConfiguration
    from storage.commands import Commands

    given = {} if flags.workdir is None else {"workdir": flags.workdir}
    config = GameConfiguration.at_hand(flags.config, **given)
    with Commands(config, flags.command) as commands:
        return DONE if commands.run(flags) else FAILED


if __name__ == "__main__":
    sys.exit(main())
