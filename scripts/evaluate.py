"""What a player, and each part of it, is worth: a matrix of episodes, played and measured.

    uv run python scripts/evaluate.py --story bundled --seeds 1,2,3,4,5 --turns 100 --each
    uv run python scripts/evaluate.py export DIR

Each command has its own --help.
"""

import sys
from collections.abc import Sequence

from mcp_ghost.text import did_you_mean
from scripts.evaluation.commands import compare, document, export, merge, play, report

COMMANDS = {
    "play": play.main,
    "report": report.main,
    "compare": compare.main,
    "merge": merge.main,
    "export": export.main,
    "document": document.main,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = "play"
    if words and not words[0].startswith("-"):
        name = words.pop(0)
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"choose from {', '.join(COMMANDS)}"
        play.parser().error(f"'{name}' is not a command ({hint})")
    return COMMANDS[name](words)


if __name__ == "__main__":
    sys.exit(main())
