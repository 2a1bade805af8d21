"""The command line of mcp_ghost."""
