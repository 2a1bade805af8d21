"""MCP tools as OpenAI's chat completions want them, under their own names."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_ghost.messages import ToolSchema
from mcp_ghost.servers.tools import tool_schema


def convert_mcp_tools_to_openai(tools: Iterable[Mapping[str, Any] | object]) -> list[ToolSchema]:
    """Each of ``tools`` in OpenAI's format, in the same order; ``tools`` stay unchanged.

    Takes entries of ``tools/list`` as dicts (``inputSchema``) and the SDK's objects
    (``input_schema``, in earlier versions ``inputSchema``).

    Raises:
        TypeError: It is one tool, not a list.
        ValueError: A tool has no name.
    """
    if isinstance(tools, Mapping):
        raise TypeError("convert_mcp_tools_to_openai takes a list of tools; for one, write [tool].")
    return [_converted(tool) for tool in tools]


def _converted(tool: Mapping[str, Any] | object) -> ToolSchema:
    name = _field(tool, "name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"An MCP tool needs a name; this one has none: {tool!r:.200}")
    schema = _field(tool, "inputSchema", "input_schema")
    description = _field(tool, "description")
    entry = {"name": name, "description": description, "inputSchema": schema}
    # The result is for the caller to change; the server's list is not.
    return copy.deepcopy(tool_schema(entry))


def _field(tool: Mapping[str, Any] | object, *names: str) -> object:
    """The first of the fields ``names`` that exists."""
    found = (
        tool if isinstance(tool, Mapping) else {name: getattr(tool, name, None) for name in names}
    )
    return next((found[name] for name in names if found.get(name) is not None), None)
