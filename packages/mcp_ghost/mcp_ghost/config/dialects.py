"""How other programs write down MCP servers: which key holds them, and what their keys mean here.

Programs share files and people copy entries between them, so an entry may use the keys of any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Key(NamedTuple):
    """What another program's key is called here, and how its value is read."""

    ours: str
    read: Callable[[Any], Any] = lambda value: value


class Dialect(NamedTuple):
    """The configuration of one program."""

    program: str
    holder: str
    """The key that holds the servers; a dot leads into an object, or is part of a name."""
    keys: Mapping[str, Key] = MappingProxyType({})
    without_effect: tuple[str, ...] = ()
    """What concerns that program alone; other keys that we do not know are worth a warning."""
    trailing_commas: bool = False
    """Whether its JSON may hold them. All may hold comments."""


class Translated(NamedTuple):
    """An entry with our keys."""

    fields: dict[str, Any]
    names: dict[str, str]
    """Our key -> the one that was used."""


_TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "sse": "sse",
    "streamablehttp": "streamable-http",
    "remote": None,  # OpenCode tries one after the other
}
_OAUTH_KEYS = {
    "CLIENT_ID": "client_id",
    "CLIENT_SECRET": "client_secret",
    "clientId": "client_id",
    "clientSecret": "client_secret",
}
_OAUTH_WITHOUT_EFFECT = (
    *("enabled", "callbackPort", "authServerMetadataUrl", "authorizationUrl", "tokenUrl"),
    *("redirectUri", "tokenParamName", "audiences", "issuer", "registrationUrl"),
)
"""Found out on the way."""


def _transport(value: object) -> object:
    """Programs spell streamable HTTP in many ways: "streamable_http", "httpStream", "https"."""
    plain = re.sub("[-_ ]", "", value).lower() if isinstance(value, str) else ""
    other = "http" if re.search("http|^stream", plain) else value
    return _TRANSPORTS.get(plain, other)


def _oauth(value: object) -> object:
    if value is False or (isinstance(value, Mapping) and value.get("enabled") is False):
        return None
    if not isinstance(value, Mapping):
        return value
    found = {_OAUTH_KEYS.get(key, key): it for key, it in value.items()}
    if isinstance(scopes := found.get("scopes"), str):
        found["scopes"] = scopes.split()
    return {
        "type": "oauth",
        **{key: it for key, it in found.items() if key not in _OAUTH_WITHOUT_EFFECT},
    }


def _auth(value: object) -> object:
    """Our own form, Cursor's, which says no type, or FastMCP's, which says nothing else."""
    if value == "oauth":
        return {"type": value}
    return _oauth(value) if isinstance(value, Mapping) and "type" not in value else value


def _not(value: object) -> object:
    return not value if isinstance(value, bool) else value


def _names(value: object) -> object:
    """Codex's variables: names, or objects with one."""
    if not isinstance(value, list):
        return value
    return [it.get("name", it) if isinstance(it, Mapping) else it for it in value]


def _chosen(value: object) -> object:
    """Copilot's names of tools, or "*" for all; Codex has an object there, about approval."""
    return None if value == ["*"] or isinstance(value, Mapping) else value


