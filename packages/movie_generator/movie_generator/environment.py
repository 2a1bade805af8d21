"""What the environment says about the queue, its workers and their jobs."""

import os
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from movie_generator.errors import SettingsError

MAX_ATTEMPTS = 5
"""At one job."""
DATABASE_WAIT = 60.0
"""Seconds for which a worker waits for a PostgreSQL server that does not answer."""


class Environment(BaseModel):
    """The variables as they are now; an empty one counts as unset."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    database_url: str = Field("sqlite:///movie_jobs.db", alias="MOVIE_DATABASE_URL")
    job_lease: float = Field(60.0, alias="MOVIE_JOB_LEASE", ge=1, le=604_800)
    """Seconds."""
    database_wait: float = Field(DATABASE_WAIT, alias="MOVIE_DATABASE_WAIT", ge=0, le=86_400)
    """Seconds."""
    max_attempts: int = Field(MAX_ATTEMPTS, alias="MOVIE_MAX_ATTEMPTS", ge=1, le=999)
    keep_days: float | None = Field(None, alias="MOVIE_KEEP_DAYS", ge=0)
    allow_private_urls: bool = Field(default=False, alias="MOVIE_ALLOW_PRIVATE_URLS")
    allowed_hosts: Annotated[
        tuple[str, ...], BeforeValidator(lambda text: tuple(text.replace(",", " ").split()))
    ] = Field((), alias="MOVIE_ALLOWED_HOSTS")
    config_path: str | None = Field(None, alias="CONFIG_PATH")
    mcp_config_path: str | None = Field(None, alias="MCP_CONFIG_PATH")

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read ``environ``, by default that of this process.

        Raises:
            SettingsError: A value cannot be used.
        """
        values = os.environ if environ is None else environ
        given = {name: text.strip() for name, text in values.items() if text.strip()}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise SettingsError(
                f"{first['loc'][0]} is {first['input']!r:.80}. {first['msg']}."
            ) from error
