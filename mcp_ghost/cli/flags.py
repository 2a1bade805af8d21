"""The flags of the command line. Only the standard library, so that ``--help`` does not wait."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mcp_ghost.cli.arguments import Commands, Parser, seconds, whole_number

PROGRAM = "python -m mcp_ghost"

_DESCRIPTION = """\
Let a language model do what you ask with the tools of MCP servers.
"""
_EPILOG = """\
The key comes from the environment or from .env: OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY.
A server on this machine needs none. The result goes to standard output, progress to standard error.

exit code: 0 success; 1 a run without success; 2 wrong use or configuration; 130 interrupted by
  Ctrl-C (143 by SIGTERM, 129 by a closed terminal, 141 by a closed pipe)

examples:
  python -m mcp_ghost run --config servers.json --provider openai --prompt "Which tables are there?"
  git diff | python -m mcp_ghost run --config servers.json --provider anthropic --prompt -
  python -m mcp_ghost inspect tests/goldens/openai/database_report.json
"""
DEFAULT_SYSTEM_PROMPT = "Do what the user asks. Use the tools where they help."


class Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    command: str
    config: str
    provider: str
    prompt: str
    system: str
    model: str | None
    base_url: str | None
    max_iterations: int | None
    timeout: float | None
    deadline: float | None
    reply_tokens: int | None
    llm_timeout: float | None
    allow: list[str] | None
    deny: list[str] | None
    record: str | None
    quiet: bool
    file: str
    json: bool

    def options(self) -> dict[str, object]:
        """The options of a run that were given."""
        names = ("model", "base_url", "max_iterations", "timeout", "deadline", "llm_timeout")
        given = {name: getattr(self, name) for name in (*names, "reply_tokens", "allow", "deny")}
        return {name: it for name, it in given.items() if it is not None}


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why."""
    parser = Parser(prog=PROGRAM, description=_DESCRIPTION, epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    _add_inspect(commands)
    return parser.parse_args(arguments, Flags())


def _add_run(commands: Commands) -> None:
    run = commands.add_parser("run", help="run one operation")
    required = run.add_argument_group("what to do")
    required.add_argument(
        "--config", required=True, metavar="FILE", help='{"mcpServers": {...}}, JSON or JSONC'
    )
    required.add_argument(
        "--provider", required=True, metavar="NAME", help="openai, anthropic or gemini"
    )
    required.add_argument(
        "--prompt", required=True, metavar="TEXT", help="what to do; - reads standard input"
    )
    required.add_argument(
        "--system", default=DEFAULT_SYSTEM_PROMPT, metavar="TEXT", help="the system prompt"
    )
    _add_model(run.add_argument_group("model"))
    _add_limits(run.add_argument_group("limits"))
    _add_output(run.add_argument_group("output"))


def _add_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--model", metavar="NAME", help="default: the provider's")
    group.add_argument("--base-url", metavar="URL", help="any server that speaks its format")


def _add_limits(group: argparse._ArgumentGroup) -> None:
    for flag, meaning in (
        ("--timeout", "for one tool call (default 30)"),
        ("--llm-timeout", "for one answer of the model (default 120)"),
        ("--deadline", "for the whole run"),
    ):
        group.add_argument(flag, type=seconds, metavar="S", help=f"seconds {meaning}")
    group.add_argument(
        "--max-iterations",
        type=whole_number(),
        metavar="N",
        help="replies with tool calls (default 10)",
    )
    group.add_argument(
        "--reply-tokens",
        type=whole_number(),
        metavar="N",
        help="at most this many tokens in one reply",
    )
    for flag, meaning in (("--allow", "only these tools"), ("--deny", "not these tools")):
        group.add_argument(
            flag,
            nargs="+",
            action="extend",
            metavar="PATTERN",
            help=f"{meaning}: names or patterns such as 'files.*' or '*.delete_*'",
        )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help="print the whole result as JSON")
    group.add_argument("--quiet", action="store_true", help="show no progress")
    group.add_argument(
        "--record", metavar="FILE", help="write the run to FILE as a golden, to inspect and replay"
    )


def _add_inspect(commands: Commands) -> None:
    inspect = commands.add_parser("inspect", help="show a recorded run step by step")
    inspect.add_argument("file", metavar="FILE", help="a golden, or what 'run --json' printed")
    inspect.add_argument("--json", action="store_true", help="print the facts as JSON")
