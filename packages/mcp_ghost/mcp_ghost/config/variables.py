"""What values of a configuration refer to: environment variables, files, and places.

Places are known when a file is read. Everything else is looked up when its server is used, so an
entry that is never used may refer to what does not exist.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_ghost.env_file import variables_of
from mcp_ghost.errors import MCPConfigError
from mcp_ghost.files import read_regular

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(
    r"\$(?P<verbatim>\$\{[^{}]*\})"
    r"|\$\{(?P<kind>input|command|config|file):(?P<what>[^{}]*)\}"
    rf"|\$\{{(?:env:)?(?P<name>{_NAME})(?::?-(?P<default>[^{{}}]*))?\}}"
    rf"|(?:\{{env:|\$\{{\{{ *secrets\.)(?P<ours>{_NAME})(?: *\}}\}}|\}})"  # Continue's
)
_SHELL_STYLE = re.compile(r"(?:^|(?<=\s))\$([A-Z_][A-Z0-9_]*)\Z")
"""Gemini CLI's other form: a whole value, or the end of one like "Bearer $TOKEN". Only in capitals
and only there, because a dollar may also belong to a password."""
_PLACE = re.compile(
    r"(?<!\$)\$\{(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|/)\}"
)
_LEVELS = 3
"""How deep values that may refer to something are: an entry's objects and lists."""


def with_places(value: Any, workspace: Path) -> Any:  # noqa: ANN401  any JSON
    """A copy of ``value`` with the folders that Cursor and VS Code have names for."""
    places = {
        "workspaceFolder": str(workspace),
        "workspaceFolderBasename": workspace.name,
        "userHome": str(Path.home()),
    }
    return _changed(value, lambda it: _PLACE.sub(lambda found: places.get(found[1], os.sep), it))


def resolved(value: Any, environ: Mapping[str, str], server: str) -> Any:  # noqa: ANN401
    """A copy of ``value`` with what its strings refer to; once, so values are never read again.

    ``$${NAME}`` stands for ``${NAME}`` itself.

    Raises:
        MCPConfigError: That does not exist; ``server`` is the entry to name.
    """

    def meant(found: re.Match[str]) -> str:
        if found["verbatim"]:
            return found["verbatim"]
        if found["kind"] == "file":
            try:
                return read_regular(Path(found["what"]).expanduser()).decode().strip()
            except (OSError, ValueError, RuntimeError) as error:
                raise MCPConfigError(
                    f"MCP server '{server}': {found[0]} cannot be read: {error}"
                ) from error
        if found["kind"] == "input":
            variable = re.sub(r"\W+", "_", found["what"], flags=re.ASCII).strip("_").upper()
            variable = variable if re.fullmatch(_NAME, variable) else "SOME_NAME"
            problem = (
                f"needs the input '{found['what']}', which only VS Code asks for. Put it in an "
                f"environment variable, such as {variable}, and write ${{env:{variable}}} instead "
                f"of {found[0]}."
            )
        elif found["kind"]:
            problem = f"refers to {found[0]}, which only an editor knows. Write the value instead."
        else:
            name = found["name"] or found["ours"]
            if (value := environ.get(name, found["default"])) is not None:
                return value
            problem = (
                f"needs the environment variable {name}, which is not set. "
                "Set it, or disable the server."
            )
        raise MCPConfigError(f"MCP server '{server}' {problem}")

    return _changed(value, lambda text: _REFERENCE.sub(meant, text))


def with_braces(values: Mapping[str, str]) -> dict[str, str]:
    """Variables or headers with ``${NAME}`` for Gemini CLI's ``$NAME``."""
    return {name: _SHELL_STYLE.sub(r"${\1}", it) for name, it in values.items()}


def variables_in(text: str) -> Iterator[tuple[str, str | None]]:
    """The environment variables that ``text`` refers to, each with its default."""
    for found in _REFERENCE.finditer(_SHELL_STYLE.sub(r"${\1}", text)):
        if name := found["name"] or found["ours"]:
            yield name, found["default"]


def without_variables(text: str) -> str:
    """What ``text`` says beside what it refers to; defaults of environment variables count."""
    return _REFERENCE.sub(
        lambda it: it[0] if it["verbatim"] else it["default"] or "",
        _SHELL_STYLE.sub(r"${\1}", text),
    )


def read_env_file(path: str, server: str) -> dict[str, str]:
    """The variables of a file of NAME=VALUE lines, as they are there.

    Raises:
        MCPConfigError: It cannot be read.
    """
    try:
        return variables_of(Path(path))
    except (OSError, ValueError) as error:
        raise MCPConfigError(
            f"MCP server '{server}': its envFile cannot be read: {error}"
        ) from error


def _changed(value: Any, change: Callable[[str], str], levels: int = _LEVELS) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return change(value)
    if levels and isinstance(value, list):
        return [_changed(item, change, levels - 1) for item in value]
    if levels and isinstance(value, Mapping):
        return {key: _changed(item, change, levels - 1) for key, item in value.items()}
    return value
