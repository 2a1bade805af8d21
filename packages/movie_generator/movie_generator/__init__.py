"""A video script from a web page, by an agent that reads with MCP tools of its own choosing."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  here, so that no other file has to be readable
    sys.exit(
        f"error: movie_generator needs Python 3.11 or newer, and this is {sys.version.split()[0]}."
    )

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from movie_generator.agent import AgentLoop as AgentLoop
    from movie_generator.agent import convert_mcp_tools_to_openai as convert_mcp_tools_to_openai
    from movie_generator.client import MCPClient as MCPClient
    from movie_generator.generate import generate_script_from_url as generate_script_from_url
    from movie_generator.generate import (
        generate_script_from_url_with_agent as generate_script_from_url_with_agent,
    )
    from movie_generator.models import Narration as Narration
    from movie_generator.models import RoleAssignment as RoleAssignment
    from movie_generator.models import ScriptSection as ScriptSection
    from movie_generator.models import SourcePage as SourcePage
    from movie_generator.models import VideoScript as VideoScript

__version__ = "0.2.0"
_MODULES = {
    "AgentLoop": "agent",
    "MCPClient": "client",
    "Narration": "models",
    "RoleAssignment": "models",
    "ScriptSection": "models",
    "SourcePage": "models",
    "VideoScript": "models",
    "convert_mcp_tools_to_openai": "agent",
    "generate_script_from_url": "generate",
    "generate_script_from_url_with_agent": "generate",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever is asked for
    """Import a public name when it is first used, so that ``--help`` waits for none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
