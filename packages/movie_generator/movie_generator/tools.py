"""MCP tools as OpenAI's chat completions want them, under their own names."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_ghost.messages import ToolSchema
from mcp_ghost.servers.tools import tool_schema


def convert_mcp_tools_to_openai(tools: Iterable[Mapping[str, Any] | object]) -> list[ToolSchema]:
    """Return each of ``tools`` in OpenAI's format, in the same order; ``tools`` stay unchanged.

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
    names = ("name", "description", "inputSchema", "input_schema")
    its = tool if isinstance(tool, Mapping) else {it: getattr(tool, it, None) for it in names}
    name = its.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"An MCP tool needs a name; this one has none: {tool!r:.200}")
    schema = its.get("inputSchema")
    schema = its.get("input_schema") if schema is None else schema
    entry = {"name": name, "description": its.get("description"), "inputSchema": schema}
    # The result is for the caller to change; the server's list is not.
    return copy.deepcopy(tool_schema(entry))
