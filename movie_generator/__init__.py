"""A video script from a web page, by an agent that reads with MCP tools of its own choosing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from movie_generator.agent import AgentLoop
    from movie_generator.client import MCPClient
    from movie_generator.generate import (
        generate_script_from_url,
        generate_script_from_url_with_agent,
    )
    from movie_generator.models import Narration, RoleAssignment, ScriptSection, VideoScript
    from movie_generator.tools import convert_mcp_tools_to_openai

__all__ = [
    "AgentLoop",
    "MCPClient",
    "Narration",
    "RoleAssignment",
    "ScriptSection",
    "VideoScript",
    "convert_mcp_tools_to_openai",
    "generate_script_from_url",
    "generate_script_from_url_with_agent",
]
_MODULES = {
    "AgentLoop": "agent",
    "MCPClient": "client",
    "Narration": "models",
    "RoleAssignment": "models",
    "ScriptSection": "models",
    "VideoScript": "models",
    "convert_mcp_tools_to_openai": "tools",
    "generate_script_from_url": "generate",
    "generate_script_from_url_with_agent": "generate",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever is asked for
    """Import a public name when it is used: ``--help`` waits for none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
