"""Which variables of the program a server gets."""

from __future__ import annotations

import pytest

from mcp_ghost.providers.hosted import HOSTED
from mcp_ghost.servers.process import child_environment, withheld

KEYS = [name for it in HOSTED for name in it.key_variables]


@pytest.mark.parametrize(
    ("name", "value", "is_withheld"),
    [
        *((name, "k", True) for name in (*KEYS, "LANGFUSE_SECRET_KEY", "ZORKGPT_CLIENT_API_KEY")),
        ("MOVIE_DATABASE_URL", "postgresql://me:word@host/jobs", True),
        ("MOVIE_DATABASE_URL", "sqlite:///jobs.db", False),
        ("HTTPS_PROXY", "http://me:word@proxy:3128", True),
        ("https_proxy", "http://me:word@proxy:3128", True),
        ("HTTPS_PROXY", "http://proxy:3128", False),
        ("GITHUB_TOKEN", "t", False),
        ("MY_SETTING", "http://me:word@host", False),
    ],
)
def test_a_server_gets_everything_but_our_own_secrets_unless_its_entry_names_them(
    name: str, value: str, is_withheld: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert (name in withheld()) == is_withheld
    assert (name not in child_environment(None)) == is_withheld
    assert child_environment({name: value})[name] == value
    assert child_environment(None, [name])[name] == value
