"""A whole MCP tool operation as one call, and the parts it is made of.

    from mcp_ghost import mcp_ghost

    result = await mcp_ghost({"mcpServers": {...}}, "...", "anthropic", user_prompt="...")

Names are imported when they are first used: a program that never runs a tool does not wait for
the libraries that tools need.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  here, so that no other file has to be readable
    sys.exit(f"error: mcp_ghost needs Python 3.11 or newer, and this is {sys.version.split()[0]}.")

import importlib

TYPE_CHECKING = False  # without typing, which would take longer than all else here
if TYPE_CHECKING:
    from mcp_ghost.errors import LLMError as LLMError
    from mcp_ghost.errors import MCPError as MCPError
    from mcp_ghost.errors import MCPGhostError as MCPGhostError
    from mcp_ghost.ghost import Ghost as Ghost
    from mcp_ghost.ghost import mcp_ghost as mcp_ghost
    from mcp_ghost.ghost import mcp_ghost_sync as mcp_ghost_sync
    from mcp_ghost.ghost import resume as resume
    from mcp_ghost.ghost import run_ghost as run
    from mcp_ghost.ghost import run_ghost as run_ghost
    from mcp_ghost.ghost import run_sync as run_sync
    from mcp_ghost.providers.client import get_llm_client as get_llm_client
    from mcp_ghost.providers.registry import register_provider as register_provider
    from mcp_ghost.results import format_tool_response as format_tool_response
    from mcp_ghost.run.prompts import SystemPromptGenerator as SystemPromptGenerator
    from mcp_ghost.run.report.account import GhostResult as GhostResult
    from mcp_ghost.version import __version__ as __version__

_HOMES = {
    "Ghost": "ghost",
    "GhostResult": "run.report.account",
    "LLMError": "errors",
    "MCPError": "errors",
    "MCPGhostError": "errors",
    "SystemPromptGenerator": "run.prompts",
    "__version__": "version",
    "format_tool_response": "results",
    "get_llm_client": "providers.client",
    "mcp_ghost": "ghost",
    "mcp_ghost_sync": "ghost",
    "register_provider": "providers.registry",
    "resume": "ghost",
    "run_ghost": "ghost",
    "run_sync": "ghost",
}
__all__ = [*_HOMES, "run"]


def __getattr__(name: str) -> object:
    if name == "run":
        return importlib.import_module("mcp_ghost.run")
    if name not in _HOMES:
        raise AttributeError(f"module 'mcp_ghost' has no attribute '{name}'")
    if sys.platform == "win32":  # not above: pytest loads the plug-in wherever this is installed
        from mcp_ghost.errors import POSIX_ONLY

        raise ImportError(POSIX_ONLY)
    value = getattr(importlib.import_module(f"mcp_ghost.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
