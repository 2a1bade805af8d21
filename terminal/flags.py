"""The flags of the command line. Only the standard library: ``--help`` is not to wait."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from mcp_ghost.text import address

_DESCRIPTION = """\
A language model plays interactive fiction: Zork I, or the bundled story where Zork I cannot be had.
It may call MCP tools while it thinks. Without a key it plays with a small model on this machine.
"""
_EPILOG = """\
settings: flag > environment (ZORKGPT_*, and OPENROUTER_API_KEY or OPENAI_API_KEY for the key)
  > .env > [tool.zorkgpt.*] in pyproject.toml > default

exit code: 0 played; 1 stopped by a failure, such as a model that does not answer; 2 wrong use or
  configuration; 130 interrupted by Ctrl-C (143 by SIGTERM, 129 by a closed terminal, 141 by a
  closed pipe). An interrupted or failed episode goes on with --resume.

examples:
  main.py --max-turns 20
  main.py --story bundled --base-url http://localhost:11434/v1 --model qwen3:8b
  main.py --resume latest
"""
PARTS = ("map", "memories", "objectives", "knowledge", "reflection", "action_check", "storage")
"""Of the player's mind: what can be left out."""
_MAX_SEED = 2**31 - 1
_MAX_PORT = 2**16 - 1
_OF_A_NEW_EPISODE = ("story", "seed")


class Flags(argparse.Namespace):
    """What the command line said; None where it said nothing."""

    max_turns: int | None
    episodes: int | None
    continuous: bool
    resume: str | None
    story: str | None
    seed: int | None
    model: str | None
    base_url: str | None
    mcp: bool | None
    without: list[str]
    watch: int | None
    open: bool
    config: str | None
    version: bool

    def settings(self) -> dict[str, object]:
        """The fields of the configuration that were set by a flag."""
        given = {
            "max_turns_per_episode": self.max_turns,
            "story": self.story,
            "seed": self.seed,
            "agent_model": self.model,
            "client_base_url": self.base_url,
            "mcp_enabled": self.mcp,
        }
        fields: dict[str, object] = {key: it for key, it in given.items() if it is not None}
        fields |= {f"{part}_enabled": False for part in self.without}
        if self.base_url is not None:
            fields["agent_base_url"] = None  # a configured one would win over the flag
        return fields

    def to_resume(self, episode: str) -> str:
        """The command that goes on with ``episode`` in the same way."""
        if self.resume and "/" in self.resume:
            episode = self.resume  # not where the configuration would look for it
        words = ["uv", "run", "python", "main.py", "--resume", episode]
        if self.base_url:
            words += ["--base-url", address(self.base_url)]
        if self.model:
            words += ["--model", self.model]
        if self.config:
            words += ["--config", self.config]
        if self.mcp is not None:
            words.append("--mcp" if self.mcp else "--no-mcp")
        for part in self.without:
            words += ["--without", part]
        return shlex.join(words)


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with 2 and a line that says why."""
    parser = _parser()
    flags = parser.parse_args(arguments, Flags())
    if flags.resume is not None:
        for name in _OF_A_NEW_EPISODE:
            if getattr(flags, name) is not None:
                parser.error(f"--{name} is for a new episode; --resume goes on with the old one's")
    return flags


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="main.py",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_episode_flags(parser.add_argument_group("episodes"))
    _add_model_flags(parser.add_argument_group("model, tools and mind"))
    parser.add_argument(
        "--config", metavar="FILE", help="settings in place of ./pyproject.toml, in the same form"
    )
    _add_page_flags(parser.add_argument_group("page"))
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    return parser


def _add_episode_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-turns",
        type=_positive,
        metavar="N",
        help="end an episode at turn N (default 500); turns before a --resume count too",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--episodes", type=_positive, metavar="N", help="play N episodes, one after the other"
    )
    which.add_argument("--continuous", action="store_true", help="play episodes until Ctrl-C")
    which.add_argument(
        "--resume",
        metavar="EPISODE",
        help="go on with an episode: its name, its folder, or 'latest'",
    )
    group.add_argument(
        "--story",
        metavar="NAME|PATH",
        help="zork1 (default; downloaded once), bundled, or a story file (.z3 .z4 .z5 .z8)",
    )
    group.add_argument(
        "--seed", type=_seed, metavar="N", help="seed of the game's dice, to play it the same again"
    )


def _add_model_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--model", metavar="NAME", help="the model's name at the endpoint")
    group.add_argument(
        "--base-url",
        type=_url,
        metavar="URL",
        help="any OpenAI-compatible endpoint (default: by the key at hand, else the small model)",
    )
    group.add_argument(
        "--mcp",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="offer the tools of the server in mcp_config.json, or none",
    )
    group.add_argument(
        "--without",
        action="append",
        choices=PARTS,
        default=[],
        metavar="PART",
        help=f"play without a part of the mind, as often as needed: {', '.join(PARTS)}",
    )


def _add_page_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--watch",
        nargs="?",
        const=0,
        type=_port,
        metavar="PORT",
        help="show the episode live on a page of this machine, and open it",
    )
    group.add_argument(
        "--no-open", dest="open", action="store_false", help="with --watch: open no browser"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_PORT:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: a number from 1 to {_MAX_PORT}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_SEED:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to {_MAX_SEED}")
    return int(text)


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"'{text}' does not start with http:// or https://")
    return text
