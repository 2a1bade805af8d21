"""The tools that a server lists, as schemas in OpenAI's format.

Lenient, so that one broken entry does not hide the others: an entry without a name is skipped, and
one without a usable input schema takes no parameters.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_ghost.messages import ToolSchema
from mcp_ghost.servers.protocol.lenient import TOO_DEEP, as_sent, fields
from mcp_ghost.text import seen

if TYPE_CHECKING:
    from mcp import Client


MOST_TOOLS = 1000
"""Of one server; no model can choose among more."""
MOST_TOOL_CHARACTERS = 65_536
"""Of one tool as JSON, all of which every request to a model repeats."""
MOST_PAGES = 100
_MOST_WARNINGS = 10
"""About one listing."""
_logger = logging.getLogger(__name__)


async def list_tools(client: Client, server: str, offers: Callable[[str], bool]) -> Listing:
    """The tools of every page that the configuration offers, each name once."""
    from mcp import MCPError

    listing = Listing(server, offers)
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if cursor is None:
                raise
            _logger.warning("MCP server '%s' lists only some of its tools: %s", server, error)
            break
        listing.seconds = min(listing.seconds, page.ttl_ms / 1000 if page.ttl_ms else math.inf)
        for tool in page.tools:
            listing.add(_described(as_sent(tool)))
        cursor = page.next_cursor
        # A server that repeats a cursor would be asked for ever.
        if cursor is None or cursor in cursors or listing.is_full:
            break
        cursors.add(cursor)
    return listing


@dataclass
class Listing:
    """What ``server`` lists page by page, under its own names, as far as it can be used."""

    server: str
    offers: Callable[[str], bool]
    tools: list[ToolSchema] = field(default_factory=list)
    annotations: dict[str, dict[str, bool]] = field(default_factory=dict)
    """What each tool says of its effects: ``readOnlyHint`` and its like."""
    seconds: float = math.inf
    """For how long this holds, where the server says so; else for ever."""
    is_full: bool = False
    """Whether there are more."""
    _warnings: int = 0

    def add(self, entry: object) -> None:
        """Take ``entry``, or say why not."""
        tool = fields(entry)
        name = tool.get("name")
        if not isinstance(name, str) or not name:
            self._warn("Skipping a tool without a name: %.200r", entry)
            return
        schema = tool_schema(tool)
        description = schema["function"]["description"]
        if name in self.annotations:
            self._warn("Skipping the second tool with the name %.200r", name)
        elif not self.offers(name) or self.is_full:
            pass
        elif fields(tool.get("execution")).get("taskSupport") == "required":
            why = "it runs only as a task, which is not supported"
            self._warn(f"Skipping the tool %.200r: {why}", name)
        elif TOO_DEEP in (written := json.dumps(schema, ensure_ascii=False)):
            self._warn("Skipping the tool %.200r: its schema is nested too deeply", name)
        elif seen(written) != written:
            self._warn("Skipping the tool %.200r: it contains invisible characters", name)
        elif (excess := len(written) - MOST_TOOL_CHARACTERS) > len(description):
            words = "Skipping the tool %.200r: as JSON it has %d characters, more than"
            self._warn(f"{words} {MOST_TOOL_CHARACTERS:,}", name, len(written))
        elif len(self.tools) == MOST_TOOLS:
            self.is_full = True
            self._warn(
                "It lists more than %d tools; the others are left out. Name those that you need "
                "in 'include_tools' of its entry",
                MOST_TOOLS,
            )
        else:
            if excess > 0:
                words = (
                    "MCP server '%s': the description of the tool %.200r is cut by %d characters"
                )
                _logger.debug(words, self.server, name, excess)
                schema["function"]["description"] = description[:-excess]
            self.tools.append(schema)
            self.annotations[name] = {
                key: value
                for key, value in fields(tool.get("annotations")).items()
                if key.endswith("Hint") and isinstance(value, bool)
            }

    def _warn(self, words: str, *values: object) -> None:
        self._warnings += 1
        if self._warnings <= _MOST_WARNINGS:
            _logger.warning(f"MCP server '%s': {words}", self.server, *values)


def _described(value: Any, key: str = "") -> Any:  # noqa: ANN401  any JSON
    """A copy of ``value`` whose texts are as people see them, but for those a call must repeat."""
    if isinstance(value, str):
        return seen(value)
    if isinstance(value, list) and key != "enum":
        return [_described(it) for it in value]
    if isinstance(value, Mapping):
        exact = ("const", "default", "name", "pattern")
        return {
            name: it if isinstance(it, str) and name in exact else _described(it, name)
            for name, it in value.items()
        }
    return value


def tool_schema(tool: Mapping[str, Any]) -> ToolSchema:
    """An entry of ``tools/list`` in OpenAI's format."""
    description, schema = tool.get("description"), fields(tool.get("inputSchema"))
    kind = schema.get("type", "object")
    # Without parameters where providers would refuse the whole request.
    is_usable = "object" in (kind if isinstance(kind, list) else [kind])
    properties = fields(schema.get("properties")) if is_usable else {}
    usable = schema if is_usable else {}
    return {
        "type": "function",
        "function": {
            "name": tool["name"],
            "description": description if isinstance(description, str) else "",
            "parameters": {**usable, "type": "object", "properties": properties},
        },
    }
