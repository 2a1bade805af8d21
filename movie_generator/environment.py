"""What the environment says about the queue, its workers and their jobs."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from movie_generator.errors import SettingsError

_SHORTEST_LEASE = 1.0
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True)
class Environment:
    """The variables as they are now; an empty one counts as unset."""

    database_url: str
    """MOVIE_DATABASE_URL"""
    job_lease: float
    """MOVIE_JOB_LEASE, seconds"""
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
        return cls(
            database_url=given.get("MOVIE_DATABASE_URL", "sqlite:///movie_jobs.db"),
            job_lease=_seconds("MOVIE_JOB_LEASE", given.get("MOVIE_JOB_LEASE", "60")),
            allow_private_urls=given.get("MOVIE_ALLOW_PRIVATE_URLS", "").lower() in _TRUE,
            allowed_hosts=tuple(given.get("MOVIE_ALLOWED_HOSTS", "").replace(",", " ").split()),
            config_path=given.get("CONFIG_PATH"),
            mcp_config_path=given.get("MCP_CONFIG_PATH"),
        )


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _SHORTEST_LEASE <= seconds < math.inf:
        raise SettingsError(
            f"{name} is {text!r}; give a number of seconds, at least {_SHORTEST_LEASE:g}."
        )
    return seconds
