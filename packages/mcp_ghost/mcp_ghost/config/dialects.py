"""How other programs write down MCP servers: which key holds them, and what their keys mean here.

Programs share files and people copy entries between them, so an entry may use the keys of any.
"""

import re
from collections.abc import Callable, Mapping
from operator import not_
from typing import Any, NamedTuple

from mcp_ghost.tables import table


class Key(NamedTuple):
    """What another program's key is called here, and how its value is read."""

    ours: str
    read: Callable[[Any], Any] = lambda value: value
    kind: type = object
    """What ``read`` takes; any other value stays as it is, and is refused as a value of ours."""


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
    used = {key: it for key, it in value.items() if key not in _OAUTH_WITHOUT_EFFECT}
    found = {_OAUTH_KEYS.get(key, key): it for key, it in used.items()}
    if isinstance(scopes := found.get("scopes"), str):
        found["scopes"] = scopes.split()
    return {"type": "oauth", **found}


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
_READINGS = {
    "transport": Key("type", _transport, str),
    "oauth": Key("auth", _oauth),
    "auth of any form": Key("auth", _auth),
    "scopes": Key("auth", lambda value: _oauth({"scopes": value}) if value else None),
    "enabled": Key("disabled", not_, bool),
    "names of variables": Key("inherit_env", _names, list),
    "env from variables": Key(
        "env", lambda it: _references({str(name): name for name in it}), list
    ),
    "object with headers": Key("headers", lambda it: it.get("headers"), Mapping),
    "headers from variables": Key("headers", _references, Mapping),
    "token in a variable": Key(
        "headers", lambda name: {"Authorization": f"Bearer ${{env:{name}}}"}, str
    ),
    "tools or *": Key("include_tools", _chosen),
    "tools or none": Key("include_tools", lambda it: it or None),
}
DIALECTS = table("mcp_ghost.config", "dialects.toml")
"""By the programs' names; see ``dialects.toml``."""
KEYS = {
    name: _READINGS.get(ours) or Key(ours)
    for dialect in DIALECTS.values()
    for name, ours in dialect.get("keys", {}).items()
}
_WITHOUT_EFFECT = {name for it in DIALECTS.values() for name in it.get("without_effect", ())}
HOLDERS = tuple(dict.fromkeys(it["holder"] for it in DIALECTS.values()))


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
    return any(
        _held(document, it["holder"]) for it in DIALECTS.values() if it.get("trailing_commas")
    )


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