def _references(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {header: f"${{env:{name}}}" for header, name in value.items()}


def _variables(value: object) -> object:
    """Goose's variables: names of what its keyring or environment holds."""
    return _references({it: it for it in map(str, value)}) if isinstance(value, list) else value


def _headers_in(value: object) -> object:
    return value.get("headers") if isinstance(value, Mapping) else value


def _plain(value: object) -> object:
    """VS Code takes numbers in a server's environment, YAML knows truth values."""
    return str(value).lower() if isinstance(value, bool | int | float) else value


def _bearer(value: object) -> object:
    return {"Authorization": f"Bearer ${{env:{value}}}"} if isinstance(value, str) else value


_BUILT_IN = ("builtin", "platform", "frontend", "inline_python", "extension")
"""Servers that only their own program can start: of Goose by their type, of Zed by their source."""
_OAUTH = Key("auth", _oauth)
_ONLY_THESE, _NOT_THESE = Key("include_tools"), Key("exclude_tools")

DIALECTS = (
    Dialect(
        "mcp_ghost",
        "mcpServers",
        {"type": Key("type", _transport), "transport": Key("type", _transport)},
        ("name", "description"),
    ),
    Dialect("Claude Desktop", "mcpServers"),
    Dialect("Claude Code", "mcpServers", {"oauth": _OAUTH}, ("timeout", "alwaysLoad")),
    Dialect("Cursor", "mcpServers", {"envFile": Key("env_file"), "auth": Key("auth", _auth)}),
    Dialect(
        "VS Code",
        "servers",
        {"envFile": Key("env_file")},
        ("dev", "gallery", "version"),
        trailing_commas=True,
    ),
    Dialect("VS Code's settings.json", "mcp.servers", trailing_commas=True),
    Dialect(
        "Cline",
        "mcpServers",
        {"transportType": Key("type", _transport)},
        ("autoApprove", "alwaysAllow", "timeout", "remoteConfigured"),
    ),
    Dialect("Windsurf", "mcpServers", {"serverUrl": Key("url"), "disabledTools": _NOT_THESE}),
    Dialect(
        "Gemini CLI",
        "mcpServers",
        {
            "httpUrl": Key("url"),
            "includeTools": _ONLY_THESE,
            "excludeTools": _NOT_THESE,
            "oauth": _OAUTH,
        },
        ("timeout", "description", "extensionName"),
    ),
    Dialect(
        "Zed",
        "context_servers",
        {"enabled": Key("disabled", _not)},
        ("source", "settings"),
        trailing_commas=True,
    ),
    Dialect(
        "Codex",
        "mcp_servers",
        {
            "enabled": Key("disabled", _not),
            "env_vars": Key("inherit_env", _names),
            "http_headers": Key("headers"),
            "env_http_headers": Key("headers", _references),
            "bearer_token_env_var": Key("headers", _bearer),
            "scopes": Key("auth", lambda value: _oauth({"scopes": value}) if value else None),
            "enabled_tools": _ONLY_THESE,
            "disabled_tools": _NOT_THESE,
        },
        (
            *("startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "required"),
            *("oauth_resource", "default_tools_approval_mode", "supports_parallel_tool_calls"),
        ),
    ),
    # https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    Dialect("GitHub Copilot CLI", "mcpServers", {"tools": Key("include_tools", _chosen)}),
    Dialect(  # https://opencode.ai/docs/mcp-servers
        "OpenCode",
        "mcp",
        {"environment": Key("env"), "enabled": Key("disabled", _not), "oauth": _OAUTH},
        ("timeout",),
        trailing_commas=True,
    ),
    Dialect(  # https://github.com/wenb1n-dev/mysql_mcp_server_pro/issues/6
        "Cherry Studio",
        "mcpServers",
        {"isActive": Key("disabled", _not), "baseUrl": Key("url"), "disabledTools": _NOT_THESE},
        ("name", "description", "registryUrl"),
    ),
    Dialect(  # https://docs.continue.dev/reference
        "Continue",
        "mcpServers",
        {"requestOptions": Key("headers", _headers_in)},
        ("name", "connectionTimeout"),
    ),
    Dialect(  # https://block.github.io/goose/docs/guides/config-files
        "Goose",
        "extensions",
        {
            "enabled": Key("disabled", _not),
            "cmd": Key("command"),
            "uri": Key("url"),
            "envs": Key("env"),
            "env_keys": Key("env", _variables),
            "available_tools": Key("include_tools", lambda it: it or None),
        },
        ("name", "description", "display_name", "bundled", "timeout"),
    ),
    Dialect("Amp", "amp.mcpServers", {"includeTools": _ONLY_THESE}),  # https://ampcode.com/manual
    # https://docs.augmentcode.com/setup-augment/mcp
    Dialect("Augment", "augment.advanced.mcpServers", {}, ("name",), trailing_commas=True),
    # https://github.com/nanbingxyz/5ire/issues/74
    Dialect("5ire", "servers", {"isActive": Key("disabled", _not)}, ("key", "description")),
    # https://github.com/janhq/jan/blob/main/src-tauri/src/core/mcp/constants.rs
    Dialect("Jan", "mcpServers", {"active": Key("disabled", _not)}, ("official", "timeout")),
    Dialect(  # https://github.com/github/github-mcp-server/blob/main/docs/installation-guides
        "GitHub Copilot for JetBrains", "servers", {"requestInit": Key("headers", _headers_in)}
    ),
)
"""As each program documents it; how values refer to variables is in ``variables.py``."""

KEYS = {name: key for dialect in DIALECTS for name, key in dialect.keys.items()}
_WITHOUT_EFFECT = frozenset(name for dialect in DIALECTS for name in dialect.without_effect)
HOLDERS = tuple(dict.fromkeys(dialect.holder for dialect in DIALECTS))


def servers_in(document: object) -> Mapping[str, Any] | None:
    """The entries of a whole file, by name; None where there are none to be found."""
    for holder in HOLDERS:
        found = _held(document, holder)
        if found or (found is not None and holder == HOLDERS[0]):
            return found
    # FastMCP and LangChain take servers that are under no key at all.
    if isinstance(document, Mapping) and document and all(map(_is_entry, document.values())):
        return document
    return None


def _is_entry(value: object) -> bool:
    return isinstance(value, Mapping) and bool({"command", "url"} & {*value})


def takes_trailing_commas(document: object) -> bool:
    """Whether a program whose configuration this may be takes them."""
    return any(_held(document, it.holder) for it in DIALECTS if it.trailing_commas)


def _held(document: object, holder: str) -> Mapping[str, Any] | None:
    found = _at(document, holder)
    if isinstance(found, list) and found:  # Continue has names within, 5ire keys
        named = [(it.get("name", it.get("key")), it) for it in found if isinstance(it, Mapping)]
        found = {str(name): it for name, it in named if name is not None}
    return found if isinstance(found, Mapping) else None


def _at(document: object, holder: str) -> object:
    """What ``holder`` leads to; VS Code's settings.json takes both meanings of a dot."""
    parts = holder.split(".")
    for number in range(len(parts), 0, -1):
        name, rest = ".".join(parts[:number]), ".".join(parts[number:])
        if isinstance(document, Mapping) and name in document:
            return _at(document[name], rest) if rest else document[name]
    return None


def translated(entry: Mapping[str, Any]) -> Translated:
    """``entry`` with our keys; unknown ones are kept, what has no effect here is left out."""
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    # Ours first: whoever has another one too meant that ("httpUrl" beside a "url" for SSE).
    flat = _flat(entry)
    for name, given in {**{it: flat[it] for it in flat if it not in KEYS}, **flat}.items():
        ours, read = KEYS.get(name, (str(name), None))
        # JSON has no place for comments, so people write "_comment", "//" and "$schema".
        says_nothing = name in _WITHOUT_EFFECT or str(name).startswith(("_", "$", "//"))
        value = None if says_nothing else read(given) if read else given
        if value is None:
            continue
        if ours == "env" and isinstance(value, Mapping):
            value = {variable: _plain(it) for variable, it in value.items() if it is not None}
        before = fields.get(ours)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = {**before, **value}
        fields[ours], names[ours] = value, name
    if entry.get("type") in _BUILT_IN or entry.get("source") in _BUILT_IN:
        fields["disabled"] = True
    for one, other in (("command", "url"), ("url", "command")):
        if fields.get(one) == "" and fields.get(other):  # Jan writes both
            del fields[one], names[one]
    return Translated(fields, names)


def _flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """``entry`` without objects for its command, as Zed once had, or its transport, as Cline has.

    OpenCode writes a list as the command.
    """
    if isinstance(way := entry.get("transport"), Mapping):
        entry = {**{key: it for key, it in entry.items() if key != "transport"}, **way}
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, list) and command:
        more = args if isinstance(args, list) else []
        return {**entry, "command": command[0], "args": [*command[1:], *more]}
    if isinstance(command, Mapping):
        parts = {key: value for key, value in command.items() if key != "path"}
        return {**entry, **parts, "command": command.get("path")}
    return entry
