"""What the environment says about the queue, its workers and their jobs."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from movie_generator.errors import SettingsError

MAX_ATTEMPTS = 5
"""At one job."""
MOST_DAYS = 100_000
"""For which a finished job is kept; a calendar has an end."""
DATABASE_WAIT = 60.0
"""Seconds for which a worker waits for a PostgreSQL server that does not answer."""
_LONGEST_WAIT = 86_400.0
_SHORTEST_LEASE, _LONGEST_LEASE = 1.0, 604_800.0
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True)
class Environment:
    """The variables as they are now; an empty one counts as unset."""

    database_url: str
    """MOVIE_DATABASE_URL"""
    job_lease: float
    """MOVIE_JOB_LEASE, seconds"""
    database_wait: float
    """MOVIE_DATABASE_WAIT, seconds"""
    max_attempts: int
    """MOVIE_MAX_ATTEMPTS"""
    keep_days: float | None
    """MOVIE_KEEP_DAYS"""
    allow_private_urls: bool
    """MOVIE_ALLOW_PRIVATE_URLS"""
    allowed_hosts: tuple[str, ...]
    """MOVIE_ALLOWED_HOSTS"""
    config_path: str | None
    """CONFIG_PATH"""
    mcp_config_path: str | None
    """MCP_CONFIG_PATH"""

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read ``environ``, by default that of this process.

        Raises:
            SettingsError: A value cannot be used.
        """
        values = os.environ if environ is None else environ
        given = {name: text.strip() for name, text in values.items() if text.strip()}
        wait = _number(given, "MOVIE_DATABASE_WAIT", "seconds", 0, _LONGEST_WAIT)
        attempts = given.get("MOVIE_MAX_ATTEMPTS", str(MAX_ATTEMPTS))
        if not (attempts.isdecimal() and len(attempts) <= 3 and int(attempts)):
            raise SettingsError(
                f"MOVIE_MAX_ATTEMPTS is {attempts!r}; give a whole number from 1 to 999."
            )
        return cls(
            database_url=given.get("MOVIE_DATABASE_URL", "sqlite:///movie_jobs.db"),
            job_lease=_number(given, "MOVIE_JOB_LEASE", "seconds", _SHORTEST_LEASE, _LONGEST_LEASE)
            or 60.0,
            database_wait=DATABASE_WAIT if wait is None else wait,
            max_attempts=int(attempts),
            keep_days=_number(given, "MOVIE_KEEP_DAYS", "days", 0, MOST_DAYS),
            allow_private_urls=given.get("MOVIE_ALLOW_PRIVATE_URLS", "").lower() in _TRUE,
            allowed_hosts=tuple(given.get("MOVIE_ALLOWED_HOSTS", "").replace(",", " ").split()),
            config_path=given.get("CONFIG_PATH"),
            mcp_config_path=given.get("MCP_CONFIG_PATH"),
        )


def _number(
    given: Mapping[str, str], name: str, unit: str, least: float, most: float
) -> float | None:
    """What a variable says, if it is set."""
    if name not in given:
        return None
    text = given[name]
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise SettingsError(
            f"{name} is {text!r}; give a number of {unit} from {least:g} to {most:,.0f}."
        )
    return number
