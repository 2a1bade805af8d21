"""Server configuration: ``{"mcpServers": {...}}`` as a dict, a JSON or a JSONC file.

``{env:NAME}`` in any string stands for an environment variable. It is resolved when the server is
used, so an entry that is never used may name variables that do not exist.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mcp_ghost.errors import MCPConfigError, MCPConfigNotFoundError
from mcp_ghost.results import each_text

_VARIABLE = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYS_OF_OTHER_CLIENTS = frozenset(
    {"alwaysAllow", "autoApprove", "description", "disabledTools", "name", "timeout"}
)
"""Settings of other clients that share the file; they change nothing here."""


class ServerConfig(BaseModel):
    """How one server is reached: a command to start, or a URL."""

    # The input may hold keys, and pydantic would quote it in its errors.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    command: str | None = None
    """A program on PATH, or a path."""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] | None = None
    """Put on top of the environment of this program."""
    cwd: str | None = None
    """The server's working directory; by default that of this program."""
    url: str | None = None
    headers: dict[str, str] | None = None
    """HTTP headers for ``url``."""
    type: Literal["stdio", "http", "streamable-http", "sse"] | None = None
    disabled: bool = False

    @model_validator(mode="before")
    @classmethod
    def _drop_keys_of_other_clients(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        return {key: value for key, value in data.items() if key not in _KEYS_OF_OTHER_CLIENTS}

    @model_validator(mode="after")
    def _check_target(self) -> ServerConfig:
        targets = [target for target in (self.command, self.url) if target is not None]
        if len(targets) != 1:
            raise ValueError("needs either 'command' (a program to start) or 'url'")
        if not targets[0].strip():
            raise ValueError(f"'{'url' if self.command is None else 'command'}' is empty")
        return self

    def resolved(
        self, environ: Mapping[str, str] | None = None, *, server: str = "?"
    ) -> ServerConfig:
        """The configuration with every ``{env:NAME}`` replaced.

        Raises:
            MCPConfigError: A variable is not defined, or its value cannot be used; ``server`` is
                the name to blame.
        """
        values = os.environ if environ is None else environ
        return _server(
            server,
            _substitute(self.model_dump(), values, server),
            "the MCP configuration as resolved",
        )

    def command_line(self) -> str:
        """The command as a person would type it, with ``{env:NAME}`` unresolved."""
        return " ".join([self.command or self.url or "", *self.args])


def load_servers(
    source: Mapping[str, Any] | str | Path, *, comments: bool = False
) -> dict[str, ServerConfig]:
    """Every configured server by name, in the order of the file, disabled ones included.

    A file may hold comments and trailing commas where its name ends in .jsonc, and with
    ``comments`` whatever its name is.

    Raises:
        MCPConfigError: The source cannot be read or used; the message says where.
    """
    if isinstance(source, Mapping):
        return _servers(source, "the MCP configuration")
    path = Path(source)
    return _servers(_parse(path, _read(path), comments=comments), str(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise MCPConfigNotFoundError(
            f"MCP configuration not found: {path}. "
            'Create it with {"mcpServers": {...}}, or give the path of another file.'
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise MCPConfigError(f"MCP configuration {path} cannot be read: {error}") from error


def _parse(path: Path, text: str, *, comments: bool) -> object:
    try:
        if comments or path.suffix == ".jsonc":
            return _parse_jsonc(text)
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        hint = "Comments and trailing commas need a file name that ends in .jsonc."
        raise MCPConfigError(f"Invalid JSON in {path}, {place}. {hint}") from error
    except (ValueError, RecursionError) as error:
        raise MCPConfigError(f"Invalid JSON in {path}, {_place(str(error))}.") from error


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of two servers with the same name, ``json`` would silently drop the first."""
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the key '{key}' appears {count} times in one object")
    return dict(pairs)


def _parse_jsonc(text: str) -> object:
    import json5  # only .jsonc files need it

    return json5.loads(text, allow_duplicate_keys=False)


def _place(message: str) -> str:
    """json5 says "<string>:3 Unexpected ... at column 6"."""
    match = re.fullmatch(r"<string>:(\d+) (.*) at column (\d+)", message, re.DOTALL)
    return f"line {match[1]}, column {match[3]}: {match[2]}" if match else message


def _servers(data: object, where: str) -> dict[str, ServerConfig]:
    servers = data.get("mcpServers") if isinstance(data, Mapping) else None
    if not isinstance(servers, Mapping):
        raise MCPConfigError(
            f'{where}: expected {{"mcpServers": {{"NAME": {{"command": ..., "args": [...]}}}}}}.'
        )
    return {str(name): _server(str(name), entry, where) for name, entry in servers.items()}


def _server(name: str, entry: object, where: str) -> ServerConfig:
    if isinstance(entry, ServerConfig):
        return entry
    try:
        return ServerConfig.model_validate(entry)
    except ValidationError as error:
        problems = "; ".join(problem(dict(it), ServerConfig.model_fields) for it in error.errors())
        raise MCPConfigError(f"{where}: server '{name}': {problems}.") from error


def problem(error: Mapping[str, Any], known: Collection[str]) -> str:
    """What pydantic found, in words; ``known`` are the keys that there are at that place."""
    place = [str(part) for part in error["loc"]]
    field = ".".join(place)
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], known, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else f"; known are {', '.join(known)}"
        return f"unknown key '{field}'{hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"'{field}': {message}" if field else message


def _substitute(value: object, environ: Mapping[str, str], server: str) -> object:
    def variable(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise MCPConfigError(
                f"MCP server '{server}' needs the environment variable {match[1]}, "
                f"which is not set. Set it, or disable the server."
            )
        return environ[match[1]]

    return each_text(value, lambda text: _VARIABLE.sub(variable, text))
