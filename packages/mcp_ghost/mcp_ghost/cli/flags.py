"""The flags of the command line. Only the standard library, so that ``--help`` does not wait."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, Literal

from mcp_ghost.cli.arguments import (
    Parser,
    add_command,
    add_flags,
    add_trust,
    number,
    seconds,
    whole_number,
)
from mcp_ghost.version import __version__

PROGRAM = "mcp-ghost"

_DESCRIPTION = """\
Let a language model do what you ask with the tools of MCP servers.
"""
_EPILOG = """\
The key comes from the environment or from .env: OPENAI_API_KEY,
ANTHROPIC_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY. A model on this machine
needs none. The result goes to standard output, progress to standard error.

exit code: 0 success; 1 the run did not succeed; 2 wrong usage or
  configuration; 130 interrupted by Ctrl-C (143 by SIGTERM, 129 by a closed
  terminal, 141 by a closed pipe)

examples:
  mcp-ghost run --config servers.json --provider openai --prompt "What's new?"
  git diff | mcp-ghost run --config servers.json --provider gemini --prompt -
  mcp-ghost chat --config servers.json --provider anthropic
  mcp-ghost tools --config ~/.cursor/mcp.json
  mcp-ghost replay tests/goldens/openai/database_report.json
"""
DEFAULT_SYSTEM_PROMPT = "Do what the user asks. Use the tools where they help."
_CONFIG = "--config FILE       the MCP servers: a file of your own or another program's\n"
_WHAT_TO_DO = """\
--provider NAME     openai, anthropic or gemini
--system TEXT       the system prompt
"""
_PROMPT = "--prompt TEXT  what the model is to do; - reads it from standard input"
_MODEL = """\
--model NAME        the model (default: the provider's)
--base-url URL      address of another server that speaks the provider's format
--wire NAME         which of OpenAI's formats to use: chat, responses or auto (default)
--temperature T     how freely the model chooses its words (default: the provider's)
--no-server-instructions  keep the servers' instructions from the model
--reasoning-effort E  how hard the model thinks: none, minimal, low, medium, high, xhigh or max
"""
_STARTUP = """\
--startup-timeout S  seconds for one server to start (default 30; 120 where it may be downloaded)
"""
_LIMITS = """\
--timeout S         seconds for one tool call (default 30)
--progress-extends-timeout  restart a call's timeout whenever its server reports progress
--llm-timeout S     seconds for one model reply (default 120)
--deadline S        seconds for the whole run
--max-iterations N  at most this many replies with tool calls (default 10)
--reply-tokens N    at most this many tokens in one reply
--token-budget N    stop asking the model after this many tokens
--cost-budget D     stop after this many US dollars, if the provider reports costs
"""
_CHOICE = """\
--allow PATTERN     offer only these tools: names or patterns such as 'files.*' or '*.delete_*'
--deny PATTERN      do not offer these tools: names or patterns such as 'files.*' or '*.delete_*'
"""
_APPROVE = """\
--approve WHEN      calls to ask about: destructive (default on a terminal), always, never, patterns
"""
_QUIET = "--quiet             show no progress"
_OUTPUT = """\
--output-schema FILE  a JSON schema: the form that the answer must have
--json              print the whole result as JSON
--record FILE       write the run to FILE as a golden, to inspect or replay later
"""
_OPTIONS = tuple(
    flag.removeprefix("no-").replace("-", "_")
    for flag in re.findall("^--([a-z-]+)", _MODEL + _STARTUP + _LIMITS + _CHOICE, re.M)
)
_READ: dict[str, dict[str, Any]] = {
    "S": {"type": seconds},
    "N": {"type": whole_number()},
    "D": {"type": number},
    "T": {"type": number},
    **{name: {"nargs": "+", "action": "extend"} for name in ("PATTERN", "WHEN")},
    **{name: {"required": True} for name in ("config", "provider", "prompt")},
    "system": {"default": DEFAULT_SYSTEM_PROMPT},
    "no_server_instructions": {"action": "store_false", "dest": "server_instructions"},
}
"""How the value of a flag is read, by what its line calls it, or by the flag."""


class Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    command: str
    config: str
    provider: str
    prompt: str
    system: str
    startup_timeout: float | None
    allow: list[str] | None
    deny: list[str] | None
    approve: list[str] | None
    output_schema: str | None
    record: str | None
    quiet: bool
    file: str
    servers: Literal["live", "recorded"]
    json: bool

    def arguments(self) -> dict[str, Any]:
        """The arguments of a run that were given."""
        given = {name: it for name in _OPTIONS if (it := getattr(self, name)) is not None}
        required = {"system_prompt": self.system, "provider": self.provider}
        return {"server_config": self.config, **required, **given}

    def approve_when(self, *, somebody_is_there: bool) -> str | list[str] | None:
        """Before which calls to ask; None for none.

        Raises:
            ValueError: There is nobody to ask.
        """
        given = self.approve or (["destructive"] if somebody_is_there else ["never"])
        if given == ["never"]:
            return None
        if not somebody_is_there:
            raise ValueError("--approve needs a terminal to ask on; do not pipe the prompt in.")
        return given[0] if given in (["destructive"], ["always"]) else given


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why."""
    parser = Parser(prog=PROGRAM, description=_DESCRIPTION, epilog=_EPILOG)
    version = f"{PROGRAM} {__version__}"
    about = "print the version and exit"
    parser.add_argument("--version", action="version", version=version, help=about)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, purpose, asked, output in (
        ("run", "run one operation", _PROMPT, f"{_OUTPUT}{_QUIET}"),
        ("chat", "talk with a model that may call tools; Ctrl-D ends it", "", _QUIET),
    ):
        command = add_command(commands, name, purpose)
        group = command.add_argument_group("what to do")
        add_flags(group, f"{_CONFIG}{_WHAT_TO_DO}{asked}", **_READ)
        add_flags(command.add_argument_group("model"), _MODEL, **_READ)
        add_trust(command)
        limits = command.add_argument_group("limits")
        add_flags(limits, f"{_STARTUP}{_LIMITS}{_CHOICE}{_APPROVE}", **_READ)
        add_flags(command.add_argument_group("output"), output)
    tools = add_command(commands, "tools", "list the tools of the servers")
    add_flags(tools, f"{_CONFIG}{_STARTUP}{_CHOICE}--json  print everything as JSON", **_READ)
    inspect = add_command(commands, "inspect", "show a recorded run step by step")
    inspect.add_argument("file", metavar="FILE", help="a golden, or what 'run --json' printed")
    add_flags(inspect, "--json  print it as JSON")
    replay = add_command(commands, "replay", "run a golden again and compare the two runs")
    replay.add_argument("file", metavar="FILE", help="a golden")
    replay.add_argument(
        "--servers",
        choices=("live", "recorded"),
        default="recorded",
        help="give the recorded results (the default), or start the servers of --config (live)",
    )
    add_flags(replay, "--config FILE  with --servers live: the MCP servers to start")
    return parser.parse_args(arguments, Flags())
