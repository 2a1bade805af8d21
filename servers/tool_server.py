"""An MCP server of a few tools: newline-delimited JSON-RPC on stdin and stdout.

For servers that are started every turn: the standard library only, and little of it, because a
program that starts a server every turn waits for its imports every turn.
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False  # typing would double the time that a server takes to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION = "0.2.0"
PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Those that begin with a handshake."""
MODERN_VERSIONS = ("2026-07-28",)
"""Those in which each request says which of them it speaks."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol/"
_SHOWN_CHARACTERS = 80


class RefusedCall(ValueError):  # noqa: N818 - a refusal, told to the model
    """Raised when a tool is not used, with everything that is wrong with the call."""


class RequestError(Exception):
    """Raised when a request is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ToolServer:
    """Answers for the tools that it is made of."""

    def __init__(
        self,
        name: str,
        tools: list[dict[str, Any]],
        call: Callable[[str, dict[str, Any], dict[str, Any]], str],
    ) -> None:
        """``call`` gets the tool's name, its arguments and the request's ``_meta``.

        It returns the text of the result, or raises RefusedCall.
        """
        self._info = {"name": name, "version": VERSION}
        self._tools = tools
        self._names = [tool["name"] for tool in tools]
        self._use = call

    def serve(self) -> None:
        """Answer requests until stdin closes."""
        for line in sys.stdin.buffer:
            if line.isspace():
                continue
            reply = self._answer(line)
            if reply is not None:
                sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
                sys.stdout.buffer.flush()

    def _answer(self, line: bytes) -> dict[str, Any] | None:
        """The reply to one line; None for a notification or a reply to us."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, PARSE_ERROR, "not JSON")
        if not isinstance(message, dict):
            return _error(None, INVALID_REQUEST, "not a JSON-RPC object")
        method, id_ = message.get("method"), message.get("id")
        if not isinstance(method, str):
            is_reply = "result" in message or "error" in message
            return None if is_reply else _error(id_, INVALID_REQUEST, "a request needs a method")
        if id_ is None:
            return None
        params = message.get("params")
        try:
            result = self._result(method, params if isinstance(params, dict) else {})
        except RequestError as error:
            return _error(id_, error.code, str(error), error.data)
        return {"jsonrpc": "2.0", "id": id_, "result": result}

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
        is_modern = version is not None
        known = [*MODERN_VERSIONS, *PROTOCOL_VERSIONS]
        done: dict[str, Any] = {}
        lasting: dict[str, Any] = {}
        if is_modern:
            if version not in MODERN_VERSIONS:
                data = {"supported": known, "requested": version}
                message = f"unsupported protocol version: {version}"
                raise RequestError(UNSUPPORTED_VERSION, message, data)
            done = {"resultType": "complete", "_meta": {META + "serverInfo": self._info}}
            lasting = {**done, "ttlMs": 3_600_000, "cacheScope": "public"}  # tools never change
        match method:
            case "initialize" if not is_modern:
                wanted = params.get("protocolVersion")
                spoken = wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0]
                about = {"capabilities": {"tools": {}}, "serverInfo": self._info}
                return {"protocolVersion": spoken, **about}
            case "ping" if not is_modern:
                return {}
            case "server/discover" if is_modern:
                return {**lasting, "supportedVersions": known, "capabilities": {"tools": {}}}
            case "tools/list":
                return {**lasting, "tools": self._tools}
            case "tools/call":
                return {**done, **self._call(params)}
        raise RequestError(METHOD_NOT_FOUND, f"unknown method: {method}")

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        name, meta = params.get("name"), params.get("_meta")
        if name not in self._names:
            known = ", ".join(f"'{each}'" for each in self._names)
            raise RequestError(INVALID_PARAMS, f"unknown tool: {name}; try {known}")
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise RequestError(INVALID_PARAMS, "arguments must be an object")
        try:
            text = self._use(str(name), arguments, meta if isinstance(meta, dict) else {})
            refused = False
        except RefusedCall as error:
            text, refused = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": refused}


def problems(
    schema: dict[str, Any], given: dict[str, Any], unmet: Callable[[str, Any], str]
) -> list[str]:
    """What is wrong with arguments; ``unmet`` names what a field's value must be and is not."""
    found = [f"{name} is missing" for name in schema["required"] if name not in given]
    for name, value in given.items():
        if name not in schema["properties"]:
            found.append(f"{name} is not a known field")
        elif must := unmet(name, value):
            found.append(f"{name} must be {must}")
    return found


def one_line(text: str) -> str:
    """The beginning of ``text``, for a list."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"


def _error(id_: object, code: int, message: str, data: object = None) -> dict[str, Any]:
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id_, "error": error}
