"""Which MCP servers there are, and how each is reached."""

from mcp_ghost.config.file import load_servers, may_start, plain_json
from mcp_ghost.config.secrets import redactor_of
from mcp_ghost.config.server import OAuth, ServerConfig, problem

__all__ = [
    "OAuth",
    "ServerConfig",
    "load_servers",
    "may_start",
    "plain_json",
    "problem",
    "redactor_of",
]
