"""The wait for a PostgreSQL server that is still starting, as after the start of a machine.

Only the server's absence is waited for. What waiting cannot cure (a wrong password, a database that
does not exist, a host that nobody knows) is found by connecting, which follows in any case.
"""

import logging
import socket
from collections.abc import Mapping
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_delay, wait_exponential

_FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two looks; each pause is twice the one before."""
_CONNECT_SECONDS = 2
_OF_PSYCOPG = "context"
"""SQLAlchemy's only argument that says nothing about the server."""
_logger = logging.getLogger("movie_generator")


def wait_for_server(name: str, arguments: Mapping[str, Any], seconds: float) -> None:
    """Return when the server takes connections, waiting will not help, or ``seconds`` are over.

    Args:
        name: What people call the database.
        arguments: What psycopg connects with.
        seconds: The longest wait; 0 for none.
    """
    if seconds <= 0:
        return

    def tell(state: RetryCallState) -> None:
        if state.attempt_number == 1:
            _logger.warning(
                "The job database %s does not answer; waiting for it, at most %g s", name, seconds
            )

    growing = wait_exponential(_FIRST_PAUSE, LONGEST_PAUSE)

    def pause(state: RetryCallState) -> float:
        return min(growing(state), max(0.0, seconds - (state.seconds_since_start or 0.0)))

    Retrying(
        retry=retry_if_result(lambda may_come_up: may_come_up),
        wait=pause,
        stop=stop_after_delay(seconds),
        before_sleep=tell,
        retry_error_callback=lambda _: None,
    )(_may_come_up, arguments)


def _may_come_up(arguments: Mapping[str, Any]) -> bool:
    """Whether the server does not take connections now, but may do so later."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import PGconn, Ping

    told = {key: value for key, value in arguments.items() if key != _OF_PSYCOPG}
    try:
        asked = make_conninfo(**{**told, "connect_timeout": _CONNECT_SECONDS})
    except ProgrammingError:  # an option that does not exist
        return False
    missing = Ping(PGconn.ping(asked.encode())) in (Ping.REJECT, Ping.NO_RESPONSE)
    return missing and not _is_unknown(arguments.get("host") or "")


def _is_unknown(hosts: str) -> bool:
    """Whether no host has that name, or none of those names."""
    for host in hosts.split(","):
        if not host or host.startswith(("/", "@")):  # a socket of this machine
            return False
        try:
            socket.getaddrinfo(host, None)
        except socket.gaierror as error:
            if error.errno != socket.EAI_NONAME:
                return False
        else:
            return False
    return True
