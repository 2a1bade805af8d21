"""The flags of the command line. Only the standard library, so that ``--help`` does not wait."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from mcp_ghost.cli.arguments import Parser, add_command, add_flags, add_trust, seconds, whole_number
from movie_generator import __version__

PROGRAM = "movie-generator"

_DESCRIPTION = "Write video scripts from web pages: one right away, or many through a queue."
_EPILOG = """\
environment (also read from .env):
  OPENROUTER_API_KEY, OPENROUTER_BASE_URL
                        the model's provider; else OPENAI_API_KEY,
                        ANTHROPIC_API_KEY or GEMINI_API_KEY
  CONFIG_PATH           config.yaml: model, language, style and limits
  MCP_CONFIG_PATH       MCP servers (JSON or JSONC); pages are then read by an
                        agent
  MOVIE_DATABASE_URL    the queue: sqlite:///movie_jobs.db, or
                        postgresql://user:password@host/name
  MOVIE_JOB_LEASE       seconds after which a silent worker loses its job (60)
  MOVIE_DATABASE_WAIT   seconds for which a worker that starts waits for a
                        PostgreSQL server that does not answer (60)
  MOVIE_MAX_ATTEMPTS    attempts at a job if its failures are temporary (5)
  MOVIE_KEEP_DAYS       days for which workers keep finished jobs (default:
                        for ever)
  MOVIE_ALLOW_PRIVATE_URLS=1
                        allows URLs on this machine and in private networks
  MOVIE_ALLOWED_HOSTS   only these hosts may be read: example.com,
                        *.example.org

exit code: 0 done; 1 failed; 2 wrong usage or configuration; 130 interrupted
  by Ctrl-C (143 by SIGTERM). A worker without --drain that is stopped hands
  its jobs back and exits with 0.

examples:
  movie-generator script https://example.com/article -o script.yaml
  movie-generator script saved.html --language de --minutes 3
  movie-generator export script.yaml --format srt -o script.srt
  movie-generator show script.yaml --html script.html
  movie-generator enqueue https://example.com/one https://example.com/two
  movie-generator worker --drain
  movie-generator jobs
  movie-generator result 1 -o one.yaml
"""
_SCRIPT = """\
--html FILE            read the page from FILE, or from standard input (-); URL is its address
--language CODE        language of the script: en, ja, de, pt-BR or another
--style STYLE          single (one narrator) or dialogue
--sections N           how many sections to aim for
--minutes N            how long the script should take to speak
--model NAME           the model's name at its provider
--wire NAME            which of OpenAI's formats: chat, responses or auto
--check HOW            rules, or model: one more call compares each sentence with the page
--config FILE          use this instead of CONFIG_PATH
--mcp-config FILE      use this instead of MCP_CONFIG_PATH
"""
_WORKER = """\
--drain                exit when no job is pending or processing
--concurrency N        how many jobs to run at once (default 1)
--job-timeout SECONDS  how long a job may take before it fails (default 3600)
"""
_OUTPUT = (
    "-o --output FILE  save it as YAML, or as JSON if FILE ends in .json (default: print YAML)"
)
_JOBS = """\
--json   print everything, results included, as JSON
--watch  follow their progress until all are finished
"""
_FORMATS = ("text", "srt", "vtt", "scenes")
_STATES = ("pending", "processing", "completed", "failed", "cancelled")
_job_id = whole_number(1, 2**31 - 1)


class Flags(argparse.Namespace):
    """What the command line said."""

    command: str
    urls: list[str]
    again: bool
    ids: list[int]
    days: int | None
    id: int
    drain: bool
    concurrency: int
    job_timeout: float
    json: bool
    watch: bool
    status: str | None
    output: str | None
    file: str
    html: str | None
    format: str
    config: str | None
    mcp_config: str | None = None
    language: str | None
    style: str | None
    sections: int | None
    minutes: float | None
    model: str | None
    wire: str | None
    check: str | None


def parse_flags(arguments: Sequence[str] | None = None) -> Flags:
    """Read the command line; a wrong one ends the program with code 2 and a line that says why."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    parser = Parser(prog=PROGRAM, description=_DESCRIPTION, epilog=_EPILOG)
    version = f"{PROGRAM} {__version__}"
    parser.add_argument(
        "--version", action="version", version=version, help="print the version and exit"
    )
    if given and "://" in given[0]:
        parser.error(f"a command must come first; for one page: {PROGRAM} script URL")
    if [it.partition("=")[0] for it in given].count("--html") > 1:  # argparse would take the last
        parser.error("--html takes one page; name further saved ones without it")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    trusting = Parser(add_help=False)
    add_trust(trusting)
    command = partial(add_command, commands, parents=[trusting])
    command("init", "write config.yaml and mcp.jsonc, with every setting, to start with")
    script = command("script", "write the script of a page, or of several, now")
    about = "a page on the web, or a saved one; several pages make one script"
    script.add_argument("urls", nargs="*", type=str.strip, metavar="URL", help=about)
    add_flags(script, _OUTPUT)
    add_flags(
        script,
        _SCRIPT,
        style={"choices": ("single", "dialogue")},
        sections={"type": whole_number(1, 50)},
        minutes={"type": seconds},
        wire={"choices": ("auto", "chat", "responses")},
        check={"choices": ("rules", "model")},
    )
    show = command("show", "show a script beside the text of its page")
    show.add_argument("file", metavar="FILE", help="a file that script or result saved")
    about = "--html FILE  write it to FILE, with each narration's source marked on the page"
    add_flags(show, about)
    export = command("export", "turn a script into text, subtitles or scenes")
    export.add_argument("file", metavar="FILE", help="a file that script or result saved")
    about = "scenes: JSON with texts, search terms and images; times are estimates"
    export.add_argument("--format", choices=_FORMATS, default="text", help=about)
    add_flags(export, "-o --output FILE  write it to FILE (default: print it)")
    enqueue = command("enqueue", "add jobs to the queue and print their ids")
    # Each line of a list from Windows ends with a character that no shell removes.
    enqueue.add_argument("urls", nargs="+", type=str.strip, metavar="URL")
    add_flags(enqueue, "--again  make a new job even for a URL that has one")
    cancel = command("cancel", "stop jobs that are not finished")
    retry = command("retry", "put failed or cancelled jobs back on the queue")
    for it in (cancel, retry):
        it.add_argument("ids", nargs="+", type=_job_id, metavar="ID")
    prune = command("prune", "delete jobs that finished some time ago")
    about = "--days N  only those that finished at least N days ago (default: MOVIE_KEEP_DAYS)"
    add_flags(prune, about, days={"type": whole_number(0)})
    worker = command("worker", "process queued jobs until stopped")
    add_flags(
        worker,
        _WORKER,
        concurrency={"type": whole_number(1, 1000), "default": 1},
        job_timeout={"type": seconds, "default": 3600.0},
    )
    jobs = command("jobs", "list the jobs")
    add_flags(jobs.add_mutually_exclusive_group(), _JOBS)
    jobs.add_argument("--status", choices=_STATES, help="only jobs with this status")
    result = command("result", "show or save the script of a completed job")
    result.add_argument("id", type=_job_id, metavar="ID")
    add_flags(result, _OUTPUT)
    return parser.parse_args(given, Flags())
