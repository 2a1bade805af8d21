"""Answers of a server, made readable for the SDK without loss.

The SDK refuses a whole page of tools for one malformed entry, and a whole result for one malformed
block. So it gets the least that it needs to find its way, and what the server really sent travels
along in ``_meta``, which the SDK leaves alone. ``as_sent`` takes it out again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp_ghost.redact import Redactor
from mcp_ghost.results import ToolCallResult, each_text, parsed, result_from_mcp
from mcp_ghost.text import seen

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Tool

SMALL_VALUES, SMALL_CHARACTERS = 200, 20_000
"""What is read within a millisecond, which is less than what handing it to a thread may take."""

NOT_MADE = "mcp_ghost/not-made"
"""In the data of an error: the request was refused, or not sent, so that nothing came of it."""
TOO_DEEP = "mcp_ghost/too-deep"
"""Stands for what was nested too deeply to be read."""
BARE = "mcp_ghost/bare"
"""Holds a result that is not an object."""
_AS_SENT = "mcp_ghost/as-sent"
_LONGEST_TTL = 10**12
"""Milliseconds; what is said to hold longer holds for ever, which 0 stands for."""
_READ_STRICTLY = frozenset({"$schema", "type", "properties", "required"})
_OLDEST_VERSION = "2024-11-05"
"""What the SDK speaks to servers of 2024-10-07, which differs in nothing that is used here, and to
those that do not say, or say what is no date."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def readable(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a request ``method`` as the SDK can read it."""
    if BARE in result:
        bare = result[BARE]
        name = "tools" if method == "tools/list" else "content"
        result = {} if bare is None else {name: bare}
    if method == "initialize":  # what is used of it, whatever else it holds or lacks
        info = fields(result.get("serverInfo"))
        said = {name: str(it) for name, it in info.items() if isinstance(it, str | int | float)}
        version, instructions = result.get("protocolVersion"), result.get("instructions")
        greets = not {"protocolVersion", "capabilities", "serverInfo"}.isdisjoint(result)
        is_date = isinstance(version, str) and _DATE.fullmatch(version) and version != "2024-10-07"
        return {
            "protocolVersion": _OLDEST_VERSION if greets and not is_date else version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "", "version": "", **said},
            **({"instructions": instructions} if isinstance(instructions, str) else {}),
        }
    if method == "tools/list":
        cursor, ttl, tools = result.get("nextCursor"), result.get("ttlMs"), result.get("tools")
        if isinstance(tools, Mapping) and "name" not in tools:  # which has them by their names
            tools = [{"name": name, **it} for name, it in tools.items() if isinstance(it, Mapping)]
        entries = tools if isinstance(tools, list) else [tools] if tools else []
        return {
            "tools": [_tool(_spelled(entry)) for entry in entries],
            "ttlMs": int(ttl) if isinstance(ttl, int | float) and 0 < ttl < _LONGEST_TTL else 0,
            "cacheScope": "private",
            "resultType": "complete",
            **({"nextCursor": cursor} if isinstance(cursor, str) and cursor else {}),
        }
    if method == "tools/call" and result.get("resultType", "complete") == "complete":
        # As an error, because of results without error the SDK wants that they fit a schema.
        return {
            "content": [],
            "isError": True,
            "resultType": "complete",
            "_meta": {_AS_SENT: result},
        }
    return result


def as_sent(read: Tool | CallToolResult) -> dict[str, Any]:
    """What the server sent where the SDK read ``read``; an object of this program sends that."""
    meta: dict[str, Any] = dict(read.meta or {})
    if _AS_SENT not in meta:
        return read.model_dump(mode="json", by_alias=True, exclude_none=True)
    sent: dict[str, Any] = meta[_AS_SENT]
    return sent


def _spelled(entry: object) -> object:
    """A tool with its schema under MCP's name, as for OpenAI or in other letters it has another."""
    inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
    if not isinstance(inner, Mapping):
        return entry
    plain = {re.sub(r"\W|_", "", str(key)).lower(): it for key, it in inner.items() if it}
    given = (plain.get(key) for key in ("inputschema", "parameters", "jsonschema", "schema"))
    schemas = (parsed(it) if isinstance(it, str) else it for it in given)
    schema = next((it for it in schemas if isinstance(it, Mapping)), None)
    if schema is None or schema is inner.get("inputSchema"):
        return entry
    return {**inner, "inputSchema": schema}


def _tool(entry: object) -> dict[str, Any]:
    """Its name, and where its schema may say that arguments belong into headers."""
    name, schema = fields(entry).get("name"), fields(fields(entry).get("inputSchema"))
    properties = fields(schema.get("properties"))
    return {
        "name": name if isinstance(name, str) else "",
        "inputSchema": {
            **{key: value for key, value in schema.items() if key not in _READ_STRICTLY},
            "type": "object",
            "properties": {key: it for key, it in properties.items() if isinstance(it, dict)},
        },
        "_meta": {_AS_SENT: entry},
    }


def fields(value: object) -> Mapping[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


async def read_result(sent: dict[str, Any], redactor: Redactor, limit: int) -> ToolCallResult:
    """What the server ``sent``; unless it is small, a thread reads it."""
    if is_small(sent):
        return _read(sent, redactor, limit)
    return await asyncio.to_thread(_read, sent, redactor, limit)


def is_small(value: object) -> bool:
    """Whether JSON has few values and little text; soon answered, however large it is."""
    values, characters, waiting = 0, 0, [value]
    while waiting:
        item = waiting.pop()
        values += 1
        if isinstance(item, str):
            characters += len(item)
        elif isinstance(item, dict | list):
            if len(item) > SMALL_VALUES:
                return False
            waiting += [*item.keys(), *item.values()] if isinstance(item, dict) else item
        if values > SMALL_VALUES or characters > SMALL_CHARACTERS:
            return False
    return True


def _read(sent: dict[str, Any], redactor: Redactor, limit: int) -> ToolCallResult:
    # Cleaned before it is cut: a part of a secret would not be known.
    result = result_from_mcp(redactor.each(each_text(sent, seen)), limit)
    result.error_message = result.error_message and redactor.words(result.error_message)
    return result
