"""The MCP side: newline-delimited JSON-RPC on stdin and stdout."""

from __future__ import annotations

import json
import sys

from thoughtbox.chain import SCHEMA, Chain, InvalidThought

TYPE_CHECKING = False  # see chain.py
if TYPE_CHECKING:
    from typing import Any

VERSION = "0.1.0"
PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Those that begin with a handshake."""
MODERN_VERSIONS = ("2026-07-28",)
"""Those in which each request says which of them it speaks."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol/"
SERVER_INFO = {"name": "thoughtbox", "version": VERSION}

THINK: dict[str, Any] = {
    "name": "think",
    "title": "Think in steps",
    "description": (
        "Work through a hard decision one numbered step at a time. Send one thought per call; "
        "the answer shows the chain so far. Correct an earlier step with isRevision and "
        "revisesThought, follow an alternative with branchFromThought and branchId, and set "
        "nextThoughtNeeded to false when you have reached a conclusion. The tool only keeps your "
        "notes: it knows nothing about the world."
    ),
    "inputSchema": SCHEMA,
    # Not read-only: each step adds to the chain, so steps belong one after the other.
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}


class RequestError(Exception):
    """Raised when a request is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def serve() -> None:
    """Answer requests until stdin closes."""
    chain = Chain()
    for line in sys.stdin.buffer:
        if line.isspace():
            continue
        reply = answer(line, chain)
        if reply is not None:
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


def answer(line: bytes, chain: Chain) -> dict[str, Any] | None:
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
        result = _result(method, params if isinstance(params, dict) else {}, chain)
    except RequestError as error:
        return _error(id_, error.code, str(error), error.data)
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _result(method: str, params: dict[str, Any], chain: Chain) -> dict[str, Any]:
    meta = params.get("_meta")
    version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
    if version is not None:
        return _modern_result(method, version, params, chain)
    if method == "initialize":
        return _initialize(params)
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [THINK]}
    if method == "tools/call":
        return _call(params, chain)
    raise RequestError(METHOD_NOT_FOUND, f"unknown method: {method}")


def _modern_result(
    method: str, version: object, params: dict[str, Any], chain: Chain
) -> dict[str, Any]:
    if version not in MODERN_VERSIONS:
        data = {"supported": [*MODERN_VERSIONS, *PROTOCOL_VERSIONS], "requested": version}
        raise RequestError(UNSUPPORTED_VERSION, f"unsupported protocol version: {version}", data)
    done = {"resultType": "complete", "_meta": {META + "serverInfo": SERVER_INFO}}
    lasting = {"ttlMs": 3_600_000, "cacheScope": "public"}  # nothing here ever changes
    if method == "server/discover":
        known = [*MODERN_VERSIONS, *PROTOCOL_VERSIONS]
        return {**done, **lasting, "supportedVersions": known, "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {**done, **lasting, "tools": [THINK]}
    if method == "tools/call":
        return {**done, **_call(params, chain)}
    raise RequestError(METHOD_NOT_FOUND, f"unknown method: {method}")


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": SERVER_INFO,
    }


def _call(params: dict[str, Any], chain: Chain) -> dict[str, Any]:
    if params.get("name") != "think":
        raise RequestError(INVALID_PARAMS, f"unknown tool: {params.get('name')}; try 'think'")
    arguments = params.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise RequestError(INVALID_PARAMS, "arguments must be an object")
    try:
        text, refused = json.dumps(chain.add(arguments), ensure_ascii=False), False
    except InvalidThought as error:
        text, refused = f"Thought not recorded: {error}.", True
    return {"content": [{"type": "text", "text": text}], "isError": refused}


def _error(id_: object, code: int, message: str, data: object = None) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "error": error if data is None else {**error, "data": data},
    }
