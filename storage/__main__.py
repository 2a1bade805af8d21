"""The command line: flags in, exit code out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.interruption import Interruption
from storage.flags import Flags, parse_flags

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration

DONE, FAILED, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    flags = parse_flags(arguments)
    interruption = Interruption()
    interruption.install()
    try:
        code = _run(flags)
        sys.stdout.flush()
    except BrokenPipeError:
        # What Python still flushes on its way out must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        code = interruption.exit_code
    return code


def _run(flags: Flags) -> int:
    # Imported only now: --help and wrong flags are not to wait for it.
    from mcp_ghost.text import plain
    from session.game_configuration import ConfigurationError
    from storage.commands import Commands, WrongUseError
    from storage.errors import StorageError

    try:
        with Commands(_configuration(flags), flags.command) as commands:
            return DONE if commands.run(flags) else FAILED
    except (ConfigurationError, WrongUseError, StorageError) as error:
        print(plain(f"storage: {error}"), file=sys.stderr)
        return FAILED if isinstance(error, StorageError) else WRONG_USE


def _configuration(flags: Flags) -> GameConfiguration:
    from session.game_configuration import GameConfiguration

    at_hand = "pyproject.toml" if Path("pyproject.toml").is_file() else None
    given = {} if flags.workdir is None else {"workdir": flags.workdir}
    return GameConfiguration.from_toml(flags.config or at_hand, **given)


if __name__ == "__main__":
    sys.exit(main())
