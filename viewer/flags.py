"""The flags of ``python -m viewer``. Standard library only, so that ``--help`` does not wait."""

import argparse
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mcp_ghost.cli.arguments import Parser, add_command, add_flags, add_trust, port_number

PROGRAM = "python -m viewer"
DEFAULT_PORT = 8723
_DESCRIPTION = """\
Show episodes. Without a command, serve a page with every episode in a work
folder, including live ones. The viewer reads event logs. It writes the files
that you ask for, the names and notes that you give on the page
(annotations.json next to a log), and a hidden file in the work folder,
.summaries.json, which makes the next start faster and may be deleted. It
deletes episodes only if you do so on the page.
"""
_EPILOG = """\
EPISODE is an episode's name, its folder, or 'latest'.

exit code: 0 done; 1 stopped by a failure; 2 wrong usage; 130 interrupted by
  Ctrl-C

examples:
  uv run python -m viewer --open
  uv run python -m viewer export public
  uv run python -m viewer show latest --turns 10-20
  uv run python -m viewer map latest -o map.svg
  uv run python -m viewer plot latest another-episode -o scores.png
"""
_WHERE = """\
--workdir DIR   the work folder, or an evaluation's folder (default: as configured)
--config FILE   read settings from FILE, in the same format, instead of ./pyproject.toml
"""
_SERVER = f"""\
--port N        port to serve on (default {DEFAULT_PORT}, or the next free one)
--host HOST     address to serve on (default 127.0.0.1: this machine only)
--open          open the page in a browser (default: no)
"""
_SHOWN = """\
--turns A-B     only these turns, such as 10-20, 10- or 10
--plain         no colours
"""
_EXPORT = """\
--prompts  include what models were asked and answered, which takes many times the space
--force  write into a folder that is not empty"""


class Flags(argparse.Namespace):
    """What the command line said; None for anything it did not mention."""

    command: str | None
    workdir: Path | None = None
    config: str | None = None
    port: int | None
    host: str
    open: bool
    folder: Path
    episodes: list[str]
    episode: str
    force: bool
    prompts: bool
    turns: tuple[int, int | None] | None
    plain: bool
    output: Path


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why."""
    # May stand before a command and after it.
    where = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    add_flags(where, _WHERE, workdir={"type": Path})
    add_trust(where)
    parser = Parser(prog=PROGRAM, description=_DESCRIPTION, epilog=_EPILOG, parents=[where])
    add_flags(
        parser,
        _SERVER,
        port={"type": port_number},
        host={"default": "127.0.0.1"},
        open={"action": argparse.BooleanOptionalAction, "default": False},
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = partial(add_command, commands, parents=[where])
    export = command("export", "write a site that any web host can serve")
    export.add_argument("folder", type=Path, metavar="DIR", help="where to write it")
    export.add_argument(
        "episodes", nargs="*", default=[], metavar="EPISODE", help="which ones (default: all)"
    )
    add_flags(export, _EXPORT)
    show = command("show", "print an episode for people to read")
    show.add_argument("episode", metavar="EPISODE")
    add_flags(show, _SHOWN, turns={"type": _turns})
    draw = command("map", "draw an episode's map")
    draw.add_argument("episode", metavar="EPISODE")
    _add_output(draw, (".svg", ".png", ".pdf", ".mmd"), "the map; .mmd is Mermaid source")
    plot = command("plot", "draw the scores of episodes over their turns")
    plot.add_argument("episodes", nargs="+", metavar="EPISODE")
    _add_output(plot, (".png", ".svg", ".pdf"), "the plot")
    return parser.parse_args(arguments, Flags())


def _add_output(command: Parser, endings: Sequence[str], what: str) -> None:
    def output(text: str) -> Path:
        if Path(text).suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"'{text}' does not end with {', '.join(endings)}")
        return Path(text)

    described = f"-o --output FILE  {what} ({', '.join(endings)})"
    add_flags(command, described, output={"type": output, "required": True})


def _turns(text: str) -> tuple[int, int | None]:
    if re.fullmatch(r"\d{1,9}(-(\d{1,9})?)?", text, re.ASCII):
        first, dash, last = text.partition("-")
        end = int(last or 0) if dash else int(first)
        if not end or int(first) <= end:
            return int(first), end or None
    raise argparse.ArgumentTypeError(f"'{text}' is not a range of turns such as 10-20, 10- or 10")
