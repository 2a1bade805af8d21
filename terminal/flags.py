"""The flags of the command line. Only the standard library, so that ``--help`` does not wait."""

import argparse
import shlex
from collections.abc import Iterable, Sequence

from mcp_ghost.cli.arguments import (
    Parser,
    add_flags,
    add_trust,
    http_url,
    port_number,
    seed_number,
    whole_number,
)

_USAGE = """\
main.py [FLAG ...]
       main.py games [FLAG ...]
"""
_DESCRIPTION = """\
A language model plays interactive fiction: Zork I, or the bundled story if
Zork I is unavailable. It may call MCP tools while it thinks. Without a key it
plays with a small model on this machine.
"""
_EPILOG = """\
settings: flag > environment (ZORKGPT_*, and the key: OPENROUTER_API_KEY,
  OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY) > .env >
  [tool.zorkgpt.*] in pyproject.toml > default

exit code: 0 played; 1 stopped by a failure, such as a model that does not
  answer, or a replay that differs; 2 wrong usage or configuration; 130
  interrupted by Ctrl-C (143 by SIGTERM, 129 by a closed terminal, 141 by a
  closed pipe). --resume continues an interrupted or failed episode.

examples:
  uv run python main.py --max-turns 20
  uv run python main.py --base-url http://localhost:11434/v1 --model qwen3:8b
  uv run python main.py --resume latest
  uv run python main.py --fork latest@12
  uv run python main.py games           lists the known games and their files
"""
_LENGTH = """\
--max-turns N       end an episode at turn N (default 500); turns before a --resume count too
"""
_WHICH = """\
--episodes N        play N episodes, one after the other
--continuous        play episodes until Ctrl-C
--resume EPISODE    continue an episode: its name, its folder, or 'latest'
--replay EPISODE    play an episode again with its recorded replies, offline, and compare each turn
--fork NAME@N       continue from turn N of an episode as a new one; the old one stays as it is
"""
_GAME = """\
--story NAME|PATH   zork1 (default; downloaded once), bundled, a known game, a story file,\
 an https address, or gym:ID
--seed N            seed of the game's dice, to get the same rolls again
"""
_MIND = """\
--player NAME       who plays: model (default), or chat, random or first-exit to compare it with
--model NAME        the model's name at the endpoint
--base-url URL      the model's endpoint (default: that of the key that is set, or the small model)
--mcp               offer the model the tools of the configured MCP servers, or none
--without PART      play without one part of the player's mind; may be repeated: {parts}
"""
_PAGE = """\
--watch PORT        show the episode live on a page where you can pause it, and open that page
--no-open           with --watch: do not open a browser
"""
_OTHERS = """\
--config FILE       read settings from FILE, in the same format, instead of ./pyproject.toml
--version           print the version and exit
"""
_STORAGE = "storage"
"""Left out like a part of the mind, but belongs to no episode."""
_OF_A_NEW_EPISODE = ("story", "seed", "player")
_OF_PLAYING = (*_OF_A_NEW_EPISODE, "max_turns", "model", "base_url", "mcp", "without", "watch")


class Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    max_turns: int | None
    episodes: int | None
    continuous: bool
    resume: str | None
    replay: str | None
    fork: tuple[str, int] | None
    story: str | None
    seed: int | None
    player: str | None
    model: str | None
    base_url: str | None
    mcp: bool | None
    without: list[str]
    watch: int | None
    open: bool
    config: str | None
    version: bool

    def settings(self) -> dict[str, object]:
        """Return the fields of the configuration that were set by a flag."""
        given = {
            "max_turns_per_episode": self.max_turns,
            "story": self.story,
            "seed": self.seed,
            "player_name": self.player,
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
        """Return the command that continues ``episode`` in the same way."""
        from mcp_ghost.text import address  # which --help need not wait for

        if self.resume and "/" in self.resume:
            episode = self.resume  # not where the configuration would look for it
        if self.fork and "/" in self.fork[0]:
            episode = f"{self.fork[0].rstrip('/').rpartition('/')[0]}/{episode}"
        words = ["uv", "run", "python", "main.py", "--resume", episode]
        base_url = self.base_url and address(self.base_url)
        given = {"--base-url": base_url, "--model": self.model, "--config": self.config}
        for flag, value in given.items():
            if value:
                words += [flag, value]
        if self.mcp is not None:
            words.append("--mcp" if self.mcp else "--no-mcp")
        for part in self.without:
            words += ["--without", part]
        return shlex.join(words)


def episode_at_turn(text: str) -> tuple[str, int]:
    """Read an episode and one of its turns, such as ``latest@12``."""
    episode, at, turn = text.rpartition("@")
    if not (episode and at and turn.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not EPISODE@TURN, such as latest@12")
    return episode, int(turn)


def parse_flags(
    arguments: Sequence[str] | None, parts: Iterable[str], players: Iterable[str]
) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why.

    ``parts`` are those of the mind, which can be left out; ``players``, who can play.
    """
    parser = Parser(prog="main.py", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    parser.commands = ("games",)
    episodes = parser.add_argument_group("episodes")
    add_flags(episodes, _LENGTH, max_turns={"type": whole_number()})
    which = episodes.add_mutually_exclusive_group()
    add_flags(which, _WHICH, episodes={"type": whole_number()}, fork={"type": episode_at_turn})
    add_flags(episodes, _GAME, seed={"type": seed_number})
    left_out = (*parts, _STORAGE)
    add_flags(
        parser.add_argument_group("model, tools and mind"),
        _MIND.format(parts=", ".join(left_out)),
        player={"choices": tuple(players)},
        base_url={"type": http_url},
        mcp={"action": argparse.BooleanOptionalAction, "default": None},
        without={"action": "append", "choices": left_out, "default": []},
    )
    page = parser.add_argument_group("page")
    watch = {"type": port_number, "nargs": "?", "const": 0}
    add_flags(page, _PAGE, watch=watch, no_open={"dest": "open", "action": "store_false"})
    add_flags(parser, _OTHERS)
    add_trust(parser)
    flags = parser.parse_args(arguments, Flags())
    if flags.resume is not None or flags.fork is not None:
        given = "--fork" if flags.resume is None else "--resume"
        for name in _OF_A_NEW_EPISODE:
            if getattr(flags, name) is not None:
                parser.error(f"--{name} is for a new episode; {given} keeps the old one's")
    for name in _OF_PLAYING if flags.replay is not None else ():
        if getattr(flags, name) not in (None, []):
            flag = name.replace("_", "-")
            parser.error(f"--{flag} is for playing; --replay takes everything from the record")
    return flags
