"""MCP servers: their processes and connections, and their tools."""
