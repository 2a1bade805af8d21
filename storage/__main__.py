"""The command line: flags in, exit code out."""

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import argparse
import sys
from collections.abc import Sequence

from mcp_ghost.cli.arguments import Commands, Parser, add_command, add_flags, add_trust
from mcp_ghost.cli.program import DONE, FAILED, Errors, program

_PROGRAM = "python -m storage"
_DESCRIPTION = """\
Show what the player learned from episode to episode, write it for people to
edit, and read it back.
"""
_EPILOG = """\
The event logs in the work folder are the source of truth; `rebuild` recreates
the database from them. Settings are those of main.py: storage_database_url
names a database other than knowledge.db in the work folder.

exit code: 0 done; 1 failed, or a log was left out; 2 wrong usage or
  configuration

examples:
  uv run python -m storage show
  uv run python -m storage export   # game_files/knowledge/STORY.md
  uv run python -m storage import
  uv run python -m storage forget --story zork1 --yes
"""
_WHERE = """\
--config FILE    read settings from FILE, in the same format, instead of ./pyproject.toml
--workdir DIR    the work folder (default: as configured)
"""
_WHAT = """\
--episode ID     an episode's name or uid
--story NAME     a story's name, or the start of its SHA-256
"""


class _Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    command: str
    config: str | None
    workdir: str | None
    json: bool
    story: str | None
    episode: str | None
    yes: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    parser = Parser(prog=_PROGRAM, description=_DESCRIPTION, epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "rebuild", "bring the database up to date with all event logs")
    show = _command(commands, "show", "print what is known")
    add_flags(show, "--json  print everything, as JSON")
    _add_story(show)
    _add_story(_command(commands, "export", "write what is known as Markdown, for people to edit"))
    _add_story(_command(commands, "import", "read back what people changed in the Markdown"))
    forget = _command(commands, "forget", "remove what was learned")
    add_flags(forget.add_mutually_exclusive_group(required=True), _WHAT)
    add_flags(forget, "--yes  confirm: nothing is removed without it")
    flags = parser.parse_args(arguments, _Flags())
    return program(_PROGRAM, lambda: _run(flags), _errors)


def _add_story(command: Parser) -> None:
    meaning = "only this story: its name, or the start of its SHA-256"
    command.add_argument("story", nargs="?", metavar="STORY", help=meaning)


def _command(commands: Commands, name: str, purpose: str) -> Parser:
    command = add_command(commands, name, purpose)
    add_flags(command, _WHERE)
    add_trust(command)
    return command


def _errors() -> Errors:
    from session.game_configuration import ConfigurationError
    from storage.errors import StorageError

    return Errors(wrong_use=(ConfigurationError,), failed=(StorageError,))


def _run(flags: _Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    from session.game_configuration import GameConfiguration
    from storage import commands

    given = {} if flags.workdir is None else {"workdir": flags.workdir}
    config = GameConfiguration.at_hand(flags.config, **given)
    with commands.Commands(config, flags.command) as knowledge:
        match flags.command:
            case "rebuild":
                done = knowledge.rebuild()
            case "show":
                done = knowledge.show(flags.story, as_json=flags.json)
            case "export":
                done = knowledge.write_all(flags.story)
            case "import":
                done = knowledge.read_back(flags.story)
            case _:
                done = knowledge.forget(flags.episode, flags.story, sure=flags.yes)
    return DONE if done else FAILED


if __name__ == "__main__":
    sys.exit(main())
