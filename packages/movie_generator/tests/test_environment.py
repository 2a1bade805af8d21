"""The environment: an empty variable counts as unset, and an impossible one is refused."""

from __future__ import annotations

import pytest

from movie_generator.environment import Environment
from movie_generator.errors import SettingsError


def test_empty_variables_count_as_not_set() -> None:
    names = (
        "DATABASE_URL",
        "JOB_LEASE",
        "DATABASE_WAIT",
        "MAX_ATTEMPTS",
        "KEEP_DAYS",
        "ALLOW_PRIVATE_URLS",
        "ALLOWED_HOSTS",
    )
    empty = dict.fromkeys((f"MOVIE_{name}" for name in names), "") | {"MCP_CONFIG_PATH": " "}
    assert Environment.read(empty) == Environment.read({})
    assert Environment.read({}).model_dump() == {
        "database_url": "sqlite:///movie_jobs.db",
        "job_lease": 60,
        "database_wait": 60,
        "max_attempts": 5,
        "keep_days": None,
        "allow_private_urls": False,
        "allowed_hosts": (),
        "config_path": None,
        "mcp_config_path": None,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("MOVIE_JOB_LEASE", lease) for lease in ("0", "-5", "nan", "inf", "a minute", "1e14")),
        *(("MOVIE_KEEP_DAYS", days) for days in ("-1", "nan", "inf", "long")),
        ("MOVIE_ALLOW_PRIVATE_URLS", "perhaps"),
        *(("MOVIE_MAX_ATTEMPTS", most) for most in ("0", "-1", "two", "1.5", "1000", "9" * 5000)),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} is .*\. (Input should be|Unable to parse) "):
        Environment.read({name: text})
