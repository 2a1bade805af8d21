"""The flags of the command line. Only the standard library: ``--help`` is not to wait."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TypeAlias

# argparse names the type of its sub-commands nowhere in public.
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

_DESCRIPTION = """\
Video scripts from web pages, one at once or many through a queue.
"""
_EPILOG = """\
environment (also read from .env):
  OPENROUTER_API_KEY, OPENROUTER_BASE_URL   the model's provider
  CONFIG_PATH           config.yaml: model, language, style and limits
  MCP_CONFIG_PATH       MCP servers (JSON or JSONC); pages are then read by an agent
  MOVIE_DATABASE_URL    the queue: sqlite:///movie_jobs.db, or postgresql://user:password@host/name
  MOVIE_JOB_LEASE       seconds after which a worker that fell silent loses its job (60)
  MOVIE_ALLOW_PRIVATE_URLS=1   lets URLs lead into private networks

exit code: 0 done; 1 failed; 2 wrong use or configuration; 130 interrupted by Ctrl-C (143 by
  SIGTERM). A worker without --drain that is stopped gives its jobs back and ends with 0.

examples:
  python -m movie_generator script https://example.com/article -o script.yaml
  python -m movie_generator enqueue https://example.com/one https://example.com/two
  python -m movie_generator worker --drain
  python -m movie_generator jobs
  python -m movie_generator result 1 -o one.yaml
"""
_STATES = ("pending", "processing", "completed", "failed", "cancelled")
_LARGEST_ID = 2**31 - 1


class Flags(argparse.Namespace):
    """What the command line said."""

    command: str
    urls: list[str]
    ids: list[int]
    id: int
    drain: bool
    concurrency: int
    job_timeout: float
    json: bool
    status: str | None
    output: str | None
    url: str
    config: str | None
    mcp_config: str | None


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with 2 and a line that says why."""
    parser = argparse.ArgumentParser(
        prog="python -m movie_generator",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_script(commands)
    _add_queue(commands)
    _add_worker(commands)
    _add_jobs(commands)
    return parser.parse_args(arguments, Flags())


def _add_script(commands: _Commands) -> None:
    script = _command(commands, "script", "write the script of one page now")
    script.add_argument("url", metavar="URL")
    script.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="save it: YAML, or JSON where FILE ends in .json; without it, YAML is printed",
    )
    script.add_argument("--config", metavar="FILE", help="instead of CONFIG_PATH")
    script.add_argument("--mcp-config", metavar="FILE", help="instead of MCP_CONFIG_PATH")


def _add_queue(commands: _Commands) -> None:
    enqueue = _command(commands, "enqueue", "add jobs to the queue; prints their ids")
    enqueue.add_argument("urls", nargs="+", metavar="URL")
    cancel = _command(commands, "cancel", "stop jobs that are not finished")
    cancel.add_argument("ids", nargs="+", type=_job_id, metavar="ID")
    retry = _command(commands, "retry", "put failed or cancelled jobs back on the queue")
    retry.add_argument("ids", nargs="+", type=_job_id, metavar="ID")


def _add_worker(commands: _Commands) -> None:
    worker = _command(commands, "worker", "work on the jobs of the queue")
    worker.add_argument(
        "--drain", action="store_true", help="end when no job is pending or processing"
    )
    worker.add_argument(
        "--concurrency", type=_at_least_one, default=1, metavar="N", help="jobs at a time (1)"
    )
    worker.add_argument(
        "--job-timeout",
        type=_seconds,
        default=3600.0,
        metavar="SECONDS",
        help="a job that lasts longer fails (3600)",
    )


def _add_jobs(commands: _Commands) -> None:
    jobs = _command(commands, "jobs", "list the jobs")
    jobs.add_argument("--json", action="store_true", help="everything, results included, as JSON")
    jobs.add_argument("--status", choices=_STATES, help="only jobs in this state")
    result = _command(commands, "result", "show or save the script of a completed job")
    result.add_argument("id", type=_job_id, metavar="ID")
    result.add_argument(
        "-o", "--output", metavar="FILE", help="save it: YAML, or JSON where FILE ends in .json"
    )


def _command(commands: _Commands, name: str, purpose: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=purpose, description=f"{purpose.capitalize()}.", allow_abbrev=False
    )


def _job_id(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= _LARGEST_ID:
        raise argparse.ArgumentTypeError(f"{text!r} is no job id")
    return int(text)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds
