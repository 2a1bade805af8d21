"""How other programs write down MCP servers: which key holds them, and what their keys mean here.

Programs share files and people copy entries between them, so an entry may use the keys of any.
"""

import re
from collections.abc import Callable, Mapping
from operator import not_
from types import MappingProxyType
from typing import Any, NamedTuple


class Key(NamedTuple):
    """What another program's key is called here, and how its value is read."""

    ours: str
    read: Callable[[Any], Any] = lambda value: value
    kind: type = object
    """What ``read`` takes; any other value stays as it is, and is refused as a value of ours."""


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


def _transport(value: str) -> str | None:
    """Programs spell streamable HTTP in many ways: "streamable_http", "httpStream", "https"."""
    plain = re.sub("[-_ ]", "", value).lower()
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


def _names(variables: list[Any]) -> list[Any]:
    """Codex's variables: names, or objects with one."""
    return [it.get("name", it) if isinstance(it, Mapping) else it for it in variables]


def _chosen(value: object) -> object:
    """Copilot's names of tools, or "*" for all; Codex has an object there, about approval."""
    return None if value == ["*"] or isinstance(value, Mapping) else value


def _references(variables: Mapping[str, object]) -> dict[str, str]:
    return {name: f"${{env:{variable}}}" for name, variable in variables.items()}


_BUILT_IN = ("builtin", "platform", "frontend", "inline_python", "extension")
"""Servers that only their own program can start: of Goose by their type, of Zed by their source."""
_OAUTH, _TYPE = Key("auth", _oauth), Key("type", _transport, str)
_ENABLED = Key("disabled", not_, bool)
_WITH_HEADERS = Key("headers", lambda request: request.get("headers"), Mapping)
_ONLY_THESE, _NOT_THESE = Key("include_tools"), Key("exclude_tools")

DIALECTS = (
    Dialect(
        "mcp_ghost", "mcpServers", {"type": _TYPE, "transport": _TYPE}, ("name", "description")
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
        {"transportType": _TYPE},
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
        {"enabled": _ENABLED},
        ("source", "settings"),
        trailing_commas=True,
    ),
    Dialect(
        "Codex",
        "mcp_servers",
        {
            "enabled": _ENABLED,
            "env_vars": Key("inherit_env", _names, list),
            "http_headers": Key("headers"),
            "env_http_headers": Key("headers", _references, Mapping),
            "bearer_token_env_var": Key(
                "headers", lambda name: {"Authorization": f"Bearer ${{env:{name}}}"}, str
            ),
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
        {"environment": Key("env"), "enabled": _ENABLED, "oauth": _OAUTH},
        ("timeout",),
        trailing_commas=True,
    ),
    Dialect(  # https://github.com/wenb1n-dev/mysql_mcp_server_pro/issues/6
        "Cherry Studio",
        "mcpServers",
        {"isActive": _ENABLED, "baseUrl": Key("url"), "disabledTools": _NOT_THESE},
        ("name", "description", "registryUrl"),
    ),
    # https://docs.continue.dev/reference
    Dialect(
        "Continue", "mcpServers", {"requestOptions": _WITH_HEADERS}, ("name", "connectionTimeout")
    ),
    Dialect(  # https://block.github.io/goose/docs/guides/config-files
        "Goose",
        "extensions",
        {
            "enabled": _ENABLED,
            "cmd": Key("command"),
            "uri": Key("url"),
            "envs": Key("env"),
            # names of what its keyring or environment holds
            "env_keys": Key("env", lambda names: _references({str(it): it for it in names}), list),
            "available_tools": Key("include_tools", lambda it: it or None),
        },
        ("name", "description", "display_name", "bundled", "timeout"),
    ),
    Dialect("Amp", "amp.mcpServers", {"includeTools": _ONLY_THESE}),  # https://ampcode.com/manual
    # https://docs.augmentcode.com/setup-augment/mcp
    Dialect("Augment", "augment.advanced.mcpServers", {}, ("name",), trailing_commas=True),
    # https://github.com/nanbingxyz/5ire/issues/74
    Dialect("5ire", "servers", {"isActive": _ENABLED}, ("key", "description")),
    # https://github.com/janhq/jan/blob/main/src-tauri/src/core/mcp/constants.rs
    Dialect("Jan", "mcpServers", {"active": _ENABLED}, ("official", "timeout")),
    # https://github.com/github/github-mcp-server/blob/main/docs/installation-guides
    Dialect("GitHub Copilot for JetBrains", "servers", {"requestInit": _WITH_HEADERS}),
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
    if not isinstance(document, Mapping) or not document:
        return None
    # FastMCP and LangChain take servers that are under no key at all.
    entries = (isinstance(it, Mapping) and {"command", "url"} & {*it} for it in document.values())
    return document if all(entries) else None


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


def translated(entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """``entry`` with our keys, and for each the one that was used.

    Unknown ones are kept, what has no effect here is left out.
    """
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    # Ours first: whoever has another one too meant that ("httpUrl" beside a "url" for SSE).
    flat = _flat(entry)
    for name, given in {**{it: flat[it] for it in flat if it not in KEYS}, **flat}.items():
        # JSON has no place for comments, so people write "_comment", "//" and "$schema".
        if name in _WITHOUT_EFFECT or str(name).startswith(("_", "$", "//")):
            continue
        key = KEYS.get(name, Key(str(name)))
        ours, value = key.ours, key.read(given) if isinstance(given, key.kind) else given
        if value is None:
            continue
        if ours == "env" and isinstance(value, Mapping):
            # VS Code takes numbers in a server's environment, YAML knows truth values.
            value = {
                variable: str(it).lower() if isinstance(it, bool | int | float) else it
                for variable, it in value.items()
                if it is not None
            }
        before = fields.get(ours)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = {**before, **value}
        fields[ours], names[ours] = value, name
    if entry.get("type") in _BUILT_IN or entry.get("source") in _BUILT_IN:
        fields["disabled"] = True
    for one, other in (("command", "url"), ("url", "command")):
        if fields.get(one) == "" and fields.get(other):  # Jan writes both
            del fields[one], names[one]
    return fields, names


def _flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """``entry`` with its command as text, and without an object for its transport, as Cline has."""
    if isinstance(way := entry.get("transport"), Mapping):
        entry = {**{key: it for key, it in entry.items() if key != "transport"}, **way}
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, list) and command:  # as OpenCode writes it
        more = args if isinstance(args, list) else []
        return {**entry, "command": command[0], "args": [*command[1:], *more]}
    if isinstance(command, Mapping):  # as Zed once did
        parts = {key: value for key, value in command.items() if key != "path"}
        return {**entry, **parts, "command": command.get("path")}
    return entry
