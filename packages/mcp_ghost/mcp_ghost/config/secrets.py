"""What of the configuration of servers is secret, as far as it can be known from outside."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from mcp_ghost.config.server import ServerConfig
from mcp_ghost.config.variables import (
    read_env_file,
    resolved,
    variables_in,
    with_braces,
    without_variables,
)
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.network import basic_authorization
from mcp_ghost.redact import Redactor, may_be_secret, names_a_secret, secrets_in

_PLAIN_NAME = re.compile(
    r"accept(?:-[a-z]+)?|content-type|user-agent|host|origin|referer|mcp-[a-z-]+"
    r"|tz|lang|language|no_proxy|lc_[a-z]+|node_env|term|home|user|logname|shell|pwd|path|[a-z]+_?path",
    re.IGNORECASE,
)
"""Headers and variables that are set often and never secret."""
_WORD = re.compile(r"[A-Za-z]{1,12}")
_SCHEMES = frozenset({"basic", "bearer", "digest", "token"})


def redactor_of(
    servers: Mapping[str, ServerConfig], secrets: Iterable[str | None] = ()
) -> Redactor:
    """What cleans everything that these servers say.

    It knows ``secrets``, what the servers are configured with, and every variable of our own
    environment whose name says that it is secret.
    """
    entries = {name: config.model_dump() for name, config in servers.items()}
    return Redactor({*filter(None, secrets), *secrets_of(entries)})


def secrets_of(entries: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Whatever configured servers, or our environment, may know and reveal."""
    found = secrets_in(os.environ)
    for name, entry in entries.items():
        found |= {secret for secret in _secrets_of(name, entry) if may_be_secret(secret)}
    return found


def bare(header: str) -> str:
    """The credentials in a header, without their scheme."""
    scheme, _, rest = header.partition(" ")
    return rest if rest and scheme.lower() in _SCHEMES else header


def _secrets_of(server: str, entry: Mapping[str, Any]) -> Iterator[str]:
    variables: dict[str, str] = {}
    if file := entry.get("env_file"):
        with suppress(MCPConfigError):  # whoever starts the server will say so
            variables = read_env_file(str(file), server)
    values = {**(entry.get("headers") or {}), **variables, **(entry.get("env") or {})}
    for name, written in with_braces(values).items():
        value = _meant(written, server)
        if not _is_plain(name, value):
            yield from (value, bare(value))
    yield (entry.get("auth") or {}).get("client_secret") or ""
    url = _meant(entry.get("url") or "", server)
    with suppress(ValueError):  # not a URL, as its user will be told
        parts = urlsplit(url)
        yield from map(bare, basic_authorization(url).values())
        for secret in filter(None, (parts.username, parts.password)):
            yield from (secret, unquote(secret))
        for name, value in parse_qsl(parts.query):
            if not _is_plain(name, value):
                yield value
    arguments = [_meant(it, server) for it in entry.get("args") or ()]
    for argument, following in pairwise([*arguments, "-"]):
        flag, _, value = argument.partition("=")
        if flag.startswith("-") and names_a_secret(flag):  # --token X, --token=X
            yield value or ("" if following.startswith("-") else following)
    for text in (json.dumps(entry, default=str), *values.values()):
        for name, _ in variables_in(text):
            if not _is_plain(name, os.environ.get(name, "")):
                yield os.environ.get(name, "")


def _is_plain(name: str, value: str) -> bool:
    """Whether this is a setting that results may repeat: a word, an address, a place."""
    if names_a_secret(name):
        return False
    if _PLAIN_NAME.fullmatch(name) or _WORD.fullmatch(value):
        return True
    with suppress(ValueError):
        ip_address(value)
        return True
    if re.match(r"https?://", value):
        with suppress(ValueError):
            parts = urlsplit(value)
            return not (parts.query or "@" in parts.netloc)
    return False


def _meant(value: str, server: str) -> str:
    """``value`` with what it refers to in place, or without that if it does not exist."""
    with suppress(MCPConfigError):
        return str(resolved(value, os.environ, server))
    return without_variables(value)
