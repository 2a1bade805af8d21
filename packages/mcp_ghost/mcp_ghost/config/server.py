"""One entry of a configuration: how a server is reached, and what of it is used."""

import difflib
import logging
import os
import sys
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from mcp_ghost.config.dialects import KEYS, translated
from mcp_ghost.config.variables import read_env_file, resolved, with_braces, with_places
from mcp_ghost.errors import MCPConfigError

_warn_once = lru_cache(maxsize=1000)(logging.getLogger(__name__).warning)
MOST_MESSAGE_BYTES = 8 * 1024 * 1024
_NAMED_AT_MOST = 10
"""Unknown keys that are named."""


class OAuth(BaseModel):
    """Signing in to a server by URL; all but the type can be found out or arranged on the way."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    type: Literal["oauth"]
    client_id: str | None = None
    """Of a client that was registered beforehand."""
    client_secret: str | None = Field(default=None, repr=False)
    scopes: list[str] = Field(default_factory=list)
    """By default those that the server asks for."""
    redirect_uri: str | None = None
    """Where the browser is sent back to; by default an address on this machine."""
    grant_type: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """Whether a person signs in, or the client by itself with its secret."""
    issuer: str | None = None
    """Who may see ``client_secret``; by default whom the server names first."""

    @model_validator(mode="after")
    def _check_secret(self) -> Self:
        if self.client_secret and not self.client_id:
            raise ValueError("'client_secret' needs the 'client_id' that it belongs to")
        if self.grant_type == "client_credentials" and not self.client_secret:
            raise ValueError("'client_credentials' needs 'client_id' and 'client_secret'")
        return self


class ServerConfig(BaseModel):
    """How one server is reached: a command to start, or a URL."""

    # The input may hold keys, and pydantic would quote it in its errors.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    command: str | None = None
    """A program on PATH, or a path."""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] | None = None
    """Put on top of what is inherited."""
    env_file: str | None = None
    """A file of NAME=VALUE lines, under ``env``."""
    inherit_env: bool | list[str] = True
    """The environment of this program: all of it, only what any process needs (False), or that
    and the variables of these names."""
    cwd: str | None = None
    """The server's working directory; by default that of this program."""
    url: str | None = None
    headers: dict[str, str] | None = None
    """HTTP headers for ``url``."""
    auth: OAuth | None = None
    """How to sign in to ``url``."""
    type: Literal["stdio", "http", "streamable-http", "sse"] | None = None
    include_tools: list[str] | None = None
    """The only tools to offer, by the server's own names."""
    exclude_tools: list[str] = Field(default_factory=list)
    """Tools not to offer; wins over ``include_tools``."""
    trust: bool = False
    """Whether what its tools say of their effects decides if a person is asked."""
    max_message_bytes: int = Field(default=MOST_MESSAGE_BYTES, ge=65_536)
    """What one message of the server may have; a longer answer is an error of its call."""
    disabled: bool = False

    _fault: str | None = PrivateAttr(default=None)
    """Why this entry cannot be used, which matters only to those who want to use it."""
    _in_process: Any = PrivateAttr(default=None)
    _warning: str | None = PrivateAttr(default=None)
    """What to say of keys that nobody knows, likewise."""

    @model_validator(mode="before")
    @classmethod
    def _read_other_programs_keys(cls, data: object) -> object:
        return translated(data)[0] if isinstance(data, Mapping) else data

    @field_validator("inherit_env", mode="before")
    @classmethod
    def _check_inherit_env(cls, value: object) -> object:
        if isinstance(value, bool) or (
            isinstance(value, list) and all(isinstance(name, str) for name in value)
        ):
            return value
        raise ValueError("must be true, false, or a list of names of variables")

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self._fault:  # pydantic asks again when this becomes part of another model
            return self
        targets = [target for target in (self.command, self.url) if target is not None]
        if len(targets) != 1:
            raise ValueError("needs either 'command' (a program to start) or 'url'")
        if not targets[0].strip():
            raise ValueError(f"'{'url' if self.command is None else 'command'}' is empty")
        if self.auth and self.url is None:
            raise ValueError("'auth' needs a 'url'; pass keys to a command in 'env'")
        return self

    @classmethod
    def of_entry(
        cls, name: str, entry: object, where: str, workspace: Path | None = None
    ) -> "ServerConfig":
        """The entry ``name`` of the configuration ``where``.

        What is wrong with it is said when it is used: see ``checked``.
        """
        if isinstance(entry, ServerConfig):
            return entry
        if is_server(entry):
            config = cls.model_construct()
            config._in_process = entry  # noqa: SLF001 - of our own
            return config
        fields, names = translated(entry if isinstance(entry, Mapping) else {})
        unknown = [key for key in fields if key not in cls.model_fields]
        hints = [_unknown_key(key, cls.model_fields, KEYS) for key in unknown[:_NAMED_AT_MOST]]
        if len(unknown) > _NAMED_AT_MOST:
            hints.append(f"and {len(unknown) - _NAMED_AT_MOST} more")
        fields = {key: it for key, it in fields.items() if key not in unknown}
        if workspace:
            fields = with_places(fields, workspace)
            if isinstance(file := fields.get("env_file"), str):
                fields["env_file"] = str(workspace / file)
        try:
            config = cls.model_validate(fields if isinstance(entry, Mapping) else entry)
        except ValidationError as error:
            problems = [problem(dict(it), cls.model_fields, names) for it in error.errors()]
            if not isinstance(entry, Mapping):
                problems = ["must be an object with 'command' or 'url'"]
            config = cls.model_construct(disabled=fields.get("disabled") is True)
            fault = f"{where}: server '{name}': {'; '.join(problems + hints)}."
            config._fault = fault  # noqa: SLF001 - of our own
        if hints:
            warning = f"{where}: server '{name}': {'; '.join(hints)}. Ignored."
            config._warning = warning  # noqa: SLF001
        return config

    @property
    def in_process(self) -> Any:  # noqa: ANN401  of a class of the SDK
        """The server itself, where it is an object of this program."""
        return self._in_process

    @property
    def warning(self) -> str | None:
        """What is odd about this entry, though it can be used."""
        return self._warning

    def checked(self) -> Self:
        """This configuration, for somebody who is about to use it.

        Raises:
            MCPConfigError: It cannot be used.
        """
        if self._fault:
            raise MCPConfigError(self._fault)
        if self._warning:
            _warn_once(self._warning)
        return self

    def resolved(
        self, environ: Mapping[str, str] | None = None, *, server: str = "?"
    ) -> "ServerConfig":
        """The configuration with all that it refers to in place: see ``variables.py``.

        Raises:
            MCPConfigError: A variable is not defined, or its value cannot be used; ``server`` is
                the name to blame.
        """
        values = os.environ if environ is None else environ
        fields = self.checked().model_dump()
        fields |= {it: with_braces(fields[it]) for it in ("env", "headers") if fields[it]}
        fields = resolved(fields, values, server)
        if file := fields.pop("env_file"):
            fields["env"] = {**read_env_file(file, server), **(fields["env"] or {})}
        return ServerConfig.of_entry(server, fields, "the MCP configuration as resolved").checked()

    def offers(self, tool: str) -> bool:
        """Whether ``tool``, by the server's own name, may be listed and called."""
        included = self.include_tools is None or tool in self.include_tools
        return included and tool not in self.exclude_tools

    def command_line(self) -> str:
        """The command as a person would type it, with references as they are."""
        return " ".join([self.command or self.url or "", *self.args])


def problem(
    error: Mapping[str, Any], known: Collection[str], names: Mapping[str, str] | None = None
) -> str:
    """What pydantic found, in words.

    Args:
        error: One of its errors.
        known: The keys that there are at that place.
        names: Our key -> the one that was used, where that is another.
    """
    place = [str(part) for part in error["loc"]]
    place[:1] = [(names or {}).get(part, part) for part in place[:1]]
    field = ".".join(place)
    if error["type"] == "extra_forbidden":
        return _unknown_key(field, known)
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"'{field}': {message}" if field else message


def _unknown_key(field: str, known: Collection[str], others: Collection[str] = ()) -> str:
    near = difflib.get_close_matches(field.rpartition(".")[2], [*known, *others], n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else f"; known keys: {', '.join(known)}"
    return f"unknown key '{field}'{hint}"


def is_server(value: object) -> bool:
    """Whether ``value`` is such an object; the SDK need not be there for anything else."""
    sdk = sys.modules.get("mcp.server")  # which another thread may just be importing
    classes = (getattr(sdk, name, None) for name in ("MCPServer", "Server"))
    return isinstance(value, tuple(filter(None, classes)))
