"""Servers that are objects of this program: ``MCPServer`` or ``Server`` of the MCP SDK."""

from __future__ import annotations

import sys


def is_server(value: object) -> bool:
    """Whether ``value`` is such an object; the SDK need not be there for anything else."""
    sdk = sys.modules.get("mcp.server")
    return sdk is not None and isinstance(value, (sdk.MCPServer, sdk.Server))
