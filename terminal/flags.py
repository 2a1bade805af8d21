"""The flags of the command line. Only the standard library, so that ``--help`` does not wait."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence

from mcp_ghost.cli.arguments import Parser, http_url, port_number, seed_number, whole_number
from mcp_ghost.text import address

_DESCRIPTION = """\
A language model plays interactive fiction: Zork I, or the bundled story if Zork I is unavailable.
It may call MCP tools while it thinks. Without a key it plays with a small model on this machine.
"""
_EPILOG = """\
settings: flag > environment (ZORKGPT_*, and the key: OPENROUTER_API_KEY, OPENAI_API_KEY,
  ANTHROPIC_API_KEY or GEMINI_API_KEY) > .env > [tool.zorkgpt.*] in pyproject.toml > default

exit code: 0 played; 1 stopped by a failure, such as a model that does not answer, or a replay
  that differs; 2 wrong use or configuration; 130 interrupted by Ctrl-C (143 by SIGTERM, 129 by a
  closed terminal, 141 by a closed pipe). --resume continues an interrupted or failed episode.

examples:
  uv run python main.py --max-turns 20
  uv run python main.py --story bundled --base-url http://localhost:11434/v1 --model qwen3:8b
  uv run python main.py --resume latest
"""
_STORAGE = "storage"
"""Left out like a part of the mind, but belongs to no episode."""
_OF_A_NEW_EPISODE = ("story", "seed")
_OF_PLAYING = (*_OF_A_NEW_EPISODE, "max_turns", "model", "base_url", "mcp", "without", "watch")


class Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    max_turns: int | None
    episodes: int | None
    continuous: bool
    resume: str | None
    replay: str | None
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
        if left_out := [part for part in self.without if part != _STORAGE]:
            fields["without"] = left_out
        if _STORAGE in self.without:
            fields["storage_enabled"] = False
        if self.base_url is not None:
            fields["agent_base_url"] = None  # a configured one would win over the flag
        return fields

    def to_resume(self, episode: str) -> str:
        """The command that continues ``episode`` in the same way."""
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


def parse_flags(arguments: Sequence[str] | None, parts: Iterable[str]) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why.

    ``parts`` are those of the mind, which can be left out.
    """
    parser = _parser((*parts, _STORAGE))
    flags = parser.parse_args(arguments, Flags())
    if flags.resume is not None:
        for name in _OF_A_NEW_EPISODE:
            if getattr(flags, name) is not None:
                parser.error(f"--{name} is for a new episode; --resume keeps the old one's")
    for name in _OF_PLAYING if flags.replay is not None else ():
        if getattr(flags, name) not in (None, []):
            flag = name.replace("_", "-")
            parser.error(f"--{flag} is for playing; --replay takes everything from the record")
    return flags


def _parser(parts: Sequence[str]) -> Parser:
    parser = Parser(prog="main.py", description=_DESCRIPTION, epilog=_EPILOG)
    _add_episode_flags(parser.add_argument_group("episodes"))
    _add_model_flags(parser.add_argument_group("model, tools and mind"), parts)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="settings to read instead of ./pyproject.toml, in the same form",
    )
    _add_page_flags(parser.add_argument_group("page"))
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    return parser


def _add_episode_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-turns",
        type=whole_number(),
        metavar="N",
        help="end an episode at turn N (default 500); turns before a --resume count too",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--episodes", type=whole_number(), metavar="N", help="play N episodes, one after the other"
    )
    which.add_argument("--continuous", action="store_true", help="play episodes until Ctrl-C")
    which.add_argument(
        "--resume",
        metavar="EPISODE",
        help="continue an episode: its name, its folder, or 'latest'",
    )
    which.add_argument(
        "--replay",
        metavar="EPISODE",
        help="play an episode again with its recorded replies, offline, and compare each turn",
    )
    group.add_argument(
        "--story",
        metavar="NAME|PATH",
        help="zork1 (default; downloaded once), bundled, or a story file (.z3 .z4 .z5 .z8)",
    )
    group.add_argument(
        "--seed",
        type=seed_number,
        metavar="N",
        help="seed of the game's dice, to play it the same again",
    )


def _add_model_flags(group: argparse._ArgumentGroup, parts: Sequence[str]) -> None:
    group.add_argument("--model", metavar="NAME", help="the model's name at the endpoint")
    group.add_argument(
        "--base-url",
        type=http_url,
        metavar="URL",
        help="the model's endpoint (default: by the key that is set, else the small model)",
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
        choices=parts,
        default=[],
        metavar="PART",
        help=f"play without a part of the mind; may be repeated: {', '.join(parts)}",
    )


def _add_page_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--watch",
        nargs="?",
        const=0,
        type=port_number,
        metavar="PORT",
        help="show the episode live on a page of this machine, and open it",
    )
    group.add_argument(
        "--no-open", dest="open", action="store_false", help="with --watch: do not open a browser"
    )
