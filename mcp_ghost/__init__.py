"""The engine under MCP tool use: configuration, sessions, names, results, the loop, providers."""
