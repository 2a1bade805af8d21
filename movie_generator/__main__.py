"""The command line: flags in, exit code out."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence

from mcp_ghost.interruption import Interruption
from movie_generator.flags import Flags, parse_flags

DONE, FAILED, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    flags = parse_flags(arguments)
    # Imported only now: --help and wrong flags are not to wait for it.
    from dotenv import load_dotenv

    load_dotenv(".env")
    # What libraries log is not to come between the lines shown.
    logging.getLogger().addHandler(logging.NullHandler())
    interruption = Interruption()
    interruption.install()
    try:
        return _run(flags, interruption)
    except KeyboardInterrupt:
        # To stop is the only end that such a worker has.
        stopped_as_usual = flags.command == "worker" and not flags.drain
        return DONE if stopped_as_usual else interruption.exit_code
    except BrokenPipeError:
        # What Python still flushes on its way out must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _run(flags: Flags, interruption: Interruption) -> int:
    from mcp_ghost.errors import MCPGhostError
    from movie_generator import commands
    from movie_generator.database import JobDatabaseError
    from movie_generator.errors import MovieGeneratorError

    try:
        match flags.command:
            case "script":
                _script(flags, interruption)
            case "enqueue":
                commands.enqueue(flags.urls)
            case "worker":
                commands.work(
                    drain=flags.drain,
                    concurrency=flags.concurrency,
                    job_timeout=flags.job_timeout,
                )
            case "jobs":
                commands.list_jobs(as_json=flags.json, status=flags.status)
            case "cancel":
                commands.cancel(flags.ids)
            case "retry":
                commands.retry(flags.ids)
            case "result":
                commands.show_result(flags.id, flags.output)
        sys.stdout.flush()
    except (JobDatabaseError, ValueError) as error:
        _complain(str(error))
        return WRONG_USE
    except (MovieGeneratorError, MCPGhostError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        _complain(str(error))
        return FAILED
    return DONE


def _script(flags: Flags, interruption: Interruption) -> None:
    from movie_generator.script_command import make_script

    make_script(
        flags.url,
        flags.output,
        config=flags.config,
        mcp_config=flags.mcp_config,
        on_closed=interruption.output_closed,
    )


def _complain(message: str) -> None:
    from mcp_ghost.text import plain

    print(plain(f"movie_generator: {message}"), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
