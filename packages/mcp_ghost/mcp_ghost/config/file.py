"""Configurations as files (JSON with comments, TOML) and as dicts."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_ghost.config.dialects import HOLDERS, servers_in, takes_trailing_commas
from mcp_ghost.config.server import ServerConfig, is_server
from mcp_ghost.errors import MCPConfigError, MCPConfigNotFoundError
from mcp_ghost.files import read_regular
from mcp_ghost.trust import may_use

# An open string or comment goes on to its end, which also bounds the search.
_STRING = r'"(?:\\.|[^"\\\n])*"?'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_KINDS = {".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
_TRAILING_COMMA = re.compile(rf"({_STRING})|(?<=[\w\"}}\]])\s*,(?=\s*[\]}}])")


def load_servers(
    source: Mapping[str, Any] | str | Path | object, *, lenient: bool = False, check: bool = True
) -> dict[str, ServerConfig]:
    """Every configured server by name, in the order of the file, disabled ones included.

    The configurations of other programs are read as they are: see ``dialects.py``.

    Args:
        source: A dict, an object that is a server, or a file: TOML or YAML where its name ends so,
            else JSON, which may hold comments. Trailing commas need a name in .jsonc, or a program
            that takes them.
        lenient: Allow trailing commas in any file.
        check: Check every server that is not disabled. To use only some of them, pass False and
            call ``checked()`` on those.

    Raises:
        MCPConfigError: The source cannot be read or used; the message says where.
    """
    if is_server(source):
        source = {"mcpServers": {getattr(source, "name", "server"): source}}
    document = source
    if isinstance(source, Mapping):
        where, workspace = "the MCP configuration", Path.cwd()
    else:
        path = Path(str(source))
        document, where, workspace = _document(path, lenient), str(path), path.absolute().parent
        if workspace.name.startswith("."):  # .vscode and the like are within their project
            workspace = workspace.parent
    entries = servers_in(document)
    if entries is None:
        raise MCPConfigError(
            f'{where}: expected {{"mcpServers": {{"NAME": {{"command": ..., "args": [...]}}}}}}, '
            f"or another program's key ({', '.join(HOLDERS[1:])})."
        )
    servers = {
        str(name): ServerConfig.of_entry(str(name), entry, where, workspace)
        for name, entry in entries.items()
    }
    for server in servers.values():
        if check and not server.disabled:
            server.checked()
    return servers


def may_start(path: Path, *, fails: bool = False) -> bool:
    """Whether the servers in a file that nobody named may be used, as ``trust.may_use`` decides.

    Raises:
        MCPConfigError: The file cannot be read.
    """
    servers = load_servers(path, check=False)
    entries = {name: it.model_dump(exclude_defaults=True) for name, it in servers.items()}
    asked = {f"server {json.dumps(name)}": json.dumps(it) for name, it in entries.items()}
    return may_use(path, asked, fails=fails)


def _document(path: Path, lenient: bool) -> object:
    kind = _KINDS.get(path.suffix.lower(), "JSON")
    try:
        text = read_regular(path).decode("utf-8-sig")
        if kind == "YAML":
            return _parse_yaml(text)
        if kind == "TOML":
            return tomllib.loads(text)
        return _parse_json(text, lenient or path.suffix.lower() == ".jsonc")
    except FileNotFoundError as error:
        raise MCPConfigNotFoundError(
            f"MCP configuration not found: {path}. "
            'Create it with {"mcpServers": {...}}, or give the path of another file.'
        ) from error
    except UnicodeDecodeError as error:
        raise MCPConfigError(f"MCP configuration {path} is not UTF-8. Save it as UTF-8.") from error
    except OSError as error:
        raise MCPConfigError(
            f"MCP configuration {path} cannot be read: {error.strerror}"
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        what = place if text.strip() else "the file is empty"
        raise MCPConfigError(f"Invalid {kind} in {path}, {what}.") from error
    except (ValueError, RecursionError) as error:
        raise MCPConfigError(f"Invalid {kind} in {path}, {error}.") from error


def _parse_yaml(text: str) -> object:
    try:
        import yaml
    except ImportError as error:
        raise ValueError("which needs PyYAML: pip install pyyaml") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _parse_json(text: str, lenient: bool) -> object:
    plain = _COMMENT.sub(_blank, text)
    try:
        return json.loads(plain, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        try:
            document = json.loads(plain_json(text), object_pairs_hook=_without_duplicates)
        except ValueError:
            raise error from None
        if lenient or takes_trailing_commas(document):
            return document
        error.msg += ". Trailing commas need a file name that ends in .jsonc"
        raise


def plain_json(text: str) -> str:
    """Blank out comments and trailing commas; everything else stays in its place."""
    return _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    """A string as it is; blanks for anything else, so that the rest stays in its place."""
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of two servers with the same name, ``json`` would silently drop the first."""
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the key '{key}' appears {count} times in one object")
    return dict(pairs)
