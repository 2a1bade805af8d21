"""What a player, and each part of it, is worth: a matrix of episodes, played and measured.

    uv run python scripts/evaluate.py --story bundled --seeds 1,2,3,4,5 --turns 100 --each
    uv run python scripts/evaluate.py export DIR

Each command has its own --help.
"""

# isort: off
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for a Python that has nothing of this installed
import python_version  # noqa: F401
# isort: on

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import Errors, program
from mcp_ghost.text import did_you_mean

COMMANDS = ("play", "report", "compare", "merge", "export", "measure", "document")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = "play"
    if words and not words[0].startswith("-"):
        name = words.pop(0)
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"choose from {', '.join(COMMANDS)}"
        parser_of("play").error(f"'{name}' is not a command ({hint})")
    parser = parser_of(name)
    flags = parser.parse_args(words, Namespace(words=words))
    return program(parser.prog, lambda: int(flags.run(flags)), _errors)


def parser_of(name: str) -> Parser:
    """The command line of a command; its flags have the function that does it as ``run``."""
    command = import_module(f"evaluation.commands.{name}")
    prog = "evaluate.py" if name == "play" else f"evaluate.py {name}"
    parser = Parser(prog=prog, description=command.DESCRIPTION, epilog=command.EPILOG)
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)
    return parser


def _errors() -> Errors:
    from game_interface.errors import GameError
    from local_model.errors import LocalModelError
    from mcp_ghost.errors import LLMError, MCPConfigError
    from session.configuration_file import ConfigurationError
    from storage.errors import StorageError

    wrong_use = (ConfigurationError, MCPConfigError, GameError, LocalModelError, LLMError)
    return Errors(wrong_use, failed=(StorageError,))


if __name__ == "__main__":
    sys.exit(main())
