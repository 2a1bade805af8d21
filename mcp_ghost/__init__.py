"""A whole MCP tool operation as one call, and the parts it is made of.

    from mcp_ghost import mcp_ghost

    result = await mcp_ghost({"mcpServers": {...}}, "...", "anthropic", user_prompt="...")

Names are imported when they are first used: a program that never runs a tool does not wait for
the libraries that tools need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_ghost.account import GhostResult
    from mcp_ghost.errors import LLMError, MCPError, MCPGhostError
    from mcp_ghost.ghost import mcp_ghost, mcp_ghost_sync, run_ghost
    from mcp_ghost.prompts import SystemPromptGenerator
    from mcp_ghost.providers.client import get_llm_client
    from mcp_ghost.providers.registry import register_provider
    from mcp_ghost.results import format_tool_response

__all__ = [
    "GhostResult",
    "LLMError",
    "MCPError",
    "MCPGhostError",
    "SystemPromptGenerator",
    "format_tool_response",
    "get_llm_client",
    "mcp_ghost",
    "mcp_ghost_sync",
    "register_provider",
    "run_ghost",
]

_HOMES: Final = {
    "GhostResult": "account",
    "LLMError": "errors",
    "MCPError": "errors",
    "MCPGhostError": "errors",
    "SystemPromptGenerator": "prompts",
    "format_tool_response": "results",
    "get_llm_client": "providers.client",
    "mcp_ghost": "ghost",
    "mcp_ghost_sync": "ghost",
    "register_provider": "providers.registry",
    "run_ghost": "ghost",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mcp_ghost' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"mcp_ghost.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
