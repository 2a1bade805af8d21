"""The tools that a server lists, as schemas in OpenAI's format.

Lenient, so that one broken entry does not hide the others: an entry without a name is skipped, and
one without a usable input schema takes no parameters.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp_ghost.messages import ToolSchema

Request: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""(method, params) -> result, both as they are on the wire"""

_MAX_PAGES = 100
_logger = logging.getLogger(__name__)


async def list_tools(request: Request) -> list[ToolSchema]:
    """Every tool of every page, each name once, under the server's own names."""
    tools: dict[str, ToolSchema] = {}
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        page = await request("tools/list", params)
        entries = page.get("tools")
        for entry in entries if isinstance(entries, list) else []:
            _add(tools, entry)
        cursor = page.get("nextCursor")
        # A server that repeats a cursor would be asked for ever.
        if not isinstance(cursor, str) or not cursor or cursor in cursors:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    return list(tools.values())


def tool_schema(tool: Mapping[str, Any]) -> ToolSchema:
    """An entry of ``tools/list`` in OpenAI's format."""
    description = tool.get("description")
    return {
        "type": "function",
        "function": {
            "name": tool["name"],
            "description": description if isinstance(description, str) else "",
            "parameters": _parameters(tool.get("inputSchema")),
        },
    }


def prefixed(schema: ToolSchema, prefix: str) -> ToolSchema:
    """A copy of ``schema`` with ``prefix`` before its name."""
    function = schema["function"]
    return {**schema, "function": {**function, "name": f"{prefix}{function['name']}"}}


def _add(tools: dict[str, ToolSchema], entry: object) -> None:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
        _logger.warning("Skipping a tool without a name: %.200r", entry)
    elif name in tools:
        _logger.warning("Skipping the second tool of the name '%s'", name)
    else:
        tools[name] = tool_schema(entry)


def _parameters(schema: object) -> dict[str, Any]:
    """``schema``, or one without parameters where providers would refuse the whole request."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return {"type": "object", "properties": {}}
    properties = schema.get("properties")
    return {
        **schema,
        "type": "object",
        "properties": properties if isinstance(properties, Mapping) else {},
    }
